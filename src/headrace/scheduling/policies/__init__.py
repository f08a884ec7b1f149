"""Policies by name. A policy is a pure function of a snapshot."""

from __future__ import annotations

from typing import Protocol

from headrace.errors import QueryError, near
from headrace.scheduling.order import Order
from headrace.scheduling.policies.default import Default
from headrace.scheduling.policies.fcfs import Fcfs
from headrace.scheduling.policies.highest_rate import HighestRate
from headrace.scheduling.policies.klink import Klink
from headrace.scheduling.policies.round_robin import RoundRobin
from headrace.scheduling.policies.streambox import StreamBox
from headrace.scheduling.snapshot import Snapshot


class Policy(Protocol):
    """Decides who runs next."""

    @property
    def name(self) -> str:
        """What users call it."""
        ...

    @property
    def gated(self) -> bool:
        """Whether pipelines ask before they run; without, the engine below decides."""
        ...

    def order(self, snapshot: Snapshot) -> Order:
        """Everyone who waits, the first one first."""
        ...


POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        Default(),
        Klink(),
        Klink(memory_mode=False),
        Fcfs(),
        RoundRobin(),
        HighestRate(),
        StreamBox(),
    )
}


def policy_named(name: str) -> Policy:
    """Raises QueryError with the known names.

    >>> policy_named("fcfs").name
    'fcfs'
    """
    if name not in POLICIES:
        raise QueryError(f"there is no policy {name!r}", choices=near(name, POLICIES))
    return POLICIES[name]
