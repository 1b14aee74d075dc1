-- One row per start: the instants that divide it into start-up, loop and end.
-- needs: _placed, _start, _trained, _work, _pass, _piece, _pause, _stall, _save, _pair, mark, lifecycle_kind, lifecycle_part
-- job: job
-- k: number of the start in its job
-- begin_us: first instant, or the scheduler's word that the trainer's processes ran; of a headless start the first step line's time begins
-- headless: whether hardware was held, and what was collected of its log begins with a step behind others that nobody tells of
-- loop_us: start-up ends: the first step line's time begins, or the loop is entered
-- loop_dated: whether that step line holds an instant of its own, and something explains the time behind it; null where no step was made
-- new_us: the first new step begins; null where none was made
-- step_end_us: last step line
-- step_dated: whether that line holds an instant of its own; null where no step was made
-- progress_us: last progress of any kind; null where the loop was never entered
-- stop_us: the failure, or the end of the loop: the last step line, or the last sign of training behind it
-- silent: whether the loop was left more than five seconds behind all that is known to have gone on in it, or steps were saved that no
-- line tells of
-- overrun: whether some of its lines are of a time in which the next start in the same hardware had begun: which start they tell of is in doubt
-- done_us: the start is over: hardware given back, or last line
WITH stepped AS (
  -- of lines that end in one instant an undated one decides, whatever the order of the rows
  SELECT gid, min(begin_us) AS begin_us, max(end_us) AS end_us, max(step) AS last_step, max(2 * end_us + CASE WHEN dated THEN 0 ELSE 1 END) % 2 = 0 AS dated FROM _work GROUP BY gid
),
entered AS (
  SELECT w.gid, bool_and(w.dated AND q.gid IS NULL) AS dated, min(w.end_us) AS line_us, min(w.first_step) - 1 - max(greatest(r.high, 0)) AS ahead, min(w.first_step) - 1 AS done
  FROM _work AS w JOIN stepped AS s ON s.gid = w.gid AND s.begin_us = w.begin_us JOIN _pass AS r ON r.gid = w.gid AND r.pass = w.pass
  LEFT JOIN _pause AS q ON q.gid = w.gid AND q.pass = w.pass AND q.step = w.step
  GROUP BY w.gid
),
fresh AS (
  SELECT gid, min(begin_us) AS begin_us FROM _piece WHERE nature <> 'replay' GROUP BY gid
),
waited AS (
  SELECT job, k, max(end_us) AS end_us
  FROM (SELECT job, k, end_us FROM _stall UNION ALL SELECT job, k, end_us FROM _pair WHERE part = 'evaluation') AS held
  GROUP BY job, k
),
told AS (
  SELECT m.job, m.k, max(CASE WHEN m.kind = 'heartbeat' THEN m.at_us END) AS alive_us,
    max(CASE WHEN m.kind = 'train_end' THEN m.at_us END) AS left_us,
    max(CASE WHEN p.component = 'trainer_init' THEN m.at_us END) AS init_us,
    -- a watchdog prints how long it has waited: until then the ranks were at work
    min(CASE WHEN m.kind = 'failure' AND m.duration_us > 0 THEN m.at_us - m.duration_us END) AS stalled_us
  FROM mark AS m JOIN lifecycle_kind AS k ON k.kind = m.kind LEFT JOIN lifecycle_part AS p ON p.part = k.part
  GROUP BY m.job, m.k
),
saved AS (
  SELECT job, k, max(step) AS step FROM _save WHERE state <> 'loaded' GROUP BY job, k
),
followed AS (
  -- the next start in the same hardware or the same log: its first line bounds the end of this one
  SELECT p.job, p.k, lead(p.first_us) OVER w AS next_us, coalesce(lead(p.raw) OVER w = p.raw AND lead(p.held_from_us) OVER w = p.held_from_us,
    lead(s.same_log) OVER w, FALSE) AS stays
  FROM _placed AS p JOIN _start AS s ON s.job = p.job AND s.k = p.k
  WINDOW w AS (PARTITION BY p.job ORDER BY p.k)
),
stopped AS (
  SELECT p.job, p.k, p.first_us, p.ready_us, p.last_us, p.train_us, p.held_to_us, p.last_in_allocation, s.end_state, s.ended_us,
    coalesce(p.raw IS NOT NULL AND p.first_us >= e.line_us AND e.ahead > 0 AND e.done > coalesce(p.resumed_from, 0), FALSE) AS headless,
    w.begin_us AS loop_us, e.dated AS loop_dated, w.end_us AS step_end_us, w.dated AS step_dated, v.step > w.last_step AS unseen, f.begin_us AS new_us, t.init_us, t.left_us, t.alive_us, t.stalled_us, h.end_us AS waited_us,
    CASE WHEN o.stays THEN o.next_us END AS next_us,
    greatest(w.end_us, CASE
      WHEN s.end_state = 'completed' THEN coalesce(greatest(w.end_us, a.at_us), CASE WHEN p.train_us <= t.left_us THEN t.left_us END, p.train_us, t.init_us, p.last_us)
      WHEN s.end_state IN ('unknown', 'truncated') THEN p.last_us
      -- without a stamp a failure lies between the last line and the next thing that is dated: the release, or the next start
      WHEN s.failed_us >= p.last_us AND NOT s.failed_dated AND w.end_us IS NOT NULL
        THEN coalesce(CASE WHEN p.last_in_allocation THEN p.held_to_us END, CASE WHEN o.stays THEN o.next_us END, s.failed_us)
      ELSE coalesce(s.failed_us, s.ended_us, p.last_us) END) AS stop_us
  FROM _placed AS p
  JOIN _start AS s ON s.job = p.job AND s.k = p.k
  LEFT JOIN stepped AS w ON w.gid = p.gid
  LEFT JOIN entered AS e ON e.gid = p.gid
  LEFT JOIN fresh AS f ON f.gid = p.gid
  LEFT JOIN told AS t ON t.job = p.job AND t.k = p.k
  LEFT JOIN saved AS v ON v.job = p.job AND v.k = p.k
  LEFT JOIN waited AS h ON h.job = p.job AND h.k = p.k
  LEFT JOIN _trained AS a ON a.gid = p.gid
  LEFT JOIN followed AS o ON o.job = p.job AND o.k = p.k
  WHERE p.first_us IS NOT NULL
)
SELECT job, k, CASE WHEN headless THEN loop_us ELSE least(first_us, loop_us, ready_us) END AS begin_us, headless,
  CASE WHEN headless THEN loop_us ELSE greatest(first_us, coalesce(loop_us, least(train_us, stop_us), stop_us)) END AS loop_us, loop_dated, new_us, step_end_us, step_dated,
  CASE WHEN step_end_us IS NOT NULL OR train_us IS NOT NULL
    THEN least(stop_us, greatest(step_end_us, train_us, waited_us, alive_us, stalled_us)) END AS progress_us,
  stop_us, coalesce(unseen, FALSE) OR coalesce(left_us > greatest(step_end_us, waited_us, alive_us) + 5000000, FALSE) AS silent,
  coalesce(NOT (last_in_allocation AND held_to_us IS NOT NULL) AND greatest(last_us, ended_us) > next_us, FALSE) AS overrun,
  CASE WHEN last_in_allocation AND held_to_us IS NOT NULL THEN greatest(stop_us, held_to_us)
    -- the next start in the same hardware ends this one, whatever some of its ranks say later
    ELSE greatest(stop_us, least(greatest(last_us, ended_us), next_us)) END AS done_us
FROM stopped
