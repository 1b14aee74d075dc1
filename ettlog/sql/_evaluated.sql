-- One row per evaluation: the time in which the training loop waited for it.
-- needs: _pair, _placed, _work
-- job: job
-- k: number of the start in its job
-- part: what went on
-- begin_us: first rank's begin
-- end_us: last rank's end; at most the begin of the next step's work where it is not cut out of the step
-- inferred: whether an instant is not printed
-- evidence: path and line of the first line
-- An evaluation that two dated lines bound, with no step line between them, held the loop. Where the time that the next step says it
-- took has no room for it, it is cut out of that step; else the step was counted without it, and stands as it is.
WITH mixed AS (
  SELECT e.job, e.k, p.gid, e.part, e.begin_us AS at_us, e.end_us, e.inferred, e.evidence, CAST(NULL AS BIGINT) AS line_us,
    CAST(NULL AS BIGINT) AS resumes_us, 1 AS place
  FROM _pair AS e JOIN _placed AS p ON p.job = e.job AND p.k = e.k
  WHERE e.part = 'evaluation'
  UNION ALL
  SELECT NULL, NULL, gid, NULL, end_us, NULL, NULL, NULL, end_us, begin_us, 0 FROM _work
  WHERE gid IN (SELECT p.gid FROM _pair AS e JOIN _placed AS p ON p.job = e.job AND p.k = e.k WHERE e.part = 'evaluation')
),
next AS (
  SELECT *, first_value(line_us IGNORE NULLS) OVER w AS next_us, first_value(resumes_us IGNORE NULLS) OVER w AS next_begin_us,
    last_value(line_us IGNORE NULLS) OVER (PARTITION BY gid ORDER BY at_us, place, resumes_us ROWS UNBOUNDED PRECEDING) AS before_us
  FROM mixed
  WINDOW w AS (PARTITION BY gid ORDER BY at_us, place, resumes_us ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)
)
SELECT job, k, part, at_us AS begin_us,
  CASE WHEN NOT inferred AND coalesce(next_us >= end_us AND next_begin_us - coalesce(before_us, at_us) < end_us - at_us, TRUE) THEN end_us
    ELSE greatest(at_us, least(end_us, coalesce(next_begin_us, end_us))) END AS end_us, inferred, evidence
FROM next
WHERE place = 1
