"""Sources that need no broker: `hr.sources` (see `headrace.connectors.sources`)."""

from headrace.connectors.sources import *  # noqa: F403
from headrace.connectors.sources import __all__ as __all__
