--@ generator-explode: a tuple that becomes several
--@ refused: explode | generator
SELECT k, explode(arr) FROM t

--@ generator-explode-alias: the same with a name
--@ refused: explode | generator
SELECT explode(arr) AS e FROM t WHERE i > 3

--@ generator-outer: the form that keeps empty ones
--@ refused: explode_outer | generator
SELECT explode_outer(arr) AS e, k FROM t

--@ generator-posexplode: with positions
--@ refused: posexplode | generator
SELECT posexplode(arr) FROM t

--@ generator-inline: of structs
--@ refused: inline | generator
SELECT inline(array(st)) FROM t

--@ generator-stack: of rows
--@ refused: stack | generator
SELECT stack(2, k, s, 'a', 'b') FROM t

--@ generator-json-tuple: of fields
--@ refused: json_tuple | generator
SELECT json_tuple('{"a":1}', 'a') FROM t

--@ generator-in-where: a generator cannot be a condition
--@ refused: explode | generator
SELECT k FROM t WHERE explode(arr) > 1

--@ generator-in-aggregate: nor an argument
--@ refused: explode | generator
SELECT window.start, SUM(explode(arr)) FROM t GROUP BY window(time, '10 seconds')

--@ generator-of-aggregate: nor take one
--@ refused: explode | generator
SELECT explode(array(COUNT(*))) FROM t GROUP BY window(time, '10 seconds')

--@ generator-key: nor a key
--@ refused: no column 'e'
SELECT explode(arr) AS e, COUNT(*) FROM t GROUP BY window(time, '10 seconds'), e

--@ generator-quoted: in backticks it is still one
--@ refused: explode | generator
SELECT `explode`(arr) AS e FROM t

--@ generator-qualified: and with its schema
--@ refused: explode | generator
SELECT builtin.explode(arr) AS e FROM t

--@ lateral-view: a generator in FROM
--@ refused: lateral | join
SELECT k, e FROM t LATERAL VIEW explode(arr) x AS e

--@ lateral-view-outer: with a window
--@ refused: lateral | join
SELECT window.start, SUM(e) FROM t LATERAL VIEW OUTER explode(arr) x AS e GROUP BY window(time, '10 seconds')

--@ join-inner: two streams
--@ refused: join
SELECT t.k FROM t JOIN odd ON t.k = odd.window

--@ join-comma: a join by comma
--@ refused: join
SELECT t.k FROM t, odd

--@ join-left: an outer one
--@ refused: join
SELECT t.k FROM t LEFT OUTER JOIN odd USING (time)

--@ join-self: a stream with itself
--@ refused: join
SELECT a.k FROM t a CROSS JOIN t b

--@ join-lateral: with a subquery that looks left
--@ refused: join | subquer
SELECT t.k FROM t, LATERAL (SELECT t.i + 1 AS j)

--@ join-generator: with a table function
--@ refused: join
SELECT e.col FROM t, explode(t.arr) AS e

--@ subquery-scalar: a value from a query
--@ refused: subquer
SELECT k, (SELECT MAX(i) FROM t) AS m FROM t

--@ subquery-in: a list from a query
--@ refused: subquer
SELECT k FROM t WHERE k IN (SELECT window FROM odd)

--@ subquery-exists: a test for rows
--@ refused: subquer
SELECT k FROM t WHERE EXISTS (SELECT 1 FROM odd)

--@ subquery-from: a query instead of a stream
--@ refused: from takes a stream | subquer
SELECT k FROM (SELECT * FROM t) AS u

--@ subquery-values: rows in brackets as a value
--@ refused: subquer | values
SELECT k FROM t WHERE tiny = (VALUES (7))

--@ subquery-from-first: FROM before SELECT in brackets
--@ refused: subquer
SELECT (FROM odd SELECT MAX(time)) AS m FROM t

--@ subquery-table: a table in brackets as a value
--@ refused: subquer | table
SELECT k FROM t WHERE k = (TABLE odd)

--@ subquery-nested-brackets: brackets around the inner query's own
--@ refused: subquer
SELECT k FROM t WHERE i > ((SELECT 3))

--@ subquery-with: a common table expression inside
--@ refused: subquer | common table
SELECT k FROM t WHERE i > (WITH z AS (SELECT 3 AS a) SELECT a FROM z)

--@ subquery-comment: a comment between bracket and SELECT
--@ refused: subquer
SELECT k FROM t WHERE i > (/* here */ SELECT 3)

--@ subquery-in-having: after the window
--@ refused: subquer
SELECT k, COUNT(*) FROM t GROUP BY window(time, '10 seconds'), k HAVING COUNT(*) > (SELECT 1)

--@ cte: a common table expression
--@ refused: common table
WITH z AS (SELECT * FROM t) SELECT k FROM z

--@ union: two queries
--@ refused: set operation
SELECT k FROM t UNION ALL SELECT window FROM odd

--@ except: a difference
--@ refused: set operation
SELECT k FROM t EXCEPT SELECT window FROM odd

--@ intersect: what both have
--@ refused: set operation
SELECT k FROM t INTERSECT SELECT window FROM odd

--@ minus: another name of the difference
--@ refused: set operation
SELECT k FROM t MINUS SELECT window FROM odd

--@ distinct: every row once
--@ refused: distinct
SELECT DISTINCT k FROM t

--@ distinct-windowed: after a window
--@ refused: distinct
SELECT DISTINCT k, COUNT(*) FROM t GROUP BY window(time, '10 seconds'), k

--@ over: a window function
--@ refused: over
SELECT k, row_number() OVER (PARTITION BY k ORDER BY time) FROM t

--@ over-named: a named window
--@ refused: over
SELECT k, SUM(i) OVER w FROM t WINDOW w AS (PARTITION BY k)

--@ over-aggregate: over an aggregate
--@ refused: over
SELECT window.start, SUM(COUNT(*)) OVER () FROM t GROUP BY window(time, '10 seconds')

--@ window-clause-unused: a named window that nobody uses
--@ refused: window
SELECT k FROM t WINDOW w AS (PARTITION BY k)

--@ over-missing: a ranking function without OVER
--@ refused: over | window
SELECT row_number() FROM t

--@ qualify: a condition on window functions
--@ refused: qualify | over
SELECT k FROM t QUALIFY row_number() OVER (ORDER BY k) = 1

--@ rollup: sums of sums
--@ refused: rollup
SELECT k, COUNT(*) FROM t GROUP BY ROLLUP (window(time, '10 seconds'), k)

--@ cube: sums in all directions
--@ refused: cube
SELECT k, COUNT(*) FROM t GROUP BY CUBE (window(time, '10 seconds'), k)

--@ grouping-sets: several groupings
--@ refused: grouping sets
SELECT k, COUNT(*) FROM t GROUP BY GROUPING SETS ((window(time, '10 seconds'), k), (window(time, '10 seconds')))

--@ with-rollup: the older form
--@ refused: rollup
SELECT k, COUNT(*) FROM t GROUP BY window(time, '10 seconds'), k WITH ROLLUP

--@ pivot: rows to columns
--@ refused: pivot
SELECT * FROM t PIVOT (COUNT(*) FOR k IN ('a', 'b'))

--@ unpivot: columns to rows
--@ refused: unpivot
SELECT * FROM t UNPIVOT (val FOR name IN (tiny, small))

--@ tablesample: some of the tuples
--@ refused: tablesample
SELECT k FROM t TABLESAMPLE (10 PERCENT)

--@ version-as-of: an older state of the stream
--@ refused: one stream | version
SELECT k FROM t VERSION AS OF 1

--@ timestamp-as-of: the same by time
--@ refused: one stream | timestamp | versions
SELECT k FROM t TIMESTAMP AS OF '2024-01-01'

--@ with-options: options of a reader
--@ refused: options
SELECT k FROM t WITH (`split-size` = 5)

--@ pipe: the piped form
--@ refused: from | pipe
FROM t |> WHERE i > 3 |> SELECT k

--@ pipe-after: a pipe after a query
--@ refused: pipe | |> | syntax | one stream
SELECT k FROM t |> WHERE k = 'a'

--@ pipe-aggregate: an aggregate in a pipe
--@ refused: no event-time window
SELECT * FROM t |> AGGREGATE COUNT(*) GROUP BY k

--@ table-function: a function that makes a table
--@ refused: one stream | there is no stream | table | function
SELECT id FROM range(10)

--@ values-from: rows as a table
--@ refused: one stream | there is no stream | values
SELECT col1 FROM VALUES (1), (2)

--@ stream-word: the word STREAM before a table
--@ refused: stream
SELECT k FROM STREAM t

--@ cluster-by: how Spark would spread results
--@ refused: cluster by
SELECT k FROM t CLUSTER BY k

--@ distribute-by: the same
--@ refused: distribute by
SELECT k FROM t DISTRIBUTE BY k

--@ offset-only: rows left out
--@ refused: offset
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds') OFFSET 2

--@ rand: not a function of the tuple
--@ refused: rand is not deterministic
SELECT k, rand() FROM t

--@ rand-in-where: a sample by chance
--@ refused: rand is not deterministic
SELECT k FROM t WHERE rand() < 0.5

--@ rand-in-having: after the window
--@ refused: rand is not deterministic
SELECT k, COUNT(*) FROM t GROUP BY window(time, '10 seconds'), k HAVING rand() < 0.5

--@ rand-quoted: in backticks
--@ refused: determin
SELECT `rand`() FROM t

--@ rand-qualified: with its schema
--@ refused: determin
SELECT builtin.rand() FROM t

--@ uuid: another one
--@ refused: determin
SELECT uuid() FROM t

--@ uuid-qualified: with catalog and schema
--@ refused: determin
SELECT system.builtin.uuid() FROM t

--@ shuffle: an array in any order
--@ refused: determin
SELECT shuffle(arr) FROM t

--@ now: the wall clock
--@ refused: determin
SELECT k FROM t WHERE time > now() - INTERVAL 1 HOUR

--@ current-timestamp: without brackets
--@ refused: determin
SELECT current_timestamp FROM t

--@ current-date: without brackets, in an expression
--@ refused: determin
SELECT datediff(current_date, day) FROM t

--@ current-date-quoted: in backticks, with brackets
--@ refused: determin
SELECT `current_date`() FROM t

--@ localtimestamp: the local clock
--@ refused: determin
SELECT localtimestamp() FROM t

--@ unix-timestamp-now: without an argument it is the clock
--@ refused: determin | unix_timestamp
SELECT unix_timestamp() FROM t

--@ timestamp-now: a literal that is the clock
--@ refused: determin | now
SELECT k FROM t WHERE time > TIMESTAMP 'now'

--@ date-today: a literal that is the clock
--@ refused: determin | today
SELECT k FROM t WHERE day < DATE 'today'

--@ cast-today: a string that Spark reads as the clock
--@ refused: determin | today
SELECT CAST('today' AS DATE) AS z FROM t

--@ to-date-now: the same by a function
--@ refused: determin | now
SELECT to_timestamp('now') AS z FROM t

--@ partition-id: where Spark happens to run it
--@ refused: determin
SELECT spark_partition_id() FROM t

--@ increasing-id: a number by place
--@ refused: determin
SELECT monotonically_increasing_id() FROM t

--@ input-file: where it was read from
--@ refused: determin
SELECT input_file_name() FROM t

--@ metadata-column: hidden columns of files
--@ refused: _metadata
SELECT _metadata.file_path FROM t

--@ several-statements: two queries in one text
--@ refused: ; | one statement | out of place | syntax
SELECT k FROM t; SELECT i FROM t

--@ misspelt-keyword: a word that is none
--@ refused: selct
SELCT k FROM t

--@ unclosed-bracket: a bracket without an end
--@ refused: bracket | syntax | parse | expected
SELECT (k FROM t

--@ unclosed-string: a string without an end
--@ refused: read as sql | syntax | parse | string
SELECT 'k FROM t

--@ unclosed-backtick: a name without an end
--@ refused: read as sql | syntax | parse | backtick
SELECT `k FROM t

--@ unclosed-comment: a comment without an end
--@ refused: comment | syntax | parse | read as sql
SELECT k FROM t /* and

--@ clauses-out-of-order: WHERE after GROUP BY
--@ refused: syntax
SELECT k, COUNT(*) FROM t GROUP BY window(time, '10 seconds'), k WHERE i > 3

--@ two-wheres: WHERE twice
--@ refused: syntax
SELECT k FROM t WHERE i > 3 WHERE k = 'a'

--@ empty-item: a comma too many
--@ refused: no FROM
SELECT k, FROM t

--@ star-beside-group: all columns beside a window
--@ refused: MISSING_AGGREGATION
SELECT * FROM t GROUP BY window(time, '10 seconds')

--@ approx-no-bounds: a maximum has no bounds
--@ refused: bounds
SELECT /*+ APPROX(error => 0.05) */ window.start, MAX(i) FROM t GROUP BY window(time, '10 seconds')

--@ unknown-hint: only one hint is known
--@ refused: hint
SELECT /*+ BROADCAST(t) */ k FROM t

--@ like-escape-too-long: an escape of two characters
--@ refused: escape
SELECT k FROM t WHERE k LIKE 'a##%' ESCAPE '##'

--@ too-many-arguments: a function that takes fewer
--@ refused: upper
SELECT upper(k, s) FROM t

--@ count-if-of-number: an argument of the wrong type
--@ refused: mismatch | boolean
SELECT window.start, COUNT_IF(tiny) FROM t GROUP BY window(time, '10 seconds')

--@ sum-of-boolean: Spark does not add booleans
--@ refused: mismatch | boolean
SELECT window.start, SUM(ok) FROM t GROUP BY window(time, '10 seconds')

--@ select-into: not Spark's
--@ refused: into | one stream | syntax
SELECT k INTO z FROM t

--@ union-of-selects: UNION without ALL is no SELECT DISTINCT
--@ refused: set operations
SELECT k FROM t UNION SELECT k FROM t

--@ window-of-aeons: microseconds beyond what is counted
--@ refused: longer than
SELECT COUNT(*) FROM t GROUP BY window(time, '1000000000 days')
