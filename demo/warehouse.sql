-- A streaming warehouse: a shop's database, its tables as they are (ODS), a detail layer (DWD), a
-- service layer (DWS), and a topic that tells each change of it.

-- The shop's database.
CREATE TEMPORARY TABLE orders (
  order_id VARCHAR,
  cate_id VARCHAR,
  trans_amount BIGINT,
  gmt_create VARCHAR,
  dt AS DATE_FORMAT(gmt_create, 'yyyy-MM-dd'),
  PRIMARY KEY (order_id) NOT ENFORCED
) WITH (
  'connector' = 'mysql-cdc',
  'hostname' = 'localhost',
  'port' = '3306',
  'username' = 'retail',
  'password' = '123456',
  'database-name' = 'retail',
  'table-name' = 'orders'
);
CREATE TEMPORARY TABLE cate_dim (
  cate_id VARCHAR,
  parent_cate_id VARCHAR,
  PRIMARY KEY (cate_id) NOT ENFORCED
) WITH (
  'connector' = 'mysql-cdc',
  'hostname' = 'localhost',
  'port' = '3306',
  'username' = 'retail',
  'password' = '123456',
  'database-name' = 'retail',
  'table-name' = 'category'
);

-- ODS: what the database has.
CREATE TABLE ods_orders (
  order_id VARCHAR,
  cate_id VARCHAR,
  trans_amount BIGINT,
  gmt_create VARCHAR,
  dt VARCHAR,
  PRIMARY KEY (order_id) NOT ENFORCED
);
CREATE TABLE ods_cate_dim (
  cate_id VARCHAR,
  parent_cate_id VARCHAR,
  PRIMARY KEY (cate_id) NOT ENFORCED
);

-- DWD: each order with its category.
CREATE TABLE dwd_orders_cate (
  dt STRING,
  cate_id VARCHAR,
  parent_cate_id VARCHAR,
  order_id VARCHAR,
  trans_amount BIGINT,
  gmt_create VARCHAR,
  PRIMARY KEY (order_id, dt) NOT ENFORCED
) PARTITIONED BY (dt);

-- DWS: sales of each category and day, and of each day.
CREATE TABLE dws_cate_day (
  dt STRING,
  parent_cate_id VARCHAR,
  cate_gmv BIGINT,
  PRIMARY KEY (parent_cate_id, dt) NOT ENFORCED
) PARTITIONED BY (dt);
CREATE TABLE dws_day (
  dt STRING,
  gmv BIGINT,
  PRIMARY KEY (dt) NOT ENFORCED
);

-- Who wants each change of DWS reads this topic.
CREATE TABLE dws_cate_day_topic (
  dt STRING,
  parent_cate_id VARCHAR,
  cate_gmv BIGINT,
  PRIMARY KEY (dt, parent_cate_id) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'dws_cate_day',
  'properties.bootstrap.servers' = 'localhost:9092',
  'key.format' = 'json',
  'value.format' = 'json',
  'sink.delivery-guarantee' = 'exactly-once'
);

SET 'execution.runtime-mode' = 'streaming';
SET 'execution.checkpointing.interval' = '1 s';

INSERT INTO ods_orders SELECT * FROM orders;
INSERT INTO ods_cate_dim SELECT * FROM cate_dim;

INSERT INTO dwd_orders_cate
SELECT
  s.dt,
  s.cate_id,
  d.parent_cate_id,
  s.order_id,
  s.trans_amount,
  s.gmt_create
FROM `ods_orders` s INNER JOIN `ods_cate_dim` d
ON s.cate_id = d.cate_id;

INSERT INTO dws_cate_day
SELECT
  dt,
  parent_cate_id,
  SUM(trans_amount) AS cate_gmv
FROM dwd_orders_cate
GROUP BY parent_cate_id, dt;

INSERT INTO dws_day
SELECT
  dt,
  SUM(cate_gmv) AS gmv
FROM dws_cate_day
GROUP BY dt;

INSERT INTO dws_cate_day_topic
SELECT dt, parent_cate_id, cate_gmv FROM dws_cate_day;

RESET 'execution.runtime-mode';
RESET 'execution.checkpointing.interval';
