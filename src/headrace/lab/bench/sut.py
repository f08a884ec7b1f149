"""The process of the system under test: starts an adapter and does what the driver asks.

python -m headrace.lab.bench.sut ADAPTER ADDRESS [OPTIONS AS JSON]
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

import headrace as hr
from headrace.lab.bench.adapters import Adapter, find, unchangeable
from headrace.lab.bench.driver.protocol import Driver

_NICE = 5
"""On one machine the driver goes first: a driver that starves would measure nothing."""


def serve(adapter: Adapter, driver: Driver) -> None:
    """Start what the driver wants and follow its requests until it says stop."""
    driver.ready(adapter.start(driver.task()))
    while True:
        adapter.check()
        requests, stop = driver.next_requests()
        if requests:
            driver.acknowledge(_carry_out(adapter, requests))
        if stop:
            return


def _carry_out(adapter: Adapter, requests: list[dict[str, Any]]) -> dict[int, str]:
    """What was refused, by the number of the request."""
    created = {r["name"]: r["text"] for r in requests if r["kind"] == "create"}
    deleted = [r["name"] for r in requests if r["kind"] == "delete"]
    errors = adapter.create(created) if created else {}
    if deleted:
        errors = {**errors, **adapter.delete(deleted)}
    refused = {r["number"]: errors[r["name"]] for r in requests if r["name"] in errors}
    change = getattr(adapter, "change", lambda name, _: unchangeable(name))
    for request in requests:
        if request["kind"] == "change" and (why := change(request["name"], request["text"])):
            refused[request["number"]] = why
    return refused


def main() -> None:
    """Run one system under test."""
    name, address, *rest = sys.argv[1:]
    options = json.loads(rest[0]) if rest else {}
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver says when to stop
    os.nice(_NICE)
    driver = Driver(address)
    try:
        adapter = find(name)(driver, options)
        try:
            serve(adapter, driver)
        finally:
            adapter.stop()
    except hr.HeadraceError as error:
        raise SystemExit(str(error)) from None  # in words: the driver passes them on


if __name__ == "__main__":
    main()
