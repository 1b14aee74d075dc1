-- One row per start with steps that gives signs of life: the last sign of training behind its last step line.
-- needs: mark, _placed, _work
-- gid: number of the start over all jobs
-- at_us: that sign; null where none is later than five seconds behind the line
-- batches without a number of the run go on behind the last step line: more than five seconds of them are no end of the loop. What is asked for
-- there of a start that ends well is its end, and no sign of life behind it tells of training
WITH stepped AS (
  SELECT gid, max(end_us) AS end_us FROM _work GROUP BY gid
)
SELECT gid, max(CASE WHEN kind = 'heartbeat' AND at_us > end_us + 5000000 AND at_us <= coalesce(closes_us, at_us) THEN at_us END) AS at_us
FROM (SELECT p.gid, s.end_us, m.kind, m.at_us, min(CASE WHEN m.kind <> 'heartbeat' AND m.at_us >= s.end_us THEN m.at_us END) OVER (PARTITION BY p.gid) AS closes_us
  FROM mark AS m JOIN _placed AS p ON p.job = m.job AND p.k = m.k JOIN stepped AS s ON s.gid = p.gid
  WHERE m.kind IN ('heartbeat', 'save_request', 'save_blocking', 'publish_begin', 'train_end', 'exit_planned', 'exit_ok', 'exit_code')) AS last_told
GROUP BY gid
