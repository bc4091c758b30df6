-- A retail warehouse in layers: operational tables, a detail layer (DWD), a service layer (DWS).
-- No connector, no format, no path: only columns, keys and partitions.

SELECT '-- Orders and categories arrive' AS demo;
CREATE TEMPORARY VIEW arrived_orders USING csv OPTIONS (path 'data/orders.csv', header true);
CREATE TEMPORARY VIEW arrived_categories USING csv OPTIONS (path 'data/categories.csv', header true);

CREATE TABLE orders (
  order_id STRING,
  cate_id STRING,
  trans_amount BIGINT,
  gmt_create STRING,
  dt AS date_format(gmt_create, 'yyyy-MM-dd'),
  PRIMARY KEY (order_id) NOT ENFORCED
);
CREATE TABLE cate_dim (
  cate_id STRING,
  parent_cate_id STRING,
  PRIMARY KEY (cate_id) NOT ENFORCED
);
INSERT INTO orders (order_id, cate_id, trans_amount, gmt_create)
SELECT order_id, cate_id, CAST(trans_amount AS BIGINT), gmt_create FROM arrived_orders;
INSERT INTO cate_dim SELECT cate_id, parent_cate_id FROM arrived_categories;
SELECT dt, count(*) AS orders, sum(trans_amount) AS amount FROM orders GROUP BY dt ORDER BY dt;

SELECT '-- Detail layer (DWD): each order with its category' AS demo;
CREATE TABLE dwd_orders_cate (
  dt STRING,
  cate_id STRING,
  parent_cate_id STRING,
  order_id STRING,
  trans_amount BIGINT,
  gmt_create STRING,
  PRIMARY KEY (order_id, dt) NOT ENFORCED
) PARTITIONED BY (dt);
INSERT INTO dwd_orders_cate
SELECT s.dt, s.cate_id, d.parent_cate_id, s.order_id, s.trans_amount, s.gmt_create
FROM orders s INNER JOIN cate_dim d ON s.cate_id = d.cate_id;
SHOW PARTITIONS dwd_orders_cate;

SELECT '-- Service layer (DWS): sales of each category and day' AS demo;
CREATE TABLE dws_cate_day (
  dt STRING,
  parent_cate_id STRING,
  cate_gmv BIGINT,
  PRIMARY KEY (parent_cate_id, dt) NOT ENFORCED
) PARTITIONED BY (dt);
INSERT INTO dws_cate_day
SELECT dt, parent_cate_id, SUM(trans_amount) AS cate_gmv
FROM dwd_orders_cate
GROUP BY parent_cate_id, dt;
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
INSERT OVERWRITE dws_cate_day PARTITION (dt = '2021-12-05')
SELECT parent_cate_id, SUM(trans_amount) AS cate_gmv
FROM dwd_orders_cate
WHERE dt = '2021-12-05' AND trans_amount > 0
GROUP BY parent_cate_id;
SELECT * FROM dws_cate_day ORDER BY dt, parent_cate_id;
