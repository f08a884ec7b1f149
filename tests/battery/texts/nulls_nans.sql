--@ nan-equals-nan: in Spark it does
--@ equal
SELECT x FROM t WHERE x = 'NaN' OR x = double('NaN')

--@ nan-is-largest: greater than infinity
--@ equal, at length
SELECT x FROM t WHERE x > double('Infinity') OR x >= 1.7976931348623157E308D

--@ nan-not-equal: NaN is different from every number
--@ equal, at length
SELECT x FROM t WHERE x <> 0 AND NOT x > 1

--@ zero-equals-minus-zero: they are equal, but not the same
--@ equal
SELECT x, CAST(x AS STRING) AS z FROM t WHERE x = 0 OR x = -0.0D

--@ zero-in-list: the same in a list, and in a range
--@ equal, at length
SELECT f FROM t WHERE f IN (0, 0.5) OR f BETWEEN -0.0 AND 0.0

--@ minus-zero-kept: a selection does not touch it
--@ equal
SELECT x, f, -x AS z, x * 0 AS y FROM t

--@ infinity-compared: both infinities
--@ equal, at length
SELECT x FROM t WHERE x = double('-Infinity') OR x < -1e300 OR x = 'inf'

--@ nan-functions: what tells and replaces NaN
--@ equal, at length
SELECT isnan(x), nanvl(x, 0), coalesce(x, 1), nullif(x, double('NaN')), greatest(x, 1), least(x, 1) FROM t

--@ nan-not-between: outside of every range
--@ equal, at length
SELECT x FROM t WHERE x NOT BETWEEN -1e308 AND 1e308

--@ null-arithmetic: NULL spreads
--@ equal, at length
SELECT i + NULL, NULL || k, NULL AND ok, NULL OR ok, NOT NULL, k = NULL, NULL <=> NULL FROM t

--@ null-aggregates: groups of NULLs only
--@ equal
SELECT k, COUNT(k), SUM(IF(k IS NULL, NULL, tiny)), MIN(NULLIF(k, k)), AVG(NULLIF(tiny, tiny)), STDDEV(NULLIF(v, v)),
       BOOL_AND(NULLIF(ok, ok)), COUNT(DISTINCT NULLIF(k, k))
FROM t GROUP BY window(time, '1 hour'), k

--@ null-in-case: NULL matches nothing
--@ equal, at length
SELECT CASE k WHEN NULL THEN 'null' WHEN 'a' THEN 'A' ELSE 'else' END, decode(k, NULL, 'null', 'a', 'A', 'else') FROM t

--@ null-ordering: NULL in comparisons of structs
--@ equal, at length
SELECT struct(k, i) = struct(k, i), struct(k) < struct('b'), array(k) = array(NULL) FROM t

--@ nan-aggregates: NaN in sums, averages, extremes
--@ equal
SELECT k, SUM(x) AS a, AVG(x) AS b, MAX(x + 0.0D) AS c, COUNT(x) AS e FROM t WHERE isnan(x) OR x BETWEEN -10 AND 10
GROUP BY window(time, '1 hour'), k

--@ nan-key-computed: a computed key that is NaN or a zero
--@ equal
SELECT x * 0 AS z, COUNT(*) AS c FROM t GROUP BY window(time, '1 hour'), x * 0

--@ nan-having: NaN after the window
--@ equal
SELECT k, MAX(x + 0.0D) AS m FROM t GROUP BY window(time, '1 hour'), k HAVING MAX(x + 0.0D) > 1e308 OR m = 'NaN'

--@ null-having: NULL after the window
--@ equal, at length
SELECT k, SUM(tiny) AS z FROM t GROUP BY window(time, '10 seconds'), k HAVING NOT (SUM(tiny) > 0)

--@ null-filter: a FILTER that is NULL counts nothing
--@ equal, at length
SELECT window.start, COUNT(*) FILTER (WHERE i > NULL) AS a, COUNT(*) FILTER (WHERE NOT (i > 3)) AS b FROM t
GROUP BY window(time, '10 seconds')
