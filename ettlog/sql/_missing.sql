-- One row per start none of whose logs is of a rank that prints steps in its job: how many it made nobody can tell.
-- needs: launch, _launch, _stream, source
-- gid: number of the start over all jobs
WITH heard AS (
  SELECT l.job, l.gid, s.rank, coalesce(f.step_lines > 0, FALSE) AS tells
  FROM launch AS l JOIN _launch AS f ON f.stream = l.stream AND f.launch = l.launch
  JOIN (SELECT DISTINCT c.stream, s.rank FROM _stream AS c JOIN source AS s ON s.key = c.key) AS s ON s.stream = l.stream
),
teller AS (
  -- logs that do not say whose they are may be of any rank
  SELECT job, rank FROM heard WHERE tells AND job NOT IN (SELECT job FROM heard WHERE rank IS NULL) GROUP BY job, rank
)
SELECT h.gid
FROM heard AS h LEFT JOIN teller AS t ON t.job = h.job AND t.rank = h.rank
WHERE h.job IN (SELECT job FROM teller)
GROUP BY h.gid
HAVING NOT bool_or(h.tells OR t.rank IS NOT NULL)
