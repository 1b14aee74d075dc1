-- More than a tenth of a job's wall is unknown.
-- needs: segment, _placed
-- level: warning
-- todo: collect the logs of every start, rotated parts too; see `ettlog timeline JOB` for where
-- subject: job
-- detail: share of the wall
SELECT job AS subject,
  CAST(sum(CASE WHEN component = 'unknown' THEN end_us - begin_us ELSE 0 END) * 100 // sum(end_us - begin_us) AS VARCHAR)
    || ' % of the wall is unknown' AS detail
FROM segment
-- of a job without trainer logs nothing else can be known
WHERE job IN (SELECT job FROM _placed)
GROUP BY job
HAVING sum(CASE WHEN component = 'unknown' THEN end_us - begin_us ELSE 0 END) * 10 > sum(end_us - begin_us)
