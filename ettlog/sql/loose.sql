-- One row per thing that hangs loose: an allocation without trainer lines, a log without a start, a job without scheduler records.
-- needs: source, alloc, _stream, launch, _placed, _held
-- what: allocation, log, job
-- subject: id of the allocation, path of the log, name of the job
-- job: job that it is counted as, where it is
-- held_us: time that the hardware was held
-- why: why nothing is joined to it
-- remedy: what would join it
-- evidence: path, or path and line
WITH empty AS (
  SELECT h.*, l.job IS NOT NULL AS logged
  FROM _held AS h LEFT JOIN (SELECT DISTINCT job FROM launch) AS l ON l.job = h.job
  WHERE h.from_us IS NOT NULL AND h.to_us > h.from_us AND NOT EXISTS (
    SELECT 1 FROM _placed AS p
    WHERE p.job = h.job AND ((p.raw = h.raw AND p.held_from_us = h.from_us) OR (p.first_us < h.to_us AND p.last_us > h.from_us)))
),
called AS (
  SELECT raw, min(name) AS name FROM alloc WHERE record = 'job' GROUP BY raw
),
told AS (
  SELECT l.job, min(p.allocation) AS allocation, min(p.evidence) AS evidence, count(p.raw) AS held
  FROM launch AS l JOIN _placed AS p ON p.job = l.job AND p.k = l.k
  GROUP BY l.job
)
SELECT 'allocation' AS what, e.id AS subject, e.job, e.to_us - e.from_us AS held_us,
  CASE WHEN e.logged THEN 'no line of the logs of its job lies in it' ELSE 'no log of a trainer names it' END AS why,
  CASE WHEN e.logged THEN 'the log of this attempt, or another zone: see status --clocks'
    ELSE 'a log with ' || e.id || ' in its name, folder or lines, or jobs.rules for the name ' || coalesce(c.name, 'of the job') END AS remedy,
  e.evidence
FROM empty AS e LEFT JOIN called AS c ON c.raw = e.raw
UNION ALL
SELECT 'log', s.path, NULL, NULL,
  CASE WHEN s.state = 'document' THEN 'it is a document: what it quotes ran elsewhere' WHEN coalesce(s.formats, '') = '' THEN 'no line is in a known format'
    ELSE 'no line shows that a trainer started' END,
  CASE WHEN coalesce(s.formats, '') = '' AND s.state <> 'document' THEN 'a format file: ingest --formats' ELSE 'the log of the trainer itself' END, s.path
FROM source AS s
WHERE s.n_lines > 0 AND s.key NOT IN (SELECT key FROM alloc)
  AND s.key NOT IN (SELECT c.key FROM _stream AS c JOIN launch AS l ON l.stream = c.stream)
UNION ALL
SELECT 'job', job, job, NULL,
  CASE WHEN allocation IS NULL THEN 'no scheduler record fits, and its logs name no allocation'
    ELSE 'its logs name allocation ' || allocation || ', of which there is no record' END,
  CASE WHEN allocation IS NULL THEN 'accounting of its time; paths.templates with {allocation}, or jobs.rules for the name that the scheduler has'
    ELSE 'accounting that holds ' || allocation END, evidence
FROM told
WHERE held = 0
