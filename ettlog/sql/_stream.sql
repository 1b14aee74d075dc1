-- One row per source: the stream it is a part of, and how many launches the parts before it hold.
-- needs: source, event, _stepped, _named, _resumed
-- key: content key of the source
-- no: number of the source over all sources
-- path: path of the file
-- stream: the log of one writer that the source is a part of: name of the log, with rank and node where the source has them
-- part_no: position of the part in its stream, from 1
-- launches_before: launches in the parts before; a part's launch 0 goes on with the last of them
-- name: job name, with the cluster in front where the same name runs on several clusters; of a resubmitted job that of its first log
WITH logged AS (
  -- parts of one text may name their node in one of them only: it divides logs where nothing else does
  SELECT *, stream || CASE WHEN rank IS NULL THEN '' ELSE ' rank ' || CAST(rank AS VARCHAR) END
    || CASE WHEN node IS NOT NULL AND count(*) OVER (PARTITION BY stream, rank, part) > 1 THEN ' on ' || node ELSE '' END AS log
  FROM source
),
counted AS (
  SELECT key, max(launch) AS launches
  FROM (
    SELECT key, launch FROM event
    UNION ALL
    SELECT key, launch FROM _stepped
  ) AS seen
  GROUP BY key
)
SELECT
  s.key,
  row_number() OVER (ORDER BY s.path, s.key) AS no,
  s.path,
  s.log AS stream,
  row_number() OVER (PARTITION BY s.log ORDER BY s.part, s.path) AS part_no,
  CAST(coalesce(sum(c.launches) OVER (
    PARTITION BY s.log ORDER BY s.part, s.path ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  ), 0) AS BIGINT) AS launches_before,
  coalesce(r.root, n.name) AS name
FROM logged AS s
JOIN _named AS n ON n.key = s.key
LEFT JOIN _resumed AS r ON r.name = n.name
LEFT JOIN counted AS c ON c.key = s.key
