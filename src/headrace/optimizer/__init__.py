"""Many queries to one `SharedPlan`. One rule a file, each named by what it does."""

from headrace.optimizer.cost import Statistics
from headrace.optimizer.share import share

__all__ = ["Statistics", "share"]
