"""runtime/process.py: a process is known by more than its pid."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.runtime import process as module
from headrace.runtime.process import Process, alive

HERE = Process.current()
needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")


@pytest.fixture
def no_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PROC", tmp_path)


def ended() -> int:
    """The pid of a process that has been, and was asked for."""
    child = subprocess.Popen([sys.executable, "-S", "-c", ""])
    child.wait()
    return child.pid


def test_this_process_lives() -> None:
    assert HERE.pid == os.getpid()
    assert Process.current() == HERE
    assert alive(HERE, HERE) is True
    assert str(Process("x", 12)) == "process 12 on x"


def test_a_process_that_is_gone_does_not() -> None:
    assert alive(replace(HERE, pid=ended()), HERE) is False


@pytest.mark.parametrize("there", [replace(HERE, host="x"), replace(HERE, namespace="x")])
def test_of_another_host_or_container_nothing_is_known(there: Process) -> None:
    assert alive(there, HERE) is None


@needs_proc
def test_a_pid_that_is_used_again_is_told_by_its_start() -> None:
    assert HERE.started is not None
    assert alive(replace(HERE, started=HERE.started - 1), HERE) is False
    assert alive(replace(HERE, started=None), HERE) is True


@needs_proc
def test_a_process_that_waits_for_its_parent_is_gone() -> None:
    child = subprocess.Popen([sys.executable, "-S", "-c", ""], stdout=subprocess.PIPE)
    assert child.stdout is not None
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    try:
        assert Path(f"/proc/{child.pid}").exists()
        assert alive(replace(HERE, pid=child.pid, started=None), HERE) is False
    finally:
        child.stdout.close()
        child.wait()


def test_the_name_of_a_program_may_hold_blanks_and_brackets(tmp_path: Path, no_proc: None) -> None:
    (tmp_path / "7").mkdir()
    after = " ".join(["S", *["0"] * 18, "4200", "1", "2"])
    (tmp_path / "7" / "stat").write_bytes(b"7 (a) Z (\xff) " + after.encode())
    assert module._look_up(7) == ("S", 4200 / os.sysconf("SC_CLK_TCK"))


def test_without_proc_the_pid_is_asked(no_proc: None, monkeypatch: pytest.MonkeyPatch) -> None:
    here = Process.current()
    assert (here.started, here.namespace) == (None, "")
    assert alive(here, here) is True
    assert alive(replace(here, pid=ended()), here) is False

    def not_yours(_pid: int, _signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", not_yours)
    assert alive(here, here) is True
