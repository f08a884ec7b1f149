"""kmeans.py and kernels/points.py: centres of weighted points."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from headrace.kernels.kmeans import kmeans
from headrace.kernels.points import packed, unpacked

CENTRES = np.array([[0.0, 0.0], [40.0, 5.0], [-30.0, 60.0], [70.0, -50.0]])


def blobs(seed: int, count: int = 2_000) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return CENTRES[rng.integers(0, len(CENTRES), count)] + rng.normal(0.0, 4.0, (count, 2))


@pytest.mark.parametrize("seed", range(4))
def test_centres_are_found_and_distances_are_to_the_nearest(seed: int) -> None:
    points = blobs(seed)
    centres, off = kmeans(points, np.ones(len(points)), 4)
    expected = CENTRES[np.lexsort(CENTRES.T[::-1])]
    assert np.abs(centres - expected).max() < 0.8
    naive = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2).min(axis=1)
    assert off == pytest.approx(naive)
    assert off.mean() == pytest.approx(2 * 4.0**2, rel=0.1)


def test_the_order_of_points_does_not_matter_and_a_weight_is_as_good_as_so_many_points() -> None:
    points = blobs(1, 500)
    shuffled = np.random.default_rng(2).permutation(points)
    assert np.array_equal(kmeans(points, np.ones(500), 4)[0], kmeans(shuffled, np.ones(500), 4)[0])
    twice, _ = kmeans(np.concatenate([points, points]), np.ones(1_000), 4)
    weighted, _ = kmeans(points, np.full(500, 2.0), 4)
    assert twice == pytest.approx(weighted, abs=0.5)


def test_few_points_are_their_own_centres() -> None:
    centres, off = kmeans(np.array([[3.0], [1.0]]), np.ones(2), 5)
    assert centres.tolist() == [[1.0], [3.0]]
    assert off.tolist() == [0.0, 0.0]
    same, off = kmeans(np.full((10, 2), 7.0), np.ones(10), 3)
    assert same.tolist() == [[7.0, 7.0]]
    assert not off.any()


def test_points_survive_being_kept_as_bytes() -> None:
    x = pa.chunked_array([[1, 2], [None, 4]], pa.int32())
    y = pa.chunked_array([[0.5, None, 0.25, -0.0]], pa.float64())
    column = packed([x, y])
    assert column.null_count == 2
    assert unpacked(column.drop_null(), 2).tolist() == [[1.0, 0.5], [4.0, 0.0]]
    assert len(column.dictionary_encode().dictionary) == 2
    assert unpacked(pa.array([3, 4], pa.int32()), 1).tolist() == [[3.0], [4.0]]
