--@ star: every column of every type as it came
--@ equal
SELECT * FROM t

--@ star-of-odd-names: names that need quoting come out as they are
--@ equal
SELECT * FROM odd

--@ star-of-dots: names with a dot and a backtick come out as they are
--@ equal
SELECT * FROM dots

--@ star-qualified: the stream's name before the star
--@ equal, at length
SELECT t.* FROM t WHERE i > 3

--@ star-of-alias: an alias before the star
--@ equal, at length
SELECT u.* FROM t AS u WHERE u.ok

--@ star-except: all but two columns
--@ equal
SELECT * EXCEPT (bin, tags) FROM t

--@ star-except-field: all but one field of a struct
--@ equal
SELECT * EXCEPT (st.a, arr, tags, bin) FROM t

--@ star-and-more: a star beside an expression
--@ equal, at length
SELECT *, i + 1 AS j FROM t WHERE i BETWEEN 0 AND 5

--@ star-of-struct: a struct opened into its fields
--@ equal
SELECT st.* FROM t

--@ star-twice: two stars, so that every name comes twice
--@ equal, at length
SELECT *, * FROM dots

--@ constants-only: no column at all is selected
--@ equal, at length
SELECT 1, 'x', NULL, TRUE FROM t WHERE k = 'a'

--@ constant-of-nothing: a constant for every tuple, without WHERE
--@ equal, at length
SELECT 'here' AS here FROM t

--@ same-column-twice: two result columns with one name
--@ equal, at length
SELECT k, k FROM t

--@ same-alias-twice: two expressions under one name
--@ equal, at length
SELECT i AS z, d AS z FROM t

--@ unnamed-expressions: Spark makes up the names of the columns
--@ equal
SELECT i + 1, upper(k), -v, NOT ok, d * 2, CASE WHEN ok THEN 1 END FROM t WHERE i BETWEEN -99 AND 99

--@ alias-without-as: an alias that merely follows
--@ equal, at length
SELECT i j, k `the key`, v + 1 vv FROM t

--@ alias-in-quotes: an alias in double quotes is a string, so it is refused by Spark
--@ refused: syntax | parse
SELECT i AS "j" FROM t

--@ lateral-alias: an item that uses an earlier item's alias
--@ equal
SELECT v * 2 AS a, a + 1 AS c FROM t

--@ lateral-alias-chain: aliases of aliases
--@ equal
SELECT length(k) AS l, l * 2 AS m2, m2 - l AS back FROM t

--@ lateral-alias-shadowed: a column wins over an alias of the same name
--@ equal, at length
SELECT v + 1000 AS tiny, tiny AS again FROM t

--@ where-constant-true: a condition that always holds
--@ equal, at length
SELECT k FROM t WHERE TRUE

--@ where-constant-false: a condition that never holds
--@ equal, at length
SELECT k FROM t WHERE 1 = 0

--@ where-null: a bare NULL is no boolean to Spark
--@ refused: boolean
SELECT k FROM t WHERE NULL

--@ nested-types-as-they-are: arrays, maps and structs pass through
--@ equal, at length
SELECT arr, tags, st, time FROM t WHERE ok OR ok IS NULL

--@ nested-made: nested values made in the query
--@ equal, at length
SELECT array(i, 1), map(coalesce(k, '?'), v), struct(k, i), named_struct('p', d, 'q', s) FROM t

--@ lambda-filter: a lambda over an array
--@ equal
SELECT filter(arr, x -> x > 1) AS big, transform(arr, (e, at) -> e * 10 + at) AS ten FROM t

--@ lambda-fold: a fold, with a lambda that finishes it
--@ equal, at length
SELECT aggregate(arr, 0, (acc, e) -> acc + coalesce(e, 0), acc -> acc * 2) AS twice FROM t

--@ lambda-shadows-column: a lambda's variable hides a column of the same name
--@ equal
SELECT transform(arr, k -> k + 1) AS next, k FROM t

--@ lambda-captures: a lambda that looks at a column
--@ equal, at length
SELECT exists(arr, e -> e = tiny) AS has, forall(arr, e -> e < v) AS low FROM t

--@ map-functions: keys, values, entries, look-ups
--@ equal, at length
SELECT map_keys(tags), map_values(tags), tags['a'], tags.b, element_at(tags, 'a'), cardinality(tags) FROM t

--@ struct-fields: fields by dot, by qualified dot, by brackets
--@ equal, at length
SELECT st.a, t.st.b, st['a'] FROM t WHERE st.a IS NOT NULL

--@ array-index-get: an index that may be outside
--@ equal, at length
SELECT get(arr, 0), get(arr, 9), try_element_at(arr, 2) FROM t

--@ array-index-outside: brackets raise under ANSI, and give NULL without
--@ equal, at length
SELECT arr[2] FROM t WHERE k = 'a'

--@ array-index-guarded: the same brackets behind a condition
--@ equal, at length
SELECT arr[2] AS third FROM t WHERE size(arr) > 2

--@ case-forms: both forms of CASE, with and without ELSE
--@ equal, at length
SELECT CASE k WHEN 'a' THEN 1 WHEN 'b' THEN 2 END, CASE WHEN i > 5 THEN 'hi' ELSE k END FROM t

--@ conditionals: the functions that choose
--@ equal, at length
SELECT IF(ok, k, s), COALESCE(k, s, '-'), NULLIF(k, 'a'), NVL(i, 0), NVL2(k, 1, 0), IFNULL(v, 0)
FROM t

--@ guarded-division: CASE keeps the division from being evaluated
--@ equal
SELECT CASE WHEN tiny <> 0 THEN 100 / tiny END AS q FROM t

--@ condition-guards-cast: WHERE keeps the cast from being evaluated
--@ equal
SELECT CAST(s AS INT) AS n FROM t WHERE s IN ('12', '-7')

--@ time-of-tuple: the event time itself, and parts of it
--@ equal, at length
SELECT time, hour(time), date_trunc('DAY', time), CAST(time AS DATE) FROM t

--@ json: made and read
--@ equal, at length
SELECT to_json(struct(k, tiny, ok)), from_json('{"a": 1}', 'a INT').a, get_json_object('{"z":5}', '$.z')
FROM t

--@ hashes: functions of bytes
--@ equal, at length
SELECT md5(bin), sha2(k, 256), crc32(bin), hash(k, i), xxhash64(k, v), base64(bin), hex(bin) FROM t

--@ bits: operators on bits
--@ equal, at length
SELECT tiny & 7, tiny | 8, tiny ^ 5, ~tiny, shiftleft(tiny, 3), tiny << 2, bit_count(small) FROM t

--@ struct-of-an-aggregate: a field without a name is called by its place
--@ equal
SELECT window.start, struct(k, COUNT(*), COUNT(*) + 1 AS more) AS st FROM t GROUP BY window(time, '1 day'), k

--@ named-struct-of-an-aggregate: names that are written stay
--@ equal
SELECT window.start, named_struct('k', k, 'n', COUNT(*)) AS st FROM t GROUP BY window(time, '1 day'), k

--@ struct-of-what-is-computed: fields by their places, within each other
--@ equal
SELECT struct(upper(k), struct(k, lower(k))) AS st, struct(i, i) AS twice FROM t
