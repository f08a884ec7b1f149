"""Files of real taxi trips, in either of the forms in which they are passed around."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import headrace as hr

PAYMENTS = pa.array(
    ["flex fare", "credit card", "cash", "no charge", "dispute", "unknown", "voided trip"]
)
"""The Commission's payment types; a type's number is its place."""
_UNKNOWN_ZONE = 264

_SAMPLE = {
    "passengers": "passengers",
    "distance": "distance",
    "fare": "fare",
    "tip": "tip",
    "payment": "payment",
    "zone": "pickup_zone",
}
_COMMISSION = {
    "passengers": "passenger_count",
    "distance": "trip_distance",
    "fare": "fare_amount",
    "tip": "tip_amount",
    "payment": "payment_type",
    "zone": "PULocationID",
}
_NUMBERS = ("passengers", "distance", "fare", "tip")


def read_trips(path: Path) -> pa.Table:
    """Trips with the columns that made trips have; what is missing in a row is 0 or unknown."""
    parquet = path.suffix.lower() in (".parquet", ".pq")
    try:
        names = _column_names(path, parquet=parquet)
        chosen = _choose(path, names)
        columns = _read(path, chosen, parquet=parquet)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise hr.HeadraceError(f"trips {path}: cannot be read: {error}") from error
    if not columns["zone"]:
        raise hr.HeadraceError(f"trips {path}: holds no rows")
    numbers = {n: columns[n].fill_null(0.0) for n in _NUMBERS}
    return pa.table(
        {
            **numbers,
            "passengers": numbers["passengers"].cast(pa.int32(), safe=False),
            "payment": _payments(columns["payment"]),
            "zone": _zones(columns["zone"]),
        }
    )


def _column_names(path: Path, *, parquet: bool) -> list[str]:
    if parquet:
        return list(pq.read_schema(path).names)
    with path.open(encoding="utf-8-sig") as lines:
        return lines.readline().rstrip("\r\n").split(",")


def _choose(path: Path, names: list[str]) -> dict[str, str]:
    """The file's own name of every column; case and blanks differ from year to year."""
    own = {n.strip().strip('"').lower(): n.strip('"') for n in names}
    forms = (_SAMPLE, _COMMISSION)
    missing = [[n for n in form.values() if n.lower() not in own] for form in forms]
    for form, lacking in zip(forms, missing, strict=True):
        if not lacking:
            return {column: own[name.lower()] for column, name in form.items()}
    nearest = min(missing, key=len)
    valid = " or ".join(", ".join(form.values()) for form in forms)
    raise hr.HeadraceError(
        f"trips {path}: has no column {' and no column '.join(nearest)} (valid: {valid})"
    )


def _read(path: Path, chosen: dict[str, str], *, parquet: bool) -> dict[str, pa.Array]:
    kinds = {n: pa.float64() if n in _NUMBERS else pa.string() for n in chosen}
    wanted = list(chosen.values())
    if parquet:
        table = pq.read_table(path, columns=wanted)
    else:
        options = pyarrow.csv.ConvertOptions(
            include_columns=wanted, column_types={chosen[n]: kinds[n] for n in chosen}
        )
        table = pyarrow.csv.read_csv(path, convert_options=options)
    return {n: table.column(chosen[n]).cast(kinds[n]).combine_chunks() for n in chosen}


def _payments(column: pa.Array) -> pa.Array:
    """Words as they are, the Commission's numbers as words."""
    words = PAYMENTS.to_pylist()
    by_text = {**{str(n): word for n, word in enumerate(words)}, **{w: w for w in words}}
    coded = _single(column.fill_null("").dictionary_encode())
    texts = [t.strip().lower().removesuffix(".0") for t in coded.dictionary.to_pylist()]
    meant = pa.array([by_text.get(t, "unknown") for t in texts], pa.string())
    return meant.take(coded.indices)


def _zones(column: pa.Array) -> pa.Array:
    """The Commission's numbers; zones by name are numbered in the order of their names."""
    coded = _single(column.fill_null("").dictionary_encode())
    texts = [t.strip() for t in coded.dictionary.to_pylist()]
    try:
        numbers = {t: int(float(t)) for t in texts if t}
    except ValueError:
        numbers = {t: n for n, t in enumerate(sorted({t for t in texts if t}), 1)}
    meant = pa.array([numbers.get(t, _UNKNOWN_ZONE) for t in texts], pa.int32())
    return meant.take(coded.indices)


def _single(column: pa.Array) -> pa.DictionaryArray:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
