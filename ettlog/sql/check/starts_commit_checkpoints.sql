-- A start asked for checkpoints and no line shows that one became usable.
-- needs: _save
-- level: warning
-- todo: log when a save is committed: until then nothing shows that it protects work
-- subject: job and number of the start
-- detail: how many saves were asked for
SELECT job || ' start ' || CAST(k AS VARCHAR) AS subject,
  CAST(count(*) AS VARCHAR) || CASE WHEN count(*) = 1 THEN ' save' ELSE ' saves' END || ' asked for, none seen committed' AS detail
FROM _save
WHERE state IN ('requested', 'committed')
GROUP BY job, k
HAVING count(CASE WHEN state = 'committed' THEN 1 END) = 0
