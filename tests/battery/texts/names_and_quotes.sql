--@ space-in-name: a name with a space
--@ equal, at length
SELECT `my col`, `my col` + 1 AS `one more` FROM odd WHERE `my col` > 0

--@ space-in-name-aggregated: the same in an aggregate
--@ equal, at length
SELECT SUM(`my col`), AVG(odd.`my col`) AS `the mean` FROM odd GROUP BY window(time, '10 seconds')

--@ dot-in-name: a name with a dot is not a field
--@ equal
SELECT `a.b`, a.b FROM dots

--@ dot-in-name-filtered: the same in a condition
--@ equal
SELECT `a.b` FROM dots WHERE `a.b` > 3

--@ dot-in-name-computed: the same in an expression
--@ equal
SELECT `a.b` * 2L AS z FROM dots WHERE `a.b` IN (1, 2, 3)

--@ dot-in-name-key: the same as a key
--@ equal
SELECT `a.b`, COUNT(*) AS n FROM dots GROUP BY window(time, '1 hour'), `a.b`

--@ dot-in-name-summed: the same in an aggregate
--@ equal
SELECT MAX(`a.b`) AS z, COUNT(`a.b`) AS n FROM dots GROUP BY window(time, '1 hour')

--@ backtick-in-name: a name with a backtick is written with two
--@ equal
SELECT `a``b` FROM dots WHERE `a``b` = 'a'

--@ backtick-in-name-computed: the same in an expression
--@ equal
SELECT upper(`a``b`) AS z FROM dots

--@ backtick-in-name-key: the same as a key
--@ equal
SELECT `a``b`, COUNT(*) AS n FROM dots GROUP BY window(time, '1 hour'), `a``b`

--@ backtick-in-alias: an alias with a backtick
--@ equal
SELECT k AS `x``y`, COUNT(*) AS `n``n` FROM t GROUP BY window(time, '10 seconds'), k

--@ backtick-alias-ordered: such an alias in HAVING and ORDER BY
--@ equal
SELECT k, COUNT(*) AS `n``n` FROM t GROUP BY window(time, '10 seconds'), k HAVING `n``n` > 1 ORDER BY `n``n`

--@ keyword-names: columns named like keywords, quoted
--@ equal, at length
SELECT `select`, `order` FROM odd WHERE `order` > 0 AND `select` < 100

--@ keyword-names-bare: Spark lets most keywords be names
--@ equal
SELECT order, select FROM odd WHERE order > 0

--@ keyword-names-grouped: the same as keys and in aggregates
--@ equal, at length
SELECT `select`, MAX(`order`) AS `group` FROM odd GROUP BY window(time, '1 hour'), `select` ORDER BY `group`

--@ keyword-aliases: aliases named like clauses
--@ equal
SELECT k AS from, i AS where, ok AS group, v AS having, s AS limit FROM t

--@ window-column: the column named window in a selection
--@ equal
SELECT window, `window` AS w, session_window FROM odd WHERE window = 'a'

--@ window-column-key: the column named window as a key
--@ equal
SELECT window, COUNT(*) AS n FROM odd GROUP BY window(time, '10 seconds'), window

--@ window-column-qualified: qualified, it can be nothing else
--@ equal, at length
SELECT odd.window, COUNT(*) AS n FROM odd GROUP BY window(time, '10 seconds'), odd.window

--@ window-column-summed: the column named window in an aggregate
--@ equal
SELECT MAX(window) AS z, COUNT(DISTINCT session_window) AS n FROM odd GROUP BY window(time, '10 seconds')

--@ inner-names: columns with the names that are used inside
--@ equal
SELECT _k0, _a0, upper(window) AS _k1, COUNT(*) AS _a1, SUM(_a0) AS _p0 FROM odd
GROUP BY window(time, '1 hour'), _k0, _a0, upper(window) HAVING COUNT(*) > 0 AND SUM(_a0) < 1000

--@ inner-names-selected: the same in a selection
--@ equal
SELECT _k0, _a0 + 1L AS _p, _a0 AS _t FROM odd WHERE _k0 > 0 OR _a0 > 0

--@ inner-names-computed: expressions of results beside such columns
--@ equal
SELECT _a0, MAX(`select`) + COUNT(*) AS z, concat(window, '!') AS y FROM odd
GROUP BY window(time, '1 hour'), _a0, window ORDER BY _a0 DESC LIMIT 100000

--@ unicode-name: a name with letters of another language, quoted
--@ equal, at length
SELECT `Größe`, `größe` FROM odd WHERE `GRÖßE` > 0

--@ unicode-name-bare: Spark wants them quoted
--@ refused: identifier
SELECT Größe FROM odd

--@ unicode-alias: an alias of another alphabet
--@ equal, at length
SELECT k AS `日本`, COUNT(*) AS `🦉` FROM t GROUP BY window(time, '10 seconds'), k

--@ case-of-names: names fold, results keep the spelling of the text
--@ equal, at length
SELECT MIXEDCASE, mixedcase, MixedCase FROM odd WHERE mixedCase

--@ case-of-keys: the same for keys
--@ equal, at length
SELECT K, Count(*) AS N FROM T GROUP BY WINDOW(TIME, '10 seconds'), k ORDER BY n, K

--@ qualified: the stream's name before columns
--@ equal, at length
SELECT t.k, t.i + t.tiny AS z FROM t WHERE t.i BETWEEN 0 AND 9 AND T.ok

--@ qualified-by-alias: an alias for the stream
--@ equal, at length
SELECT u.k, SUM(u.tiny) AS z FROM t u WHERE u.i > 0 GROUP BY window(u.time, '10 seconds'), u.k HAVING SUM(u.tiny) > 0 ORDER BY u.k

--@ alias-hides-name: once there is an alias, the stream's own name is unknown
--@ refused: t.k | `t`
SELECT t.k FROM t AS u

--@ alias-is-column: an alias for the stream that is also a column
--@ equal, at length
SELECT k.k, k.i FROM t AS k WHERE k.i > 3

--@ alias-is-struct: an alias for the stream that is also a struct: the table wins
--@ equal
SELECT st.k, st.st.a FROM t AS st

--@ quoted-stream: the stream's name in backticks
--@ equal, at length
SELECT `t`.`k` FROM `t` WHERE `t`.`i` > 3

--@ stream-case: the stream's name folds
--@ equal, at length
SELECT T.k FROM T WHERE t.i > 3

--@ unknown-column: there is none of that name
--@ refused: kk
SELECT kk FROM t

--@ unknown-column-in-window: nor here
--@ refused: tme
SELECT COUNT(*) FROM t GROUP BY window(tme, '10 seconds')

--@ unknown-field: a struct without such a field
--@ refused: zz
SELECT st.zz FROM t

--@ unknown-stream: no stream of that name
--@ refused: nowhere
SELECT k FROM nowhere

--@ unknown-function: no function of that name
--@ refused: frobnicate
SELECT frobnicate(k) FROM t

--@ qualified-stream: a database before the stream's name
--@ refused: default | one stream | there is no stream
SELECT k FROM default.t

--@ column-list: names for all columns after the stream
--@ refused: one stream | column
SELECT a FROM dots AS u(p, q, r, s, z)

--@ hex-name: a name that looks like a number
--@ equal, at length
SELECT k AS `1`, i AS `2.5`, ok AS `NULL` FROM t

--@ empty-alias: a name may have no character at all
--@ equal
SELECT k AS `` FROM t
