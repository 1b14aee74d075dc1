-- One row per exclusive interval of a job: its segments tile its wall without a gap or an overlap.
-- needs: _moment, _island, _stage, lifecycle_part
-- job: job
-- start: number of the start whose stage the moment belongs to; null where the job has none
-- component: component of the part
-- part: what the moment was: of all that went on, the part of the highest priority; gap where nothing is known
-- stage: stage of the job's life
-- begin_us: begin in microseconds since 1970 UTC
-- end_us: end
-- gpus: GPUs of the allocation, of all where several are held, else the world size
-- gpu_milli: the same in thousandths, where jobs share GPUs too
-- allocated: whether hardware was held
-- evidence: path and line
-- inferred: whether it rests on an inference, or several allocations are held: what went on in one of them stands for all
WITH won AS (
  SELECT m.job, m.begin_us, m.end_us, m.nth, m.holding > 0 AS allocated, m.telling > 1 AS several, m.gpu_milli, coalesce(p.part, 'gap') AS part
  FROM _moment AS m
  -- the highest bit of the set is the part of the highest priority
  LEFT JOIN lifecycle_part AS p ON m.going >= p.bit AND m.going < 2 * p.bit
),
edge AS (
  -- what is sure and what is an inference are two segments, though one part follows itself
  SELECT job, part, begin_us, inferred <> lag(inferred) OVER (PARTITION BY job, part ORDER BY begin_us) AS turns FROM _island
),
turned AS (
  SELECT m.*, CASE WHEN m.part = lag(m.part) OVER w AND nth = lag(nth) OVER w AND allocated = lag(allocated) OVER w
    AND gpu_milli = lag(gpu_milli) OVER w AND several = lag(several) OVER w AND NOT coalesce(e.turns, FALSE) THEN 0 ELSE 1 END AS opens
  FROM won AS m LEFT JOIN edge AS e ON e.job = m.job AND e.part = m.part AND e.begin_us = m.begin_us
  WINDOW w AS (PARTITION BY m.job ORDER BY m.begin_us)
),
numbered AS (
  SELECT *, sum(opens) OVER (PARTITION BY job ORDER BY begin_us ROWS UNBOUNDED PRECEDING) AS run FROM turned
),
merged AS (
  SELECT job, part, nth, allocated, several, gpu_milli, min(begin_us) AS begin_us, max(end_us) AS end_us
  FROM numbered
  GROUP BY job, run, part, nth, allocated, several, gpu_milli
),
mixed AS (
  SELECT job, part, begin_us, end_us, nth, allocated, several, gpu_milli, CAST(NULL AS BIGINT) AS from_us, 1 AS place FROM merged
  UNION ALL
  SELECT job, part, begin_us, NULL, NULL, NULL, NULL, NULL, begin_us, 0 FROM _island
),
traced AS (
  -- the interval of the same part that began last before the segment is the one it was cut from
  SELECT *, last_value(from_us IGNORE NULLS) OVER (
    PARTITION BY job, part ORDER BY begin_us, place ROWS UNBOUNDED PRECEDING) AS source_us
  FROM mixed
)
SELECT t.job, s.start, p.component, t.part, s.stage, t.begin_us, t.end_us,
  CASE WHEN t.gpu_milli > 0 AND t.gpu_milli % 1000 = 0 THEN CAST(t.gpu_milli // 1000 AS INTEGER) ELSE s.gpus END AS gpus,
  CASE WHEN t.gpu_milli > 0 THEN t.gpu_milli ELSE 1000 * s.gpus END AS gpu_milli, t.allocated, i.evidence,
  coalesce(i.inferred, FALSE) OR t.several AS inferred
FROM traced AS t
JOIN lifecycle_part AS p ON p.part = t.part
LEFT JOIN _stage AS s ON s.job = t.job AND s.nth = t.nth
LEFT JOIN _island AS i ON i.job = t.job AND i.part = t.part AND i.begin_us = t.source_us
WHERE t.place = 1
