-- What is asked of the warehouse of warehouse.sql while its jobs run, and how a day is corrected.

-- Share: the largest shares that orders of a day have of their category.
SELECT
  order_id,
  trans_amount,
  CAST(trans_amount AS DOUBLE) / cate_gmv AS ratio
FROM dwd_orders_cate d
JOIN dws_cate_day s
ON d.parent_cate_id = s.parent_cate_id
WHERE d.dt = '2021-12-08' AND s.dt = '2021-12-08' -- partitions that are read
ORDER BY ratio DESC
LIMIT 10;

-- History: the orders of three days before.
SELECT * FROM dwd_orders_cate WHERE dt = '2021-12-05';

-- Correction: the sales of that day without refunds, in place of what the job has written.
INSERT OVERWRITE dws_cate_day PARTITION (dt = '2021-12-05')
SELECT
  parent_cate_id,
  SUM(trans_amount) AS cate_gmv
FROM dwd_orders_cate
WHERE dt = '2021-12-05' AND trans_amount > 0
GROUP BY parent_cate_id;
