-- One row per job: the time that its segments tile.
-- needs: _held, _phase, _placed, launch
-- job: job
-- begin_us: first submission, else first dated evidence
-- end_us: last release, else last dated evidence
WITH bound AS (
  SELECT job, submit_us AS begin_us, to_us AS end_us FROM _held
  UNION ALL
  SELECT h.job, least(h.begin_us, CASE WHEN h.k = 0 THEN p.before_us END), h.done_us
  FROM _phase AS h JOIN _placed AS p ON p.job = h.job AND p.k = h.k
  WHERE p.raw IS NULL
),
jobs AS (
  SELECT job FROM launch
  UNION
  SELECT job FROM _held
)
SELECT j.job, min(b.begin_us) AS begin_us, max(b.end_us) AS end_us
FROM jobs AS j
LEFT JOIN bound AS b ON b.job = j.job
GROUP BY j.job
