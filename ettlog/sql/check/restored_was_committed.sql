-- A start continues from a step above every checkpoint that was seen committed before it.
-- needs: _save, _placed
-- level: warning
-- todo: log commits on every rank that writes; a start may have loaded a checkpoint of another job
-- subject: job and number of the start
-- detail: step it continues from, and the highest one committed
WITH committed AS (
  SELECT p.job, p.k, p.resumed_from, max(s.step) AS step
  FROM _placed AS p JOIN _save AS s ON s.job = p.job AND s.k < p.k AND s.state = 'committed'
  WHERE p.resumed_from IS NOT NULL
  GROUP BY p.job, p.k, p.resumed_from
)
SELECT job || ' start ' || CAST(k AS VARCHAR) AS subject,
  'continues from ' || CAST(resumed_from AS VARCHAR) || ', committed up to ' || CAST(step AS VARCHAR) AS detail
FROM committed
WHERE resumed_from > step
