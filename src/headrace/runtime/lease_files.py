"""Leases as files of a checkpoint, one for every token:

    lease-0000000007.json    an earlier owner, deleted once the next one is there
    lease-0000000008.json    the lease

The highest token is the lease. What its owner let go of stays, so that tokens only grow.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass

from headrace.connectors.store import Store
from headrace.runtime.process import Process
from headrace.runtime.records import Damaged, create_record, read_error, read_record, write_record

_KIND = "lease"
_ADVICE = "close the session that uses the checkpoint, if there is one, and delete the file"
_NAME = re.compile(r"lease-(\d{10,})\.json")


@dataclass(frozen=True, slots=True)
class Lease:
    """The claim of one session; times are seconds since the epoch."""

    owner: str
    """Random, so that two sessions of one process are told apart."""
    token: int
    """Grows by one with every owner."""
    host: str
    pid: int
    process_started: float | None
    namespace: str
    since_s: float
    beat_s: float
    """The last sign of life."""
    ttl_s: float
    released: bool = False
    """Whether the owner let go of it."""

    @property
    def process(self) -> Process:
        """The process of the owner."""
        return Process(self.host, self.pid, self.process_started, self.namespace)

    @property
    def name(self) -> str:
        """Name of its file."""
        return lease_name(self.token)

    def record(self) -> bytes:
        """As the payload of a record."""
        return json.dumps(asdict(self)).encode()


def lease_name(token: int) -> str:
    """Name of the file of a token."""
    return f"lease-{token:010d}.json"


def create_lease(store: Store, lease: Lease) -> bool:
    """Write the file of a new token; False if somebody else has it. Raises as `create_record`."""
    return create_record(store, lease.name, _KIND, lease.record())


def write_lease(store: Store, lease: Lease) -> None:
    """Write the file of a token again; raises as `write_record`."""
    write_record(store, lease.name, _KIND, lease.record())


def tokens(store: Store) -> list[int]:
    """Tokens that have a file, lowest first; the last one is the lease. One listing."""
    try:
        found = [_NAME.fullmatch(name) for name in store.names()]
    except OSError as error:
        raise read_error(error, store.address) from error
    return sorted(int(match.group(1)) for match in found if match)


def read_lease(store: Store, token: int) -> Lease:
    """The lease of a token; raises as `read_record`."""
    name = lease_name(token)
    payload = read_record(store, name, _KIND, _ADVICE)
    try:
        return Lease(**json.loads(payload))
    except (TypeError, ValueError) as error:
        raise Damaged(
            f"checkpoint record {store.path(name)} is damaged: a lease was expected, it holds "
            f"{payload[:80]!r}; {_ADVICE}"
        ) from error
