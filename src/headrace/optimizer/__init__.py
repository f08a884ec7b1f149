"""Many queries to one `SharedPlan`. One rule a file, each named by what it does."""

from headrace.optimizer.cost import Statistics
from headrace.optimizer.share import read_by_spark, share

__all__ = ["Statistics", "read_by_spark", "share"]
