"""kernels/sessions.py: runs, pieces and sessions, against a replay of one query at a time."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headrace.kernels.sessions import Sessions, advance, cut_runs, join_pieces
from headrace.kernels.states import lift
from headrace.query.plan import Partial
from headrace.types import BEGINNING

SUM = Partial("sum", "x", "bigint")
Tuple = tuple[int, int, int, int]
"""Query, key, event time, value."""
Session = tuple[int, int, int, int, int, int]
"""Query, key, first, last, rows, sum."""


def pieces_of(tuples: Sequence[Tuple]) -> Sessions:
    """Every tuple as a piece of its own."""
    query, key, time, value = (np.array([t[i] for t in tuples], dtype=np.int64) for i in range(4))
    state = lift(SUM, pa.array(value), time)
    return Sessions(query, key, time, time, np.ones(len(tuples), np.int64), (state,))


def listed(sessions: Sessions | None) -> set[Session]:
    if sessions is None:
        return set()
    parts = [sessions.query, sessions.key, sessions.first, sessions.last, sessions.rows]
    totals = [int(v) for v in sessions.states[0].parts["s"]]
    return set(zip(*(p.tolist() for p in parts), totals, strict=True))


def joined(sessions: Sequence[Session], gap: int) -> list[Session]:
    """The obvious twin: walk along the starts; a start within the gap of what is held joins it."""
    out: list[Session] = []
    for one in sorted(sessions, key=lambda s: s[2]):
        if out and one[2] <= out[-1][3] + gap:
            q, k, first, last, rows, total = out[-1]
            out[-1] = (q, k, first, max(last, one[3]), rows + one[4], total + one[5])
        else:
            out.append(one)
    return out


def replayed(
    batches: Sequence[tuple[int, Sequence[Tuple]]], gaps: Sequence[int], emitted_upto: int
) -> set[Session]:
    """Spark's session operator for each query and key by itself."""
    found: set[Session] = set()
    for query, gap in enumerate(gaps):
        for key in range(4):
            held: list[Session] = []
            for watermark, tuples in batches:
                held = [s for s in held if s[3] + gap > watermark]  # the others were emitted
                fresh = [
                    (q, k, t, t, 1, x)
                    for q, k, t, x in tuples
                    if (q, k) == (query, key) and t + gap > watermark
                ]
                held = joined([*held, *fresh], gap)
            found |= {s for s in held if s[3] + gap > emitted_upto}
    return found


def random_tuples(rng: random.Random, count: int, low: int, high: int) -> list[Tuple]:
    return [
        (rng.randrange(3), rng.randrange(4), rng.randint(low, high), rng.randint(-9, 9))
        for _ in range(count)
    ]


GAPS = np.array([2, 5, 11], dtype=np.int64)


def test_a_tuple_exactly_a_gap_later_still_belongs() -> None:
    #   0    5    10        16
    #   x----x----x    |    x        gap 5: 0 5 10 are one session, 16 begins another
    found = join_pieces(pieces_of([(1, 0, t, 1) for t in (0, 5, 10, 16)]), GAPS)
    assert listed(found) == {(1, 0, 0, 10, 3, 3), (1, 0, 16, 16, 1, 1)}


def test_a_piece_inside_a_longer_one_does_not_shorten_it() -> None:
    #   [0 ---------------- 20]
    #        [4 - 6]             24     gap 5: all one session
    one = Sessions(
        np.array([1, 1, 1]),
        np.zeros(3, np.int64),
        np.array([0, 4, 24]),
        np.array([20, 6, 24]),
        np.array([9, 2, 1]),
        pieces_of([(0, 0, 0, 1)] * 3).states,
    )
    assert listed(join_pieces(one, GAPS)) == {(1, 0, 0, 24, 12, 3)}


@pytest.mark.parametrize("scale", [1, 2**55], ids=["near", "far apart"])
@pytest.mark.parametrize("seed", range(20))
def test_joining_pieces_walks_along_their_starts(seed: int, scale: int) -> None:
    rng = random.Random(seed)
    tuples = [(q, k, t * scale, x) for q, k, t, x in random_tuples(rng, 60, -40, 40)]
    gaps = [int(g) * scale for g in GAPS]
    wanted: set[Session] = set()
    for query in range(3):
        for key in range(4):
            mine = [(q, k, t, t, 1, x) for q, k, t, x in tuples if (q, k) == (query, key)]
            wanted |= set(joined(mine, gaps[query]))
    assert listed(join_pieces(pieces_of(tuples), np.array(gaps))) == wanted


@pytest.mark.parametrize("seed", range(40))
def test_advancing_over_arrivals_is_sparks_replay_of_each_query(seed: int) -> None:
    rng = random.Random(seed)
    batches: list[tuple[int, list[Tuple]]] = []
    watermark, emitted = BEGINNING, BEGINNING
    for step in range(rng.randint(1, 6)):
        low = step * 8 - rng.choice([0, 15])  # some tuples come late
        batches.append((watermark, random_tuples(rng, rng.randint(1, 25), low, step * 8 + 10)))
        emitted = watermark
        watermark = max(watermark, rng.choice([watermark, step * 8, step * 8 + 4]))
    emitted = rng.choice([emitted, watermark])
    found = advance([(w, pieces_of(t)) for w, t in batches], GAPS, emitted)
    assert listed(found) == replayed(batches, GAPS.tolist(), emitted)


def test_an_emitted_session_is_never_joined_again() -> None:
    #   batch 1: 0, 3       watermark 8 emits [0, 8)          (gap 5, query 1)
    #   batch 2: 4, 8       4 would have joined it: with 4 + 5 > 8 it is not late, but alone
    batches = [(BEGINNING, [(1, 0, 0, 1), (1, 0, 3, 1)]), (8, [(1, 0, 4, 1), (1, 0, 8, 1)])]
    found = advance([(w, pieces_of(t)) for w, t in batches], GAPS, 8)
    assert listed(found) == {(1, 0, 4, 8, 2, 2)}


def test_a_tuple_is_late_when_its_own_session_would_have_ended() -> None:
    #   watermark 8, gap 5:   3 + 5 <= 8 is late,  4 + 5 > 8 is not
    found = advance([(8, pieces_of([(1, 0, 3, 1), (1, 0, 4, 1)]))], GAPS, 8)
    assert listed(found) == {(1, 0, 4, 4, 1, 1)}


def test_without_arrivals_nothing_is_held() -> None:
    assert advance([], GAPS, 0) is None
    nothing = pieces_of([])
    assert listed(join_pieces(nothing, GAPS)) == set()
    assert listed(advance([(0, nothing)], GAPS, 0)) == set()


def test_strings_that_were_null_so_far_meet_strings_that_come_later() -> None:
    def piece(word: str | None, time: int) -> Sessions:
        at = np.array([time])
        state = lift(Partial("max", "word", "string"), pa.array([word], pa.string()), at)
        return Sessions(np.zeros(1, int), np.zeros(1, int), at, at, np.ones(1, int), (state,))

    arrivals = [(BEGINNING, piece("b", 0)), (0, piece(None, 40)), (30, piece("a", 41))]
    found = advance(arrivals, GAPS, 35)
    assert found is not None
    (state,) = found.states
    assert state.dictionary is not None
    assert state.dictionary[int(state.parts["v"][0])].as_py() == "a"


# -- runs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_runs_end_at_gaps_and_cuts_of_their_class_and_key(seed: int) -> None:
    rng = random.Random(seed)
    tuples = random_tuples(rng, rng.randint(1, 40), 0, 50)
    cuts = [rng.randint(-5, 55) for _ in range(rng.randrange(3))]
    column, key, time, _ = (np.array([t[i] for t in tuples], dtype=np.int64) for i in range(4))
    numbers, firsts = cut_runs(time, column, key, 3, cuts)
    wanted: dict[Any, int] = {}
    for place in {(c, k) for c, k, _, _ in tuples}:
        run, before = None, None
        for t in sorted(t for c, k, t, _ in tuples if (c, k) == place):
            crossed = before is not None and any(before < cut <= t for cut in cuts)
            if before is None or t - before > 3 or crossed:
                run = t
            wanted[(*place, t)] = run
            before = t
    found = {
        (c, k, t): int(firsts[n]) for (c, k, t, _), n in zip(tuples, numbers.tolist(), strict=True)
    }
    assert found == wanted
    assert len(firsts) == len({(*p[:2], f) for p, f in wanted.items()})
