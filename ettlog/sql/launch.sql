-- One row per launch of a log: the job and the start it belongs to.
-- needs: _attempt, _launch, _end
-- job: job; members of a sweep in one log are told apart by #2, #3, ...
-- k: number of the start in its job, from 0
-- gid: number of the start over all jobs
-- stream: the log
-- launch: number of the launch in the log
-- first_us: first instant of the launch
-- last_us: last instant of the launch
-- first_step: first step printed
-- last_step: last step printed
-- resumed_from: step the trainer continues from
-- Where a start completed and a later one begins again at the first steps without a checkpoint, another job begins.
WITH each AS (
  SELECT a.gid, a.name, min(l.first_step) AS first_step, max(l.last_step) AS last_step, max(l.step_lines) AS step_lines,
    max(l.resumed_from) AS resumed_from
  FROM _attempt AS a JOIN _launch AS l ON l.stream = a.stream AND l.launch = a.launch
  GROUP BY a.gid, a.name
),
done AS (
  SELECT s.*, CASE WHEN s.first_step IS NULL THEN NULL
    WHEN e.end_state = 'completed' AND NOT e.planned_exit THEN s.first_step ELSE -1 END AS finished_at
  FROM each AS s LEFT JOIN _end AS e ON e.gid = s.gid
),
before AS (
  SELECT *, last_value(finished_at IGNORE NULLS) OVER (
      PARTITION BY name ORDER BY gid ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS finished_before,
    CASE WHEN step_lines > 1 THEN (last_step - first_step) // (step_lines - 1) ELSE 0 END AS every
  FROM done
),
numbered AS (
  SELECT *, sum(CASE WHEN finished_before >= 0 AND resumed_from IS NULL AND first_step <= greatest(finished_before, every)
      THEN 1 ELSE 0 END) OVER (PARTITION BY name ORDER BY gid ROWS UNBOUNDED PRECEDING) AS sweep
  FROM before
),
named AS (
  SELECT gid, CASE WHEN sweep > 0 THEN name || '#' || CAST(sweep + 1 AS VARCHAR) ELSE name END AS job,
    row_number() OVER (PARTITION BY name, sweep ORDER BY gid) - 1 AS k
  FROM numbered
)
SELECT n.job, n.k, n.gid, a.stream, a.launch, l.first_us, l.last_us, l.first_step, l.last_step, l.resumed_from
FROM named AS n
JOIN _attempt AS a ON a.gid = n.gid
JOIN _launch AS l ON l.stream = a.stream AND l.launch = a.launch
