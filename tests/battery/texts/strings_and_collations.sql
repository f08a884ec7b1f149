--@ case-functions: upper and lower of special letters
--@ equal, at length
SELECT upper(s), lower(s), initcap(s), reverse(s), length(s), octet_length(s), char_length(s) FROM t

--@ trim-functions: blanks at the ends
--@ equal, at length
SELECT trim(s), ltrim(s), rtrim(s), TRIM(BOTH 'a' FROM s), TRIM(LEADING FROM s), btrim(s, 'ab') FROM t

--@ string-index: strings have no index
--@ refused: extract
SELECT s[0] AS z FROM t

--@ parts: cut by characters, not by bytes
--@ equal, at length
SELECT substring(s, 2, 3), substr(s FROM 2 FOR 1), left(s, 2), right(s, 2), substring(s, -2), overlay(s PLACING '_' FROM 2) FROM t

--@ search: where one string is in another
--@ equal, at length
SELECT instr(s, 'n'), locate('a', s, 2), position('a' IN s), contains(s, 'an'), startswith(s, 'b'), endswith(s, 'a') FROM t

--@ concatenation: bars, functions, and NULL
--@ equal, at length
SELECT k || '-' || s, concat(k, s, tiny), concat_ws(',', k, s, NULL), repeat(k, 3), lpad(k, 3, '*'), rpad(k, 3) FROM t

--@ regular-expressions: groups, replacements, splits
--@ equal, at length
SELECT regexp_extract(s, '([a-z]+)', 1), regexp_replace(s, '[aeiou]', '*'), split(s, ' '), regexp_count(s, 'a'), regexp_substr(s, '\\d+') FROM t

--@ translations: other functions of text
--@ equal, at length
SELECT translate(s, 'abn', 'xyz'), replace(s, 'an', 'AN'), soundex(s), levenshtein(k, 'ab'), ascii(s), base64(CAST(s AS BINARY)), split_part(s, 'a', 1) FROM t

--@ format-string: as in C
--@ equal, at length
SELECT format_string('%s|%5d|%.2f', k, i, v), printf('%x', tiny), format_number(v, 2), elt(2, k, s) FROM t

--@ combining: a letter with an accent is not that letter and an accent
--@ equal, at length
SELECT s FROM t WHERE s = 'é' OR s = 'e\u0301'

--@ zero-byte: a string with a zero byte in it
--@ equal, at length
SELECT s, length(s) FROM t WHERE s LIKE 'nul%in' OR s = 'nul\0in'

--@ trailing-blanks: they count
--@ equal, at length
SELECT s FROM t WHERE s = 'ab' OR s = 'ab  '

--@ empty-string: it is not NULL
--@ equal, at length
SELECT s, k FROM t WHERE s = '' OR k = ''

--@ long-string: three thousand letters
--@ equal, at length
SELECT length(s), sha1(s) FROM t WHERE length(s) > 100

--@ quotes-inside: constants with quotes and backslashes
--@ equal
SELECT s FROM t WHERE s = 'it''s' OR s = "it's" OR s = 'say "hi"' OR s = 'a\\b' OR s = r'a\b'

--@ line-break-inside: constants with a line break and a tab
--@ equal, at length
SELECT s FROM t WHERE s = 'line
break' OR s = 'tab\there'

--@ owl: a character outside of the basic plane
--@ equal, at length
SELECT s, length(s) FROM t WHERE s IN ('🦉', '日本')

--@ window-unicode-condition: such constants before a window
--@ equal, at length
SELECT window.start, COUNT(*) AS n FROM t WHERE s IN ('é', '🦉', 'it''s', 'a\\b', '50%') GROUP BY window(time, '1 hour')

--@ collate-equal: whatever the case
--@ equal
SELECT s FROM t WHERE s COLLATE UTF8_LCASE = 'BANANA'

--@ collate-unicode: by the rules of Unicode
--@ equal
SELECT s FROM t WHERE s COLLATE UNICODE_CI_AI = 'ahre' OR s COLLATE UNICODE_CI = 'STRASSE'

--@ collate-key: groups whatever the case
--@ refused: collat | type string collate
SELECT k COLLATE UTF8_LCASE AS z, COUNT(*) AS n FROM t GROUP BY window(time, '1 hour'), k COLLATE UTF8_LCASE

--@ collate-distinct: distinct whatever the case
--@ refused: collat | type string collate
SELECT window.start, COUNT(DISTINCT k COLLATE UTF8_LCASE) AS n FROM t GROUP BY window(time, '1 hour')

--@ collate-result: a result column that has a collation
--@ equal
SELECT s COLLATE UNICODE AS z FROM t WHERE k = 'a'

--@ collate-order: the order of another alphabet within a window
--@ equal
SELECT window.start, s, COUNT(*) AS n FROM t GROUP BY window(time, '1 hour'), s ORDER BY s COLLATE UNICODE DESC LIMIT 3
--@ oracle
SELECT start, s, n FROM (
  SELECT start, s, n, row_number() OVER (PARTITION BY start ORDER BY s COLLATE UNICODE DESC) AS place FROM (
    SELECT window.start, s, COUNT(*) AS n FROM t GROUP BY window(time, '1 hour'), s)) WHERE place <= 3

--@ collate-having: after the window
--@ equal
SELECT k, COUNT(*) AS n FROM t GROUP BY window(time, '1 hour'), k HAVING k COLLATE UTF8_LCASE = 'b'

--@ collate-like: a pattern whatever the case
--@ equal, at length
SELECT s FROM t WHERE s COLLATE UTF8_LCASE LIKE 'BAN%' OR contains(s COLLATE UTF8_LCASE, 'AN')

--@ collation-of: its name
--@ equal, at length
SELECT collation(s), collation(s COLLATE UNICODE) FROM t WHERE k = 'a'
