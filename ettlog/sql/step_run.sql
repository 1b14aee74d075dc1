-- One row per stretch of steps of one nature without a pause between them.
-- needs: _piece, _pause, _placed, _stream
-- job: job
-- k: number of the start in its job
-- nature: step (new data), replay (at or below the high-water mark), abandoned (new, but lost with a job that never came back)
-- begin_us: the stretch begins
-- end_us: the stretch ends
-- first_step: first step
-- last_step: last step
-- steps: number of steps
-- inferred: whether some instant in it was not printed, or its steps may have been made before, in a start whose logs break off, or nothing explains what follows
-- evidence: path and line of the first step line
WITH ends AS (
  -- repeated steps nearly always come before all others of their pass, one behind the other
  SELECT gid, pass, max(last_step) AS last_step, nullif(max_by(coalesce(end_us, -1), last_step), -1) AS end_us, CASE
    WHEN max(CASE WHEN nature = 'replay' THEN last_step END) >= min(CASE WHEN nature <> 'replay' THEN first_step END) THEN NULL
    WHEN max(CASE WHEN nature = 'replay' THEN last_step END) - min(CASE WHEN nature = 'replay' THEN first_step END)
      = sum(CASE WHEN nature = 'replay' THEN last_step - first_step + 1 END) - 1 THEN max(CASE WHEN nature = 'replay' THEN last_step END) END AS replay_to
  FROM _piece GROUP BY gid, pass
),
smooth AS (
  -- behind the line before, without a pause and with an instant of their own: most of all lines, and where the nature is that of the line
  -- before they end no stretch
  SELECT *, coalesce(dated AND NOT unsure AND begin_us = before_us, FALSE) AS smooth FROM _piece
),
odd AS (
  SELECT p.gid, p.nature, p.before_us, p.begin_us, p.end_us, p.pass, p.first_step, p.last_step, p.dated, p.unsure OR u.gid IS NOT NULL AS unsure, p.no, p.line
  FROM smooth AS p LEFT JOIN _pause AS u ON u.gid = p.gid AND u.pass = p.pass AND u.step = p.last_step
  LEFT JOIN ends AS e ON e.gid = p.gid AND e.pass = p.pass
  WHERE NOT (p.nature = 'step' AND p.smooth) AND NOT coalesce(p.nature = 'replay' AND p.smooth AND p.first_step <= e.replay_to, FALSE)
  UNION ALL
  SELECT p.gid, p.nature, p.before_us, p.begin_us, p.end_us, p.pass, p.first_step, p.last_step, p.dated, TRUE, p.no, p.line
  FROM smooth AS p JOIN _pause AS u ON u.gid = p.gid AND u.pass = p.pass AND u.step = p.last_step JOIN ends AS e ON e.gid = p.gid AND e.pass = p.pass
  WHERE p.smooth AND (p.nature = 'step' OR coalesce(p.nature = 'replay' AND p.first_step <= e.replay_to, FALSE))
),
turn AS (
  SELECT gid, pass, last_step FROM odd UNION SELECT gid, pass, replay_to FROM ends WHERE replay_to IS NOT NULL
),
told AS (
  SELECT gid, nature, before_us, begin_us, end_us, pass, first_step, last_step, dated, unsure, no, line FROM odd
  UNION ALL
  -- and what comes right behind another one, or behind the last repeated step
  SELECT p.gid, p.nature, p.before_us, p.begin_us, p.end_us, p.pass, p.first_step, p.last_step, p.dated, p.unsure, p.no, p.line
  FROM _piece AS p JOIN turn AS t ON t.gid = p.gid AND t.pass = p.pass AND t.last_step = p.first_step - 1
  LEFT JOIN odd AS o ON o.gid = p.gid AND o.pass = p.pass AND o.first_step = p.first_step
  WHERE o.gid IS NULL
),
beside AS (
  SELECT t.*, lag(t.last_step) OVER w = t.first_step - 1 AS near, lag(t.nature) OVER w AS nature_back, lag(t.end_us) OVER w AS end_back,
    lag(t.unsure) OVER w AS unsure_back, CASE WHEN t.first_step - 1 <= e.replay_to THEN 'replay' ELSE 'step' END AS nature_far
  FROM told AS t JOIN ends AS e ON e.gid = t.gid AND e.pass = t.pass
  WINDOW w AS (PARTITION BY t.gid, t.pass ORDER BY t.first_step)
),
follows AS (
  SELECT *, CASE WHEN near THEN end_back ELSE before_us END AS end_before,
    CASE WHEN CASE WHEN near THEN nature = nature_back AND begin_us = end_back AND unsure = unsure_back
      ELSE nature = nature_far AND begin_us = before_us AND NOT unsure END THEN 0 ELSE 1 END AS opens
  FROM beside
),
numbered AS (
  SELECT *, sum(opens) OVER (PARTITION BY gid, pass ORDER BY first_step ROWS UNBOUNDED PRECEDING) AS nth FROM follows
),
vague AS (
  SELECT gid, pass, nth, bool_or(NOT dated) AS vague FROM numbered GROUP BY gid, pass, nth
),
stretch AS (
  -- a stretch ends before the next one in its pass, or with it
  SELECT n.*, v.vague, coalesce(lead(n.first_step) OVER w - 1, e.last_step) AS until_step,
    CASE WHEN lead(n.first_step) OVER w IS NULL THEN e.end_us ELSE lead(n.end_before) OVER w END AS until_us
  FROM numbered AS n JOIN vague AS v ON v.gid = n.gid AND v.pass = n.pass AND v.nth = n.nth JOIN ends AS e ON e.gid = n.gid AND e.pass = n.pass
  WHERE n.opens = 1
  WINDOW w AS (PARTITION BY n.gid, n.pass ORDER BY n.first_step)
)
SELECT p.job, p.k, s.nature, coalesce(s.begin_us, CASE WHEN s.until_step > s.last_step THEN s.end_us END) AS begin_us, s.until_us AS end_us,
  s.first_step, s.until_step AS last_step, s.until_step - s.first_step + 1 AS steps, s.vague OR s.unsure AS inferred,
  c.path || ':' || CAST(s.line AS VARCHAR) AS evidence
FROM stretch AS s
JOIN _placed AS p ON p.gid = s.gid
JOIN _stream AS c ON c.no = s.no
