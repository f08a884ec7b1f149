"""Runs texts of one slice together on one session, and tells what became of each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import ManualClock
from tests.battery.lanes import Feed, Lane, feed
from tests.battery.oracle import Failed, Outcome, Refused, Setting
from tests.battery.rows import LATENESS, NAMES, closing_row, stream_rows
from tests.battery.texts import Text


def refusal(session: hr.Session, text: Text) -> str | None:
    """What is wrong with how a text is refused; None if it is refused for the right reason."""
    try:
        session.sql(text.sql)
    except hr.QueryError as error:
        said = str(error).lower()
        if any(word in said for word in text.refusals):
            return None
        return f"it is refused for another reason: {error}"
    except Exception as error:
        return f"session.sql raises {type(error).__name__}: {str(error)[:300]}"
    return "it is accepted"


def run_together(
    spark: SparkSession, setting: Setting, lane: Lane, texts: Sequence[Text]
) -> dict[str, Outcome]:
    """What every text gives when all are run at once.

    If a stream stops, nothing can be said of anyone: then halves are run apart, until it is known
    whose text stops it. Its outcome is the stream's error.
    """
    try:
        return _run(setting.session(spark), lane, texts)
    except hr.HeadraceError as error:
        if len(texts) == 1:
            return {texts[0].id: Failed(f"the stream stops: {error}")}
    half = len(texts) // 2
    return run_together(spark, setting, lane, texts[:half]) | run_together(
        spark, setting, lane, texts[half:]
    )


def declare(
    session: hr.Session, spark: SparkSession, lane: Lane, streams: Sequence[str], folder: Path
) -> dict[str, Feed]:
    """Declare streams on a session."""
    feeds = {name: feed(lane, spark, name, folder / name) for name in streams}
    for name, source in feeds.items():
        session.stream(name, source.source, event_time="time", lateness=LATENESS, max_ahead=None)
    return feeds


def _run(spark: SparkSession, lane: Lane, texts: Sequence[Text]) -> dict[str, Outcome]:
    used = {name for text in texts for name in text.streams}
    streams = [name for name in NAMES if name in used]
    with (
        TemporaryDirectory(prefix="battery-") as folder,
        hr.Session(
            spark, clock=ManualClock(), sharing="off" if lane == "catalyst" else "auto"
        ) as session,
    ):
        feeds = declare(session, spark, lane, streams, Path(folder))
        asked = {text.id: _asked(session, text) for text in texts}
        session.start()
        for tables in zip(*(stream_rows(name) for name in streams), strict=True):
            for source, table in zip(feeds.values(), tables, strict=True):
                source.push(table)
            session.process_all_available()
        # A selection has answered already: the tuple that closes the windows is not for it.
        selected = {
            name: _outcome(query)
            for name, query in asked.items()
            if isinstance(query, Refused) or query.logical.window is None
        }
        for name, source in feeds.items():
            source.push(closing_row(name))
        session.process_all_available()
        grouped = {n: _outcome(query) for n, query in asked.items() if n not in selected}
        return selected | grouped


def _asked(session: hr.Session, text: Text) -> hr.Query | Refused:
    try:
        return session.sql(text.sql)
    except hr.QueryError as error:
        return Refused(str(error))
    except Exception as error:
        return Refused(f"session.sql raises {type(error).__name__}: {error}")


def _outcome(query: hr.Query | Refused) -> Outcome:
    if isinstance(query, Refused):
        return query
    if query.status == "failed":
        return Failed(query.error or "")
    table = query.collect()
    return table if isinstance(table, pa.Table) else Failed("no table")
