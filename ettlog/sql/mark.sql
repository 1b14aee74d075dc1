-- One row per event of a start: what a log line said and when.
-- needs: _event, launch
-- job: job
-- k: number of the start in its job
-- gid: number of the start over all jobs
-- key: content key of the source
-- path: path of the file
-- stream: the log the source is a part of
-- part_no: position of the part in its stream
-- line: line number in the source
-- launch: number of the launch in the stream
-- at_us: instant in microseconds since 1970 UTC; an undated line has that of its neighbour
-- dated: whether the line holds an instant of its own
-- kind: what the line says
-- rank: rank that wrote the line, where it says so
-- node: node that wrote the line, where it says so
-- step: step the line speaks of, numbered as printed
-- target: last step the run aims at
-- duration_us: duration printed on the line
-- world: world size printed on the line
-- code: exit code; a negative one is a signal
-- cause: cause of a failure
-- name: what the line is about
SELECT
  l.job, l.k, l.gid, e.key, e.path, e.stream, e.part_no, e.line, e.launch, e.at_us, e.dated, e.kind, e.rank, e.node, e.step, e.target,
  e.duration_us, e.world, e.code, e.cause, e.name
FROM _event AS e
JOIN launch AS l ON l.stream = e.stream AND l.launch = e.launch
