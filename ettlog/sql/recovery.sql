-- One row per restart of a job and phase of it: from the fault or the planned end of the start before to the first new step.
-- needs: segment, _start, _phase, _line, _stream, step_run, compilation, lifecycle_recovery, launch
-- job: job
-- k: number of the start that recovered
-- kind: why it was made: failure, preemption, planned, unknown
-- cause: cause of the end of the start before, where one is named
-- place: position of the phase in the anatomy, from 0
-- phase: fault, detection, teardown, requeue, placement, init, restore, compile, replay, held_up, unknown, new_step
-- begin_us: the phase begins
-- end_us: the phase ends; of fault and new_step the instant itself
-- us: time of the phase: less than end - begin where another lies between
-- gpu_us: GPU time of the phase; null where the number of GPUs is not known
-- warmth: of compile: how warm its caches were
-- inferred: whether it rests on an inference
-- evidence: path and line
-- A start that failed before a new step has no new_step; its successor's recovery begins with its own fault.
WITH made AS (
  SELECT job, k, kind, lag(cause) OVER (PARTITION BY job ORDER BY k) AS cause FROM _start
),
spent AS (
  SELECT g.job, g.start AS k, r.phase, min(g.begin_us) AS begin_us, max(g.end_us) AS end_us, CAST(sum(g.end_us - g.begin_us) AS BIGINT) AS us,
    CASE WHEN max(g.gpus) IS NOT NULL THEN CAST(least(sum(CAST(g.end_us - g.begin_us AS HUGEINT) * g.gpus), 1000000000000000000) AS BIGINT) END AS gpu_us, min_by(g.evidence, g.begin_us) AS evidence, bool_or(g.inferred) AS inferred
  FROM segment AS g JOIN lifecycle_recovery AS r ON r.part = g.part
  WHERE g.stage IN ('recovery', 'restart') AND g.start > 0
  GROUP BY g.job, g.start, r.phase
),
begun AS (
  SELECT job, k, min(begin_us) AS at_us FROM spent GROUP BY job, k
),
highest AS (
  SELECT gid, pass, max(step) AS step, max_by(no, step) AS no, max_by(line, step) AS line FROM _line GROUP BY gid, pass
),
last_line AS (
  -- a loop that went back may print its last step twice
  SELECT gid, no, line, row_number() OVER (PARTITION BY gid ORDER BY step DESC, pass DESC) AS nth FROM highest
),
seen AS (
  SELECT DISTINCT l.job, l.k, c.path || ':' || CAST(t.line AS VARCHAR) || ' (last step line)' AS evidence
  FROM launch AS l JOIN last_line AS t ON t.gid = l.gid AND t.nth = 1 JOIN _stream AS c ON c.no = t.no
),
fresh AS (
  SELECT job, k, evidence, inferred, row_number() OVER (PARTITION BY job, k ORDER BY begin_us, end_us, first_step, evidence) AS nth
  FROM step_run WHERE nature <> 'replay'
),
every AS (
  SELECT job, k, phase, begin_us, end_us, us, gpu_us, inferred, evidence FROM spent
  UNION ALL
  SELECT b.job, b.k, 'fault', b.at_us, b.at_us, 0, 0, s.evidence IS NULL, coalesce(s.evidence, e.end_evidence)
  FROM begun AS b LEFT JOIN seen AS s ON s.job = b.job AND s.k = b.k - 1 LEFT JOIN _start AS e ON e.job = b.job AND e.k = b.k - 1
  UNION ALL
  SELECT h.job, h.k, 'new_step', h.new_us, h.new_us, 0, 0, f.inferred, f.evidence
  FROM _phase AS h JOIN begun AS b ON b.job = h.job AND b.k = h.k JOIN fresh AS f ON f.job = h.job AND f.k = h.k AND f.nth = 1
  WHERE h.new_us IS NOT NULL
),
placed AS (
  SELECT phase, min(place) AS place FROM lifecycle_recovery GROUP BY phase
)
SELECT e.job, e.k, m.kind, m.cause, p.place, e.phase, e.begin_us, e.end_us, e.us, e.gpu_us,
  CASE WHEN e.phase = 'compile' THEN coalesce(c.warmth, 'unknown') END AS warmth, coalesce(e.inferred, FALSE) AS inferred, e.evidence
FROM every AS e
JOIN made AS m ON m.job = e.job AND m.k = e.k
JOIN placed AS p ON p.phase = e.phase
LEFT JOIN compilation AS c ON c.job = e.job AND c.k = e.k
