-- One row per instant at which anything of a job begins or ends: what goes on from there on.
-- needs: _island, _hold, _stage, _wall, lifecycle_part
-- job: job
-- begin_us: instant
-- end_us: next instant
-- going: sum of the bits of all parts that go on
-- holding: number of holds on hardware
-- telling: number of those that tell how many GPUs they hold
-- gpu_milli: GPUs held in thousandths, by all holds together where two of them tell, or one alone is there and tells; 0 elsewhere
-- nth: number of the stage in its job
-- Each part of a job is at most once in the sum, for its intervals are disjoint; so one running sum holds the whole set.
WITH change AS (
  SELECT i.job, i.begin_us AS at_us, p.bit, 0 AS hold, 0 AS tells, 0 AS gpu_milli, 0 AS nth FROM _island AS i JOIN lifecycle_part AS p ON p.part = i.part
  UNION ALL
  SELECT i.job, i.end_us, -p.bit, 0, 0, 0, 0 FROM _island AS i JOIN lifecycle_part AS p ON p.part = i.part
  UNION ALL
  SELECT job, begin_us, 0, 1, CASE WHEN gpu_milli > 0 THEN 1 ELSE 0 END, coalesce(gpu_milli, 0), 0 FROM _hold
  UNION ALL
  SELECT job, end_us, 0, -1, CASE WHEN gpu_milli > 0 THEN -1 ELSE 0 END, -coalesce(gpu_milli, 0), 0 FROM _hold
  UNION ALL
  SELECT s.job, s.at_us, 0, 0, 0, 0, s.nth FROM _stage AS s JOIN _wall AS w ON w.job = s.job WHERE s.at_us < w.end_us
  UNION ALL
  SELECT job, begin_us, 0, 0, 0, 0, 0 FROM _wall WHERE begin_us IS NOT NULL
  UNION ALL
  SELECT job, end_us, 0, 0, 0, 0, 0 FROM _wall WHERE end_us IS NOT NULL
),
instant AS (
  SELECT job, at_us, sum(bit) AS bit, sum(hold) AS hold, sum(tells) AS tells, sum(gpu_milli) AS gpu_milli, max(nth) AS nth FROM change GROUP BY job, at_us
),
running AS (
  SELECT job, at_us AS begin_us, lead(at_us) OVER (PARTITION BY job ORDER BY at_us) AS end_us,
    CAST(sum(bit) OVER w AS BIGINT) AS going, CAST(sum(hold) OVER w AS BIGINT) AS holding, CAST(sum(tells) OVER w AS BIGINT) AS telling,
    CAST(sum(gpu_milli) OVER w AS BIGINT) AS gpu_milli, max(nth) OVER w AS nth
  FROM instant
  WINDOW w AS (PARTITION BY job ORDER BY at_us ROWS UNBOUNDED PRECEDING)
)
SELECT job, begin_us, end_us, going, holding, telling, CASE WHEN holding = 1 OR telling > 1 THEN gpu_milli ELSE 0 END AS gpu_milli, nth
FROM running
WHERE end_us IS NOT NULL
