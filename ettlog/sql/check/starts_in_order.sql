-- A start begins before the one before it has ended.
-- needs: _placed
-- level: warning
-- todo: clocks of two nodes differ, or two runs write under one name: see paths.templates in ettlog.toml
-- subject: job and number of the start
-- detail: by how much
WITH ordered AS (
  SELECT job, k, first_us, lag(last_us) OVER (PARTITION BY job ORDER BY k) AS before_us FROM _placed
)
SELECT job || ' start ' || CAST(k AS VARCHAR) AS subject,
  'begins ' || CAST((before_us - first_us) // 1000000 AS VARCHAR) || ' s before the end of the one before' AS detail
FROM ordered
WHERE first_us < before_us - 5000000
