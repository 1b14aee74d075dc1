-- One row per job, start, part and stage: the sums that every answer is made from.
-- needs: segment, job, _start, _placed, lifecycle_part
-- job: job
-- model: model the job trains
-- platform: platform
-- cluster: cluster
-- start: number of the start; null where the job has none
-- kind: why the start was made; unknown where the job has none
-- component: component of the part
-- part: what the time was
-- stage: stage of the job's life
-- owner: who owns the part by default
-- role: how credit treats the part
-- launched_us: first instant of the start; of the wall where the job has none
-- us: wall time in microseconds
-- gpu_us: GPU time in GPU-microseconds; null where the number of GPUs is not known
-- allocated_us: wall time with hardware held
-- allocated_gpu_us: GPU time with hardware held
-- events: executions: separate intervals of the part
SELECT g.job, j.model, j.platform, j.cluster, g.start, coalesce(min(s.kind), 'unknown') AS kind, g.component, g.part, g.stage,
  min(p.owner) AS owner, min(p.role) AS role, coalesce(min(c.first_us), min(j.first_us)) AS launched_us,
  CAST(sum(g.end_us - g.begin_us) AS BIGINT) AS us,
  CASE WHEN max(g.gpu_milli) IS NOT NULL THEN CAST(least(sum(CAST(g.end_us - g.begin_us AS HUGEINT) * g.gpu_milli) // 1000, 1000000000000000000) AS BIGINT) END AS gpu_us,
  CAST(sum(CASE WHEN g.allocated THEN g.end_us - g.begin_us ELSE 0 END) AS BIGINT) AS allocated_us,
  CASE WHEN max(g.gpu_milli) IS NOT NULL THEN CAST(least(sum(CAST(CASE WHEN g.allocated THEN g.end_us - g.begin_us ELSE 0 END AS HUGEINT) * g.gpu_milli) // 1000, 1000000000000000000) AS BIGINT) END AS allocated_gpu_us,
  count(*) AS events
FROM segment AS g
JOIN job AS j ON j.job = g.job
JOIN lifecycle_part AS p ON p.part = g.part
LEFT JOIN _start AS s ON s.job = g.job AND s.k = g.start
LEFT JOIN _placed AS c ON c.job = g.job AND c.k = g.start
GROUP BY g.job, j.model, j.platform, j.cluster, g.start, g.component, g.part, g.stage
