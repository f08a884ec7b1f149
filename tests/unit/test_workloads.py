"""bench/workloads: every shipped workload makes its queries; a bad file says what is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import headrace as hr
from headrace.lab.bench.makers import maker
from headrace.lab.bench.workloads import Scenario, StreamSpec, Workload, load, names
from headrace.lab.bench.workloads.draws import Choice, Ints

NAMES = (
    "astream astream-sc1 astream-sc1-fast astream-sc2 fluctuating gaming gaming-join kmeans "
    "large-windows linear-road nyt overload skew ysb ysb-chain ysb-staggered"
).split()
WINDOW = re.compile(
    r"window\(time, '(\d+) seconds'(?:, '(\d+) seconds')?(?:, '\d+ milliseconds')?\)"
)


def columns_of(stream: StreamSpec, count: int = 0) -> dict[str, pa.Array]:
    number = np.arange(count)
    made = maker(stream.maker, stream.parameters)
    return made.columns(np.random.default_rng(1), number, number / 1000.0)


# ------------------------------------------------------------------------------------ shipped


def test_all_workloads_are_shipped() -> None:
    assert names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_workload_makes_its_queries(name: str) -> None:
    workload = load(name)
    queries = workload.queries(60, seed=7)
    assert len(queries) == 60
    assert workload.name == name
    assert workload.title
    assert "\n" not in workload.about
    for query in queries:
        assert "{" not in query
        assert "}" not in query
        windows = WINDOW.findall(query)
        assert windows
        for size, slide in windows:
            assert 1 <= int(slide or size) <= int(size)
    assert queries == workload.queries(60, seed=7)
    assert queries[:10] == workload.queries(10, seed=7)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "kmeans"])  # of which there are ten
def test_queries_of_another_seed_are_others(name: str) -> None:
    workload = load(name)
    assert workload.queries(20, seed=1) != workload.queries(20, seed=2)
    assert len(set(workload.queries(40, seed=1))) > 25


def test_the_template_of_astream_is_the_published_one() -> None:
    workload = load("astream")
    assert workload.texts == (
        "SELECT window.end AS window_end, key AS k, SUM(f0) AS a0, MAX(time) AS event_time FROM s "
        "WHERE f{field} {op} {value} "
        "GROUP BY window(time, '{size} seconds', '{slide} seconds'), key",
    )
    assert workload.draws == {
        "field": Ints(0, 4),
        "op": Choice(("=", "<", ">", "<=", ">=")),
        "value": Ints(0, 999),
        "size": Ints(1, 8),
        "slide": Ints(1, "size"),
    }
    many = workload.queries(2000, seed=3)
    assert {q.split(" WHERE ")[1][:2] for q in many} == {"f0", "f1", "f2", "f3", "f4"}
    pairs = {pair for q in many for pair in WINDOW.findall(q)}
    assert pairs == {(str(a), str(b)) for a in range(1, 9) for b in range(1, a + 1)}


def test_scenarios_are_those_of_astream() -> None:
    assert load("astream").scenario is None
    assert load("astream-sc1").scenario == Scenario("grow", per_second=10.0, upto=200)
    assert load("astream-sc1-fast").scenario == Scenario("grow", per_second=100.0, upto=1000)
    assert load("astream-sc2").scenario == Scenario("churn", count=50, every_s=10.0)


def test_the_stress_set_says_what_it_stresses() -> None:
    assert load("skew").streams[0].parameters["skew"] == 1.0
    assert {WINDOW.findall(q)[0][0] for q in load("large-windows").queries(50, 1)} == {"60"}
    overload, fluctuating = load("overload"), load("fluctuating")
    assert [overload.rate_share(s) for s in (0.0, 0.5, 1.0)] == [1.2, 1.2, 1.2]
    shares = [fluctuating.rate_share(s) for s in (0.0, 0.32, 0.33, 0.66, 0.67, 1.0)]
    assert shares == [1.0, 1.0, 0.333, 0.333, 1.0, 1.0]
    assert load("gaming").rate_share(0.4) == 1.0


def test_gaming_is_8_s_by_4_s_and_only_the_join_needs_joins() -> None:
    assert all("'8 seconds', '4 seconds'" in q for q in load("gaming").queries(5, 1))
    assert [n for n in NAMES if load(n).needs == "joins"] == ["gaming-join"]
    join = load("gaming-join")
    assert [(s.name, s.share) for s in join.streams] == [("purchases", 0.5), ("ads", 0.5)]


def test_k_means_gives_every_point_to_its_nearest_centroid() -> None:
    workload = load("kmeans")
    (stream,) = workload.streams
    columns = columns_of(stream, 5000)
    x, y = columns["x"].to_numpy(), columns["y"].to_numpy()
    centroids = np.array([(20, 10), (-30, 50), (0, -50), (60, 50), (-80, -30)])
    nearest = np.hypot(x[:, None] - centroids[:, 0], y[:, None] - centroids[:, 1]).argmin(axis=1)
    with duckdb.connect() as connection:
        connection.register("points", pa.table(columns))
        for n, query in enumerate(workload.queries(10, seed=1)):
            where = query.split(" WHERE ")[1].split(" GROUP BY ")[0]
            found = connection.sql(f"SELECT COUNT(*), AVG(x), AVG(y) FROM points WHERE {where}")
            own = nearest == n % 5
            expected = (own.sum(), x[own].mean(), y[own].mean())
            assert found.fetchall()[0] == pytest.approx(expected)
    assert (np.bincount(nearest) > 500).all()


# ---------------------------------------------------------------------------- files of one's own

GOOD = """
title = "Mine"
about = "For a test."
rate = 1000
count = 3

[[stream]]
name = "s"
maker = "fields"

[queries]
text = "SELECT window_end, MAX(time) AS event_time FROM s WHERE f0 > {v} GROUP BY window_end"

[queries.draw]
v = { ints = [0, 9] }
"""


def own(folder: Path, text: str) -> Workload:
    file = folder / "mine.toml"
    file.write_text(text, encoding="utf-8")
    return load(str(file))


def test_a_file_of_ones_own_is_loaded_by_its_path(tmp_path: Path) -> None:
    workload = own(tmp_path, GOOD)
    assert workload.name == "mine"
    assert workload.rate == 1000.0
    assert workload.streams == (StreamSpec("s", "fields"),)
    assert workload.needs is None
    assert workload.scenario is None
    assert workload.profile == ()


def test_texts_are_used_in_turn_and_draws_in_order(tmp_path: Path) -> None:
    text = (
        GOOD.split("[queries]")[0]
        + """
[queries]
texts = [
  "SELECT 1 AS window_end, 2 AS event_time FROM s WHERE a IN ({b}, {a})",
  "SELECT 3 AS window_end, 4 AS event_time FROM s WHERE b = '{c}' -- }{ {b}",
]
[queries.draw]
a = { ints = [3, 5] }
b = { ints = ["a", 5] }
c = { choice = ["x", "y"] }
"""
    )
    queries = own(tmp_path, text).queries(40, seed=1)
    for first, second in zip(queries[::2], queries[1::2], strict=True):
        b, a = re.findall(r"\((\d), (\d)\)", first)[0]
        assert 3 <= int(a) <= int(b) <= 5
        assert re.search(r"b = '[xy]' -- \}\{ \d$", second)


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        hr.HeadraceError, match="'astrem' is no file and none of astream, astream-sc1"
    ):
        load("astrem")


STREAM = 'name = "s"\nmaker = "fields"\n'
QUERY = GOOD.split("text = ")[1].split("\n")[0]


def in_stream(line: str) -> str:
    return GOOD.replace(STREAM, f"{STREAM}{line}\n")


def at_end(lines: str) -> str:
    return f"{GOOD}\n{lines}\n"


BAD = {
    "not TOML": ("title = mine", "is not TOML"),
    "nothing": ("", "stream: is missing"),
    "title": (GOOD.replace("title", "titel"), r"title: is missing \(there is titel, about"),
    "unknown key": (
        f"colour = 'red'\n{GOOD}",
        r"colour: unknown key \(valid: .*title, about, rate",
    ),
    "rate's type": (GOOD.replace("1000", "'fast'"), "rate: must be a number above 0, not 'fast'"),
    "rate": (GOOD.replace("1000", "0"), "rate: must be a number above 0, not 0"),
    "count": (GOOD.replace("count = 3", "count = 2.5"), "count: must be a whole number .*2.5"),
    "count 0": (GOOD.replace("count = 3", "count = 0"), "count: must be a whole number of 1 or"),
    "about": (GOOD.replace('"For a test."', "true"), "about: must be a text, not True"),
    "needs": (f"needs = 'magic'\n{GOOD}", r"needs: 'magic' is not known \(valid: joins\)"),
    "maker": (
        GOOD.replace('"fields"', '"feilds"'),
        r"stream\[1\]\.maker: 'feilds' is not known \(valid: ads, fields, linear_road",
    ),
    "stream's key": (
        in_stream("delya = 'constant:0ms'"),
        r"stream\[1\]\.delya: unknown key \(valid: .*maker.*delay, gap, lateness, share",
    ),
    "stream's type": (
        GOOD.replace("[[stream]]", "[stream]"),
        "stream: must be a list with something in it",
    ),
    "stream's name": (GOOD.replace('"s"', '"my stream"'), r"stream\[1\]\.name: 'my stream' is no"),
    "parameter": (
        in_stream("parameters = { kyes = 5 }"),
        r"stream\[1\]\.parameters: .*no parameter 'kyes' \(valid: keys, field_max, skew\)",
    ),
    "parameter's type": (
        in_stream("parameters = { keys = 'many' }"),
        r"stream\[1\]\.parameters: .*keys must be a whole number",
    ),
    "parameters": (in_stream("parameters = 5"), r"stream\[1\]\.parameters: must be a table, not 5"),
    "delay": (
        in_stream("delay = 'normal:1ms'"),
        r"stream\[1\]\.delay: .*'normal' is no distribution \(valid: constant:150ms",
    ),
    "delay's type": (in_stream("delay = 5"), r"stream\[1\]\.delay: must be a text, not 5"),
    "gap": (in_stream("gap = 'exponential'"), r"stream\[1\]\.gap: .*exponential is written"),
    "gap of 0": (in_stream("gap = 'constant:0ms'"), r"stream\[1\]\.gap: .*has no mean"),
    "lateness": (
        in_stream("lateness = '2'"),
        r"stream\[1\]\.lateness: '2' is no time \(valid: 2 seconds",
    ),
    "share": (in_stream("share = 0.5"), "stream: the shares of all streams must add up to 1"),
    "share's type": (in_stream("share = true"), r"stream\[1\]\.share: must be a number"),
    "two of a name": (
        GOOD.replace("[queries]\n", f"[[stream]]\n{STREAM}[queries]\n"),
        "stream: two streams have the same name: s, s",
    ),
    "no window_end": (
        GOOD.replace("window_end", "ended"),
        "queries.text: every query must give the column window_end",
    ),
    "no event_time": (
        GOOD.replace("event_time", "latest"),
        "queries.text: every query must give the column event_time",
    ),
    "another stream": (
        GOOD.replace("FROM s", "FROM t"),
        r"queries.text: 't' is no stream of this workload \(valid: s\)",
    ),
    "no stream": (GOOD.replace("FROM s", "FROM"), "queries.text: .* is no stream of this workload"),
    "placeholder": (
        GOOD.replace("{v}", "{w}"),
        r"queries.text: \{w\} is not drawn \(valid: v\)",
    ),
    "unused draw": (GOOD.replace("{v}", "3"), "queries.draw.v: no query uses it"),
    "text and texts": (
        GOOD.replace("text = ", f"texts = [{QUERY}]\ntext = "),
        "queries.text: either text or texts",
    ),
    "no text": (GOOD.replace("text = ", "txt = "), "queries.text: either text or texts"),
    "texts' type": (GOOD.replace(f"text = {QUERY}", "texts = [1]"), "queries.texts: 1 is no text"),
    "draw": (
        GOOD.replace("ints = [0, 9]", "floats = [0, 9]"),
        r"queries.draw.v: must be one of \(valid: \{ ints = ",
    ),
    "draw's key": (
        GOOD.replace("ints = [0, 9]", "ints = [0, 9], step = 2"),
        r"queries.draw.v.step: unknown key \(valid: ints, choice\)",
    ),
    "ints": (GOOD.replace("[0, 9]", "[0]"), r"queries.draw.v.ints: must be \[low, high\]"),
    "ints' order": (GOOD.replace("[0, 9]", "[9, 0]"), "queries.draw.v.ints: the low end can be 9"),
    "ints' bound": (
        GOOD.replace("[0, 9]", '[0, "size"]'),
        r"queries.draw.v.ints: 'size' is no bound \(valid: a whole number\)",
    ),
    "choice": (
        GOOD.replace("ints = [0, 9]", "choice = []"),
        "queries.draw.v.choice: must be a list",
    ),
    "choice's type": (
        GOOD.replace("ints = [0, 9]", "choice = [1.5]"),
        "queries.draw.v.choice: 1.5 is neither",
    ),
    "scenario": (
        at_end("[scenario]\nkind = 'shrink'"),
        r"scenario.kind: 'shrink' is not known \(valid: grow, churn\)",
    ),
    "grow": (at_end("[scenario]\nkind = 'grow'\nupto = 5"), "scenario.per_second: is missing"),
    "churn": (
        at_end("[scenario]\nkind = 'churn'\ncount = 5\nevery_s = 10\nupto = 5"),
        r"scenario.upto: unknown key \(valid: kind, count, every_s\)",
    ),
    "steps": (at_end("[profile]\nsteps = [[0.0, 'all']]"), r"profile.steps: .* is no \[share of"),
    "steps' order": (
        at_end("[profile]\nsteps = [[0.0, 1.0], [0.6, 0.5], [0.3, 1.0]]"),
        "profile.steps: steps must begin at 0.0",
    ),
    "late steps": (at_end("[profile]\nsteps = [[0.2, 1.0]]"), "profile.steps: steps must begin"),
    "negative": (at_end("[profile]\nsteps = [[0.0, -1.0]]"), "profile.steps: a share of the rate"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_refused_with_its_name_the_field_and_the_choices(
    tmp_path: Path, case: str
) -> None:
    text, why = BAD[case]
    with pytest.raises(hr.HeadraceError, match=why) as caught:
        own(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'mine.toml'}: ")


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(hr.HeadraceError, match="cannot be read: No such file"):
        load(str(tmp_path / "gone.toml"))
    (tmp_path / "latin.toml").write_bytes(b"title = '\xe4'")
    with pytest.raises(hr.HeadraceError, match="is not TOML"):
        load(str(tmp_path / "latin.toml"))


# --------------------------------------------------------------------------- real data, rates

REPORT = "0,0,107,32,0,0,0,10,53320,-1,-1,-1,-1,-1,-1\n"


def test_a_real_file_takes_the_place_of_what_is_made(tmp_path: Path) -> None:
    file = tmp_path / "reports.dat"
    file.write_text(REPORT, encoding="utf-8")
    workload = load("linear-road").with_file(file)
    assert workload.streams[0].parameters["file"] == str(file)
    assert columns_of(workload.streams[0], 2)["vid"].to_pylist() == [107, 107]
    assert "file" not in load("linear-road").streams[0].parameters


def test_a_real_file_is_refused_where_nothing_can_read_it(tmp_path: Path) -> None:
    with pytest.raises(hr.HeadraceError, match=r"fields cannot read a file .*linear_road, taxi"):
        load("astream").with_file(tmp_path / "trips.csv")
    with pytest.raises(hr.HeadraceError, match=r"gone\.csv: cannot be read"):
        load("nyt").with_file(tmp_path / "gone.csv")


def test_a_file_named_in_a_workload_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "reports.dat").write_text(REPORT, encoding="utf-8")
    text = GOOD.replace('"fields"', '"linear_road"\nparameters = { file = "reports.dat" }')
    assert columns_of(own(tmp_path, text).streams[0], 1)["speed"].to_pylist() == [32]


def test_makers_that_depend_on_the_rate_are_told() -> None:
    workload = load("linear-road").at_rate(200.0)
    assert columns_of(workload.streams[0], 6001)["vid"].to_pylist()[5999:] == [5999, 0]
    assert load("astream").at_rate(5.0) == load("astream")
