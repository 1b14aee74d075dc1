-- One row per source: the name of its job, before logs of a resubmitted job are joined.
-- needs: source, alloc
-- key: content key of the source
-- name: job name, with the cluster in front where the same name runs on several clusters
-- rule: pod name, where the file or its folder is named after a pod or task of the job; null elsewhere
-- `kubectl logs POD > POD.log`, /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log, /var/log/pods/NAMESPACE_POD_UID/CONTAINER/0.log
WITH task AS (
  SELECT a.task, min(a.id) AS id FROM alloc AS a WHERE a.record = 'task' AND a.task IS NOT NULL AND a.id IS NOT NULL
  GROUP BY a.task HAVING count(DISTINCT a.id) = 1
),
pointed AS (
  -- a template, a line and a rule of the configuration stand above the name of a pod
  SELECT key, regexp_extract(path, '([^/]*?)([.](log|txt|out|gz|zst|jsonl?))*$', 1) AS stem,
    regexp_extract(path, '([^/_]*)_[^/]*$', 1) AS first_piece, regexp_extract(path, '/[^/_]+_([^/_]+)_[0-9a-f-]{32,36}/', 1) AS folder
  FROM source
  WHERE job_by IS NULL OR job_by IN ('file name', 'folder')
),
known AS (
  SELECT p.key, coalesce(a.id, b.id, c.id) AS job
  FROM pointed AS p LEFT JOIN task AS a ON a.task = p.stem LEFT JOIN task AS b ON b.task = p.first_piece LEFT JOIN task AS c ON c.task = p.folder
),
called AS (
  SELECT s.key, s.cluster, coalesce(k.job, s.job_name) AS name, CASE WHEN k.job IS NOT NULL THEN 'pod name' END AS rule
  FROM source AS s LEFT JOIN known AS k ON k.key = s.key
),
shared AS (
  SELECT name, count(DISTINCT cluster) AS clusters FROM called GROUP BY name
)
SELECT c.key, CASE WHEN h.clusters > 1 AND c.cluster IS NOT NULL THEN c.cluster || '/' || c.name ELSE c.name END AS name, c.rule
FROM called AS c
JOIN shared AS h ON h.name = c.name
