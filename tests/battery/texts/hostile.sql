--@ reflect-read: a call of any Java method
--@ refused: reflect | determin
SELECT reflect('java.lang.System', 'getProperty', 'java.version') FROM t

--@ reflect-write: one that leaves a trace
--@ refused: reflect | determin
SELECT reflect('java.lang.System', 'setProperty', 'headrace.battery', 'was here') FROM t

--@ reflect-in-where: in a condition
--@ refused: reflect | determin
SELECT k FROM t WHERE reflect('java.lang.System', 'setProperty', 'headrace.battery', 'was here') = 'x'

--@ java-method: its other name
--@ refused: java_method | determin
SELECT java_method('java.lang.System', 'setProperty', 'headrace.battery', 'was here') FROM t

--@ try-reflect: its careful form
--@ refused: try_reflect | determin
SELECT try_reflect('java.lang.System', 'setProperty', 'headrace.battery', 'was here') FROM t

--@ reflect-quoted: in backticks
--@ refused: reflect | determin
SELECT `reflect`('java.lang.System', 'setProperty', 'headrace.battery', 'was here') FROM t

--@ reflect-identifier: by a name in a string
--@ refused: reflect | determin | identifier
SELECT IDENTIFIER('reflect')('java.lang.System', 'setProperty', 'headrace.battery', 'was here') FROM t

--@ reflect-qualified: with its schema
--@ refused: reflect | determin
SELECT system.builtin.reflect('java.lang.System', 'setProperty', 'headrace.battery', 'was here') FROM t

--@ reflect-after-window: among the results
--@ refused: reflect | determin
SELECT COUNT(*) FROM t GROUP BY window(time, '10 seconds') HAVING reflect('java.lang.System', 'setProperty', 'headrace.battery', 'was here') IS NULL

--@ rand-identifier: a function by a name in a string
--@ refused: determin | identifier
SELECT IDENTIFIER('rand')() FROM t

--@ column-identifier: a column by a name in a string
--@ refused: identifier
SELECT IDENTIFIER('k') FROM t

--@ column-identifier-computed: a name that is put together
--@ refused: identifier
SELECT IDENTIFIER('k' || '') AS z, COUNT(*) FROM t GROUP BY window(time, '10 seconds'), k

--@ stream-identifier: the stream by a name in a string
--@ equal
SELECT k FROM IDENTIFIER('t')

--@ table-by-path: a file instead of a stream
--@ refused: one stream | there is no stream | stream's name
SELECT * FROM text.`/etc/hostname`

--@ subquery-table-by-path: a file as a value
--@ refused: subquer | table
SELECT (TABLE text.`/etc/hostname`) AS z FROM t

--@ subquery-file-from-first: a file, with FROM first
--@ refused: subquer
SELECT (FROM text.`/etc/hostname` SELECT MAX(value)) AS z FROM t

--@ in-table-by-path: a file as a list
--@ refused: subquer | table
SELECT k FROM t WHERE k IN (TABLE text.`/etc/hostname`)

--@ in-from-first: a query with FROM first as a list
--@ refused: subquer
SELECT k FROM t WHERE k IN (FROM text.`/etc/hostname` SELECT value)

--@ exists-global-view: a view of other people's
--@ refused: subquer | table
SELECT k FROM t WHERE EXISTS (TABLE global_temp.battery_view)

--@ scalar-global-view: its content
--@ refused: subquer
SELECT (SELECT secret FROM global_temp.battery_view) AS z FROM t

--@ from-global-view: it is no stream
--@ refused: one stream | there is no stream
SELECT secret FROM global_temp.battery_view

--@ in-values: a list of rows
--@ refused: subquer | values
SELECT k FROM t WHERE k IN (VALUES ('a'), ('b'))

--@ table-argument: a table as an argument
--@ refused: table | subquer
SELECT hash(TABLE(t)) FROM t

--@ read-files: a function that reads
--@ refused: one stream | there is no stream | from
SELECT * FROM read_files('/etc/hostname')

--@ current-user: who runs it is not of the tuple
--@ refused: determin | current_user
SELECT current_user() FROM t

--@ current-user-bare: without brackets
--@ refused: determin | current_user
SELECT current_user FROM t

--@ session-user: another name of it
--@ refused: determin | session_user
SELECT session_user FROM t

--@ current-database: what the session has chosen
--@ refused: determin | current_database
SELECT current_database() FROM t

--@ current-schema: another name of it
--@ refused: determin | current_schema
SELECT current_schema() FROM t

--@ current-catalog: the same for catalogs
--@ refused: determin | current_catalog
SELECT current_catalog() FROM t

--@ version: Spark's own
--@ refused: determin | version
SELECT version() FROM t

--@ session-variable: a variable that was never declared
--@ refused: battery_variable
SELECT k FROM t WHERE k = battery_variable

--@ session-variable-qualified: with catalog and schema
--@ refused: battery_variable | system
SELECT system.session.battery_variable FROM t

--@ declare: a variable of the session
--@ refused: declare | variable
DECLARE OR REPLACE VARIABLE battery_variable INT DEFAULT 5

--@ set-variable: a new value for it
--@ refused: set
SET VARIABLE battery_variable = 5

--@ parameter-question-mark: a parameter without a value
--@ refused: parameter | ? | syntax
SELECT k FROM t WHERE i > ?

--@ parameter-named: a parameter by name
--@ refused: parameter | :low | syntax
SELECT k FROM t WHERE i > :low

--@ set-conf: a setting
--@ refused: set
SET spark.sql.ansi.enabled = false

--@ set-time-zone: the time zone
--@ refused: set
SET TIME ZONE 'Asia/Tokyo'

--@ reset: all settings
--@ refused: reset
RESET

--@ use: another database
--@ refused: use | namespace
USE default

--@ create-table: a table
--@ refused: create
CREATE TABLE battery_table (a INT) USING parquet

--@ create-table-as: a table with rows
--@ refused: create
CREATE TABLE battery_table AS SELECT k FROM t

--@ create-view: a view that hides the stream
--@ refused: create
CREATE OR REPLACE TEMP VIEW t AS SELECT 1 AS k

--@ create-global-view: a view for everyone
--@ refused: create
CREATE OR REPLACE GLOBAL TEMPORARY VIEW battery_made AS SELECT 1 AS a

--@ create-function: a function
--@ refused: create
CREATE TEMPORARY FUNCTION battery_function AS 'java.lang.String'

--@ create-sql-function: a function in SQL
--@ refused: create
CREATE OR REPLACE TEMPORARY FUNCTION battery_function(a INT) RETURNS INT RETURN a + 1

--@ drop-view: other people's view
--@ refused: drop
DROP VIEW global_temp.battery_view

--@ insert: rows into a directory
--@ refused: insert
INSERT OVERWRITE DIRECTORY '/tmp/headrace-battery' USING parquet SELECT k FROM t

--@ delete: rows
--@ refused: delete
DELETE FROM t

--@ update: rows
--@ refused: update
UPDATE t SET k = 'x'

--@ merge: rows
--@ refused: merge
MERGE INTO t USING odd ON t.k = odd.window WHEN MATCHED THEN DELETE

--@ truncate: a table
--@ refused: truncate
TRUNCATE TABLE t

--@ explain: a plan
--@ refused: explain
EXPLAIN SELECT k FROM t

--@ describe: columns
--@ refused: desc
DESCRIBE t

--@ show: tables
--@ refused: show
SHOW TABLES

--@ cache: a table in memory
--@ refused: cache
CACHE TABLE battery_cached AS SELECT k FROM t

--@ add-jar: code
--@ refused: add
ADD JAR '/tmp/headrace-battery.jar'

--@ load-data: files
--@ refused: load
LOAD DATA INPATH '/etc/hostname' INTO TABLE t

--@ execute-immediate: a text as text
--@ refused: execute
EXECUTE IMMEDIATE 'SELECT 1'

--@ begin-end: a script
--@ refused: begin | compound
BEGIN SELECT 1; END

--@ call: a procedure
--@ refused: call
CALL system.battery()

--@ create-streaming-table: a stream
--@ refused: create
CREATE STREAMING TABLE battery_stream AS SELECT k FROM t

--@ ai-function: a function of another vendor
--@ refused: ai_query
SELECT ai_query('model', k) FROM t

--@ python-udf-name: a function that was registered in the user's session
--@ refused: battery_udf
SELECT battery_udf(i) FROM t

--@ udf-syntax: a body instead of a name
--@ refused: syntax | parse | python
SELECT PYTHON { return 1 } FROM t

--@ statement-after-semicolon: something else behind a query
--@ refused: ; | one statement | drop | syntax
SELECT k FROM t; DROP VIEW global_temp.battery_view

--@ statement-after-comment: a comment that hides the rest from a careless reader
--@ refused: ; | one statement | drop | syntax
SELECT k FROM t --
; DROP VIEW global_temp.battery_view

--@ break-out-of-alias: an alias that closes its quotes
--@ equal
SELECT k AS `x`` FROM t; DROP VIEW global_temp.battery_view --` FROM t

--@ break-out-of-string: a constant that closes its quotes
--@ equal
SELECT window.start, COUNT(*) AS n FROM t WHERE s <> '\' OR 1 = 1 --' GROUP BY window(time, '10 seconds')

--@ break-out-of-duration: a duration that is none
--@ refused: interval | duration
SELECT COUNT(*) FROM t GROUP BY window(time, '10 seconds\'), k --')

--@ empty: no text at all
--@ refused: empty

--@ semicolon-alone: nothing but an end
--@ refused: empty | ; | syntax
;

--@ nul-byte-in-text: a zero byte between two words
--@ equal
SELECT k, 'a\0b' AS z FROM t WHERE k <> '\0'

--@ regex-explodes: a pattern that takes exponential time on a long string of other letters
--@ refused: exponentially
SELECT k FROM t WHERE 'aaaaaaaaaaaaaaaaaaaaX' RLIKE '^(a+)+b$' OR i > 3

--@ regex-explodes-in-regexp-like: by its other name, with a group that is used again
--@ refused: exponentially
SELECT k FROM t WHERE regexp_like(s, r'^(a+)+\1$')

--@ regex-explodes-in-replace: in a replacement
--@ refused: exponentially
SELECT regexp_replace(s, '(a|aa)+b', '') AS z FROM t

--@ regex-explodes-in-extract: in an extraction
--@ refused: exponentially
SELECT regexp_extract(s, '([a-z]+)*x', 1) AS z FROM t

--@ regex-explodes-in-extract-all: in several of them
--@ refused: exponentially
SELECT regexp_extract_all(s, '([a-z]+)*x', 1) AS z FROM t

--@ regex-explodes-in-instr: where a place is asked for
--@ refused: exponentially
SELECT regexp_instr(s, r'(\w+\s?)*!') AS z FROM t

--@ regex-explodes-in-count: where matches are counted
--@ refused: exponentially
SELECT regexp_count(s, '(x+x+)+y') AS z FROM t

--@ regex-explodes-in-substr: where the first match is asked for
--@ refused: exponentially
SELECT regexp_substr(s, '(a?a?)*b') AS z FROM t

--@ regex-explodes-in-split: at a delimiter
--@ refused: exponentially
SELECT size(split(s, '( |  )+,')) AS z FROM t

--@ regex-explodes-in-map: at the delimiters of a map
--@ refused: exponentially
SELECT str_to_map(s, '(,+)+;', ':') AS z FROM t

--@ regex-explodes-in-url: the key of a URL stands in a pattern as it is
--@ refused: exponentially
SELECT parse_url(s, 'QUERY', '(a+)+') AS z FROM t

--@ regex-explodes-put-together: of two constants
--@ refused: exponentially
SELECT k FROM t WHERE s RLIKE '(a+)' || '+$'

--@ regex-explodes-by-collation: only where letters are the same in any case
--@ refused: exponentially
SELECT k FROM t WHERE s COLLATE UTF8_LCASE RLIKE '(a|A)*$'

--@ regex-many-choices: no loop, and still 2^25 ways
--@ refused: too many ways
SELECT k FROM t WHERE s RLIKE '(a?){25}a{25}b'

--@ regex-steep: a power of the length
--@ refused: th power
SELECT k FROM t WHERE s RLIKE '.*.*.*.*.*x'

--@ regex-of-a-column: the tuple says what is tried
--@ refused: constant
SELECT k FROM t WHERE s RLIKE k

--@ like-steep: loops over all characters
--@ refused: th power
SELECT k FROM t WHERE s LIKE '%a%a%a%a%a%b'

--@ ilike-steep: whatever the case
--@ refused: th power
SELECT k FROM t WHERE s ILIKE '%a%a%a%a%a%b'

--@ like-any-steep: one of several
--@ refused: th power
SELECT k FROM t WHERE s LIKE ANY ('b%', '%a%a%a%a%a%b')

--@ regex-recursive: one call more for every repetition ends the process
--@ refused: end spark's process
SELECT k FROM t WHERE concat(s, repeat('a', 900)) RLIKE '(a|b)*c'

--@ regex-over-long-text: quadratic in what the text itself makes
--@ refused: too long to be searched
SELECT k FROM t WHERE concat(s, repeat('a', 5000)) RLIKE '(a|b)*+c'

--@ levenshtein-long: a product of two lengths
--@ refused: too long to be searched
SELECT levenshtein(repeat(s, 5000), 'abc') AS z FROM t

--@ window-slides-by-little: every tuple would lie in ten million windows
--@ refused: every tuple would lie in
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds', '1 microsecond')

--@ aggregate-that-doubles: a text twice as long for every item
--@ refused: longer than
SELECT aggregate(array(1, 2, 3), s, (a, x) -> concat(a, a)) AS z FROM t

--@ aggregate-that-doubles-aside: hidden in an array
--@ refused: longer than
SELECT aggregate(array(1, 2, 3), array(s), (a, x) -> flatten(array(a, a))) AS z FROM t

--@ aggregate-that-replaces: every letter becomes two
--@ refused: longer than
SELECT aggregate(array(1, 2, 3), s, (a, x) -> replace(a, 'a', 'aa')) AS z FROM t

--@ aggregate-that-appends: one copy of what was there
--@ equal
SELECT aggregate(array(1, 2, 3), s, (a, x) -> CASE WHEN a = '' THEN '' ELSE concat(a, x) END) AS z FROM t

--@ aggregate-into-struct: a count and a text
--@ equal
SELECT aggregate(array(1, 2), named_struct('n', 0, 's', ''), (a, x) -> named_struct('n', a.n + x, 's', concat(a.s, x)), a -> concat(a.n, a.s)) AS z FROM t

--@ format-string-wide: a width of a gigabyte
--@ refused: longer than
SELECT format_string('%1000000000d', i) AS z FROM t

--@ round-to-very-many-digits: of which most are zeros
--@ refused: longer than
SELECT round(d, 1000000000) AS z FROM t

--@ format-number-of-very-many-digits: the same as a text
--@ refused: longer than
SELECT format_number(d, 1000000000) AS z FROM t

--@ to-char-long-format: read while the text is analyzed
--@ refused: reads this before
SELECT to_char(i, repeat('9,', 300000)) AS z FROM t

--@ from-json-deep-schema: a schema nested very deep
--@ refused: reads this before
SELECT from_json(s, 'array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<array<int>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>') AS z FROM t

--@ replace-that-multiplies: no part is long, their product is
--@ refused: longer than
SELECT length(replace(replace(replace(s, 'a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'), 'a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'), 'a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')) AS z FROM t

--@ regexp-replace-that-multiplies: what was found several times over
--@ refused: longer than
SELECT length(regexp_replace(regexp_replace(regexp_replace(s, 'a', '$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0'), 'a', '$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0'), 'a', '$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0')) AS z FROM t

--@ lambdas-three-deep: as many steps as the cube of an array's length
--@ refused: longer than
SELECT size(transform(split(s, ''), a -> size(transform(split(s, ''), b -> size(transform(split(s, ''), c -> c)))))) AS z FROM t

--@ lambdas-two-deep: as many as the square
--@ equal
SELECT transform(array(1, 2), a -> aggregate(split(s, ' '), 0, (x, y) -> x + length(y) + a)) AS z FROM t

--@ columns-that-double: each is twice the one before it
--@ refused: made of each other
SELECT concat(s, s) AS a0, concat(a0, a0) AS a1, concat(a1, a1) AS a2, concat(a2, a2) AS a3, concat(a3, a3) AS a4, concat(a4, a4) AS a5, concat(a5, a5) AS a6, concat(a6, a6) AS a7, concat(a7, a7) AS a8, concat(a8, a8) AS a9, concat(a9, a9) AS a10, concat(a10, a10) AS a11, concat(a11, a11) AS a12, concat(a12, a12) AS a13, concat(a13, a13) AS a14, concat(a14, a14) AS a15, concat(a15, a15) AS a16, concat(a16, a16) AS a17, concat(a17, a17) AS a18, concat(a18, a18) AS a19, concat(a19, a19) AS a20, concat(a20, a20) AS a21, concat(a21, a21) AS a22, concat(a22, a22) AS a23, concat(a23, a23) AS a24, concat(a24, a24) AS a25, concat(a25, a25) AS a26, concat(a26, a26) AS a27, concat(a27, a27) AS a28, concat(a28, a28) AS a29, concat(a29, a29) AS a30 FROM t

--@ columns-of-columns: each is made of the one before it
--@ equal
SELECT i + 1 AS a0, a0 * 2 AS a1, a1 * 2 AS a2, a2 * 2 AS a3, a3 * 2 AS a4, a4 * 2 AS a5, a5 * 2 AS a6, a6 * 2 AS a7, a7 * 2 AS a8 FROM t

--@ sum-of-very-many: nested as deep as it is long, once it has parentheses
--@ refused: too many operations
SELECT i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i + i AS z FROM t

--@ regex-mended: what the refusals advise
--@ equal
SELECT s FROM t WHERE s RLIKE '(?:a++b?)++$' OR s RLIKE '^(?:[a-z]++ ?)*+$' OR s LIKE '%a%n%'

--@ sequence-huge: an array longer than arrays may be
--@ refused: longer than
SELECT size(sequence(0, 3000000000)) AS z FROM t WHERE k = 'a'

--@ variable-of-the-environment: Spark would put its value into the text
--@ refused: variable
SELECT '${env:PATH}' AS x, k FROM t

--@ variable-of-the-jvm: and outside of strings
--@ refused: variable
SELECT k FROM t WHERE k = ${system:user.home}

--@ variable-of-spark: and into constants of predicates
--@ refused: variable
SELECT k FROM t WHERE k = '${spark.app.id}'

--@ variable-in-disguise: the text has no dollar, what is written for Spark would have
--@ refused: variable
SELECT concat(k, '\u0024{env:PATH}') AS x FROM t

--@ variable-in-disguise-of-octal: the same
--@ refused: variable
SELECT '\044{env:PATH}' AS x, k FROM t

--@ variable-put-together: only a text, which nobody reads
--@ equal
SELECT concat('$', '{env:PATH}') AS x, k FROM t

--@ dollars: none of these is a variable
--@ equal
SELECT '$' AS a, '$k' AS b, '${' AS c, '{k}' AS d FROM t WHERE k <> '$'

--@ sequence-of-a-column: as long as the tuple says
--@ refused: longer than
SELECT aggregate(sequence(1L, 100000000L + b), 0L, (a, x) -> a + x) AS z FROM t

--@ repeated-repeats: short by itself, long together
--@ refused: longer than
SELECT length(repeat(repeat(k, 2000), 2000)) AS z FROM t

--@ padded-by-a-column: as long as the tuple says
--@ refused: longer than
SELECT length(lpad(k, i)) AS z FROM t

--@ sequence-of-constants: its length is known
--@ equal
SELECT aggregate(sequence(1, 10), 0, (a, x) -> a + x) AS z, size(array_repeat(k, 5)) AS n, lpad(bin, 3) AS p FROM t
