-- The same results by plain Spark over the files: no managed table, no extension, no planner.

SET TIME ZONE 'America/New_York';
CREATE TEMPORARY VIEW orders AS
SELECT order_id, cate_id, CAST(trans_amount AS BIGINT) AS trans_amount, gmt_create,
  date_format(gmt_create, 'yyyy-MM-dd') AS dt
FROM csv.`data/orders.csv` AS o (order_id, cate_id, trans_amount, gmt_create)
WHERE order_id <> 'order_id';
CREATE TEMPORARY VIEW cate_dim AS
SELECT * FROM csv.`data/categories.csv` AS c (cate_id, parent_cate_id) WHERE cate_id <> 'cate_id';
CREATE TEMPORARY VIEW dwd_orders_cate AS
SELECT s.dt, s.cate_id, d.parent_cate_id, s.order_id, s.trans_amount, s.gmt_create
FROM orders s INNER JOIN cate_dim d ON s.cate_id = d.cate_id;
CREATE TEMPORARY VIEW dws_cate_day AS
SELECT dt, parent_cate_id, SUM(trans_amount) AS cate_gmv
FROM dwd_orders_cate GROUP BY parent_cate_id, dt;

SELECT '-- Orders and categories arrive' AS demo;
SELECT dt, count(*) AS orders, sum(trans_amount) AS amount FROM orders GROUP BY dt ORDER BY dt;

SELECT '-- Detail layer (DWD): each order with its category' AS demo;
SELECT DISTINCT 'dt=' || dt AS partition FROM dwd_orders_cate ORDER BY partition;

SELECT '-- Service layer (DWS): sales of each category and day' AS demo;
SELECT * FROM dws_cate_day ORDER BY dt, parent_cate_id;

SELECT '-- Each order''s share of its category that day' AS demo;
SELECT
  order_id,
  trans_amount,
  CAST(trans_amount AS DOUBLE) / cate_gmv AS ratio
FROM dwd_orders_cate d
JOIN dws_cate_day s
ON d.parent_cate_id = s.parent_cate_id
WHERE d.dt = '2021-12-08' AND s.dt = '2021-12-08'
ORDER BY ratio DESC
LIMIT 10;

SELECT '-- History: the orders of one partition' AS demo;
SELECT * FROM dwd_orders_cate WHERE dt = '2021-12-05' ORDER BY order_id;

SELECT '-- Correction: that day again, without refunds, in place of the old partition' AS demo;
SELECT dt, parent_cate_id, SUM(trans_amount) AS cate_gmv
FROM dwd_orders_cate
WHERE dt <> '2021-12-05' OR trans_amount > 0
GROUP BY parent_cate_id, dt ORDER BY dt, parent_cate_id;

CREATE TEMPORARY VIEW loaded AS SELECT * FROM parquet.`data/flights.parquet`;
CREATE TEMPORARY VIEW reported AS
SELECT time_hour, carrier, flight, dep_delay,
  CASE WHEN carrier = 'UA' AND month = 7 THEN arr_delay + 30 ELSE arr_delay END AS arr_delay
FROM loaded;
CREATE TEMPORARY VIEW corrected AS
SELECT * FROM reported WHERE to_date(time_hour) <> DATE '2013-02-09';

SELECT '-- Load the flights' AS demo;
SELECT count(*) AS flights, min(time_hour) AS first, max(time_hour) AS last FROM loaded;

SELECT '-- Delays of each carrier' AS demo;
SELECT carrier, count(*) AS flights, round(avg(dep_delay), 2) AS departure_delay,
  round(avg(arr_delay), 2) AS arrival_delay
FROM loaded GROUP BY carrier ORDER BY arrival_delay DESC;

SELECT '-- Late corrections: United reports its July again, each key replaces its row' AS demo;
SELECT count(*) AS flights, sum(arr_delay) AS minutes FROM reported WHERE carrier = 'UA';

SELECT '-- The blizzard: all flights of February 9 are taken out' AS demo;
SELECT count(*) AS flights FROM corrected;

SELECT '-- Delays of each carrier, corrected' AS demo;
SELECT carrier, count(*) AS flights, round(avg(dep_delay), 2) AS departure_delay,
  round(avg(arr_delay), 2) AS arrival_delay
FROM corrected GROUP BY carrier ORDER BY arrival_delay DESC;
