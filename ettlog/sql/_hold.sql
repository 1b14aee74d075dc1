-- One row per time in which a job held hardware, clipped to its wall.
-- needs: _held, _phase, _placed, _wait, _wall
-- job: job
-- begin_us: begin
-- end_us: end
-- gpu_milli: GPUs held in thousandths, where the scheduler tells
WITH every AS (
  SELECT job, from_us AS begin_us, to_us AS end_us, gpu_milli FROM _held WHERE from_us IS NOT NULL
  UNION ALL
  SELECT h.job, h.begin_us, h.done_us, NULL FROM _phase AS h JOIN _placed AS p ON p.job = h.job AND p.k = h.k WHERE p.raw IS NULL
  UNION ALL
  -- without a scheduler, a log that goes on shows that the hardware was kept
  SELECT job, begin_us, end_us, NULL FROM _wait WHERE part = 'placement' AND inferred
)
SELECT e.job, greatest(e.begin_us, w.begin_us) AS begin_us, least(e.end_us, w.end_us) AS end_us, e.gpu_milli
FROM every AS e
JOIN _wall AS w ON w.job = e.job
WHERE least(e.end_us, w.end_us) > greatest(e.begin_us, w.begin_us)
