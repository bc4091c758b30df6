-- All 336,776 flights that left New York City in 2013, and what happens to such data afterwards.

SET TIME ZONE 'America/New_York';

SELECT '-- Load the flights' AS demo;
CREATE TABLE flights (
  time_hour TIMESTAMP COMMENT 'scheduled hour of departure',
  carrier STRING,
  flight INT,
  origin STRING,
  dest STRING,
  tailnum STRING,
  dep_delay INT COMMENT 'minutes',
  arr_delay INT COMMENT 'minutes',
  distance INT COMMENT 'miles',
  PRIMARY KEY (time_hour, carrier, flight) NOT ENFORCED
) COMMENT 'flights from New York City in 2013' WITH ('bucket' = '2');
INSERT INTO flights
SELECT time_hour, carrier, flight, origin, dest, tailnum, dep_delay, arr_delay, distance
FROM parquet.`data/flights.parquet`;
SELECT count(*) AS flights, min(time_hour) AS first, max(time_hour) AS last FROM flights;

SELECT '-- Delays of each carrier' AS demo;
SELECT carrier, count(*) AS flights, round(avg(dep_delay), 2) AS departure_delay,
  round(avg(arr_delay), 2) AS arrival_delay
FROM flights GROUP BY carrier ORDER BY arrival_delay DESC;

SELECT '-- Late corrections: United reports its July again, each key replaces its row' AS demo;
INSERT INTO flights
SELECT time_hour, carrier, flight, origin, dest, tailnum, dep_delay, arr_delay + 30, distance
FROM parquet.`data/flights.parquet`
WHERE carrier = 'UA' AND month = 7;
SELECT count(*) AS flights, sum(arr_delay) AS minutes FROM flights WHERE carrier = 'UA';

SELECT '-- The blizzard: all flights of February 9 are taken out' AS demo;
DELETE FROM flights
WHERE time_hour >= TIMESTAMP '2013-02-09 00:00:00' AND time_hour < TIMESTAMP '2013-02-10 00:00:00';
SELECT count(*) AS flights FROM flights;

SELECT '-- Delays of each carrier, corrected' AS demo;
SELECT carrier, count(*) AS flights, round(avg(dep_delay), 2) AS departure_delay,
  round(avg(arr_delay), 2) AS arrival_delay
FROM flights GROUP BY carrier ORDER BY arrival_delay DESC;

SELECT '-- Compact' AS demo;
ALTER TABLE flights COMPACT;

SELECT '-- The same report from the compacted table' AS demo;
SELECT carrier, count(*) AS flights, round(avg(dep_delay), 2) AS departure_delay,
  round(avg(arr_delay), 2) AS arrival_delay
FROM flights GROUP BY carrier ORDER BY arrival_delay DESC;

SELECT '-- What has happened to the table' AS demo;
SELECT snapshot_id, commit_kind, total_record_count, delta_record_count
FROM `flights$snapshots` ORDER BY snapshot_id;

SELECT '-- Time travel: the report as it was before the correction' AS demo;
SELECT carrier, count(*) AS flights, round(avg(dep_delay), 2) AS departure_delay,
  round(avg(arr_delay), 2) AS arrival_delay
FROM flights VERSION AS OF 1 GROUP BY carrier ORDER BY arrival_delay DESC;
