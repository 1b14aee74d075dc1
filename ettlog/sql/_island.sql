-- One row per interval of one part of a job, clipped to its wall, overlapping ones merged.
-- needs: span, _wall
-- job: job
-- part: what went on
-- begin_us: begin
-- end_us: end
-- evidence: path and line of the first interval
-- inferred: whether one of them rests on an inference
WITH clipped AS (
  SELECT s.job, s.part, greatest(s.begin_us, w.begin_us) AS begin_us, least(s.end_us, w.end_us) AS end_us, s.evidence, s.inferred
  FROM span AS s JOIN _wall AS w ON w.job = s.job
  WHERE s.end_us > w.begin_us AND s.begin_us < w.end_us
),
broken AS (
  SELECT *, CASE WHEN begin_us < max(end_us) OVER (PARTITION BY job, part ORDER BY begin_us, end_us, evidence
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) THEN 0 ELSE 1 END AS opens
  FROM clipped
  WHERE end_us > begin_us
),
numbered AS (
  SELECT *, sum(opens) OVER (PARTITION BY job, part ORDER BY begin_us, end_us, evidence ROWS UNBOUNDED PRECEDING) AS nth
  FROM broken
)
SELECT job, part, min(begin_us) AS begin_us, max(end_us) AS end_us, min_by(evidence, CASE WHEN opens = 1 THEN 0 ELSE 1 END) AS evidence,
  bool_or(inferred) AS inferred
FROM numbered
GROUP BY job, part, nth
