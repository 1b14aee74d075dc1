-- One row per source: the name of its job, before logs of a resubmitted job are joined.
-- needs: source
-- key: content key of the source
-- name: job name, with the cluster in front where the same name runs on several clusters
WITH shared AS (
  SELECT job_name, count(DISTINCT cluster) AS clusters FROM source GROUP BY job_name
)
SELECT s.key, CASE WHEN h.clusters > 1 AND s.cluster IS NOT NULL THEN s.cluster || '/' || s.job_name ELSE s.job_name END AS name
FROM source AS s
JOIN shared AS h ON h.job_name = s.job_name
