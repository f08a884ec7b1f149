"""bench/makers: the same seed makes the same tuples, and they look like what they are named for."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import headrace as hr
from headrace.lab.bench.makers import maker, names, parameters_of
from headrace.lab.bench.makers.linear_road import FEET, REPORT_S, SEGMENTS
from headrace.lab.bench.makers.points import Points

TRIPS = """pickup,dropoff,passengers,distance,fare,tip,tolls,total,color,payment,pickup_zone
2019-03-23 20:21:09,2019-03-23 20:27:24,1,1.6,7.0,2.15,0.0,12.95,yellow,credit card,Midtown East
2019-03-04 16:11:55,2019-03-04 16:19:00,2,0.79,5.0,0.0,0.0,9.3,yellow,cash,Astoria
2019-03-27 17:53:01,2019-03-27 18:00:25,0,0.0,7.5,0.0,0.0,14.16,green,,
"""
REPORTS = """0,0,107,32,0,0,0,10,53320,-1,-1,-1,-1,-1,-1
3,10,231,-1,0,-1,-1,-1,-1,0,-1,-1,-1,-1,60
0,20,376,0,1,2,1,77,411370,-1,-1,-1,-1,-1,-1
"""


def made(
    name: str, count: int, parameters: dict[str, object] | None = None, *, seed: int = 3
) -> dict[str, npt.NDArray[np.generic]]:
    """So many tuples at a thousand a second, as numpy arrays."""
    number = np.arange(count)
    columns = maker(name, parameters or {}).columns(
        np.random.default_rng(seed), number, number / 1000.0
    )
    return {n: c.to_numpy(zero_copy_only=False) for n, c in columns.items()}


def schema(name: str, count: int, parameters: dict[str, object] | None = None) -> pa.Schema:
    number = np.arange(count)
    columns = maker(name, parameters or {}).columns(np.random.default_rng(1), number, number / 9.0)
    return pa.RecordBatch.from_pydict(columns).schema


# ---------------------------------------------------------------------------------------- all


@pytest.mark.parametrize("name", names())
def test_the_same_seed_makes_the_same_tuples(name: str) -> None:
    one, two = made(name, 2000), made(name, 2000)
    assert one.keys() == two.keys()
    assert all(np.array_equal(one[c], two[c]) for c in one)


@pytest.mark.parametrize("name", [n for n in names() if n != "linear_road"])
def test_another_seed_makes_other_tuples(name: str) -> None:
    one, two = made(name, 2000), made(name, 2000, seed=4)
    assert any(not np.array_equal(one[c], two[c]) for c in one)


@pytest.mark.parametrize("name", names())
def test_columns_do_not_depend_on_how_many_tuples_there_are(name: str) -> None:
    assert schema(name, 0) == schema(name, 1) == schema(name, 500)
    assert "time" not in schema(name, 0).names


@pytest.mark.parametrize("name", names())
def test_a_maker_can_be_sent_to_another_process(name: str) -> None:
    built = maker(name, {})
    again = pickle.loads(pickle.dumps(built))
    number = np.arange(100)
    ours, theirs = (
        m.columns(np.random.default_rng(5), number, number / 9.0) for m in (built, again)
    )
    assert ours == theirs


def test_an_unknown_maker_is_refused_with_the_known_ones() -> None:
    with pytest.raises(hr.HeadraceError, match="'feilds' is none of ads, fields, linear_road"):
        maker("feilds", {})


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"kyes": 5}, r"no parameter 'kyes' \(valid: keys, field_max, skew\)"),
        ({"keys": "many"}, "keys must be a whole number, not 'many'"),
        ({"keys": 2.5}, "keys must be a whole number, not 2.5"),
        ({"keys": True}, "keys must be a whole number, not True"),
        ({"keys": 0}, "keys must be 1 to .*, not 0"),
        ({"skew": 1.5}, "skew must be 0 to 1, not 1.5"),
        ({"skew": float("nan")}, "skew must be 0 to 1, not nan"),
    ],
)
def test_a_wrong_parameter_is_refused_with_what_is_valid(
    parameters: dict[str, object], why: str
) -> None:
    with pytest.raises(hr.HeadraceError, match=f"maker fields.*{why}"):
        maker("fields", parameters)


def test_a_whole_number_is_a_number_too() -> None:
    assert maker("fields", {"skew": 1}) == maker("fields", {"skew": 1.0})


def test_what_can_be_set_is_known() -> None:
    assert parameters_of("taxi") == ("file",)
    assert parameters_of("fields") == ("keys", "field_max", "skew")


# ----------------------------------------------------------------------- fields, gaming, ysb


def test_keys_of_fields_count_round_and_fields_are_uniform() -> None:
    columns = made("fields", 50_000, {"keys": 100, "field_max": 10})
    assert np.array_equal(columns["key"], np.arange(50_000) % 100)
    for n in range(5):
        counts = np.bincount(columns[f"f{n}"])
        assert len(counts) == 10
        assert counts == pytest.approx(np.full(10, 5000), rel=0.06)


def test_skew_is_the_share_of_tuples_with_key_0() -> None:
    key = made("fields", 50_000, {"skew": 0.3})["key"]
    assert (key == 0).mean() == pytest.approx(0.3, abs=0.01)
    assert set(np.unique(key)) == set(range(1000))
    assert not made("fields", 5000, {"skew": 1.0})["key"].any()


def test_purchases_and_ads_are_of_the_same_users_and_packs() -> None:
    bought, proposed = made("purchases", 20_000, {"users": 50}), made("ads", 20_000, {"users": 50})
    for column in ("user_id", "gem_pack"):
        assert set(bought[column]) == set(proposed[column])
    assert set(bought["user_id"]) == set(range(50))
    assert list(bought) == ["user_id", "gem_pack", "price"]
    assert bought["price"].min() > 0.0


def test_ads_belong_to_one_campaign_and_a_third_of_the_events_are_views() -> None:
    events = made("ysb", 60_000)
    assert np.array_equal(events["campaign_id"], events["ad_id"] // 10)
    assert set(events["campaign_id"]) == set(range(100))
    assert set(events["ad_type"]) == {"banner", "modal", "sponsored-search", "mail", "mobile"}
    kinds, counts = np.unique(events["event_type"].astype(str), return_counts=True)
    assert list(kinds) == ["click", "purchase", "view"]
    assert counts == pytest.approx(np.full(3, 20_000), rel=0.03)


# --------------------------------------------------------------------------------------- taxi


def test_trips_look_like_those_of_the_city() -> None:
    trips = made("taxi", 100_000)
    assert np.median(trips["distance"]) == pytest.approx(1.7, abs=0.2)
    assert trips["distance"].mean() == pytest.approx(3.0, abs=0.4)
    assert np.median(trips["fare"]) == pytest.approx(9.5, abs=1.0)
    assert trips["fare"].mean() == pytest.approx(13.0, abs=1.0)
    assert (trips["passengers"] == 1).mean() == pytest.approx(0.73, abs=0.02)
    card = trips["payment"] == "credit card"
    assert card.mean() == pytest.approx(0.71, abs=0.02)
    assert not trips["tip"][~card].any()
    assert (trips["tip"][card] / trips["fare"][card]).mean() == pytest.approx(0.24, abs=0.03)


def test_fares_are_what_a_meter_shows() -> None:
    trips = made("taxi", 20_000)
    units = (trips["fare"] - 2.5) / 0.5
    assert np.array_equal(units, np.rint(units))
    assert (units >= np.floor(5 * trips["distance"])).all()
    assert np.corrcoef(trips["fare"], trips["distance"])[0, 1] > 0.9


def test_few_zones_have_most_trips() -> None:
    zones, counts = np.unique(made("taxi", 100_000)["zone"], return_counts=True)
    assert zones.min() >= 1
    assert zones.max() <= 263
    assert zones[counts.argmax()] == 161
    assert np.sort(counts)[-40:].sum() / counts.sum() == pytest.approx(0.74, abs=0.03)
    assert len(zones) > 150


def test_trips_of_the_well_known_sample_are_replayed_in_a_loop(tmp_path: Path) -> None:
    file = tmp_path / "trips.csv"
    file.write_text(TRIPS, encoding="utf-8")
    trips = made("taxi", 7, {"file": str(file)})
    assert list(trips["passengers"]) == [1, 2, 0, 1, 2, 0, 1]
    assert list(trips["distance"][:3]) == [1.6, 0.79, 0.0]
    assert list(trips["tip"][:3]) == [2.15, 0.0, 0.0]
    assert list(trips["payment"][:3]) == ["credit card", "cash", "unknown"]
    assert list(trips["zone"][:3]) == [2, 1, 264]  # by name: Astoria, Midtown East
    assert schema("taxi", 2, {"file": str(file)}) == schema("taxi", 2)
    assert schema("taxi", 0, {"file": str(file)}) == schema("taxi", 0)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_trips_of_the_commission_have_the_same_columns(tmp_path: Path, form: str) -> None:
    trips = pa.table(
        {
            "VendorID": pa.array([1, 2, 2]),
            "tpep_pickup_datetime": pa.array([0, 1, 2], pa.timestamp("us")),
            "passenger_count": pa.array([1.0, None, 3.0]),
            "trip_distance": pa.array([1.5, 2.0, 0.4]),
            "PULocationID": pa.array([161, 237, None]),
            "payment_type": pa.array([1, 2, 4]),
            "fare_amount": pa.array([8.5, 10.0, -3.0]),
            "tip_amount": pa.array([2.0, 0.0, 0.0]),
        }
    )
    file = tmp_path / f"yellow.{form}"
    if form == "csv":
        pyarrow.csv.write_csv(trips, file)
    else:
        pq.write_table(trips, file)
    parameters: dict[str, object] = {"file": str(file)}
    replayed = made("taxi", 4, parameters)
    assert list(replayed["passengers"]) == [1, 0, 3, 1]
    assert list(replayed["payment"]) == ["credit card", "cash", "dispute", "credit card"]
    assert list(replayed["zone"]) == [161, 237, 264, 161]
    assert list(replayed["fare"]) == [8.5, 10.0, -3.0, 8.5]
    assert schema("taxi", 3, parameters) == schema("taxi", 3)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("gone.csv", None, "cannot be read"),
        ("no.parquet", "no parquet at all", "cannot be read"),
        ("old.csv", TRIPS.replace("pickup_zone", "pickup_longitude"), "has no column pickup_zone"),
        ("words.csv", TRIPS.replace("0.79", "far"), "cannot be read.*far"),
        ("empty.csv", TRIPS.splitlines()[0] + "\n", "holds no rows"),
    ],
)
def test_files_that_hold_no_trips_are_refused(
    tmp_path: Path, name: str, text: str | None, why: str
) -> None:
    file = tmp_path / name
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(hr.HeadraceError, match=why) as caught:
        maker("taxi", {"file": str(file)})
    assert str(file) in str(caught.value)


def test_a_file_with_other_columns_is_refused_with_both_forms(tmp_path: Path) -> None:
    file = tmp_path / "other.csv"
    file.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(hr.HeadraceError, match=r"pickup_zone.*or.*PULocationID"):
        maker("taxi", {"file": str(file)})


# -------------------------------------------------------------------------------- linear road

RATE = 100
CARS = 3000


@pytest.fixture(scope="module")
def reports() -> dict[str, npt.NDArray[np.int64]]:
    """Half an hour of 3,000 cars; row n is the n-th report of all cars, column v is car v."""
    number = np.arange(CARS * 60)
    columns = maker("linear_road", {"rate": RATE, "xways": 3}).columns(
        np.random.default_rng(1), number, number / RATE
    )
    return {n: c.to_numpy().astype(np.int64).reshape(60, CARS) for n, c in columns.items()}


def test_every_car_reports_every_30_s_and_stays_on_its_road(
    reports: dict[str, npt.NDArray[np.int64]],
) -> None:
    assert CARS / RATE == REPORT_S
    assert np.array_equal(reports["vid"], np.tile(np.arange(CARS), (60, 1)))
    for column in ("xway", "dir", "lane"):
        assert (reports[column] == reports[column][0]).all()
    assert set(np.unique(reports["xway"])) == {0, 1, 2}
    assert set(np.unique(reports["dir"])) == {0, 1}
    assert set(np.unique(reports["lane"])) == {1, 2, 3}
    assert reports["pos"].min() >= 0
    assert reports["pos"].max() < FEET * SEGMENTS
    assert np.array_equal(reports["seg"], reports["pos"] // FEET)
    assert len(np.unique(reports["seg"])) == SEGMENTS
    assert reports["speed"].min() == 0
    assert reports["speed"].max() <= 100


def test_cars_move_as_fast_as_they_say(reports: dict[str, npt.NDArray[np.int64]]) -> None:
    moved = np.diff(reports["pos"], axis=0) * np.where(reports["dir"][0] == 1, -1, 1)
    moved %= FEET * SEGMENTS  # a car that leaves the road at its end comes in at its beginning
    speed = reports["speed"] * FEET / 3600.0
    driving = (reports["speed"][1:] > 0) & (reports["speed"][:-1] > 0)
    expected = REPORT_S * (speed[1:] + speed[:-1]) / 2.0
    assert np.abs(moved - expected)[driving].max() < 60.0
    assert driving.mean() > 0.99


def test_two_cars_stand_at_one_place_in_an_accident(
    reports: dict[str, npt.NDArray[np.int64]],
) -> None:
    standing = reports["speed"] == 0
    involved = np.flatnonzero(standing.any(axis=0))
    assert 2 <= len(involved) <= 0.01 * CARS
    longest = 0
    for car in involved:
        partner = car ^ 1
        run = np.flatnonzero(standing[:, car])
        for stretch in np.split(run, np.flatnonzero(np.diff(run) > 1) + 1):
            longest = max(longest, len(stretch))
            both = stretch[standing[stretch, partner]]
            assert len(both) >= len(stretch) - 1  # the two report one after the other
            for column in ("pos", "xway", "dir", "lane"):
                here = reports[column][stretch, car]
                assert (here == here[0]).all()
                assert (reports[column][both, partner] == here[0]).all()
            if stretch[0] > 0 and stretch[-1] < 59:
                assert len(stretch) >= 4
    assert longest >= 4
    apart = ~standing[:, involved] & (
        reports["pos"][:, involved] != reports["pos"][:, involved ^ 1]
    )
    assert apart.any()


def test_reports_are_the_same_however_they_are_dealt_out() -> None:
    road = maker("linear_road", {"rate": RATE})
    number = np.arange(10_000)
    whole = pa.RecordBatch.from_pydict(
        road.columns(np.random.default_rng(1), number, number / RATE)
    ).to_pandas()
    part = pa.RecordBatch.from_pydict(
        road.columns(np.random.default_rng(2), number[1::3], number[1::3] / RATE)
    ).to_pandas()
    assert (whole[1::3].to_numpy() == part.to_numpy()).all()


def test_there_can_be_no_accidents_and_another_seed_makes_other_cars() -> None:
    assert made("linear_road", 50_000, {"accidents": 0.0, "rate": 100})["speed"].min() > 0
    one, two = (made("linear_road", 1000, {"seed": s})["speed"] for s in (1, 2))
    assert not np.array_equal(one, two)


def test_real_reports_are_replayed_in_a_loop(tmp_path: Path) -> None:
    file = tmp_path / "reports.dat"
    file.write_text(REPORTS, encoding="utf-8")
    parameters: dict[str, object] = {"file": str(file)}
    replayed = made("linear_road", 3, parameters)
    assert [int(c[0]) for c in replayed.values()] == [107, 32, 0, 0, 0, 10, 53320]
    assert [int(c[1]) for c in replayed.values()] == [376, 0, 1, 2, 1, 77, 411370]
    assert list(replayed["vid"]) == [107, 376, 107]
    assert schema("linear_road", 3, parameters) == schema("linear_road", 3)
    assert schema("linear_road", 0, parameters) == schema("linear_road", 0)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "reports.dat"),
        ("", "lines are not type,time,vid"),
        ("0,1,2\n", "lines are not type,time,vid"),
        ("0,0,107,fast,0,0,0,10,53320\n", "lines are not type,time,vid.*fast"),
        (REPORTS.splitlines()[1] + "\n", "no position report"),
    ],
)
def test_files_that_hold_no_reports_are_refused(tmp_path: Path, text: str | None, why: str) -> None:
    file = tmp_path / "reports.dat"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(hr.HeadraceError, match=why):
        maker("linear_road", {"file": str(file)})


# ------------------------------------------------------------------------------------- points


def test_points_lie_around_their_centres() -> None:
    parameters: dict[str, object] = {"clusters": 4, "extent": 100.0, "spread": 2.0}
    columns = made("points", 40_000, parameters)
    centres = Points(clusters=4, extent=100.0, spread=2.0).centres
    assert centres.shape == (4, 2)
    assert np.hypot(*centres.T).max() <= 100.0
    off = np.stack([columns["x"], columns["y"]], axis=1)[:, None, :] - centres[None]
    nearest = np.hypot(off[..., 0], off[..., 1]).argmin(axis=1)
    assert np.bincount(nearest) == pytest.approx(np.full(4, 10_000), rel=0.05)
    own = off[np.arange(40_000), nearest]
    assert own.mean() == pytest.approx(0.0, abs=0.05)
    assert own.std() == pytest.approx(2.0, rel=0.02)
