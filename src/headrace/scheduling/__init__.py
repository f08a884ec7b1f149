"""Who runs next: a read-only snapshot in, an order with reasons out."""

from headrace.scheduling.order import Order, Turn
from headrace.scheduling.policies import POLICIES, Policy, policy_named
from headrace.scheduling.snapshot import Memory, PipelineView, Snapshot, Stage, SweepView

__all__ = [
    "Memory",
    "Order",
    "PipelineView",
    "POLICIES",
    "Policy",
    "policy_named",
    "Snapshot",
    "Stage",
    "SweepView",
    "Turn",
]
