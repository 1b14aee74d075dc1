-- One row per launch of one stream that counts as a start; lines before the first launch count only where they show a trainer.
-- needs: _counted, line_stat, source, _event, _stream, lifecycle_kind
-- name: job name of the stream
-- stream: the log
-- launch: number of the launch in the stream
-- nth: position among the launches of the stream that count, from 1; a launch that is told twice has it twice
-- followed: whether another launch follows in the stream
-- rank: rank of the stream, where the path says it
-- allocation: allocation of the stream, where known
-- first_us: first instant
-- last_us: last instant
-- before_us: first dated line of the stream, for its first launch
-- after_us: last dated line of the stream, for its last launch
-- first_step: first step printed
-- last_step: last step printed
-- step_lines: number of step lines
-- last_step_us: instant of the last step line
-- last_step_place: where it stands in the log: its part times 2^32, and its line
-- resumed_from: step the trainer continues from
-- cut: whether the log breaks off in it: its last line is torn, or tells of a step, a save or an evaluation
WITH told AS (
  SELECT e.stream, e.launch, min(e.at_us) AS first_us, max(e.at_us) AS last_us,
    max(CASE WHEN k.part NOT IN ('save_stall', 'evaluation') AND e.kind NOT IN ('save_written', 'save_delete', 'step_twin', 'heartbeat')
      THEN e.at_us END) AS else_us,
    bool_or(k.part <> '' OR k.end_state <> '' OR k.opens > 0 OR e.kind IN ('resume', 'kill')) AS speaks,
    bool_or(e.kind IN ('train_start', 'save_request', 'save_blocking', 'save_commit', 'restore_end', 'resume', 'evaluation_end')) AS trains,
    bool_or(e.kind = 'restart') AS restarts,
    min(CASE WHEN e.kind = 'resume' AND e.step > 0 THEN e.step END) AS resumed,
    max(CASE WHEN e.kind = 'restore_end' AND e.step > 0 THEN e.step END) AS restored,
    max(CASE WHEN e.kind = 'restore_begin' AND e.step > 0 THEN e.step END) AS begun
  FROM _event AS e JOIN lifecycle_kind AS k ON k.kind = e.kind
  GROUP BY e.stream, e.launch
),
merged AS (
  SELECT coalesce(t.stream, p.stream) AS stream, coalesce(t.launch, p.launch) AS launch, t.speaks, t.trains, t.restarts,
    least(t.first_us, p.first_us) AS first_us, greatest(t.last_us, p.last_us) AS last_us, p.first_step, p.last_step,
    coalesce(p.step_lines, 0) AS step_lines, p.last_us AS last_step_us, p.last_place AS last_step_place, coalesce(p.last_us > coalesce(t.else_us, 0), FALSE) AS breaks,
    -- many trainers name the step only where a load begins: it was loaded where steps go on behind it
    coalesce(t.resumed, CASE WHEN t.restored < p.first_step THEN t.restored END, CASE WHEN t.begun < p.first_step THEN t.begun END)
      AS resumed_from
  FROM told AS t FULL JOIN _counted AS p ON p.stream = t.stream AND p.launch = t.launch
),
following AS (
  SELECT *, lead(restarts) OVER (PARTITION BY stream ORDER BY launch) AS next_restarts,
    max(launch) OVER (PARTITION BY stream) AS launches
  FROM merged
),
streams AS (
  SELECT c.stream, min(c.name) AS name, min(s.rank) AS rank, min(s.allocation) AS allocation,
    min(s.first_us) AS first_us, max(s.last_us) AS last_us, max_by(s.state = 'torn' OR b.key IS NOT NULL, c.part_no) AS torn
  FROM _stream AS c JOIN source AS s ON s.key = c.key
  LEFT JOIN (SELECT DISTINCT key FROM line_stat WHERE outcome = 'torn' AND lines > 0) AS b ON b.key = s.key
  -- a document quotes logs: what it says happened in a run whose log is elsewhere
  WHERE s.state <> 'document'
  GROUP BY c.stream
),
opened AS (
  -- an opening line of the same instant is the same line, sent twice: what comes behind it goes on with the same start
  SELECT stream, launch, min(first_launch) AS first_launch
  FROM (
    SELECT e.stream, e.launch, min(e.launch) OVER (PARTITION BY e.stream, e.kind, e.at_us) AS first_launch
    FROM _event AS e JOIN lifecycle_kind AS k ON k.kind = e.kind WHERE k.opens > 0 AND e.dated
  ) AS seen
  GROUP BY stream, launch
),
numbered AS (
  SELECT f.*, dense_rank() OVER (PARTITION BY f.stream ORDER BY coalesce(o.first_launch, f.launch)) AS nth
  FROM following AS f LEFT JOIN opened AS o ON o.stream = f.stream AND o.launch = f.launch
  WHERE f.launch > 0 OR f.step_lines > 0 OR f.trains OR (f.speaks AND (f.launches = 0 OR f.next_restarts))
),
counted AS (
  SELECT *, max(nth) OVER (PARTITION BY stream) AS total FROM numbered
)
SELECT s.name, f.stream, f.launch, f.nth, f.nth < f.total AS followed, s.rank, s.allocation, f.first_us, f.last_us,
  -- a stamp more than a day away belongs to something else than the run
  CASE WHEN f.nth = 1 AND s.first_us BETWEEN f.first_us - 86400000000 AND f.first_us THEN s.first_us END AS before_us,
  CASE WHEN f.nth = f.total AND s.last_us BETWEEN f.last_us AND f.last_us + 86400000000 THEN s.last_us END AS after_us,
  f.first_step, f.last_step, f.step_lines, f.last_step_us, f.last_step_place, f.resumed_from,
  f.nth = f.total AND (coalesce(s.torn, FALSE) OR f.breaks) AS cut
FROM counted AS f
JOIN streams AS s ON s.stream = f.stream
