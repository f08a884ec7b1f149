--@ having: a condition on an aggregate
--@ equal, at length
SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), k HAVING COUNT(*) > 1

--@ having-alias: a condition on an alias
--@ equal
SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), k HAVING n > 1

--@ having-hidden: an aggregate that is not selected
--@ equal, at length
SELECT window.start, k FROM t GROUP BY window(time, '10 seconds'), k HAVING MAX(tiny) > 3 AND MIN(v) < 0

--@ having-key: a condition on a key
--@ equal, at length
SELECT k, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), k HAVING k IN ('a', 'b') OR k IS NULL

--@ having-window: a condition on the window
--@ equal, at length
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds') HAVING window.start >= '2024-10-27 00:00:00'

--@ having-constant: a condition on nothing
--@ equal, at length
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds') HAVING 1 = 1

--@ having-never: nothing comes out
--@ equal, at length
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds') HAVING COUNT(*) < 0

--@ having-without-aggregates: HAVING over a list of groups
--@ equal
SELECT k FROM t GROUP BY window(time, '10 seconds'), k HAVING k > 'a'

--@ having-without-group: HAVING with no GROUP BY
--@ refused: window | having
SELECT k FROM t HAVING k > 'a'

--@ having-shadow: an alias that is also a column: the column wins
--@ equal
SELECT COUNT(*) AS tiny, tiny AS z FROM t GROUP BY window(time, '10 seconds'), tiny HAVING tiny > 2

--@ having-alias-of-column: an alias that hides a column which is no key
--@ equal
SELECT window.start, SUM(tiny) AS tiny FROM t GROUP BY window(time, '10 seconds') HAVING tiny > 2

--@ having-alias-of-other-type: Spark tries the column first, and its type does not fit
--@ refused: mismatch
SELECT window.start, COUNT(*) AS ntz FROM t GROUP BY window(time, '10 seconds') HAVING ntz > 1

--@ having-not-grouped: a column that is neither
--@ refused: aggregat | group | name `i`
SELECT k, COUNT(*) FROM t GROUP BY window(time, '10 seconds'), k HAVING i > 3

--@ having-constants: conditions that differ in a constant only
--@ equal, at length
SELECT window.start, k, SUM(tiny) AS s FROM t GROUP BY window(time, '10 seconds'), k HAVING SUM(tiny) > 3 AND s <> 7.0

--@ having-constants-too: the same with other constants
--@ equal, at length
SELECT window.start, k, SUM(tiny) AS s FROM t GROUP BY window(time, '10 seconds'), k HAVING SUM(tiny) > -3.5 AND s <> 1

--@ having-distinct: an aggregate with DISTINCT and one with FILTER
--@ equal, at length
SELECT window.start FROM t GROUP BY window(time, '10 seconds')
HAVING COUNT(DISTINCT k) > 2 AND COUNT(*) FILTER (WHERE ok) > 1

--@ having-may-raise: a condition that raises under ANSI
--@ equal
SELECT window.start, COUNT(*) FROM t GROUP BY window(time, '10 seconds') HAVING 10 / COUNT_IF(k = 'c') > 2

--@ having-like: other predicates over results
--@ equal, at length
SELECT k, MAX(s) AS z FROM t GROUP BY window(time, '1 hour'), k HAVING MAX(s) LIKE '%x%' OR z BETWEEN 'a' AND 'c' OR MIN(i) IS NULL

--@ order: by two items
--@ equal, at length
SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), k ORDER BY n DESC, k

--@ order-limit: the two largest of every window
--@ equal
SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), k ORDER BY n DESC, k LIMIT 2
--@ oracle
SELECT start, k, n FROM (
  SELECT start, k, n, row_number() OVER (PARTITION BY start ORDER BY n DESC, k) AS place FROM (
    SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), k)) WHERE place <= 2

--@ order-ordinal-limit: by the number of an item
--@ equal, at length
SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), k ORDER BY 2 LIMIT 2
--@ oracle
SELECT start, k, n FROM (
  SELECT start, k, n, row_number() OVER (PARTITION BY start ORDER BY k) AS place FROM (
    SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), k)) WHERE place <= 2

--@ order-ordinal-nulls-last: with direction and place of NULLs
--@ equal
SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), k ORDER BY 2 DESC NULLS FIRST LIMIT 2
--@ oracle
SELECT start, k, n FROM (
  SELECT start, k, n, row_number() OVER (PARTITION BY start ORDER BY k DESC NULLS FIRST) AS place FROM (
    SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), k)) WHERE place <= 2

--@ order-nulls-last: NULL after all others
--@ equal, at length
SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), k ORDER BY k NULLS LAST LIMIT 3
--@ oracle
SELECT start, k, n FROM (
  SELECT start, k, n, row_number() OVER (PARTITION BY start ORDER BY k NULLS LAST) AS place FROM (
    SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), k)) WHERE place <= 3

--@ order-minus-key: an expression that begins with a number is no ordinal
--@ equal
SELECT window.start, tiny, COUNT(*) AS n FROM t GROUP BY window(time, '1 minute'), tiny ORDER BY 2 - tiny LIMIT 2
--@ oracle
SELECT start, tiny, n FROM (
  SELECT start, tiny, n, row_number() OVER (PARTITION BY start ORDER BY 2 - tiny) AS place FROM (
    SELECT window.start, tiny, COUNT(*) AS n FROM t GROUP BY window(time, '1 minute'), tiny)) WHERE place <= 2

--@ order-minus-alias: the same with an alias
--@ equal
SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '1 minute'), k ORDER BY 1 - n, k LIMIT 2
--@ oracle
SELECT start, k, n FROM (
  SELECT start, k, n, row_number() OVER (PARTITION BY start ORDER BY 1 - n, k) AS place FROM (
    SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '1 minute'), k)) WHERE place <= 2

--@ order-times-aggregate: a number times an aggregate
--@ equal
SELECT window.start, k FROM t GROUP BY window(time, '1 minute'), k ORDER BY 2 * COUNT(*), k LIMIT 2
--@ oracle
SELECT start, k FROM (
  SELECT start, k, row_number() OVER (PARTITION BY start ORDER BY n, k) AS place FROM (
    SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '1 minute'), k)) WHERE place <= 2

--@ order-share: an expression of an alias
--@ equal
SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '1 minute'), k ORDER BY 100 * n / 7 DESC, k DESC LIMIT 1
--@ oracle
SELECT start, k, n FROM (
  SELECT start, k, n, row_number() OVER (PARTITION BY start ORDER BY n DESC, k DESC) AS place FROM (
    SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '1 minute'), k)) WHERE place <= 1

--@ order-hidden: by an aggregate that is not selected
--@ equal, at length
SELECT window.start, k FROM t GROUP BY window(time, '1 minute'), k ORDER BY SUM(v) DESC LIMIT 1
--@ oracle
SELECT start, k FROM (
  SELECT start, k, row_number() OVER (PARTITION BY start ORDER BY z DESC) AS place FROM (
    SELECT window.start, k, SUM(v) AS z FROM t GROUP BY window(time, '1 minute'), k)) WHERE place <= 1

--@ order-case: by CASE
--@ equal, at length
SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '1 minute'), k
ORDER BY CASE k WHEN 'b' THEN 0 WHEN 'a' THEN 1 ELSE 2 END, k DESC NULLS LAST LIMIT 2
--@ oracle
SELECT start, k, n FROM (
  SELECT start, k, n, row_number() OVER (PARTITION BY start
    ORDER BY CASE k WHEN 'b' THEN 0 WHEN 'a' THEN 1 ELSE 2 END, k DESC NULLS LAST) AS place FROM (
    SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '1 minute'), k)) WHERE place <= 2

--@ order-shadow: an alias that is also a column: the alias wins
--@ equal
SELECT window.start, k AS z, -COUNT(*) AS k FROM t GROUP BY window(time, '1 minute'), t.k ORDER BY k, z LIMIT 1
--@ oracle
SELECT start, z, k FROM (
  SELECT start, z, k, row_number() OVER (PARTITION BY start ORDER BY k, z) AS place FROM (
    SELECT window.start, k AS z, -COUNT(*) AS k FROM t GROUP BY window(time, '1 minute'), t.k)) WHERE place <= 1

--@ order-doubles: NaN is largest, both zeros are equal
--@ equal, at length
SELECT window.start, x, COUNT(*) AS n FROM t GROUP BY window(time, '1 hour'), x ORDER BY x DESC LIMIT 3
--@ oracle
SELECT start, x, n FROM (
  SELECT start, x, n, row_number() OVER (PARTITION BY start ORDER BY x DESC) AS place FROM (
    SELECT window.start, x, COUNT(*) AS n FROM t GROUP BY window(time, '1 hour'), x)) WHERE place <= 3

--@ order-strings: UTF-8's order
--@ equal, at length
SELECT window.start, s, COUNT(*) AS n FROM t GROUP BY window(time, '1 hour'), s ORDER BY s DESC LIMIT 5
--@ oracle
SELECT start, s, n FROM (
  SELECT start, s, n, row_number() OVER (PARTITION BY start ORDER BY s DESC) AS place FROM (
    SELECT window.start, s, COUNT(*) AS n FROM t GROUP BY window(time, '1 hour'), s)) WHERE place <= 5

--@ order-all: all items, from left to right
--@ equal
SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), k ORDER BY ALL

--@ order-all-limit: with a limit it matters
--@ equal
SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), k ORDER BY ALL LIMIT 1
--@ oracle
SELECT start, k, n FROM (
  SELECT start, k, n, row_number() OVER (PARTITION BY start ORDER BY k) AS place FROM (
    SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), k)) WHERE place <= 1

--@ order-having-limit: all three together
--@ equal
SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '1 minute'), k HAVING n > 1 ORDER BY n, k DESC LIMIT 2
--@ oracle
SELECT start, k, n FROM (
  SELECT start, k, n, row_number() OVER (PARTITION BY start ORDER BY n, k DESC) AS place FROM (
    SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '1 minute'), k HAVING n > 1)) WHERE place <= 2

--@ order-session-limit: within sessions
--@ equal, at length
SELECT session_window.start, k, COUNT(*) AS n FROM t GROUP BY session_window(time, '1 minute'), k ORDER BY k LIMIT 100

--@ order-ordinal-beyond: there is no such item
--@ refused: position | names no item
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds') ORDER BY 3

--@ order-constant: a constant that is no whole number orders nothing
--@ equal, at length
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds') ORDER BY 'x', 1.5

--@ order-unknown: there is no such column
--@ refused: zzz
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds') ORDER BY zzz

--@ limit-zero: nothing
--@ equal, at length
SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), k ORDER BY k LIMIT 0

--@ limit-all: LIMIT ALL is no limit
--@ equal
SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), k ORDER BY k LIMIT ALL

--@ limit-expression: a limit that is computed
--@ refused: limit
SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), k ORDER BY k LIMIT 1 + 1

--@ limit-negative: a negative one
--@ refused: limit
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds') ORDER BY n LIMIT -1

--@ limit-null: none at all
--@ refused: limit
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds') ORDER BY n LIMIT NULL

--@ limit-offset: the third only
--@ refused: offset
SELECT window.start, k, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), k ORDER BY k LIMIT 1 OFFSET 2

--@ selection-order: a selection has no end after which it could be sorted
--@ refused: order by
SELECT k FROM t ORDER BY k

--@ selection-limit: nor to be cut
--@ refused: limit
SELECT k FROM t LIMIT 5

--@ sort-by: by partitions of Spark's
--@ refused: sort by
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds') SORT BY n
