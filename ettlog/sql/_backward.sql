-- One row per step line whose steps end before they begin: a clock ran backwards, or a duration is wrong.
-- needs: _work, _stream
-- gid: number of the start over all jobs
-- evidence: path and line
-- begin_us: the steps' own work begins
-- end_us: the line's time ends
SELECT w.gid, c.path || ':' || CAST(w.line AS VARCHAR) AS evidence, w.work_us AS begin_us, w.end_us
FROM _work AS w JOIN _stream AS c ON c.no = w.no
WHERE w.end_us < w.work_us
