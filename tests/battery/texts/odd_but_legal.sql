--@ comments: comments of both kinds wherever they may stand
--@ equal
-- before
SELECT /* one */ k, -- two
  COUNT(*) /* three, with ' and ` */ AS n
FROM /* four */ t -- five; SELECT
WHERE i > /* six */ 0
GROUP BY /* seven */ window(time, /* eight */ '10 seconds'), k
-- nine

--@ comment-nested: comments inside comments
--@ equal
SELECT /* a /* b */ c */ k FROM t WHERE i > 3

--@ comment-in-item: a comment that ends an item
--@ equal, at length
SELECT k -- the key
, i -- the number
FROM t

--@ comment-like-string: what looks like a comment in a string
--@ equal
SELECT '-- no', '/* no */', k FROM t WHERE s <> '--' AND s <> '/*'

--@ comment-only: nothing but a comment
--@ refused: empty | end of input
-- nothing here

--@ lower-case: everything in small letters
--@ equal, at length
select window.start, count(*) as n from t where i > 0 group by window(time, '10 seconds') having count(*) > 1 order by n

--@ one-token-lines: every word on a line of its own
--@ equal, at length
SELECT
k
,
COUNT
(
*
)
FROM
t
GROUP
BY
window
(
time
,
'10 seconds'
)
,
k

--@ no-spaces: as few blanks as can be
--@ equal
SELECT k,COUNT(*)n,SUM(tiny)+(1)z FROM t WHERE(i>0)AND k<>'b'GROUP BY window(time,'10 seconds'),k

--@ semicolon: one at the end
--@ equal
SELECT k FROM t WHERE i > 3;

--@ semicolons: several at the end
--@ equal
SELECT k FROM t WHERE i > 3 ; ;

--@ brackets: brackets around everything that may have them
--@ equal
SELECT (k), ((i)), (COUNT(*)) AS n FROM t WHERE ((i > 0) AND (((k = 'a')))) GROUP BY (window(time, '10 seconds')), (k), ((i))

--@ brackets-around-query: the whole query in brackets
--@ equal
(SELECT k FROM t)

--@ from-first: FROM before SELECT
--@ equal
FROM t SELECT k WHERE i > 3

--@ select-without-from: nothing to read
--@ refused: from
SELECT 1

--@ select-all: ALL says the default
--@ equal
SELECT ALL k FROM t WHERE i > 3

--@ at-table: the word TABLE
--@ equal
TABLE t

--@ alias-keyword-words: aliases that are words of the language
--@ equal, at length
SELECT i AS end, k AS start, v AS window, s AS filter, ok AS over FROM t

--@ window-as-alias: an aggregate named window
--@ equal
SELECT COUNT(*) AS window, MAX(i) AS start FROM t GROUP BY window(time, '10 seconds')

--@ numbers-close: signs next to each other
--@ equal, at length
SELECT v - -1, v+ +1, -(-v), 2-v, 2 -v FROM t

--@ operators: the less usual ones
--@ equal, at length
SELECT tiny <> 3, tiny == 3, NOT tiny = 3, tiny !> 3, tiny !< 3 FROM t

--@ operators-legal: the less usual ones that Spark has
--@ equal, at length
SELECT tiny <> 3, tiny == 3, NOT tiny = 3, !(tiny > 3), k || s, ~tiny FROM t

--@ chained-comparison: a comparison of a comparison
--@ refused: mismatch | syntax
SELECT k FROM t WHERE 1 < tiny < 3

--@ case-nested: CASE in CASE, with AND, BETWEEN and IN inside
--@ equal, at length
SELECT CASE WHEN i BETWEEN 0 AND 5 AND ok THEN CASE k WHEN 'a' THEN 1 ELSE 2 END WHEN k IN ('a', 'b') OR NOT ok THEN 3 END AS z
FROM t WHERE CASE WHEN i > 3 AND k = 'a' THEN ok ELSE NOT ok END AND tiny > 0

--@ case-in-conjuncts: AND inside of CASE beside AND outside
--@ equal
SELECT window.start, COUNT(*) AS n FROM t
WHERE i > 0 AND CASE WHEN k = 'a' AND ok THEN TRUE WHEN k = 'b' OR i > 3 THEN FALSE ELSE NULL END IS NOT FALSE AND tiny < 9
GROUP BY window(time, '1 minute')

--@ string-column-name: a string that looks like a column
--@ equal, at length
SELECT 'k', "k", `k` FROM t WHERE 'k' <> k

--@ string-window: a string that looks like a window
--@ equal, at length
SELECT k, 'window.start' AS z, COUNT(*) FROM t GROUP BY window(time, '10 seconds'), k HAVING 'COUNT(*)' <> k

--@ group-by-everything: window and all that is selected
--@ equal, at length
SELECT k, upper(k) AS z, length(upper(k)) AS y, COUNT(*) AS n FROM t GROUP BY window(time, '1 hour'), k, upper(k), length(upper(k))

--@ with-spark-hint: a hint of Spark's changes no meaning; documented as refused
--@ refused: hint
SELECT /*+ REPARTITION(3) */ k FROM t

--@ hint-like-comment: a comment with a plus further on is no hint
--@ equal, at length
SELECT k, /* + 3 */ i FROM t

--@ if-and-in-names: columns in calls with keywords inside
--@ equal, at length
SELECT extract(YEAR FROM ts), trim(BOTH FROM k), substring(k FROM 1 FOR 1), position('a' IN k), overlay(k PLACING 'z' FROM 1) FROM t

--@ extract-in-group: FROM inside of a call
--@ equal
SELECT extract(HOUR FROM time) AS h, COUNT(*) AS n FROM t GROUP BY window(time, '1 day'), extract(HOUR FROM time)

--@ distinct-from-in-select: FROM inside of an expression
--@ equal
SELECT k IS DISTINCT FROM 'a' AS z, i FROM t WHERE k IS DISTINCT FROM s

--@ interval-as-alias-trap: a word after an interval is a unit, no alias
--@ equal
SELECT INTERVAL 3 DAYS, ts + INTERVAL '3' HOUR AS later FROM t WHERE k = 'a'

--@ time-words: functions of constant times named like keywords
--@ equal, at length
SELECT timestamp('2024-03-31 00:00:00') AS a, date('2024-03-31') AS b, int('5') AS c, string(tiny) AS e, double(i) AS g FROM t WHERE k = 'a'

--@ at-time-zone: the standard's form, which Spark does not have
--@ refused: syntax | parse
SELECT ts AT TIME ZONE 'UTC' FROM t

--@ double-quoted-string: double quotes make strings
--@ equal, at length
SELECT k FROM t WHERE k = "a" OR k IN ("b", 'c')

--@ lateral-alias-in-group: aliases of items used by other items, grouped
--@ equal
SELECT upper(k) AS u, concat(u, '!') AS loud, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), upper(k)

--@ shuffled-conjuncts: the same condition as another text, in another order
--@ equal
SELECT window.start, COUNT(*) AS n FROM t WHERE k = 'a' AND i > 0 AND ok GROUP BY window(time, '10 seconds')

--@ shuffled-conjuncts-too: in this order
--@ equal
SELECT window.start, COUNT(*) AS n FROM t WHERE ok AND i > 0 AND k = 'a' GROUP BY window(time, '10 seconds')

--@ negative-modulo: signs of remainders
--@ equal, at length
SELECT -7 % 3, mod(-7, 3), pmod(-7, 3), -7 DIV 2, tiny % -3 FROM t WHERE k = 'a'

--@ deterministic-seed: a generator with a seed is still no function of the tuple
--@ refused: rand
SELECT rand(7) FROM t

--@ assertion: a function that raises or gives NULL
--@ equal, at length
SELECT assert_true(i IS NOT NULL) AS z FROM t WHERE i IS NOT NULL

--@ raise-error: a function that always raises, behind a condition
--@ equal
SELECT CASE WHEN i = 123456 THEN raise_error('never') ELSE k END AS z FROM t

--@ raise-error-reached: a function that raises whatever ANSI says
--@ equal
SELECT raise_error(concat('at ', k)) AS z FROM t WHERE k = 'b'

--@ sequence-too-long: an array that would not fit
--@ equal
SELECT size(sequence(0, tiny)) AS z FROM t
