-- One row per current source: a log file, or one part of a log file, and what it was recognised as.
-- needs: source_fact
-- key: content key of the source; the same in every fact table
-- path: path of the file below the folder that was ingested
-- stream: name that all parts and all ranks of one log share; the path itself where it has none
-- part: number of the part inside the stream, 0 where the file is whole
-- cluster: cluster the log comes from, where known
-- job_name: name of the job, before launches of a sweep are told apart
-- model: model the job trains, where known
-- platform: hardware or software platform, where known
-- allocation: scheduler id of the allocation the log was written in, where known
-- start: number of the start, where the path says it
-- rank: rank that wrote the log, where the path says it
-- node: node that wrote the log, where the path says it
-- job_by: what the job's name rests on: template, line, file name, folder, name rule
-- allocation_by: what the allocation rests on, in the same words
-- state: how much of the file could be read: whole, torn, refused, empty, binary; or document: prose that quotes logs, makes no job
-- clock: how most instants of the source were had
-- n_lines: lines of the file
-- n_bytes: bytes of the file as stored
-- first_us: first instant of any dated line, in microseconds since 1970 UTC
-- last_us: last instant of any dated line
-- formats: formats that claimed lines, with their counts
SELECT
  key,
  path,
  coalesce(stream, path) AS stream,
  coalesce(part, 0) AS part,
  cluster,
  coalesce(job_name, allocation, path) AS job_name,
  model,
  platform,
  allocation,
  start,
  rank,
  node,
  job_by,
  allocation_by,
  coalesce(state, 'whole') AS state,
  clock,
  n_lines,
  n_bytes,
  first_us,
  last_us,
  formats
FROM source_fact
