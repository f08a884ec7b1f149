"""The demo: gaming streams, people who ask and leave, and a view of how their queries share."""

from headrace.lab.demo.run import run

__all__ = ["run"]
