--@ counts: rows, values, constants
--@ equal, at length
SELECT window.start, COUNT(*), COUNT(1), COUNT(k), COUNT(i) FROM t GROUP BY window(time, '10 seconds')

--@ count-null: counts nothing
--@ equal
SELECT window.start, COUNT(NULL) AS n FROM t GROUP BY window(time, '10 seconds')

--@ count-several: rows in which neither is NULL
--@ equal
SELECT window.start, COUNT(k, i) AS n, COUNT(ok, s, d) AS z FROM t GROUP BY window(time, '10 seconds')

--@ count-star-of-stream: Spark refuses a qualified star, which it would not count as rows
--@ refused: count | '*'
SELECT window.start, COUNT(t.*) AS n FROM t GROUP BY window(time, '10 seconds')

--@ count-nothing: COUNT() is refused by Spark
--@ refused: count
SELECT window.start, COUNT() AS n FROM t GROUP BY window(time, '10 seconds')

--@ count-distinct: one column
--@ equal, at length
SELECT window.start, COUNT(DISTINCT k) AS n, COUNT(DISTINCT i) AS z FROM t GROUP BY window(time, '1 minute')

--@ count-distinct-microseconds: times that differ in the last digit
--@ equal
SELECT window.start, COUNT(DISTINCT ts, k) AS n, COUNT(DISTINCT ntz, ok) AS z FROM t GROUP BY window(time, '1 hour')

--@ count-distinct-decimal: a decimal beside a large number
--@ equal
SELECT window.start, COUNT(DISTINCT d, b) AS n, COUNT(DISTINCT w, b) AS z FROM t GROUP BY window(time, '1 hour')

--@ count-distinct-nan: NaN is one value, and so are both zeros
--@ equal
SELECT window.start, COUNT(DISTINCT x) AS n, COUNT(DISTINCT x, k) AS z, COUNT(DISTINCT f, ok) AS y
FROM t GROUP BY window(time, '1 hour')

--@ count-distinct-binary: bytes and strings in one tuple of values
--@ equal
SELECT window.start, COUNT(DISTINCT bin, s) AS n FROM t GROUP BY window(time, '1 hour')

--@ count-distinct-nested: a struct, an array
--@ refused: count(distinct
SELECT window.start, COUNT(DISTINCT st) AS n, COUNT(DISTINCT arr) AS z FROM t GROUP BY window(time, '1 hour')

--@ count-distinct-expression: of expressions
--@ equal, at length
SELECT window.start, COUNT(DISTINCT upper(k), pmod(tiny, 3)) AS n FROM t GROUP BY window(time, '1 hour')

--@ count-distinct-star: of whole rows, one column of which is a struct
--@ refused: count(distinct
SELECT window.start, COUNT(DISTINCT *) AS n FROM dots GROUP BY window(time, '1 hour')

--@ sum-distinct: every value once
--@ refused: distinct
SELECT window.start, SUM(DISTINCT tiny) AS s FROM t GROUP BY window(time, '10 seconds')

--@ sums: of every numeric type
--@ equal, at length
SELECT window.start, SUM(tiny), SUM(small), SUM(i), SUM(d), SUM(v) FROM t GROUP BY window(time, '10 seconds')

--@ sum-overflow: raises under ANSI, wraps without
--@ equal
SELECT window.start, SUM(b) AS s FROM t WHERE b > 9000000000000000000 GROUP BY window(time, '1 day')

--@ sum-decimal-overflow: raises under ANSI, NULL without
--@ equal
SELECT window.start, SUM(w) AS s FROM t WHERE w > 99 GROUP BY window(time, '1 day')

--@ average-decimal-overflow: the quotient has no room for four digits more
--@ equal
SELECT window.start, AVG(CAST('999999999999999999999999999999999' AS DECIMAL(38,5))) AS a FROM t GROUP BY window(time, '1 day')

--@ average-decimal-sum-overflow: the sum has no room
--@ equal
SELECT window.start, AVG(CAST('99999999999999999999999999999999999999' AS DECIMAL(38,0))) AS a FROM t GROUP BY window(time, '1 day')

--@ average-decimal-wide: many digits, and room for them
--@ equal
SELECT window.start, AVG(CAST(b AS DECIMAL(30,6)) * 100000) AS a, AVG(w) AS c FROM t WHERE w < 99 AND b < 1000000 GROUP BY window(time, '1 day')

--@ sum-of-infinities: infinity and NaN spread
--@ equal, at length
SELECT window.start, SUM(x) AS s FROM t WHERE x > 1e305 GROUP BY window(time, '1 day')

--@ sum-of-strings: strings that are numbers
--@ equal, at length
SELECT window.start, SUM(s) AS z, AVG(s) AS y FROM t WHERE s IN ('12', '-7') GROUP BY window(time, '10 seconds')

--@ sum-of-constant: a constant summed up
--@ equal, at length
SELECT window.start, SUM(2) AS z, AVG(1.5) AS y, MAX('m') AS x FROM t GROUP BY window(time, '10 seconds')

--@ sum-of-null: the sum of nothing
--@ equal
SELECT window.start, SUM(NULL) AS z, MAX(CAST(NULL AS INT)) AS y FROM t GROUP BY window(time, '10 seconds')

--@ max-of-null: NULL by itself has a type of which there are no values
--@ refused: void
SELECT window.start, MAX(NULL) AS y FROM t GROUP BY window(time, '10 seconds')

--@ sum-of-intervals: Spark adds intervals up
--@ refused: interval
SELECT window.start, SUM(ntz - TIMESTAMP_NTZ '2024-01-01 00:00:00') AS z FROM t GROUP BY window(time, '10 seconds')

--@ averages: of every numeric type
--@ equal, at length
SELECT window.start, AVG(tiny), MEAN(i), AVG(d), AVG(v), AVG(f) FROM t WHERE f < 100 GROUP BY window(time, '10 seconds')

--@ average-of-bigint: near the ends of the type
--@ equal, at length
SELECT window.start, AVG(b) AS a FROM t WHERE b > 0 GROUP BY window(time, '1 minute')

--@ extremes-of-all: smallest and largest of every type
--@ equal
SELECT window.start, MIN(tiny), MAX(small), MIN(i), MAX(b), MIN(d), MAX(w), MIN(s), MAX(s), MIN(ok),
       MAX(ok), MIN(day), MAX(ts), MIN(ntz), MAX(bin), MIN(bin), MAX(time)
FROM t GROUP BY window(time, '10 seconds')

--@ extremes-with-nan: NaN is the largest
--@ equal, at length
SELECT window.start, MIN(x + 0.0D) AS lo, MAX(x + 0.0D) AS hi, MAX(f + 0.0F) AS fhi FROM t GROUP BY window(time, '10 seconds')

--@ extremes-of-nested: arrays and structs have an order
--@ refused: type
SELECT window.start, MAX(arr) AS a, MIN(st) AS b FROM t GROUP BY window(time, '10 seconds')

--@ deviations: of samples and populations, of one value and of none
--@ equal, at length
SELECT window.start, STDDEV(v), STD(i), STDDEV_SAMP(tiny), STDDEV_POP(d), VARIANCE(v), VAR_SAMP(v), VAR_POP(v)
FROM t WHERE i BETWEEN -99 AND 99 AND abs(d) < 1000 GROUP BY window(time, '5 seconds')

--@ deviation-with-nan: NaN spreads
--@ equal, at length
SELECT window.start, STDDEV(x) AS a, VAR_POP(x) AS b FROM t WHERE x > 1.7e308 GROUP BY window(time, '1 hour')

--@ booleans: all, any, how many
--@ equal, at length
SELECT window.start, BOOL_AND(ok), BOOL_OR(ok), EVERY(i > 0), COUNT_IF(ok), COUNT_IF(i > 3) FROM t GROUP BY window(time, '10 seconds')

--@ any-some: other names of BOOL_OR
--@ equal
SELECT window.start, ANY(ok) AS a, SOME(i > 3) AS b FROM t GROUP BY window(time, '10 seconds')

--@ percentiles: one and several
--@ equal
SELECT window.start, PERCENTILE_APPROX(tiny, 0.5) AS a, APPROX_PERCENTILE(v, array(0.0, 0.25, 1.0)) AS b
FROM t GROUP BY window(time, '1 minute')

--@ percentiles-computed: percentages that are expressions of constants
--@ equal
SELECT window.start, PERCENTILE_APPROX(tiny, 1.0 / 2) AS a FROM t GROUP BY window(time, '1 minute')

--@ approximate-count: HyperLogLog, as Spark's
--@ equal
SELECT window.start, APPROX_COUNT_DISTINCT(s) AS a, APPROX_COUNT_DISTINCT(x, 0.02) AS b FROM t GROUP BY window(time, '1 day')

--@ first-by-time: FIRST and LAST go by event time
--@ equal
SELECT window.start, FIRST(time) AS a, LAST(time) AS b FROM t GROUP BY window(time, '10 seconds')
--@ oracle
SELECT window.start, MIN(time) AS a, MAX(time) AS b FROM t GROUP BY window(time, '10 seconds')

--@ first-ignoring-nulls: the first value there is
--@ equal
SELECT window.start, FIRST(time, true) AS a, LAST_VALUE(time) IGNORE NULLS AS b FROM t GROUP BY window(time, '10 seconds')
--@ oracle
SELECT window.start, MIN(time) AS a, MAX(time) AS b FROM t GROUP BY window(time, '10 seconds')

--@ filter: every aggregate with a condition of its own
--@ equal
SELECT window.start, COUNT(*) FILTER (WHERE ok) AS a, SUM(tiny) FILTER (WHERE k = 'a') AS b,
       COUNT(DISTINCT k) FILTER (WHERE i > 3) AS c, MAX(s) FILTER (WHERE k IS NULL) AS d,
       AVG(v) FILTER (WHERE i > 0 AND ok OR k LIKE 'b%') AS e
FROM t GROUP BY window(time, '10 seconds')

--@ filter-keeps-groups: a group whose tuples are all filtered out is still there
--@ equal
SELECT k, COUNT(*) FILTER (WHERE 1 = 0) AS a, SUM(i) FILTER (WHERE i <> i) AS b FROM t GROUP BY window(time, '10 seconds'), k

--@ filter-may-raise: a condition that raises under ANSI
--@ equal
SELECT window.start, COUNT(*) FILTER (WHERE CAST(s AS INT) > 0) AS a FROM t GROUP BY window(time, '1 hour')

--@ filter-does-not-guard: in Spark FILTER keeps the argument from being evaluated
--@ equal
SELECT window.start, SUM(CAST(s AS INT)) FILTER (WHERE s IN ('12', '-7')) AS a FROM t GROUP BY window(time, '1 hour')

--@ of-expressions: aggregates of expressions
--@ equal, at length
SELECT window.start, SUM(tiny * 2 + 1), MAX(length(s)), AVG(CASE WHEN ok THEN v END), SUM(IF(k = 'a', 1, 0)),
       MIN(coalesce(k, s)), COUNT(NULLIF(k, 'a'))
FROM t GROUP BY window(time, '10 seconds')

--@ expressions-of: expressions of aggregates
--@ equal
SELECT window.start, SUM(tiny) / COUNT(*), 2 * COUNT(*), 100 * COUNT(k) / 7, -MAX(v), SUM(tiny) > 3,
       concat('n=', COUNT(*)), coalesce(MAX(k), '-'), CASE WHEN COUNT(*) > 3 THEN 'many' END
FROM t GROUP BY window(time, '10 seconds')

--@ expressions-with-keys: keys, the window and aggregates in one expression
--@ equal, at length
SELECT concat(k, '@', CAST(window.start AS STRING), '=', COUNT(*)) AS z, tiny::BIGINT + MAX(small) AS y
FROM t GROUP BY window(time, '1 minute'), k, tiny

--@ same-aggregate-twice: one aggregate under two names
--@ equal, at length
SELECT SUM(tiny) AS a, SUM(tiny) AS b, sum( tiny ) AS c, SUM(tiny) + SUM(tiny) AS d FROM t GROUP BY window(time, '10 seconds')

--@ unnamed: the names that Spark makes up for aggregates
--@ equal
SELECT COUNT(*), COUNT(DISTINCT k), sum(tiny), Max(i), PERCENTILE_APPROX(i, 0.5), COUNT_IF(ok), std(v),
       BOOL_AND(ok), EVERY(ok), COUNT(*) FILTER (WHERE ok)
FROM t GROUP BY window(time, '1 hour')

--@ lateral-alias-of-aggregate: an item that uses an aggregate's alias
--@ equal
SELECT window.start, SUM(tiny) AS a, COUNT(*) AS c, a / c AS mean FROM t GROUP BY window(time, '10 seconds')

--@ nested-aggregates: an aggregate in an aggregate
--@ refused: aggregate
SELECT window.start, SUM(COUNT(*)) FROM t GROUP BY window(time, '10 seconds')

--@ aggregate-in-where: too early
--@ refused: where
SELECT window.start, COUNT(*) FROM t WHERE COUNT(*) > 3 GROUP BY window(time, '10 seconds')

--@ aggregate-in-group: no key either
--@ refused: aggregate
SELECT COUNT(*) FROM t GROUP BY window(time, '10 seconds'), MAX(i)

--@ quoted-name: a function's name in backticks
--@ equal
SELECT window.start, `sum`(tiny) AS a, `count`(*) AS b FROM t GROUP BY window(time, '10 seconds')

--@ qualified-name: a function's name with its schema
--@ equal
SELECT window.start, builtin.sum(tiny) AS a, system.builtin.max(tiny) AS b FROM t GROUP BY window(time, '10 seconds')

--@ named-argument: parameters by name
--@ refused: named | syntax | parse | argument
SELECT window.start, SUM(x => tiny) AS a FROM t GROUP BY window(time, '10 seconds')

--@ distinct-all: ALL says the default
--@ equal
SELECT window.start, SUM(ALL tiny) AS a, COUNT(ALL k) AS b FROM t GROUP BY window(time, '10 seconds')

--@ extremes-distinct: DISTINCT changes nothing about a maximum
--@ equal
SELECT window.start, MAX(DISTINCT tiny) AS a FROM t GROUP BY window(time, '10 seconds')

--@ other-collect: an aggregate that is not run here
--@ refused: collect_list
SELECT window.start, collect_list(k) FROM t GROUP BY window(time, '10 seconds')

--@ other-median: nor this
--@ refused: median
SELECT window.start, median(v) FROM t GROUP BY window(time, '10 seconds')

--@ other-within-group: nor ordered sets
--@ refused: percentile_cont
SELECT window.start, percentile_cont(0.5) WITHIN GROUP (ORDER BY v) FROM t GROUP BY window(time, '10 seconds')

--@ other-listagg: nor lists
--@ refused: listagg
SELECT window.start, listagg(k, ',') WITHIN GROUP (ORDER BY k) FROM t GROUP BY window(time, '10 seconds')

--@ other-max-by: nor values at extremes
--@ refused: max_by
SELECT window.start, max_by(k, i) FROM t GROUP BY window(time, '10 seconds')

--@ other-try-sum: nor sums that do not raise
--@ refused: try_sum
SELECT window.start, try_sum(b) FROM t GROUP BY window(time, '10 seconds')

--@ other-quoted: an aggregate that is not run here, in backticks
--@ refused: collect_set
SELECT window.start, `collect_set`(k) FROM t GROUP BY window(time, '10 seconds')

--@ other-sketch: nor sketches
--@ refused: hll_sketch_agg | not supported
SELECT window.start, hll_sketch_agg(k) FROM t GROUP BY window(time, '10 seconds')

--@ other-bitwise: nor operations on bits
--@ refused: bit_or
SELECT window.start, bit_or(tiny) FROM t GROUP BY window(time, '10 seconds')

--@ other-grouping: GROUPING() without grouping sets
--@ refused: grouping
SELECT window.start, grouping(k) FROM t GROUP BY window(time, '10 seconds'), k

--@ no-aggregate: a window with keys and no aggregate is a list of groups
--@ equal, at length
SELECT window.start, k FROM t GROUP BY window(time, '10 seconds'), k

--@ no-aggregate-no-key: a list of windows
--@ equal, at length
SELECT window FROM t GROUP BY window(time, '10 seconds')

--@ may-raise: an aggregate whose argument raises under ANSI
--@ equal
SELECT window.start, SUM(100 DIV tiny) AS z FROM t GROUP BY window(time, '1 hour')

--@ result-may-raise: an expression over results that raises under ANSI
--@ equal
SELECT window.start, COUNT(*) / COUNT_IF(k = 'c') AS z FROM t GROUP BY window(time, '10 seconds')

--@ result-overflow: a result cast to a type that is too small
--@ equal, at length
SELECT window.start, CAST(COUNT(*) * 100 AS TINYINT) AS z FROM t GROUP BY window(time, '1 hour')
