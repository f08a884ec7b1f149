--@ literal-hexadecimal: Spark has no numbers in hexadecimal: it reads a column's name
--@ refused: 0x1F
SELECT 0x1F FROM t

--@ literal-values: a literal of each kind
--@ equal
SELECT 1L AS a, 1S AS b, 1Y AS c, 1.0D AS d, 1.0F AS e, 1.0BD AS f, 1e3 AS g, 1.5e-3D AS h, .5 AS i, 5. AS j FROM t WHERE k = 'a'

--@ literals-compared: columns compared with literals of each kind
--@ equal, at length
SELECT tiny, i, v FROM t WHERE tiny > 1Y AND i < 15L AND v < 99.5D AND small <> 3S AND d < 50.0BD AND f < 1e3F

--@ binary-literals: bytes in hexadecimal
--@ equal, at length
SELECT X'1F', x'', hex(X'ABC') FROM t WHERE bin = X'00FF'

--@ time-literals: dates, times, intervals
--@ equal
SELECT DATE '2024-03-31', TIMESTAMP '2024-03-31 02:30:00', TIMESTAMP_NTZ '2024-03-31 02:30:00',
       TIMESTAMP_LTZ '2024-03-31 02:30:00', TIMESTAMP '2024-03-31 02:30:00+05:00'
FROM t WHERE k = 'a'

--@ interval-literals: intervals of days in results
--@ equal
SELECT INTERVAL '1' DAY AS a, INTERVAL '1 02:03:04.5' DAY TO SECOND AS c FROM t WHERE k = 'a'

--@ interval-of-months: intervals of months have no form in Arrow
--@ refused: interval
SELECT INTERVAL '1-2' YEAR TO MONTH AS b FROM t WHERE k = 'a'

--@ string-literals: raw, doubled, concatenated, escaped
--@ equal, at length
SELECT r'a\nb', 'it''s', "say ""hi""", 'a' 'b', 'tab\tx', '\u00e9', '\101' FROM t WHERE k = 'a'

--@ dollar-strings: Spark has none
--@ refused: $ | syntax | parse
SELECT $$a$$ FROM t

--@ cast-to-string: every type as a string
--@ equal
SELECT CAST(tiny AS STRING), CAST(b AS STRING), CAST(f AS STRING), CAST(x AS STRING), CAST(d AS STRING), CAST(w AS STRING),
       CAST(ok AS STRING), CAST(day AS STRING), CAST(ts AS STRING), CAST(ntz AS STRING), CAST(bin AS STRING),
       CAST(arr AS STRING), CAST(tags AS STRING), CAST(st AS STRING)
FROM t

--@ cast-double-colon: the short form
--@ equal
SELECT tiny::BIGINT, k::STRING, v::DECIMAL(10, 2), (tiny + 1)::DOUBLE AS z FROM t

--@ cast-double-colon-where: the short form in a condition
--@ equal, at length
SELECT tiny FROM t WHERE tiny::STRING LIKE '1%' AND v::INT > 0

--@ cast-raises: a string that is no number
--@ equal
SELECT CAST(s AS INT) AS z FROM t

--@ cast-overflow: a number that is too large
--@ equal, at length
SELECT CAST(i AS TINYINT) AS z FROM t

--@ cast-nan: NaN and infinity as whole numbers
--@ equal, at length
SELECT CAST(x AS INT) AS z FROM t WHERE x > 1e305

--@ try-cast: NULL instead of an error
--@ equal, at length
SELECT TRY_CAST(s AS INT), TRY_CAST(s AS DATE), TRY_CAST(i AS TINYINT), TRY_CAST(s AS BOOLEAN), TRY_CAST(x AS BIGINT) FROM t

--@ try-functions: NULL instead of an error
--@ equal, at length
SELECT try_divide(i, tiny), try_add(i, 1), try_multiply(b, 2L), try_to_number(s, '99'), try_subtract(b, 1L) FROM t

--@ cast-decimal-rounds: more digits than fit behind the point
--@ equal, at length
SELECT CAST(v AS DECIMAL(6, 1)), CAST(d AS DECIMAL(12, 0)), CAST(d AS INT) FROM t WHERE abs(d) < 1000

--@ cast-boolean: booleans from numbers and back
--@ equal, at length
SELECT CAST(tiny AS BOOLEAN), CAST(ok AS INT), CAST(ok AS DOUBLE), BOOLEAN('yes') FROM t

--@ cast-number-to-time: seconds since the epoch
--@ equal, at length
SELECT CAST(tiny AS TIMESTAMP), timestamp_micros(tiny), timestamp_seconds(v), date_from_unix_date(tiny) FROM t

--@ division: slash gives fractions, DIV whole numbers
--@ equal, at length
SELECT tiny / 4, tiny DIV 4, tiny % 4, d / 3, v / 0.5, mod(tiny, 5), pmod(tiny, 5) FROM t

--@ division-by-zero: raises under ANSI, NULL without
--@ equal
SELECT 10 / tiny AS z FROM t

--@ division-by-zero-double: a double does not save it
--@ equal, at length
SELECT 1.0D / (v - v) AS z FROM t WHERE v IS NOT NULL

--@ modulo-zero: the remainder raises, too
--@ equal, at length
SELECT 10 % tiny AS z FROM t

--@ overflow-int: addition at the end of the type
--@ equal, at length
SELECT i + i AS z FROM t

--@ overflow-bigint: multiplication at the end of the type
--@ equal, at length
SELECT b * 2 AS z FROM t

--@ overflow-negation: the smallest number has no negative
--@ equal, at length
SELECT -b AS a, abs(b) AS c FROM t

--@ overflow-tiny: bytes stay bytes
--@ equal, at length
SELECT tiny * 2Y AS z FROM t WHERE tiny BETWEEN -60 AND 60

--@ decimal-arithmetic: scales and precisions of results
--@ equal, at length
SELECT d + 1, d * d, d / 7, d % 3, d * 1.5D, -d, round(d, 1), ceil(d), floor(d), bround(d, 0) FROM t

--@ decimal-wide-arithmetic: the widest decimals lose digits
--@ equal
SELECT w * 0.1, w + 1, w / 3, round(w, 2) FROM t WHERE tiny BETWEEN -99 AND 99 AND w < 99

--@ decimal-overflow: more than 38 digits
--@ equal, at length
SELECT w * w AS z FROM t

--@ float-arithmetic: floats are not doubles
--@ equal, at length
SELECT f + 0.1F, f * 2, f + 1, f / 3 FROM t

--@ mixed-arithmetic: which type a sum has
--@ equal, at length
SELECT tiny + small, i + b % 10, tiny + v, d + tiny, f + d, tiny + '1', v + '1.5' FROM t WHERE i BETWEEN -99 AND 99

--@ math-functions: whatever they do at the edges of their domain
--@ equal, at length
SELECT sqrt(v), ln(v), log10(v), exp(tiny / 10), pow(tiny, 2), sign(v), cbrt(v), ceil(v), floor(v), round(v, 1), rint(v) FROM t

--@ greatest-least: of mixed types, with NULLs
--@ equal, at length
SELECT greatest(tiny, small), least(v, tiny, d), greatest(k, s) FROM t

--@ literal-overflow: a constant that its type cannot hold
--@ refused: 300Y | INVALID_NUMERIC_LITERAL_RANGE
SELECT 300Y FROM t

--@ constant-cast-fails: a constant expression that raises
--@ equal
SELECT CAST('x' AS INT) AS z FROM t

--@ constant-division: a constant division by zero, behind a condition
--@ equal
SELECT 1 / 0 AS z FROM t WHERE k = 'a'

--@ type-mismatch: an array compared with a number
--@ refused: mismatch
SELECT k FROM t WHERE arr > 3

--@ boolean-plus: a type error
--@ refused: mismatch
SELECT ok + 1 FROM t

--@ where-not-boolean: a condition that is a number
--@ refused: boolean | filter
SELECT k FROM t WHERE tiny

--@ char-varchar: casts to types with a length
--@ equal, at length
SELECT CAST(k AS VARCHAR(3)), CAST(k AS CHAR(3)) FROM t

--@ variant: a type that results have no form for
--@ refused: variant | parse_json
SELECT parse_json('{"a": 1}') AS z FROM t

--@ variant-inside: a variant that does not leave the expression
--@ equal, at length
SELECT variant_get(parse_json('{"a": 1}'), '$.a', 'int') AS z FROM t WHERE k = 'a'

--@ void: a column of no type
--@ equal
SELECT NULL AS z, k FROM t WHERE k = 'a'

--@ type-of: what Spark calls the types
--@ equal, at length
SELECT typeof(tiny), typeof(d * 2), typeof(1.5), typeof(st), typeof(time) FROM t WHERE k = 'a'
