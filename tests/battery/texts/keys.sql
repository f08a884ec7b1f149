--@ key-string: strings, empty and NULL
--@ equal
SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), k

--@ key-odd-strings: combining characters, zero bytes, long strings
--@ equal
SELECT s, COUNT(*) AS n, MIN(v) FROM t GROUP BY window(time, '1 hour'), s

--@ key-integers: one key of each width
--@ equal, at length
SELECT tiny, small, i, b, COUNT(*) AS n FROM t GROUP BY window(time, '1 hour'), tiny, small, i, b

--@ key-double: NaN is one key, and so are both zeros
--@ equal
SELECT x, COUNT(*) AS n FROM t GROUP BY window(time, '1 hour'), x

--@ key-float: the same for floats
--@ equal
SELECT f, COUNT(*) AS n FROM t GROUP BY window(time, '1 hour'), f

--@ key-decimals: both decimals
--@ equal
SELECT d, w, COUNT(*) AS n FROM t GROUP BY window(time, '1 hour'), d, w

--@ key-boolean: three groups with NULL
--@ equal, at length
SELECT ok, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), ok

--@ key-times: dates and both kinds of times, with microseconds
--@ equal
SELECT day, ts, ntz, COUNT(*) AS c FROM t GROUP BY window(time, '1 hour'), day, ts, ntz

--@ key-event-time: the event time itself
--@ equal, at length
SELECT time, COUNT(*) AS c FROM t GROUP BY window(time, '1 hour'), time

--@ key-binary: bytes
--@ equal, at length
SELECT bin, COUNT(*) AS c FROM t GROUP BY window(time, '1 hour'), bin

--@ key-struct: documented as refused
--@ refused: type struct
SELECT st, COUNT(*) AS c FROM t GROUP BY window(time, '1 hour'), st

--@ key-array: documented as refused
--@ refused: type array
SELECT arr, COUNT(*) AS c FROM t GROUP BY window(time, '1 hour'), arr

--@ key-map: Spark groups by maps; here documented as refused
--@ refused: type map
SELECT tags, COUNT(*) AS c FROM t GROUP BY window(time, '1 hour'), tags

--@ key-struct-field: a field of a struct
--@ equal, at length
SELECT st.b, COUNT(*) AS c FROM t GROUP BY window(time, '1 hour'), st.b

--@ key-map-value: a value of a map
--@ equal, at length
SELECT tags['a'] AS one, COUNT(*) AS c FROM t GROUP BY window(time, '1 hour'), tags['a']

--@ key-interval: a type that is not among the documented keys
--@ refused: interval
SELECT day - DATE '2024-01-01' AS apart, COUNT(*) FROM t
GROUP BY window(time, '1 hour'), day - DATE '2024-01-01'

--@ key-constant: a constant makes no more groups
--@ equal, at length
SELECT 'x' AS one, COUNT(*) AS c FROM t GROUP BY window(time, '10 seconds'), 'x'

--@ key-null: NULL as a key has a type of which there are no values
--@ refused: void
SELECT COUNT(*) AS c FROM t GROUP BY window(time, '10 seconds'), NULL

--@ key-expression: computed keys, selected as they are
--@ equal, at length
SELECT upper(k), pmod(tiny, 3), COUNT(*) AS c FROM t
GROUP BY window(time, '1 hour'), upper(k), pmod(tiny, 3)

--@ key-expression-of-key: an expression over a computed key
--@ equal, at length
SELECT concat(upper(k), '!') AS loud, COUNT(*) AS c FROM t GROUP BY window(time, '1 hour'), upper(k)

--@ key-expression-of-column-key: an expression over a column that is a key
--@ equal, at length
SELECT length(k) + tiny AS z, COUNT(*) AS c FROM t GROUP BY window(time, '1 hour'), k, tiny

--@ key-boolean-expression: a comparison as a key
--@ equal, at length
SELECT i > 3 AS big, COUNT(*) AS c FROM t GROUP BY window(time, '10 seconds'), i > 3

--@ key-case: CASE as a key
--@ equal, at length
SELECT CASE WHEN i > 3 THEN 'hi' WHEN i < 0 THEN 'lo' END AS z, COUNT(*) AS c FROM t
GROUP BY window(time, '1 minute'), CASE WHEN i > 3 THEN 'hi' WHEN i < 0 THEN 'lo' END

--@ key-date-of-time: the day in the session's time zone
--@ equal, at length
SELECT CAST(time AS DATE) AS local, COUNT(*) AS c FROM t
GROUP BY window(time, '1 hour'), CAST(time AS DATE)

--@ key-by-ordinal: the second item is the key
--@ equal
SELECT window.start, k, COUNT(*) AS c FROM t GROUP BY window(time, '10 seconds'), 2

--@ key-by-alias: the key has a name in SELECT
--@ equal
SELECT lower(k) AS z, COUNT(*) AS c FROM t GROUP BY window(time, '10 seconds'), z

--@ key-alias-shadows: a column wins over an alias in GROUP BY
--@ equal
SELECT upper(k) AS k, COUNT(*) AS c FROM t GROUP BY window(time, '1 hour'), k

--@ key-alias-shadows-other: the alias names another column, which wins
--@ refused: aggregat | group
SELECT tiny AS small, COUNT(*) AS c FROM t GROUP BY window(time, '1 hour'), small

--@ key-ordinal-zero: there is no item of that number
--@ refused: position | names no item
SELECT k, COUNT(*) FROM t GROUP BY window(time, '10 seconds'), 0

--@ key-ordinal-beyond: nor of this
--@ refused: position | names no item
SELECT k, COUNT(*) FROM t GROUP BY window(time, '10 seconds'), 3

--@ key-ordinal-of-aggregate: an aggregate cannot be a key
--@ refused: aggregate
SELECT k, COUNT(*) FROM t GROUP BY window(time, '10 seconds'), 2

--@ key-ordinal-computed: 1 + 1 is a constant, no ordinal
--@ equal
SELECT COUNT(*) AS c FROM t GROUP BY window(time, '10 seconds'), 1 + 1

--@ key-ordinal-brackets: a number in brackets is an ordinal, too
--@ equal
SELECT k, COUNT(*) AS c FROM t GROUP BY window(time, '10 seconds'), (1)

--@ key-negative-ordinal: a negative number
--@ refused: position | names no item
SELECT k, COUNT(*) AS c FROM t GROUP BY window(time, '10 seconds'), -1

--@ key-not-selected: keys that do not show
--@ equal, at length
SELECT COUNT(*) AS c FROM t GROUP BY window(time, '10 seconds'), k, ok

--@ key-twice: a key named twice
--@ equal, at length
SELECT k, COUNT(*) AS c FROM t GROUP BY window(time, '10 seconds'), k, k, K

--@ key-spelt-differently: one key, spelt in three ways
--@ equal
SELECT `k`, t.k, K AS other, COUNT(*) AS c FROM t GROUP BY window(time, '10 seconds'), k

--@ key-column-not-grouped: a column beside aggregates that is no key
--@ refused: aggregat | group
SELECT k, i, COUNT(*) FROM t GROUP BY window(time, '10 seconds'), k

--@ group-by-all: all items that are no aggregates
--@ equal
SELECT window(time, '10 seconds') AS w, k, COUNT(*) AS c FROM t GROUP BY ALL

--@ group-in-brackets: a list in brackets is one struct key
--@ refused: struct | group
SELECT COUNT(*) AS c FROM t GROUP BY window(time, '10 seconds'), (k, ok)

--@ group-without-window: there is no end to wait for
--@ refused: window
SELECT k, COUNT(*) FROM t GROUP BY k

--@ aggregate-without-group: nor here
--@ refused: window
SELECT COUNT(*), MAX(i) FROM t

--@ key-collated: two spellings of one key
--@ equal, at length
SELECT lower(k) AS z, COUNT(*) AS c FROM t GROUP BY window(time, '1 hour'), lower(k)

--@ key-may-raise: a key that raises under ANSI
--@ equal
SELECT CAST(s AS INT) AS z, COUNT(*) AS c FROM t GROUP BY window(time, '1 hour'), CAST(s AS INT)

--@ key-wide: ten keys at once
--@ equal, at length
SELECT COUNT(*) AS c, k, s, tiny, small, i, b, ok, day, bin, d FROM t
GROUP BY window(time, '1 day'), k, s, tiny, small, i, b, ok, day, bin, d
