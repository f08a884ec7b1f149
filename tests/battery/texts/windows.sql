--@ tumbling: ten seconds, tuples on the edges
--@ equal
SELECT window.start, window.end, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds')

--@ sliding: every tuple in two windows
--@ equal
SELECT window.start, window.end, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds', '5 seconds')

--@ sliding-uneven: the slide does not divide the size
--@ equal, at length
SELECT window, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds', '3 seconds')

--@ start-offset: windows that begin at second three
--@ equal, at length
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds', '10 seconds', '3 seconds')

--@ start-offset-sliding: slide and offset together
--@ equal, at length
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds', '5 seconds', '2 seconds')

--@ start-offset-negative: an offset before the epoch
--@ equal
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds', '5 seconds', '-2 seconds')

--@ window-997-ms: a size that divides nothing
--@ equal
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '997 milliseconds')

--@ window-one-microsecond: the shortest window there is
--@ equal
SELECT window.start, window.end, COUNT(*) AS n FROM t GROUP BY window(time, '1 microsecond')

--@ window-7-microseconds: an odd number of the smallest unit
--@ equal, at length
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '7 microseconds', '3 microseconds')

--@ window-hour: a clock change lies between two windows
--@ equal, at length
SELECT window.start, window.end, COUNT(*) AS n, MAX(v) FROM t GROUP BY window(time, '1 hour')

--@ window-day: days are UTC's in every time zone
--@ equal
SELECT window, COUNT(*) AS n FROM t GROUP BY window(time, '1 day')

--@ window-week: weeks begin on Thursday, as the epoch did
--@ equal, at length
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '1 week')

--@ window-365-days: a year, as days
--@ equal
SELECT window.start, window.end, COUNT(*) AS n FROM t GROUP BY window(time, '365 days')

--@ window-month: Spark has no windows of months
--@ refused: month
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '1 month')

--@ window-year: nor of years
--@ refused: year | month
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '1 year')

--@ window-interval-word: the word INTERVAL inside the string
--@ equal, at length
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, 'INTERVAL 10 SECONDS')

--@ window-two-units: several units in one duration
--@ equal, at length
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '1 minute 30 seconds')

--@ window-fraction: half a second more
--@ equal, at length
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '10.5 seconds')

--@ window-fraction-of-hour: Spark takes fractions of seconds only
--@ refused: 1.5 | interval
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '1.5 hours')

--@ window-spaces: a duration with odd spaces and capitals
--@ equal, at length
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '  10   SECONDS ')

--@ window-sum-of-units: the same unit twice, and a minus
--@ equal, at length
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '1 minute -50 seconds')

--@ window-number: a duration in microseconds, as a number
--@ equal
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, 10000000)

--@ window-zero: a window of no length
--@ refused: longer than nothing | must be greater | window duration
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '0 seconds')

--@ window-negative: a window of negative length
--@ refused: longer than nothing | must be greater | window duration
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '-10 seconds')

--@ window-slide-too-long: a slide longer than the window
--@ refused: slide
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds', '20 seconds')

--@ window-offset-too-long: an offset that is not below the slide
--@ refused: offset | start
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds', '5 seconds', '5 seconds')

--@ window-nonsense: a duration that is none
--@ refused: soon
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, 'soon')

--@ window-null-size: a duration that is NULL
--@ refused: null | constant
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, NULL)

--@ window-computed-size: a duration that is computed from constants
--@ refused: constant
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, concat('10', ' seconds'))

--@ window-column-size: a duration that is a column
--@ refused: constant | literal
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, k)

--@ window-other-column: a window over a column that is not the event time
--@ refused: event time
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(ts, '10 seconds')

--@ window-computed-time: a window over an expression
--@ refused: event time
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time + INTERVAL 1 SECOND, '10 seconds')

--@ window-twice: the same window named twice is one window
--@ equal
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), window(time, '10 seconds')

--@ two-windows: two different windows
--@ refused: one window | window
SELECT COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), window(time, '20 seconds')

--@ window-of-selected: the call again in SELECT
--@ equal
SELECT window(time, '10 seconds').start AS s, window(time, '10 seconds').end AS e, COUNT(*) AS n
FROM t GROUP BY window(time, '10 seconds')

--@ window-call-in-having: the call again in HAVING, where Spark no longer knows the event time
--@ refused: time
SELECT COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds') HAVING window(time, '10 seconds').start > '2024-01-01'

--@ window-call-in-order: the same in ORDER BY
--@ refused: time
SELECT COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds') ORDER BY window(time, '10 seconds').start

--@ window-other-in-select: another window in SELECT than in GROUP BY
--@ refused: window | aggregat | group
SELECT window(time, '20 seconds').start, COUNT(*) FROM t GROUP BY window(time, '10 seconds')

--@ window-not-grouped: a window in a selection repeats tuples
--@ refused: window
SELECT window(time, '10 seconds').start, k FROM t

--@ window-arithmetic: the length of a window
--@ equal
SELECT window.end - window.start AS length, COUNT(*) AS n FROM t GROUP BY window(time, '90 seconds')

--@ window-functions: functions of the window's ends
--@ equal
SELECT date_format(window.start, 'yyyy-MM-dd HH:mm:ss'), unix_timestamp(window.end), hour(window.start),
       CAST(window.start AS STRING), window.start + INTERVAL 1 DAY
FROM t GROUP BY window(time, '1 hour')

--@ window-time: the function that names a window's last moment is no function of the group to Spark
--@ refused: aggregat | group
SELECT window_time(window), COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds')

--@ window-time-grouped: nor as a key itself
--@ refused: made of a window | window_time
SELECT window_time(window) AS last, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds'), window_time(window)

--@ window-in-where: WHERE comes before windows
--@ refused: window
SELECT COUNT(*) FROM t WHERE window.start > '2024-01-01' GROUP BY window(time, '10 seconds')

--@ window-by-ordinal: the window is the first item of SELECT
--@ equal
SELECT window(time, '10 seconds') AS w, COUNT(*) AS n FROM t GROUP BY 1

--@ window-by-alias: the window has a name in SELECT
--@ equal, at length
SELECT window(time, '10 seconds') AS slot, COUNT(*) AS n FROM t GROUP BY slot

--@ window-start-as-key: a key that is made of a window
--@ refused: made of a window
SELECT window(time, '10 seconds').start AS s, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds').start

--@ window-alias-in-group: an alias inside GROUP BY is refused by Spark
--@ refused: syntax | alias
SELECT w.start, COUNT(*) AS n FROM t GROUP BY window(time, '10 seconds') AS w

--@ window-not-selected: nothing tells the windows apart
--@ equal, at length
SELECT k, COUNT(*) FROM t GROUP BY window(time, '10 seconds'), k

--@ window-upper-case: function names fold
--@ equal, at length
SELECT WINDOW.START, WINDOW.END, COUNT(*) FROM t GROUP BY WINDOW(TIME, '10 seconds')

--@ window-quoted: the function's name in backticks
--@ equal, at length
SELECT `window`.`start`, COUNT(*) AS n FROM t GROUP BY `window`(`time`, '10 seconds')

--@ window-qualified-time: the event time with the stream's name before it
--@ equal, at length
SELECT window.start, COUNT(*) AS n FROM t GROUP BY window(t.time, '10 seconds')

--@ session: gaps of five seconds
--@ equal
SELECT session_window.start, session_window.end, COUNT(*) AS n FROM t GROUP BY session_window(time, '5 seconds')

--@ session-keyed: sessions of every key
--@ equal
SELECT session_window, k, COUNT(*) AS n, SUM(v) AS v FROM t GROUP BY session_window(time, '4 seconds'), k

--@ session-edge: a gap that is exactly the distance of two tuples
--@ equal, at length
SELECT session_window.start, COUNT(*) AS n FROM t WHERE i > 0 GROUP BY session_window(time, '2500 milliseconds')

--@ session-one-microsecond: neighbours one microsecond apart are no session
--@ equal, at length
SELECT session_window.end, COUNT(*) AS n FROM t GROUP BY session_window(time, '1 microsecond')

--@ session-expressions: expressions over a session's ends
--@ equal
SELECT session_window.end - session_window.start AS length, MAX(i) - MIN(i) AS spread, k
FROM t WHERE i BETWEEN -99 AND 99 GROUP BY session_window(time, '30 seconds'), k HAVING COUNT(*) > 1

--@ session-dynamic-gap: a gap that depends on the tuple
--@ refused: constant
SELECT session_window.start, COUNT(*) AS n FROM t
GROUP BY session_window(time, CASE WHEN ok THEN '5 seconds' ELSE '10 seconds' END)

--@ session-zero-gap: tuples with no gap are dropped by Spark, so there is nothing to ask
--@ refused: gap | longer than nothing
SELECT session_window.start, COUNT(*) AS n FROM t GROUP BY session_window(time, '0 seconds')

--@ session-and-window: two kinds of windows
--@ refused: window
SELECT COUNT(*) FROM t GROUP BY session_window(time, '5 seconds'), window(time, '10 seconds')

--@ window-column-shadows: a column named window hides the window's own
--@ refused: window
SELECT window.start, COUNT(*) AS n FROM odd GROUP BY window(time, '10 seconds')

--@ window-beside-column: beside a column of that name, the call itself still works
--@ equal
SELECT window(time, '10 seconds').start AS s, COUNT(*) AS n FROM odd GROUP BY window(time, '10 seconds')
