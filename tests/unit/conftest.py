"""Property tests here are seeded, so that a failure on one machine is a failure on all of them."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "headrace",
    max_examples=80,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("headrace")
