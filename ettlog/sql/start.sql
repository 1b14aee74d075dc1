-- One row per start of a job: one time the trainer came up.
-- needs: _placed, _start, _line, _piece, _stream
-- job: job
-- k: number of the start in its job, from 0
-- kind: why it was made: first, failure, preemption, planned, unknown (the start before it is not in the logs, or its end is not)
-- model: model the job trains
-- cluster: cluster
-- allocation: scheduler id of the allocation it lies in
-- launched_at: stamp of the launcher line; null if that line has none
-- train_start_at: the training loop is entered
-- first_step: first step printed
-- first_step_at: stamp of that line, or of a dated line about the same step
-- last_step: last step printed
-- last_step_at: stamp of that line, or of a dated line about the same step
-- resumed_from: step the trainer says it continues from
-- failed_at: first dated sign of the failure
-- ended_at: last stamp that belongs to the proven end
-- end_state: completed, failed, cancelled, time_limit, preempted, node_failure, killed, truncated (the log stops), unknown
-- cause: cause of the end, where one is named
-- world_size: world size printed
-- gpus: GPUs of the allocation, else the world size
-- steps: steps executed, replayed ones included
-- new_steps: steps above the high-water mark of the job
-- evidence: path and line of the first line
WITH each AS (
  SELECT gid, pass, min(step) AS first_step, max(step) AS last_step,
    CASE WHEN min_by(dated, step) THEN min_by(at_us, step) END AS first_us,
    CASE WHEN max_by(dated, step) THEN max_by(at_us, step) END AS last_us,
    sum(covered) AS steps, min_by(no, step) AS no, min_by(line, step) AS line, bool_or(at_us IS NOT NULL) AS timed
  FROM _line GROUP BY gid, pass
),
edge AS (
  SELECT gid, min_by(first_step, pass) AS first_step, max_by(last_step, pass) AS last_step,
    max(CASE WHEN pass = 0 THEN first_us END) AS first_us, max(last_us) AS last_us,
    CAST(sum(steps) AS BIGINT) AS steps, min_by(no, pass) AS no, min_by(line, pass) AS line, bool_or(timed) AS timed
  FROM each GROUP BY gid
),
counted AS (
  -- of a start without any clock the numbers alone tell what was new
  SELECT p.gid, CASE WHEN NOT e.timed THEN greatest(least(e.steps, e.last_step - max(e.last_step) OVER (
    PARTITION BY p.job ORDER BY p.k ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)), 0) END AS new_steps
  FROM _placed AS p JOIN edge AS e ON e.gid = p.gid
),
fresh AS (
  SELECT gid, CAST(sum(last_step - first_step + 1) AS BIGINT) AS new_steps FROM _piece WHERE nature <> 'replay' GROUP BY gid
)
SELECT p.job, p.k, s.kind, p.model, p.cluster, p.allocation, make_timestamp(p.launched_us) AS launched_at,
  make_timestamp(p.train_us) AS train_start_at, e.first_step, make_timestamp(e.first_us) AS first_step_at, e.last_step,
  make_timestamp(e.last_us) AS last_step_at, p.resumed_from, make_timestamp(s.failed_us) AS failed_at,
  make_timestamp(s.ended_us) AS ended_at, s.end_state, s.cause, p.world_size, p.gpus, coalesce(e.steps, 0) AS steps,
  coalesce(f.new_steps, c.new_steps, 0) AS new_steps, coalesce(p.evidence, o.path || ':' || CAST(e.line AS VARCHAR)) AS evidence
FROM _placed AS p
JOIN _start AS s ON s.job = p.job AND s.k = p.k
LEFT JOIN edge AS e ON e.gid = p.gid
LEFT JOIN _stream AS o ON o.no = e.no
LEFT JOIN counted AS c ON c.gid = p.gid
LEFT JOIN fresh AS f ON f.gid = p.gid
