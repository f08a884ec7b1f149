"""Estimates of aggregates from a part of a window's tuples: kernels' numbers, progress' bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from headrace.approximate import bounds
from headrace.approximate.bounds import Bounded, Floats, Found, Strata
from headrace.approximate.kept import (
    Made,
    Tuples,
    deviation_of,
    mean_square_of,
    percentile_of,
    variance_of,
)
from headrace.kernels.answers import Blocks
from headrace.kernels.columns import values_of
from headrace.kernels.kmeans import kmeans
from headrace.kernels.points import unpacked
from headrace.kernels.shapes import Shape
from headrace.kernels.strata import Kept, Stratified, kept_tuples, stratified
from headrace.query.logical import AggregateCall, Function
from headrace.query.needs import kept_of, spread_of
from headrace.query.window import Span


@dataclass(frozen=True, slots=True)
class Estimate:
    """One aggregate for many groups."""

    bounded: Bounded
    strengths: Floats
    centres: tuple[object, ...] = ()
    """Of KMEANS, where the bounds are those of the mean squared distance."""


@dataclass(frozen=True)
class Estimated:
    """All aggregates of one shape, of one window."""

    groups: Stratified
    estimates: tuple[Estimate, ...]


def estimated(
    shape: Shape,
    uids: list[int],
    blocks: Blocks,
    spans: list[Span],
    strata: Strata,
    confidence: float,
) -> Estimated | None:
    """From the tuples that are there, by strata; None where there are none."""
    calls = shape.query.aggregates
    partials = {spread_of(call) for call in calls}
    groups = stratified(blocks.get((shape.keys, None, None), ()), spans, uids, partials)
    if groups is None:
        return None
    kept: dict[str, Kept | None] = {}
    for name in {v for call in calls if (v := kept_of(call)) is not None}:
        here = blocks.get((shape.keys, name, None), ())
        kept[name] = kept_tuples(groups, here, spans, uids)
    made = []
    for call in calls:
        value = kept_of(call)
        if value is None:
            made.append(_from_moments(call, groups, strata, confidence))
        else:
            made.append(_from_tuples(call, kept[value], len(groups.uids), strata, confidence))
    return Estimated(groups, tuple(made))


def _from_moments(
    call: AggregateCall, groups: Stratified, strata: Strata, confidence: float
) -> Estimate:
    spread = groups.spreads[spread_of(call)]
    found = Found(spread.n, spread.mean, spread.squares)
    whole = found.scaled(strata)
    if call.function is Function.AVG:
        return Estimate(
            bounds.average(found, strata, confidence), bounds.strength_of_average(whole)
        )
    return Estimate(bounds.total(found, strata, confidence), bounds.strength_of_total(whole))


def _from_tuples(
    call: AggregateCall, kept: Kept | None, size: int, strata: Strata, confidence: float
) -> Estimate:
    columns = np.zeros((6, size))
    strengths = np.full(size, np.inf)
    centres: list[object] = [None] * size
    if kept is not None:
        valid = kept.values.is_valid().to_numpy(zero_copy_only=False)
        group, stratum, counts = kept.group[valid], kept.stratum[valid], kept.counts[valid]
        values = _numbers(call, kept.values.drop_null())
        for one in np.unique(group).tolist():
            mine = group == one
            tuples = Tuples(stratum[mine], counts[mine], strata)
            made, centres[one] = _made(call, tuples, values[mine], confidence)
            b = made.bounded
            parts = (b.value, b.lower, b.upper, b.sample, b.input, b.enough)
            columns[:, one] = [float(p[0]) for p in parts]
            strengths[one] = made.strength
    value, lower, upper, sample, there_will_be, enough = columns
    bounded = Bounded(value, lower, upper, sample, there_will_be, enough > 0.0)
    clusters = call.function is Function.KMEANS
    return Estimate(bounded, strengths, tuple(centres) if clusters else ())


def _numbers(call: AggregateCall, values: pa.Array) -> Floats:
    if call.function in (Function.KMEANS, Function.KMEANS_COST):
        return unpacked(values, 1 + len(call.coordinates))
    if pa.types.is_decimal(values.type):
        values = values.cast(pa.float64())
    return values_of(values).data.astype(np.float64)


def _made(
    call: AggregateCall, tuples: Tuples, values: Floats, confidence: float
) -> tuple[Made, object]:
    if call.function in (Function.KMEANS, Function.KMEANS_COST):
        centres, off = kmeans(values, tuples.weights, call.clusters)
        return mean_square_of(tuples, off, confidence), centres.tolist()
    if call.function is Function.PERCENTILE_APPROX:
        return percentile_of(tuples, values, call.percentages[0], confidence), None
    return _SPREADS[call.function](tuples, values, confidence), None


_SPREADS: dict[Function, Callable[[Tuples, Floats, float], Made]] = {
    Function.VAR_POP: partial(variance_of, sampled=False),
    Function.VAR_SAMP: partial(variance_of, sampled=True),
    Function.STDDEV_POP: partial(deviation_of, sampled=False),
    Function.STDDEV_SAMP: partial(deviation_of, sampled=True),
}
