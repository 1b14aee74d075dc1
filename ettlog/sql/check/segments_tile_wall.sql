-- The segments of a job do not tile its wall: there is a gap, an overlap, or the sum is not the wall.
-- needs: segment, _wall
-- level: error
-- todo: report it with `ettlog timeline JOB --format jsonl`: no number of this job can be trusted
-- subject: job
-- detail: what does not fit
WITH joined AS (
  SELECT job, begin_us, end_us, lag(end_us) OVER (PARTITION BY job ORDER BY begin_us, end_us) AS before_us FROM segment
),
summed AS (
  SELECT job, min(begin_us) AS begin_us, max(end_us) AS end_us, sum(end_us - begin_us) AS us,
    count(CASE WHEN before_us <> begin_us OR end_us <= begin_us THEN 1 END) AS breaks
  FROM joined GROUP BY job
)
SELECT w.job AS subject, 'wall ' || CAST(w.end_us - w.begin_us AS VARCHAR) || ' us, segments '
  || CAST(coalesce(s.us, 0) AS VARCHAR) || ' us, breaks ' || CAST(coalesce(s.breaks, 0) AS VARCHAR) AS detail
FROM _wall AS w
LEFT JOIN summed AS s ON s.job = w.job
WHERE w.end_us > w.begin_us
  AND (coalesce(s.us, 0) <> w.end_us - w.begin_us OR s.breaks > 0 OR s.begin_us <> w.begin_us OR s.end_us <> w.end_us)
