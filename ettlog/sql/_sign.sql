-- One row per line that tells of the end of a start, and what it says of it.
-- needs: _attempt, _event, _launch, lifecycle_kind
-- gid: number of the start over all jobs
-- stream: the log
-- kind: what the line says
-- at_us: instant
-- dated: whether the line holds an instant of its own
-- cause: cause it names
-- evidence: path and line
-- pos: order of the lines of the start
-- says: the kind, with exit codes read: exit_ok, failure or victim; survived where steps follow; kill for a cancellation
-- that answers a failure
-- signs: whether it is a sign of a failure
-- own: whether it is a failure of the start's own
-- A line of failure that a step line follows was no failure of the start, nor is an exception that Python ignores. -15, -9 and
-- SIGTERM are what happens to victims.
WITH progress AS (
  SELECT a.gid, max(l.last_step_us) AS last_step_us
  FROM _attempt AS a JOIN _launch AS l ON l.stream = a.stream AND l.launch = a.launch
  GROUP BY a.gid
),
alive AS (
  -- an agent that restarts its workers kills the old ones first: until the new ones show, a kill is of the start before
  SELECT e.stream, e.launch, min(CASE WHEN e.kind = 'restart' THEN e.line END) AS restart_line,
    min(CASE WHEN k.part IN ('rendezvous', 'process_group', 'model_build', 'other') OR k.opens = 2 THEN e.line END) AS line
  FROM _event AS e JOIN lifecycle_kind AS k ON k.kind = e.kind
  GROUP BY e.stream, e.launch
),
heard AS (
  SELECT stream, part_no, launch, line, kind, coalesce(name, '') <> '' AS named,
    count(CASE WHEN kind = 'ignored_exception' THEN 1 END) OVER w AS ignored,
    max(CASE WHEN kind = 'ignored_exception' THEN line END) OVER w AS ignored_line
  FROM _event WHERE kind IN ('failure', 'ignored_exception')
  WINDOW w AS (PARTITION BY stream, part_no, launch ORDER BY line)
),
spared AS (
  -- each exception that is ignored is printed as one traceback and one name; several ranks may print theirs at once
  SELECT DISTINCT stream, part_no, launch, line
  FROM (SELECT *, row_number() OVER (PARTITION BY stream, part_no, launch, named ORDER BY line) AS nth
    FROM heard WHERE kind = 'failure' AND ignored > 0) AS numbered
  WHERE nth <= ignored AND line <= ignored_line + 100
),
told AS (
  SELECT a.gid, a.stream, e.kind, e.at_us, e.dated, CASE WHEN e.cause <> '' THEN e.cause END AS cause,
    e.path || ':' || CAST(e.line AS VARCHAR) AS evidence,
    row_number() OVER (PARTITION BY a.gid ORDER BY e.at_us NULLS FIRST, e.part_no, e.path, e.line, e.kind, e.cause, e.code) AS pos,
    CASE
      WHEN e.kind = 'exit_code' THEN CASE WHEN coalesce(e.code, 1) = 0 THEN 'exit_ok'
        WHEN e.code IN (-15, -9, 143, 137) THEN 'victim' ELSE 'failure' END
      WHEN e.kind = 'failure' AND e.cause = 'sigterm' THEN 'victim'
      WHEN e.kind = 'failure' AND (s.line IS NOT NULL OR e.at_us < p.last_step_us
        OR (e.at_us IS NULL AND e.part_no * CAST(4294967296 AS BIGINT) + e.line < g.last_step_place)) THEN 'survived'
      WHEN e.kind = 'exit_planned' THEN 'train_end'
      ELSE e.kind END AS says
  FROM _attempt AS a
  JOIN _event AS e ON e.stream = a.stream AND e.launch = a.launch
  JOIN progress AS p ON p.gid = a.gid
  JOIN alive AS l ON l.stream = a.stream AND l.launch = a.launch
  JOIN _launch AS g ON g.stream = a.stream AND g.launch = a.launch
  LEFT JOIN spared AS s ON s.stream = e.stream AND s.part_no = e.part_no AND s.launch = e.launch AND s.line = e.line
  WHERE e.kind IN ('train_end', 'exit_ok', 'exit_planned', 'exit_code', 'failure', 'interrupt', 'signal', 'kill', 'cancelled',
      'time_limit', 'preempted', 'node_failure')
    AND NOT (e.kind = 'kill' AND coalesce(e.line BETWEEN l.restart_line AND coalesce(l.line, e.line), FALSE))
),
weighed AS (
  SELECT *,
    -- what fails behind a signal without a cause of its own fails because of it
    says = 'failure' AND NOT coalesce(coalesce(cause, 'other') = 'other'
      AND pos > min(CASE WHEN says = 'signal' THEN pos END) OVER (PARTITION BY gid), FALSE) AS own
  FROM told
),
so_far AS (
  SELECT *, min(CASE WHEN own THEN pos END) OVER w AS failed_pos, max(CASE WHEN says = 'kill' THEN pos END) OVER w AS killed_pos,
    max(CASE WHEN own AND dated THEN pos END) OVER w AS dated_pos, max(CASE WHEN own AND dated THEN at_us END) OVER w AS dated_us,
    max(CASE WHEN own AND NOT dated THEN pos END) OVER w AS undated_pos
  FROM weighed
  WINDOW w AS (PARTITION BY gid ORDER BY pos ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
answered AS (
  -- srun and torchrun end what is left of their step when one of its processes fails; a person who cancels is not that fast
  SELECT *, says = 'cancelled' AND coalesce(killed_pos > failed_pos, FALSE)
    AND coalesce(undated_pos > coalesce(dated_pos, 0) OR at_us - dated_us <= 60000000, FALSE) AS aftermath
  FROM so_far
)
SELECT gid, stream, kind, at_us, dated, cause, evidence, pos, CASE WHEN aftermath THEN 'kill' ELSE says END AS says,
  aftermath OR says IN ('failure', 'victim', 'kill', 'interrupt', 'signal', 'preempted', 'node_failure') AS signs, own
FROM answered
