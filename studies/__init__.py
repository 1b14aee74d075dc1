"""Studies of the methods on simulated fleets whose truth is known; each module prints a table of docs/study.md."""
