-- One row per start, step and state that a checkpoint reached; only a committed or a loaded one protects work.
-- needs: _save
-- job: job
-- k: number of the start in its job
-- step: step of the checkpoint, numbered as printed
-- state: requested, staged (the loop may go on), written (by one rank), committed (by all ranks), loaded
-- at: instant, UTC without zone: the first rank's of a request, the last rank's of every other state
-- path: what was written, where the log names it
-- evidence: path and line of the log line that gives the instant
SELECT job, k, step, state, make_timestamp(at_us) AS at, path, evidence
FROM _save
