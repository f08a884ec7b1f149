--@ time-after-string: a constant in the session's time zone
--@ equal
SELECT ts FROM t WHERE ts >= '2024-03-31 02:30:00' AND ts < '2024-10-27 02:30:00'

--@ event-time-range: a range of the event time
--@ equal
SELECT time FROM t WHERE time BETWEEN '2024-03-31 00:59:59' AND '2024-03-31 01:00:01.5+00:00'

--@ time-microseconds: constants with six digits
--@ equal
SELECT ts FROM t WHERE ts = '2024-03-31 01:00:00.000001+00:00' OR ts < TIMESTAMP '1970-01-01 00:00:00Z'

--@ time-in-list: times in a list of strings
--@ equal, at length
SELECT ts FROM t WHERE ts IN ('2024-03-31 01:00:00Z', TIMESTAMP '2024-10-27 00:30:00Z')

--@ time-is-no-time: a word for a time, and one that Spark takes for no time zone
--@ refused: deterministic
SELECT ts FROM t WHERE ts > 'yesterday evening'

--@ time-with-date: a time compared with a date
--@ equal, at length
SELECT ts, day FROM t WHERE ts > DATE '2024-03-31' OR ts < day

--@ ntz-range: a time without zone
--@ equal
SELECT ntz FROM t WHERE ntz >= '2024-03-31 02:30:00' AND ntz < TIMESTAMP_NTZ '2024-10-27 02:30:00'

--@ ntz-with-ltz: the two kinds of times compared
--@ equal
SELECT ntz, ts FROM t WHERE ntz = ts OR ntz > TIMESTAMP_LTZ '2024-03-31 03:30:00'

--@ date-range: days, as strings and as dates
--@ equal, at length
SELECT day FROM t WHERE day > '2024-03-01' AND day <= DATE '2024-03-31' OR day = '0001-01-01'

--@ date-with-time: a day compared with a time
--@ equal, at length
SELECT day FROM t WHERE day = TIMESTAMP '2024-03-31 00:00:00' OR day > '2024-10-26 12:00:00'

--@ date-short: a string that is less than a date
--@ equal, at length
SELECT day FROM t WHERE day >= '2024-10' OR day = '2024'

--@ date-with-number: Spark refuses it
--@ refused: mismatch
SELECT day FROM t WHERE day > 20240101

--@ date-parts: parts of dates before 1582 and after
--@ equal, at length
SELECT year(day), month(day), dayofweek(day), weekofyear(day), dayofyear(day), quarter(day), last_day(day) FROM t

--@ time-parts: parts of times, in the session's time zone
--@ equal, at length
SELECT hour(ts), minute(ts), second(ts), year(ts), extract(SECOND FROM ts), date_part('HOUR', ntz), weekday(ts) FROM t

--@ truncation: times cut at hours, days and weeks, where the clocks change
--@ equal, at length
SELECT date_trunc('HOUR', ts), date_trunc('DAY', ts), date_trunc('WEEK', ts), date_trunc('MICROSECOND', ts), trunc(day, 'MM') FROM t

--@ interval-arithmetic: a day is not always 24 hours
--@ equal
SELECT ts + INTERVAL 1 DAY, ts + INTERVAL 24 HOURS, ntz + INTERVAL '1 2' DAY TO HOUR, ts - INTERVAL 1 MONTH FROM t WHERE year(ts) = 2024

--@ interval-where: an interval in a condition
--@ equal, at length
SELECT ts FROM t WHERE ts + INTERVAL 1 HOUR > TIMESTAMP '2024-03-31 03:00:00' AND time - ts < INTERVAL '300' DAY

--@ day-arithmetic: days added and subtracted
--@ equal, at length
SELECT day + 1, date_add(day, -1), day - INTERVAL 1 MONTH, datediff(day, DATE '2024-01-01'), add_months(day, 1) FROM t WHERE year(day) = 2024

--@ day-overflow: the day after the last one
--@ equal, at length
SELECT day + 2000000000 AS z FROM t WHERE day IS NOT NULL

--@ differences: between two times
--@ equal
SELECT ts - time AS a, timestampdiff(SECOND, ts, time) AS b, unix_micros(ts) - unix_micros(time) AS c, day - DATE '2024-01-01' AS e FROM t

--@ unix-timestamp-of: with an argument it is a function of the tuple
--@ equal
SELECT unix_timestamp(ts), unix_timestamp('2024-03-31 02:30:00'), to_unix_timestamp(ts), unix_millis(ts), unix_seconds(ts) FROM t

--@ from-unixtime: seconds as text, in the session's time zone
--@ equal, at length
SELECT from_unixtime(tiny), from_unixtime(tiny * 100000L, 'yyyy-MM-dd HH:mm'), timestamp_millis(small) FROM t

--@ time-zones: from one zone to another
--@ equal, at length
SELECT from_utc_timestamp(ts, 'Asia/Kolkata'), to_utc_timestamp(ts, 'America/New_York'), convert_timezone('UTC', 'Asia/Tokyo', ntz) FROM t

--@ current-timezone: the session's setting is a constant
--@ refused: determin
SELECT current_timezone() AS z FROM t WHERE k = 'a'

--@ formats: times as text
--@ equal, at length
SELECT date_format(ts, 'yyyy-MM-dd HH:mm:ss.SSSSSS VV'), date_format(day, 'EEEE, d MMMM y'), to_char(tiny, '999') FROM t WHERE year(ts) > 1900

--@ parsing: text as times
--@ equal, at length
SELECT try_to_timestamp(s), try_to_date(s, 'yyyy-MM-dd'), to_timestamp('2024-03-31 02:30:00'), to_date('2024-03-31') FROM t

--@ parsing-raises: text that is no date
--@ equal, at length
SELECT to_date(s, 'yyyy-MM-dd') AS z FROM t

--@ make-times: times from their parts
--@ equal, at length
SELECT make_date(2024, 3, 31), make_timestamp(2024, 3, 31, 2, 30, 0), make_timestamp_ntz(2024, 3, 31, 2, 30, 0)
FROM t WHERE k = 'a'

--@ time-of-day-type: a type of Spark 4.1 and later
--@ refused: time | type
SELECT TIME '10:20:30' AS z, CAST(ts AS TIME) AS y FROM t WHERE k = 'a'

--@ window-local-hour: hours of the session's zone as keys
--@ equal, at length
SELECT hour(time) AS h, COUNT(*) AS c, MIN(time), MAX(ts) FROM t GROUP BY window(time, '1 day'), hour(time)

--@ window-trunc-key: local days as keys
--@ equal, at length
SELECT date_trunc('DAY', ts) AS z, COUNT(*) AS c FROM t GROUP BY window(time, '1 hour'), date_trunc('DAY', ts)

--@ window-time-conditions: conditions on four kinds of times before a window
--@ equal
SELECT window.start, COUNT(*) AS c FROM t
WHERE ts > '2024-03-31 01:00:00' OR ntz < '1970-01-01' OR day = '2024-02-29' OR time < '1960-01-01'
GROUP BY window(time, '1 minute')

--@ window-time-filters: aggregates of times
--@ equal
SELECT window.start, MAX(ts) - MIN(ts) AS a, MAX(day) AS b, COUNT(DISTINCT day) AS c, AVG(unix_seconds(ts)) AS e FROM t
GROUP BY window(time, '1 minute')
