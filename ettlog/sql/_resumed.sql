-- One row per job name whose logs go on from what logs of another name saved: a job that was submitted again.
-- needs: event, _stepped, source, alloc, setting, _named
-- name: name of the later logs
-- root: name of the first logs of the job, which all of them bear
-- rule: checkpoint folder, or resubmitted: the scheduler's name is the same
-- evidence: path and line of the load
-- Both are inferences. The later logs load a step that the earlier ones saved, count on from it, and run after them. A folder says
-- something only where it is written from the root of a file system; a scheduler's name only where no folders contradict it.
WITH said AS (
  SELECT e.key, e.launch, n.name, s.path || ':' || CAST(e.line AS VARCHAR) AS evidence, e.kind IN ('restore_begin', 'restore_end', 'resume') AS loads,
    coalesce(e.step, max(CASE WHEN e.kind IN ('restore_end', 'resume') THEN e.step END) OVER (PARTITION BY e.key, e.launch)) AS step,
    -- what stands before the piece that holds the number of the step, or before the last file. The number is a mark while it is looked for:
    -- a pattern that is another one in each row would be compiled for each
    CASE WHEN regexp_matches(e.name, '^(/|[a-z0-9]+://)') THEN regexp_replace(CASE WHEN e.step IS NULL THEN e.name
      WHEN e.step = 0 THEN regexp_replace(e.name, '/([^/]*[^0-9/])?0+([-._=][^/]*)?(/.*)?$', '')
      ELSE replace(regexp_replace(replace(e.name, CAST(e.step AS VARCHAR), chr(1)),
        '/([^/]*[^0-9/' || chr(1) || '])?0*' || chr(1) || '([-._=][^/]*)?(/.*)?$', ''), chr(1), CAST(e.step AS VARCHAR)) END,
      '/([^/]*[.][a-z]+)?$', '') END AS folder
  FROM event AS e JOIN source AS s ON s.key = e.key JOIN _named AS n ON n.key = e.key
  WHERE s.state <> 'document' AND e.kind IN ('restore_begin', 'restore_end', 'resume', 'save_request', 'save_blocking', 'save_staged',
    'save_written', 'save_commit')
),
told AS (
  -- lines without a folder are about the one that other lines of the start name
  SELECT name, evidence, loads, step, coalesce(folder, max(folder) OVER (PARTITION BY key, launch, loads)) AS folder FROM said
),
called AS (
  SELECT DISTINCT n.name, coalesce(a.cluster, s.cluster, '') || '/' || coalesce(a.user, '') || '/' || a.name AS family
  FROM source AS s JOIN _named AS n ON n.key = s.key JOIN alloc AS a ON a.raw = s.allocation OR a.id = s.allocation
  WHERE a.record = 'job' AND a.name IS NOT NULL AND (SELECT value FROM setting WHERE name = 'joins.job_name') <> 'never'
),
placed AS (
  SELECT name, evidence, loads, step, folder, folder AS family, 'checkpoint folder' AS rule FROM told
  WHERE folder IS NOT NULL AND step > 0 AND (SELECT value FROM setting WHERE name = 'joins.checkpoint') = 'true'
  UNION ALL
  SELECT t.name, t.evidence, t.loads, t.step, t.folder, c.family, 'resubmitted' FROM told AS t JOIN called AS c ON c.name = t.name WHERE t.step > 0
),
lasted AS (
  SELECT n.name, min(s.first_us) AS first_us, max(s.last_us) AS last_us FROM source AS s JOIN _named AS n ON n.key = s.key GROUP BY n.name
),
behind AS (
  SELECT DISTINCT l.name, l.family, l.rule, l.step, l.evidence
  FROM placed AS l JOIN placed AS w ON w.rule = l.rule AND w.family = l.family AND w.step = l.step AND w.name <> l.name
    AND coalesce(w.folder, l.folder, '') = coalesce(l.folder, w.folder, '')
  JOIN lasted AS a ON a.name = w.name JOIN lasted AS b ON b.name = l.name
  WHERE l.loads AND NOT w.loads AND a.last_us <= b.first_us + 60000000
),
counted AS (
  SELECT n.name, min(t.first_step) AS first_step FROM _stepped AS t JOIN _named AS n ON n.key = t.key
  WHERE n.name IN (SELECT name FROM behind) GROUP BY n.name
),
member AS (
  SELECT p.name, p.family, p.rule, min(l.first_us) AS first_us, min(b.evidence) AS evidence
  FROM placed AS p JOIN lasted AS l ON l.name = p.name LEFT JOIN counted AS c ON c.name = p.name
  LEFT JOIN behind AS b ON b.name = p.name AND b.family = p.family AND b.rule = p.rule AND c.first_step > b.step
  GROUP BY p.name, p.family, p.rule
),
island AS (
  SELECT *, sum(CASE WHEN evidence IS NULL THEN 1 ELSE 0 END) OVER (
    PARTITION BY rule, family ORDER BY first_us, name ROWS UNBOUNDED PRECEDING) AS nth
  FROM member
),
rooted AS (
  SELECT *, first_value(name) OVER (PARTITION BY rule, family, nth ORDER BY first_us, name) AS root FROM island
),
chosen AS (
  SELECT *, row_number() OVER (PARTITION BY name ORDER BY rule, root) AS place FROM rooted WHERE root <> name AND evidence IS NOT NULL
)
-- a job whose folder changed on the way is followed through two changes
SELECT a.name, coalesce(c.root, b.root, a.root) AS root, a.rule, a.evidence
FROM chosen AS a
LEFT JOIN chosen AS b ON b.name = a.root AND b.place = 1
LEFT JOIN chosen AS c ON c.name = b.root AND c.place = 1
WHERE a.place = 1
