--@ compare-all: the six comparisons
--@ equal, at length
SELECT k, i FROM t WHERE i >= 0 AND i <= 12 AND i <> 3 AND i != 4 AND NOT i = 5 AND i < 12

--@ column-on-the-right: the constant comes first
--@ equal, at length
SELECT i FROM t WHERE 3 < i AND 15 >= i

--@ columns-compared: two columns of different types
--@ equal, at length
SELECT tiny, i FROM t WHERE tiny < i

--@ between-columns: bounds that are columns
--@ equal
SELECT tiny, small, i FROM t WHERE tiny BETWEEN i AND small

--@ not-between: outside, and NULL is neither
--@ equal, at length
SELECT i FROM t WHERE i NOT BETWEEN 0 AND 10

--@ between-empty: bounds in the wrong order
--@ equal, at length
SELECT i FROM t WHERE i BETWEEN 10 AND 0

--@ in-list: members of a list
--@ equal, at length
SELECT k FROM t WHERE k IN ('a', 'B', '')

--@ in-with-null: NULL in the list adds nothing
--@ equal
SELECT k FROM t WHERE k IN ('a', NULL)

--@ not-in-with-null: NULL in the list leaves nothing
--@ equal
SELECT k FROM t WHERE k NOT IN ('a', NULL)

--@ not-in: everything else, but not NULL
--@ equal, at length
SELECT k FROM t WHERE k NOT IN ('a', 'b')

--@ in-columns: a list of columns and expressions
--@ equal, at length
SELECT k, s FROM t WHERE k IN (s, lower(s), 'c')

--@ in-mixed-types: the list decides the type of the comparison
--@ equal, at length
SELECT i FROM t WHERE i IN (1, 2.5, 3e0)

--@ null-safe-equal: NULL equals NULL
--@ equal
SELECT k, s FROM t WHERE k <=> s OR k <=> NULL

--@ is-distinct-from: the standard's words for it
--@ equal
SELECT i, tiny FROM t WHERE i IS DISTINCT FROM tiny AND k IS NOT DISTINCT FROM 'a'

--@ null-tests: IS NULL of a column and of an expression
--@ equal, at length
SELECT k FROM t WHERE k IS NULL OR (v + 1) IS NULL OR ok IS NOT NULL

--@ is-true: truth with NULLs made definite
--@ equal, at length
SELECT ok FROM t WHERE ok IS NOT TRUE OR (i > 3) IS FALSE OR ok IS UNKNOWN

--@ boolean-column: a column alone is a condition
--@ equal, at length
SELECT ok, k FROM t WHERE ok

--@ not-boolean-column: NOT of a column, where NULL stays NULL
--@ equal, at length
SELECT ok, k FROM t WHERE NOT ok

--@ bang: the exclamation mark for NOT
--@ equal, at length
SELECT ok FROM t WHERE !ok

--@ boolean-compared: booleans compared with booleans
--@ equal, at length
SELECT ok FROM t WHERE ok = (i > 3) OR ok < TRUE

--@ three-valued: AND, OR and NOT with NULLs on either side
--@ equal, at length
SELECT ok, i FROM t WHERE NOT (ok AND i > 3) OR NOT (ok OR i < 3)

--@ precedence: AND binds closer than OR, NOT closer than both
--@ equal, at length
SELECT k, i, ok FROM t WHERE k = 'a' OR k = 'b' AND NOT ok AND i > 0 OR i = 7

--@ between-and-and: the AND of BETWEEN beside the other one
--@ equal
SELECT i, v FROM t WHERE i BETWEEN 0 AND 9 AND v BETWEEN -50 AND 50 AND NOT i BETWEEN 3 AND 4

--@ like: per cent and underscore
--@ equal
SELECT s FROM t WHERE s LIKE '%an%' OR s LIKE '_b' OR s LIKE 'a\_b'

--@ like-escape: an escape of one's own
--@ equal
SELECT s FROM t WHERE s LIKE '50#%' ESCAPE '#' OR s LIKE 'a/_b' ESCAPE '/'

--@ not-like: everything else, but not NULL
--@ equal, at length
SELECT s FROM t WHERE s NOT LIKE '%a%'

--@ like-any: any of several patterns
--@ equal
SELECT s FROM t WHERE s LIKE ANY ('a%', '%12%', NULL)

--@ like-some: SOME is ANY
--@ equal, at length
SELECT s FROM t WHERE s LIKE SOME ('b%', '-%')

--@ like-all: all of several patterns
--@ equal
SELECT s FROM t WHERE s LIKE ALL ('%a%', '%n%') OR s NOT LIKE ALL ('%a%', '%2%')

--@ ilike: whatever the case
--@ equal, at length
SELECT s FROM t WHERE s ILIKE 'BAN%' OR s NOT ILIKE '%A%'

--@ rlike: regular expressions, by each of their names
--@ equal
SELECT s FROM t WHERE s RLIKE '^[a-z]+$' OR s REGEXP '\\d{2}' OR regexp_like(s, r'\s')

--@ like-column: a pattern that is a column
--@ refused: constant
SELECT s, k FROM t WHERE s LIKE concat(k, '%')

--@ string-with-number: Spark casts the string, which may fail under ANSI
--@ equal, at length
SELECT s FROM t WHERE s = 12

--@ number-with-string: the number column, compared with a string constant
--@ equal
SELECT i FROM t WHERE i = '12' OR i > '5'

--@ bigint-with-double: 2^53 + 1 is not a double
--@ equal
SELECT b FROM t WHERE b = 9007199254740992D OR b > 9e18

--@ bigint-extremes: constants at the ends of the type
--@ equal, at length
SELECT b FROM t WHERE b = -9223372036854775808 OR b >= 9223372036854775807

--@ beyond-bigint: a constant outside the type of its column
--@ equal
SELECT b FROM t WHERE b < 9223372036854775808 AND b > -99999999999999999999

--@ tinyint-beyond: a constant outside a small column's type
--@ equal, at length
SELECT tiny FROM t WHERE tiny < 1000 AND tiny > -128.5 AND tiny <> 127.0

--@ float-with-decimal: 0.1 is no float
--@ equal
SELECT f FROM t WHERE f = 0.1 OR f = 0.1F OR f > 16777216

--@ double-with-decimal: a double and a decimal constant
--@ equal
SELECT x FROM t WHERE x = 0.1 OR x = 0.1BD OR x < -1e299

--@ decimal-with-double: a decimal column and a double constant
--@ equal
SELECT d FROM t WHERE d > 1e1 OR d = 99999999.99 OR d <= -99999999.99

--@ decimal-wide: more digits than the column has
--@ equal, at length
SELECT w FROM t WHERE w > 0.0000000000000000005 AND w < 99999999999999999999.999999999999999999

--@ decimal-with-string: a string cast to the decimal's partner type
--@ equal, at length
SELECT d FROM t WHERE d > '12.5'

--@ binary-compared: bytes in their order, unsigned
--@ equal, at length
SELECT bin FROM t WHERE bin > X'61' OR bin = X''

--@ binary-with-string: a binary column and a string
--@ equal, at length
SELECT bin FROM t WHERE bin = 'a'

--@ strings-in-order: UTF-8's order, not any language's
--@ equal
SELECT s FROM t WHERE s > 'Z' AND s < 'ä'

--@ arrays-compared: arrays equal and in order
--@ equal, at length
SELECT arr FROM t WHERE arr = array(1, 2, 3) OR arr > array(6)

--@ structs-compared: structs equal and in order
--@ equal, at length
SELECT st FROM t WHERE st = named_struct('a', 1, 'b', 'x') OR st > named_struct('a', 1, 'b', 'z')

--@ raise-guarded: the first condition keeps the second from raising
--@ equal
SELECT s FROM t WHERE s RLIKE '^-?[0-9]+$' AND CAST(s AS INT) > 0

--@ raise-in-or: a cast behind OR raises under ANSI where it is reached
--@ equal
SELECT s FROM t WHERE k = 'a' OR CAST(s AS INT) > 0

--@ functions-in-where: calls on the column
--@ equal, at length
SELECT k, i FROM t WHERE abs(v) > 5 AND length(k) = 1 AND pmod(i, 3) = 1

--@ arithmetic-overflow: a sum that overflows raises under ANSI and wraps without
--@ equal, at length
SELECT i FROM t WHERE i + 1 > 5

--@ where-on-alias-refused: WHERE does not see aliases
--@ refused: zz
SELECT i AS zz FROM t WHERE zz > 3

--@ lambda-where: a lambda over an array
--@ equal, at length
SELECT arr FROM t WHERE exists(arr, e -> e > 2) OR exists(arr, e -> e IS NULL)

--@ window-where: conditions of all kinds before a window
--@ equal
SELECT window.start, COUNT(*) AS n FROM t
WHERE k LIKE 'a%' OR i IN (1, 2, 3) AND ok OR s RLIKE 'n' OR time > '2024-06-01'
GROUP BY window(time, '1 minute')

--@ window-where-or: many ranges of one column
--@ equal
SELECT window.start, COUNT(*) AS n FROM t
WHERE i < -5 OR i BETWEEN 2 AND 4 OR i IN (7, 9) OR i > 15 OR i IS NULL
GROUP BY window(time, '10 seconds')

--@ window-where-never: nothing is left to count
--@ equal, at length
SELECT window.start, COUNT(*) AS n FROM t WHERE i > 5 AND i < 5 GROUP BY window(time, '10 seconds')

--@ window-where-null: a comparison with NULL
--@ equal, at length
SELECT window.start, COUNT(*) AS n FROM t WHERE i = NULL OR k = 'a'
GROUP BY window(time, '10 seconds')

--@ window-where-subscript: a map's value as a condition
--@ equal, at length
SELECT window.end, COUNT(*) AS n FROM t WHERE tags['a'] = 1 AND st.a > 0
GROUP BY window(time, '10 seconds')
