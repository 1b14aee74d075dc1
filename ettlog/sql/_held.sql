-- One row per allocation of a job: the time in which the job asked for and held the hardware.
-- needs: allocation, launch, _now
-- job: job
-- cluster: cluster, where known
-- id: job id as printed
-- raw: plain job id
-- submit_us: from when the job waited
-- from_us: hardware is held from here; null when it never was
-- to_us: hardware is held up to here, or the request ended; an open allocation ends at the newest instant of the snapshot
-- gpus: GPUs held
-- end_state: how the allocation ended, in the words of a start; null where the scheduler's state does not say
-- cause: cause the scheduler names
-- closes: whether the job was the last one in the allocation
-- open: whether the hardware is still held
-- evidence: path and line of the record
-- Several jobs of one log share its allocation: each holds it from its first launch to that of the next.
WITH seen AS (
  SELECT job, min(first_us) AS first_us, max(last_us) AS last_us FROM launch GROUP BY job
),
timed AS (
  SELECT a.*, s.first_us, s.last_us, upper(coalesce(a.state, '')) AS status,
    coalesce(a.end_us, CASE WHEN upper(coalesce(a.state, 'RUNNING')) IN ('RUNNING', 'COMPLETING', 'SUSPENDED', 'STOPPED', 'PENDING',
      'CONFIGURING', 'RESIZING') THEN n.now_us ELSE greatest(coalesce(a.start_us, a.submit_us), coalesce(s.last_us, 0)) END) AS until_us
  FROM allocation AS a LEFT JOIN seen AS s ON s.job = a.job CROSS JOIN _now AS n
),
shared AS (
  SELECT *, row_number() OVER w AS nth, lead(first_us) OVER w AS next_us
  FROM timed
  WINDOW w AS (PARTITION BY cluster, raw, submit_us, start_us ORDER BY first_us, job)
)
SELECT job, cluster, id, raw,
  CASE WHEN nth = 1 THEN least(submit_us, start_us) ELSE greatest(start_us, first_us) END AS submit_us,
  CASE WHEN nth = 1 THEN start_us ELSE least(greatest(start_us, first_us), until_us) END AS from_us,
  greatest(least(next_us, until_us), coalesce(start_us, submit_us)) AS to_us,
  gpus,
  CASE WHEN end_us IS NOT NULL THEN CASE status
    WHEN 'TIMEOUT' THEN 'time_limit' WHEN 'DEADLINE' THEN 'time_limit' WHEN 'PREEMPTED' THEN 'preempted'
    WHEN 'NODE_FAIL' THEN 'node_failure' WHEN 'BOOT_FAIL' THEN 'node_failure' WHEN 'CANCELLED' THEN 'cancelled'
    WHEN 'COMPLETED' THEN 'completed' WHEN 'FAILED' THEN 'failed' WHEN 'OUT_OF_MEMORY' THEN 'failed' END END AS end_state,
  CASE status WHEN 'OUT_OF_MEMORY' THEN 'oom' WHEN 'PREEMPTED' THEN 'preemption' WHEN 'NODE_FAIL' THEN 'node'
    WHEN 'BOOT_FAIL' THEN 'node' END AS cause,
  next_us IS NULL AS closes, end_us IS NULL AND start_us IS NOT NULL AND until_us > coalesce(last_us, 0) AS open,
  evidence
FROM shared
