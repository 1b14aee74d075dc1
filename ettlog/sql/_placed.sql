-- One row per start: its instants, the allocation it lies in, and how its log and the scheduler say that it ended.
-- needs: launch, mark, _launch, _end, _first_line, _held, _missing, _stream, source, lifecycle_kind
-- job: job
-- k: number of the start in its job
-- gid: number of the start over all jobs
-- stream: one of its logs
-- first_us: first instant of the start
-- last_us: last instant of the start
-- before_us: first dated line before the first launch of the log
-- resumed_from: step the trainer continues from
-- launched_us: stamp of the launcher line itself
-- world_size: world size printed
-- train_us: the training loop is entered
-- model: model the job trains
-- cluster: cluster
-- platform: platform
-- raw: plain id of the allocation, where the scheduler's record is known
-- allocation: allocation as the log or the scheduler names it
-- named: whether the log names the allocation
-- held_from_us: the allocation begins
-- held_to_us: the allocation ends
-- ready_us: the job's own processes ran, for the first start in the allocation, where the scheduler tells it
-- gpus: GPUs of the allocation, else the world size
-- told_state: how the log says that it ended; unknown where another launch follows, truncated where the log stops
-- cause: cause of the end
-- failed_us: first sign of the failure
-- failed_dated: whether that sign holds an instant of its own
-- ended_us: last instant that belongs to the proven end
-- end_evidence: path and line that prove the end, where the log tells it
-- held_evidence: path and line of the scheduler's record
-- evidence: path and line of the first line
-- last_in_allocation: whether no other start follows in the allocation
-- scheduler_state: how the scheduler says that the allocation ended
-- scheduler_cause: cause the scheduler names
-- cut: whether one of its logs breaks off in it, or the stamp of its end is doubted
-- steps_cut: whether all of its logs that hold steps do, or are missing: it may have made more than they show
WITH each AS (
  SELECT l.job, l.k, l.gid, min(l.first_us) AS first_us, greatest(max(l.last_us), max(f.after_us)) AS last_us,
    min(f.before_us) AS before_us, max(l.resumed_from) AS resumed_from, min(l.stream) AS stream, bool_or(f.followed) AS followed,
    bool_or(f.cut) AS cut, bool_or(f.steps_cut) AND coalesce(bool_and(CASE WHEN f.step_lines > 0 THEN f.steps_cut END), TRUE) AS steps_cut
  FROM launch AS l JOIN _launch AS f ON f.stream = l.stream AND f.launch = l.launch
  GROUP BY l.job, l.k, l.gid
),
told AS (
  SELECT m.job, m.k, coalesce(min(CASE WHEN k.opens = 1 AND m.dated THEN m.at_us END),
      min(CASE WHEN m.kind = 'agent_start' AND m.dated THEN m.at_us END)) AS launched_us, max(CASE WHEN m.world <= 1000000 THEN m.world END) AS world_size,
    max(CASE WHEN m.kind = 'train_start' THEN m.at_us END) AS train_us
  FROM mark AS m JOIN lifecycle_kind AS k ON k.kind = m.kind GROUP BY m.job, m.k
),
who AS (
  SELECT l.job, l.k, min(s.model) AS model, min(s.cluster) AS cluster, min(s.platform) AS platform, min(s.allocation) AS allocation
  FROM launch AS l JOIN _stream AS c ON c.stream = l.stream JOIN source AS s ON s.key = c.key GROUP BY l.job, l.k
),
placed AS (
  SELECT e.job, e.k, h.raw, h.from_us, h.to_us, h.ready_us, h.gpus, h.end_state, h.cause, h.closes, h.cluster, h.evidence,
    row_number() OVER (PARTITION BY e.job, e.k ORDER BY CASE WHEN h.raw = w.allocation THEN 0 ELSE 1 END,
      CASE WHEN h.from_us <= e.first_us + 60000000 THEN 0 ELSE 1 END,
      CASE WHEN h.from_us <= e.first_us + 60000000 THEN -h.from_us ELSE h.from_us END, h.raw) AS nth
  FROM each AS e JOIN who AS w ON w.job = e.job AND w.k = e.k
  JOIN _held AS h ON h.job = e.job AND h.from_us IS NOT NULL
  -- a record of another allocation than the one the log names says nothing about this start
  WHERE w.allocation IS NULL OR h.raw = w.allocation OR h.id = w.allocation
)
SELECT e.job, e.k, e.gid, e.stream, e.first_us, e.last_us, e.before_us, e.resumed_from, t.launched_us, t.world_size, t.train_us, w.model,
  coalesce(w.cluster, p.cluster) AS cluster, w.platform, p.raw, coalesce(w.allocation, p.raw) AS allocation, w.allocation IS NOT NULL AS named,
  p.from_us AS held_from_us, p.to_us AS held_to_us,
  CASE WHEN row_number() OVER (PARTITION BY e.job, p.raw, p.from_us ORDER BY e.k) = 1 AND p.ready_us >= p.from_us AND p.ready_us <= e.first_us
    THEN p.ready_us END AS ready_us,
  coalesce(p.gpus, t.world_size) AS gpus, coalesce(d.end_state, CASE WHEN e.followed THEN 'unknown' ELSE 'truncated' END) AS told_state,
  d.cause, d.failed_us, d.failed_dated, d.ended_us, d.evidence AS end_evidence,
  p.evidence AS held_evidence, f.evidence,
  row_number() OVER (PARTITION BY e.job, p.raw, p.from_us ORDER BY e.k DESC) = 1 AS last_in_allocation,
  CASE WHEN p.closes THEN p.end_state END AS scheduler_state, p.cause AS scheduler_cause, e.cut OR coalesce(d.doubted, FALSE) AS cut, e.steps_cut OR m.gid IS NOT NULL AS steps_cut
FROM each AS e
LEFT JOIN told AS t ON t.job = e.job AND t.k = e.k
LEFT JOIN who AS w ON w.job = e.job AND w.k = e.k
LEFT JOIN _first_line AS f ON f.job = e.job AND f.k = e.k
LEFT JOIN _end AS d ON d.gid = e.gid
LEFT JOIN _missing AS m ON m.gid = e.gid
LEFT JOIN placed AS p ON p.job = e.job AND p.k = e.k AND p.nth = 1
