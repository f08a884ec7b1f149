"""`JoinReader`: an analyzed statement that joins streams to a `LogicalQuery`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from headrace.errors import UnsupportedQuery
from headrace.query.expression import Expression
from headrace.query.join import Join, JoinSide, Meeting, Place, Variable
from headrace.query.logical import AggregateCall, LogicalQuery, OrderItem
from headrace.query.window import TimeWindow, Window
from headrace.sql.aggregates import AggregateReader, instead, is_keyable
from headrace.sql.approx import Hint
from headrace.sql.joins.conditions import Conditions, conditions_of, sides_of
from headrace.sql.joins.windows import STANDS
from headrace.sql.judge import Relation, refuse_unlisted
from headrace.sql.reader import Reader, Results, Shape, distinct
from headrace.sql.text import error_at
from headrace.sql.tree import Branch, Node, Operator, Shown, Statement, Writer

MOST_SIDES = 5
_ONE_SIDE = "keys, aggregates and their FILTER over the columns of one stream each"


@dataclass(slots=True)
class JoinReader:
    """Working state while one statement is read; every side has a reader of its own."""

    text: str
    relations: Sequence[Relation]
    statement: Statement
    writer: Writer
    window: Window | None = None
    hint: Hint | None = None
    sides: list[Reader] = field(init=False)
    _keys: list[dict[object, Expression]] = field(init=False)
    """Of each side, by what they mean."""

    def __post_init__(self) -> None:
        self.sides = [
            Reader(self.text, r.stream, self.statement, self.writer) for r in self.relations
        ]
        self._keys = [{} for _ in self.relations]

    @property
    def constants(self) -> tuple[Node, ...]:
        """Numbers that stand in no SQL of the query, only as bounds, parameters and its limit."""
        return tuple(n for side in self.sides for n in side.constants)

    def read(self) -> LogicalQuery:
        """The query of the statement."""
        joined = self.statement.branch.joined
        assert joined is not None
        shape = Shape.of(self.text, self.statement)
        outputs = self._outputs()
        nodes = [*(o.node for o in outputs), *shape.nodes, *self.statement.branch.expressions]
        refuse_unlisted(self.text, nodes)
        self._check_shape(shape)
        found = conditions_of(self.text, joined, shape.where, len(self.relations))
        self._check_windows(found)
        wheres = [side.keeps(found.keeps[n]) for n, side in enumerate(self.sides)]
        variables = self._variables(found)
        meeting = Meeting(found.kind, len(self.sides), variables)
        self._check_connected(meeting)
        if shape.aggregate is None:
            query, keys = self._rows(shape, outputs, found, meeting)
        else:
            query, keys = self._aggregation(shape, shape.aggregate, outputs, found, meeting)
        meeting = replace(
            meeting,
            keys=tuple(self._places(k, meeting) for k in keys),
            gates=self._flags(found.gates),
            after=self._flags(found.after),
        )
        sides = tuple(
            JoinSide(
                relation.stream.name,
                relation.name,
                tuple(self._keys[n].values()),
                wheres[n],
                self.sides[n].where_sql,
            )
            for n, relation in enumerate(self.relations)
        )
        query = replace(query, join=Join(sides, meeting, shows_rows=shape.aggregate is None))
        self.sides[0].check_types(query.outputs)
        self.sides[0].check_faithful(nodes)
        return query

    # -- the two kinds of query ---------------------------------------------------------------

    def _rows(
        self, shape: Shape, outputs: Sequence[Shown], found: Conditions, meeting: Meeting
    ) -> tuple[LogicalQuery, list[Node]]:
        """Every row of the join is shown; what is asked across sides is asked of finished rows."""
        shown = [*(o.node for o in outputs), *(o.children[0] for o in shape.order)]
        if found.across and meeting.kind != "inner":
            raise self._across(found.across[0], "a condition of an outer join")
        keys = distinct(k for n in (*shown, *found.across) for k in self._parts(n, meeting))
        results = self._results(keys, [], [*shown, *found.across], meeting)
        having = " AND ".join(f"({results.sql(c)})" for c in found.across)
        return self._query(results, shape, outputs, having=having or None), keys

    def _aggregation(
        self,
        shape: Shape,
        aggregate: Operator,
        outputs: Sequence[Shown],
        found: Conditions,
        meeting: Meeting,
    ) -> tuple[LogicalQuery, list[Node]]:
        if found.across:
            raise self._across(found.across[0], "a condition")
        shown = [o.node for o in outputs]
        grouped = aggregate.expressions
        keys = distinct(n for n in grouped if not _is_window(n))
        windows = [n for n in grouped if _is_window(n)]
        tops = (*shown, *shape.having, *shape.order)
        calls = distinct(n for t in tops for n in t.walk() if n.kind == "AggregateExpression")
        if not windows:
            at = calls[0] if calls else keys[0] if keys else None
            name = self.relations[min(self._shown_sides(meeting))].name
            raise self._error(
                at,
                "the rows of the join are not grouped by its window",
                f"add the window of {name} to GROUP BY",
            )
        for key in keys:
            if any(n.kind == "Window" for n in key.walk()):
                raise self._error(
                    key,
                    "a key that is made of a window is not supported",
                    "GROUP BY the window itself, and select its start and end",
                )
        results = self._results(keys, calls, [*tops, *grouped], meeting)
        having, parameters = self.sides[0].having_of(results, shape.having)
        query = self._query(results, shape, outputs, having=having)
        aggregates = tuple(self._call(c, meeting) for c in calls)
        return replace(query, aggregates=aggregates, parameters=parameters), keys

    def _query(
        self, results: Results, shape: Shape, outputs: Sequence[Shown], *, having: str | None
    ) -> LogicalQuery:
        return LogicalQuery(
            text=self.text,
            stream=self.relations[0].stream.name,
            window=self.window,
            keys=tuple(Expression("", k.type) for k in results.keys),  # columns of results
            outputs=tuple(results.output(o) for o in outputs),
            having=having,
            order_by=tuple(
                OrderItem(f"{results.sql(o.children[0])} {o.name}") for o in shape.order
            ),
            limit=self.sides[0].limit_of(shape.limit),
        )

    def _call(self, node: Node, meeting: Meeting) -> AggregateCall:
        """An aggregate over the tuples of one side; over none, of one that is always there."""
        sides = sides_of(node)
        if len(sides) > 1:
            raise self._across(node, "an aggregate")
        always = sides or self._shown_sides(meeting)
        side = min(always, default=0)
        reader = self.sides[side]
        call = AggregateReader(self.text, reader.sql_of, reader.expression).read(node)
        if call.argument is None:
            return call
        if not always:
            raise self._error(node, "an aggregate of a constant is not supported here", "COUNT(*)")
        return replace(call, side=side)

    # -- keys ---------------------------------------------------------------------------------

    def _place(self, side: int, node: Node, what: str) -> Place:
        """The key of a side that an expression is."""
        if node.same not in self._keys[side]:
            if not is_keyable(node.type):
                raise self._error(
                    node, f"{what} of type {node.type} is not supported", instead(node.type)
                )
            reader = self.sides[side]
            self._keys[side][node.same] = reader.expression(reader.sql_of(node), node.type, [node])
        return Place(side, list(self._keys[side]).index(node.same))

    def _variables(self, found: Conditions) -> tuple[Variable, ...]:
        """Keys that are equal to each other, whoever says so."""
        classes: list[Variable] = []
        for one, other, null_safe in found.equal:
            places = {self._place(min(sides_of(n)), n, "a join by a value") for n in (one, other)}
            same = [v for v in classes if places & set(v.places)]
            together = Variable(
                tuple(sorted({*places, *(p for v in same for p in v.places)})),
                null_safe and all(v.null_safe for v in same),
            )
            classes = [*(v for v in classes if v not in same), together]
        return tuple(classes)

    def _flags(self, conditions: Sequence[Sequence[Node]]) -> tuple[Place, ...]:
        """Boolean keys that say whether the conditions of each side hold."""
        found = []
        for side, asked in enumerate(conditions):
            if asked:
                reader = self.sides[side]
                sql = " AND ".join(f"({reader.sql_of(c)})" for c in asked)
                self._keys[side].setdefault(sql, reader.expression(sql, "boolean", asked))
                found.append(Place(side, list(self._keys[side]).index(sql)))
        return tuple(found)

    def _places(self, key: Node, meeting: Meeting) -> tuple[Place, ...]:
        """Where a key of the answer comes from."""
        either = self._either(key, meeting)
        if either:
            return either
        sides = sides_of(key)
        if len(sides) > 1:
            raise self._across(key, "a key")
        side = min(sides or self._shown_sides(meeting), default=0)
        return (self._place(side, key, "a key"),)

    def _either(self, node: Node, meeting: Meeting) -> tuple[Place, ...]:
        """The places of a variable of which the first that is there is taken, as USING does."""
        if node.kind != "Coalesce":
            return ()
        places = []
        for child in node.children:
            sides = sides_of(child)
            if len(sides) != 1 or child.same not in self._keys[min(sides)]:
                return ()
            places.append(self._place(min(sides), child, "a key"))
        if not any(set(places) <= set(v.places) for v in meeting.variables):
            return ()
        always = [p for p in places if p.side in self._shown_sides(meeting)]
        if always:
            return (always[0],)
        whole = meeting.kind == "full" and {p.side for p in places} == {0, 1}
        return tuple(places) if whole else ()

    def _parts(self, node: Node, meeting: Meeting) -> list[Node]:
        """The largest parts of an expression that are keys: of one side each."""
        if self._either(node, meeting):
            return [node]
        sides, has_window = sides_of(node), any(n.kind == "Window" for n in node.walk())
        if not sides or _is_window(node):
            return []
        if len(sides) == 1 and not has_window and (is_keyable(node.type) or not node.children):
            return [node]
        return [k for child in node.children for k in self._parts(child, meeting)]

    # -- results ------------------------------------------------------------------------------

    def _outputs(self) -> list[Shown]:
        """The result columns; not the windows that Spark was given to join by, unless asked for."""
        found = []
        for shown in self.statement.outputs:
            if shown.name.startswith(STANDS):
                span = shown.node.span
                if span is None or not self.text[slice(*span)].lower().startswith("window"):
                    continue
                shown = Shown(shown.name.partition(".")[2] or "window", shown.node)
            found.append(shown)
        return found

    def _results(
        self, keys: Sequence[Node], calls: Sequence[Node], tops: Sequence[Node], meeting: Meeting
    ) -> Results:
        windows = distinct(n for t in tops for n in t.walk() if _is_window(n))
        inside = {c.number for w in windows if w.kind == "Coalesce" for c in w.children}
        shown = self._shown_sides(meeting)
        for window in windows:
            is_there = sides_of(window) & shown or (
                meeting.kind == "full" and sides_of(window) == {0, 1}
            )
            if not is_there and window.number not in inside:
                choices = [f"the window of {self.relations[n].name}" for n in sorted(shown)]
                raise self._error(
                    window,
                    "this window is NULL where a tuple has no partner",
                    *(choices or ["coalesce(p.w, a.w), or USING (w, …)"]),
                )
        return Results(self.writer, tuple(keys), tuple(calls), tuple(windows))

    def _shown_sides(self, meeting: Meeting) -> frozenset[int]:
        """The sides that have a tuple in every row."""
        if meeting.kind in ("semi", "anti"):
            return frozenset({0})
        return frozenset(range(meeting.sides)) - meeting.filled

    # -- what may not be ----------------------------------------------------------------------

    def _check_shape(self, shape: Shape) -> None:
        if len(self.relations) > MOST_SIDES:
            raise self._error(
                None, f"a join of {len(self.relations)} streams is not supported", "2 to 5 streams"
            )
        if self.hint is not None:
            raise error_at(
                self.text,
                self.hint.span,
                "joins cannot be approximate",
                "leave out the hint",
                kind=UnsupportedQuery,
            )
        if self.window is not None and not isinstance(self.window, TimeWindow):
            raise self._error(None, "streams are not joined by sessions", "window(time, …)")

    def _check_windows(self, found: Conditions) -> None:
        """All sides are in the same window, over their own event times."""
        leaves = self._leaves()
        met = {0}
        while more := {s for pair in found.windows if met & set(pair) for s in pair} - met:
            met |= more
        for number, relation in enumerate(self.relations):
            over, time = leaves[number], relation.stream.event_time
            if number not in met or not over:
                other = self.relations[0 if number else 1]
                raise self._error(
                    None,
                    f"nothing says that tuples of {relation.name} and {other.name} that are joined "
                    "are in the same window",
                    f"ON window({relation.name}.{time}, '8 seconds') = "
                    f"window({other.name}.{other.stream.event_time}, '8 seconds') AND …",
                )
            if over != (time,):
                raise self._error(
                    None,
                    f"the window of {relation.name} is over {', '.join(over)}, which is not the "
                    f"event time of {relation.stream.name!r}",
                    f"the event time is {time!r}",
                )

    def _leaves(self) -> list[tuple[str, ...]]:
        """What the window of each side is over."""
        found: list[tuple[str, ...]] = []

        def walk(branch: Branch) -> None:
            if branch.joined is None:
                found.append(branch.window_over)
            else:
                walk(branch.joined.left)
                walk(branch.joined.right)

        walk(self.statement.branch)
        return found

    def _check_connected(self, meeting: Meeting) -> None:
        try:
            assert meeting.order
        except ValueError:
            names = " and ".join(r.name for r in self.relations)
            raise self._error(
                None,
                f"nothing but the window joins all of {names}: every tuple would meet every other",
                "join them by columns that must be equal",
            ) from None

    def _across(self, node: Node, what: str) -> UnsupportedQuery:
        return self._error(
            node, f"{what} over columns of several streams is not supported here", _ONE_SIDE
        )

    def _error(self, node: Node | None, message: str, *choices: str) -> UnsupportedQuery:
        span = node.span if node is not None else None
        error = error_at(self.text, span, message, *choices, kind=UnsupportedQuery)
        assert isinstance(error, UnsupportedQuery)
        return error


def _is_window(node: Node) -> bool:
    """A window of the join, or the one that is there of two."""
    if node.kind == "Coalesce":
        return all(_is_window(c) for c in node.children)
    return node.kind == "Window"
