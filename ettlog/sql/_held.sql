-- One row per allocation of a job: the time in which the job asked for and held the hardware.
-- needs: allocation, launch, _launch, _now
-- job: job
-- cluster: cluster, where known
-- id: job id as printed
-- raw: plain job id
-- submit_us: from when the job waited
-- from_us: hardware is held from here; null when it never was
-- ready_us: the job's own processes ran
-- waits: whether the time before is known as waiting; false where hardware was given at a time that nothing tells
-- to_us: hardware is held up to here, or the request ended; an open allocation ends at the newest instant of the snapshot
-- gpus: GPUs held
-- gpu_milli: GPUs held in thousandths
-- end_state: how the allocation ended, in the words of a start; null where the scheduler's state does not say
-- cause: cause the scheduler names
-- closes: whether the job was the last one in the allocation
-- open: whether the hardware is still held
-- evidence: path and line of the record
-- Several jobs of one log share its allocation: each holds it from its first launch to that of the next.
WITH seen AS (
  SELECT l.job, min(l.first_us) AS first_us, max(l.last_us) AS last_us, greatest(max(l.last_us), max(f.after_us)) AS written_us
  FROM launch AS l JOIN _launch AS f ON f.stream = l.stream AND f.launch = l.launch
  GROUP BY l.job
),
named AS (
  SELECT *, upper(coalesce(state, '')) AS status,
    lead(start_us) OVER (PARTITION BY job, id ORDER BY coalesce(start_us, submit_us), raw, evidence) AS follows_us
  FROM allocation
),
running AS (
  SELECT *, upper(coalesce(state, 'RUNNING')) IN ('RUNNING', 'COMPLETING', 'SUSPENDED', 'STOPPED', 'PENDING', 'CONFIGURING', 'RESIZING', 'ACTIVE',
    'CREATED', 'ADMITTED', 'INQUEUE', 'WAITING', 'SUBMITTED', 'RUNNABLE', 'STARTING', 'INPROGRESS', 'EXECUTING', 'S', 'Q',
    'RUN', 'PEND', 'PSUSP', 'SSUSP', 'USUSP', 'CLEANUP') AS runs
  FROM named
),
timed AS (
  SELECT a.*, s.first_us, s.last_us, s.written_us,
    CASE WHEN a.start_us IS NULL THEN coalesce(status, '') NOT IN ('COMPLETE', 'SUCCEEDED', 'PASS', 'TERMINATED', 'ACTIVE', 'RUNNING', 'RESTARTING',
      'RESTARTINGJOBSET', 'EVICTED', 'FINISHED') AND a.state IS DISTINCT FROM 'Failed' AND a.state IS NOT NULL ELSE TRUE END AS waits,
    coalesce(a.end_us, CASE
      WHEN a.start_us IS NULL AND a.elapsed_us IS NOT NULL AND a.submit_us IS NOT NULL AND a.state IS NULL THEN a.submit_us
      -- a source that tells neither state nor end says nothing about what came behind the last line of the log
      WHEN a.state IS NULL AND s.written_us IS NOT NULL THEN greatest(coalesce(a.start_us, a.submit_us), s.written_us)
      WHEN a.runs
        THEN least(CASE WHEN a.clock = 'relative' THEN n.trace_us ELSE n.now_us END, CASE WHEN a.follows_us > a.start_us THEN a.follows_us END)
      ELSE greatest(coalesce(a.start_us, a.submit_us), coalesce(s.last_us, 0)) END) AS until_us
  FROM running AS a LEFT JOIN seen AS s ON s.job = a.job CROSS JOIN _now AS n
),
shared AS (
  SELECT *, row_number() OVER w AS nth, lead(first_us) OVER w AS next_us
  FROM timed
  WINDOW w AS (PARTITION BY cluster, raw, submit_us, start_us ORDER BY first_us, job, evidence)
)
SELECT job, cluster, id, raw,
  CASE WHEN nth = 1 THEN least(submit_us, start_us) ELSE greatest(start_us, first_us) END AS submit_us,
  CASE WHEN nth = 1 THEN start_us ELSE least(greatest(start_us, first_us), until_us) END AS from_us,
  CASE WHEN nth = 1 THEN ready_us END AS ready_us, waits,
  greatest(least(next_us, until_us), coalesce(start_us, submit_us)) AS to_us,
  gpus, gpu_milli,
  CASE WHEN end_us IS NOT NULL THEN CASE
    WHEN reason IN ('PreemptionByScheduler', 'Preempted', 'InClusterQueue', 'InCohortReclamation', 'InCohortFairSharing',
      'InCohortReclaimWhileBorrowing') THEN 'preempted'
    WHEN reason IN ('DeletionByTaintManager', 'NodeLost', 'NodeShutdown', 'NodeFailures') THEN 'node_failure'
    WHEN reason IN ('DeadlineExceeded', 'MaximumExecutionTimeExceeded') THEN 'time_limit'
    -- LSF names why a job was ended; HTCondor, PBS and Grid Engine only what it exited with
    WHEN reason LIKE 'TERM_PREEMPT%' OR (status = 'EVICTED' AND reason LIKE 'Job was evicted%' AND reason NOT LIKE '%requeued%') THEN 'preempted'
    WHEN reason LIKE 'TERM_RUNLIMIT%' OR reason LIKE 'TERM_DEADLINE%' OR reason LIKE 'TERM_CPULIMIT%' THEN 'time_limit'
    WHEN status = 'EXIT' AND (reason LIKE 'TERM_OWNER%' OR reason LIKE 'TERM_ADMIN%' OR reason LIKE 'TERM_FORCE%' OR reason LIKE 'TERM_BUCKET%')
      THEN 'cancelled'
    WHEN (status = 'TERMINATED' AND exit_signal <> 0) OR (status IN ('TERMINATED', 'E', 'FAILED 0') AND exit_code > 0) THEN 'failed'
    WHEN status IN ('TERMINATED', 'E', 'FAILED 0') AND exit_code = 0 AND coalesce(exit_signal, 0) = 0 THEN 'completed' ELSE CASE status
    WHEN 'TIMEOUT' THEN 'time_limit' WHEN 'DEADLINE' THEN 'time_limit' WHEN 'MAXRUNTIMEEXCEEDED' THEN 'time_limit'
    WHEN 'PREEMPTED' THEN 'preempted' WHEN 'INTERRUPTED' THEN 'preempted'
    WHEN 'NODE_FAIL' THEN 'node_failure' WHEN 'BOOT_FAIL' THEN 'node_failure'
    WHEN 'CANCELLED' THEN 'cancelled' WHEN 'KILLED' THEN 'cancelled' WHEN 'STOPPED' THEN 'cancelled' WHEN 'ABORTED' THEN 'cancelled'
    WHEN 'COMPLETED' THEN 'completed' WHEN 'COMPLETE' THEN 'completed' WHEN 'SUCCEEDED' THEN 'completed' WHEN 'PASS' THEN 'completed' WHEN 'DONE' THEN 'completed'
    WHEN 'FAILED' THEN 'failed' WHEN 'RESTARTING' THEN 'failed' WHEN 'RESTARTINGJOBSET' THEN 'failed' WHEN 'OUT_OF_MEMORY' THEN 'failed'
    WHEN 'EXIT' THEN 'failed'
    END END END AS end_state,
  CASE WHEN status = 'OUT_OF_MEMORY' OR reason = 'OOMKilled' OR reason LIKE 'TERM_MEMLIMIT%' THEN 'oom'
    WHEN reason LIKE 'TERM_PREEMPT%' OR (status = 'EVICTED' AND reason LIKE 'Job was evicted%' AND reason NOT LIKE '%requeued%') THEN 'preemption'
    WHEN status IN ('PREEMPTED', 'INTERRUPTED') OR reason IN ('PreemptionByScheduler', 'Preempted') THEN 'preemption'
    WHEN status IN ('NODE_FAIL', 'BOOT_FAIL') OR reason IN ('DeletionByTaintManager', 'NodeLost', 'NodeShutdown', 'NodeFailures')
      THEN 'node' END AS cause,
  next_us IS NULL AS closes, end_us IS NULL AND start_us IS NOT NULL AND runs AND until_us > coalesce(last_us, 0) AS open,
  evidence
FROM shared
