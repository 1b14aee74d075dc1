"""The vocabulary of a training job's life, written once as rows; SQL, formats, docs and checks read it from here.

Three tables: `PARTS` (what a moment of wall time can be, who owns it, which of two overlapping parts wins), `STAGES`
(the second grouping of the same moments) and `KINDS` (what a log line can say, and what that does to the timeline).
"""

from __future__ import annotations

from typing import NamedTuple


class Part(NamedTuple):
    """One part of a component; `priority` decides between parts that overlap (the higher wins)."""

    part: str
    component: str
    owner: str
    priority: int
    role: str
    """How credit treats it: `startup` (repeated by every start), `recovery` (exists only in recoveries), `steady`,
    `shutdown`, `effective` or `unknown`."""
    meaning: str


# Spans of `save_stall`, `evaluation` and `recompile` hold only the time the loop waited: they stand above the step.
PARTS: tuple[Part, ...] = (
    Part(
        "queue",
        "scheduling",
        "scheduler",
        10,
        "startup",
        "no hardware held: before the first allocation and between allocations",
    ),
    Part(
        "placement",
        "scheduling",
        "scheduler",
        20,
        "startup",
        "hardware held, no trainer process yet: prolog, image, host set-up",
    ),
    Part("launch", "trainer_init", "trainer", 40, "startup", "launcher and worker processes come up"),
    Part("rendezvous", "trainer_init", "trainer", 42, "startup", "the ranks find each other"),
    Part("process_group", "trainer_init", "trainer", 44, "startup", "collectives and devices are initialised"),
    Part("model_build", "trainer_init", "trainer", 46, "startup", "model, optimizer and schedule are built"),
    Part("data_warmup", "trainer_init", "trainer", 48, "startup", "data index, data loaders, first batch"),
    Part("restore", "trainer_init", "trainer", 60, "recovery", "a checkpoint is loaded"),
    Part("other", "trainer_init", "trainer", 38, "startup", "start-up the log does not divide further"),
    Part("compile", "compilation", "compiler", 70, "startup", "dynamo, inductor, autotune before the first step"),
    Part(
        "first_step_excess",
        "compilation",
        "compiler",
        92,
        "startup",
        "what the first step took beyond a steady step: an estimate",
    ),
    Part("recompile", "compilation", "compiler", 96, "steady", "a compile in the middle of the run"),
    Part("step", "effective_training", "", 90, "effective", "steps above the job's high-water mark"),
    Part("replay", "wasted_training", "checkpoint", 90, "recovery", "steps at or below the job's high-water mark"),
    Part("abandoned", "wasted_training", "checkpoint", 90, "steady", "the unsaved tail of a job that never came back"),
    Part("save_stall", "wasted_training", "checkpoint", 95, "steady", "the loop waits for a checkpoint save"),
    Part("hang", "wasted_training", "checkpoint", 30, "recovery", "from the last progress to the failure's detection"),
    Part("evaluation", "wasted_training", "checkpoint", 91, "steady", "in-loop evaluation: no new data"),
    Part("final_save", "shutdown", "publishing", 92, "shutdown", "the save after the last step"),
    Part("publish", "shutdown", "publishing", 86, "shutdown", "export and publishing of the model"),
    Part("teardown", "shutdown", "publishing", 80, "shutdown", "processes end, hardware is given back"),
    Part("gap", "unknown", "", 0, "unknown", "no evidence"),
)

COMPONENTS: tuple[str, ...] = tuple(dict.fromkeys(part.component for part in PARTS))


class Stage(NamedTuple):
    """One stage of a job's life: the second grouping of the same segments."""

    stage: str
    term: str
    """The term of the formula view it belongs to: `TTS`, `TTR` or empty."""
    meaning: str


STAGES: tuple[Stage, ...] = (
    Stage("first_start", "TTS", "start 0 up to its first step"),
    Stage("restart", "TTS", "the same for a planned start: a cold start too"),
    Stage("recovery", "TTR", "from the failure instant of the start before to the first new step of this start"),
    Stage("steady", "", "the training loop"),
    Stage("shutdown", "", "after the last step, or after the end nobody came back from"),
)

START_KINDS: tuple[str, ...] = ("first", "failure", "preemption", "planned", "unknown")
RECOVERY_KINDS: tuple[str, ...] = ("failure", "preemption")
LOST_ENDS: dict[str, str] = {
    "failed": "failure",
    "killed": "failure",
    "node_failure": "failure",
    "preempted": "preemption",
}
"""End of a start -> the kind of recovery it asks for."""

END_STATES: tuple[str, ...] = (
    "completed", "failed", "cancelled", "time_limit", "preempted", "node_failure", "killed", "truncated", "unknown",
)  # fmt: skip

CLOCKS: tuple[str, ...] = (
    "exact",  # the line holds an instant: an epoch value or a stamp with its zone
    "zone_set",  # a local stamp, zone from the configuration
    "zone_inferred",  # a local stamp, zone from an epoch value beside a local stamp
    "zone_assumed",  # a local stamp of an unknown zone, read as UTC
    "relative",  # counted from the start of a trace without a date: its zero stands at the beginning of 1970
    "date_inferred",  # the stamp lacks the year or the date
    "date_nominal",  # no stamp of the source shows the year or the date: read as of 2000, only differences are true
    "carried",  # no stamp on the line: taken from a neighbour, advanced by printed durations
    "none",  # no clock at all
)

OUTCOMES: tuple[str, ...] = (
    "matched", "ignored", "unmatched", "bad_time", "bad_record", "duplicate", "long", "torn",
)  # fmt: skip


class Kind(NamedTuple):
    """One thing a log line can say."""

    kind: str
    opens: int
    """1: a launcher line, opens a start. 2: a worker's first line, opens one where no launcher line did. 3: the same, but copies
    of one line may come from several ranks: it opens a start only where none is open, or that has made a step or ended.
    0: neither."""
    part: str
    edge: str
    """`begin` or `end` of `part`, `both` when the line carries its own duration, or empty."""
    end_state: str
    """What the line proves about the end of its start, or empty."""
    meaning: str


KINDS: tuple[Kind, ...] = (
    # launch and initialisation
    Kind("launch", 1, "launch", "begin", "", "a launcher starts a trainer (runner command, torchrun, STARTING ...)"),
    Kind("restart", 1, "launch", "begin", "", "an agent restarts its worker group in place"),
    Kind(
        "worker_start",
        2,
        "launch",
        "begin",
        "",
        "a node's or rank's first own line (world info, world size, arguments)",
    ),
    Kind(
        "agent_start",
        3,
        "launch",
        "begin",
        "",
        "a node's launcher agent comes up; stands for the launcher where that prints nothing",
    ),
    Kind(
        "trainer_start",
        3,
        "launch",
        "begin",
        "",
        "the trainer announces itself; several ranks may, not saying which they are",
    ),
    Kind("world", 0, "", "", "", "the world size is printed"),
    Kind("rendezvous_begin", 0, "rendezvous", "begin", "", "the agents meet"),
    Kind("rendezvous_end", 0, "rendezvous", "end", "", "the agents have met; may carry restart count and world size"),
    Kind("process_group", 0, "process_group", "end", "", "collectives are initialised"),
    Kind("model_built", 0, "model_build", "end", "", "model, optimizer and schedule are built"),
    Kind("data_ready", 0, "data_warmup", "end", "", "data loaders are built"),
    Kind("init_mark", 0, "other", "end", "", "another dated mark of start-up"),
    Kind("init_seconds", 0, "", "", "", "a printed duration of start-up; may be negative: clocks of several nodes"),
    Kind("timer", 0, "", "", "", "a named timer with its duration"),
    Kind("train_start", 0, "other", "end", "", "the training loop is entered"),
    # restore
    Kind("restore_begin", 0, "restore", "begin", "", "a checkpoint load begins"),
    Kind("restore_end", 0, "restore", "end", "", "a checkpoint load is complete (one rank)"),
    Kind("restore_none", 0, "", "", "", "no checkpoint was found"),
    Kind("resume", 0, "", "", "", "the step the trainer continues from"),
    # compile
    Kind("compile_begin", 0, "compile", "begin", "", "a compile begins"),
    Kind("compile_end", 0, "compile", "end", "", "a compile ends"),
    Kind("compile", 0, "compile", "both", "", "a compile with its printed duration, stamped at its end"),
    Kind("recompile", 0, "recompile", "both", "", "a recompile with its printed duration, stamped at its end"),
    Kind("cache_hit", 0, "", "", "", "the compiler found its artefact in a cache"),
    Kind("cache_miss", 0, "", "", "", "the compiler did not find its artefact in a cache"),
    # the loop
    Kind("step", 0, "step", "both", "", "one optimizer step (stored in the step table)"),
    Kind("step_twin", 0, "", "", "", "a second line about a step that another line counts; carries a clock"),
    Kind("overflow", 0, "", "", "", "a step was executed and not applied"),
    Kind("evaluation_begin", 0, "evaluation", "begin", "", "evaluation begins"),
    Kind("evaluation_end", 0, "evaluation", "end", "", "evaluation results are printed"),
    Kind("heartbeat", 0, "", "", "", "a dated line that proves the trainer was alive"),
    # checkpoints
    Kind("save_request", 0, "save_stall", "begin", "", "a checkpoint save is asked for"),
    Kind(
        "save_blocking",
        0,
        "save_stall",
        "begin",
        "",
        "a save that holds the loop begins; complete when the loop goes on",
    ),
    Kind("save_staged", 0, "save_stall", "end", "", "the loop may go on; the write continues behind it"),
    Kind("save_written", 0, "", "", "", "one rank has written its part"),
    Kind(
        "save_commit",
        0,
        "save_stall",
        "end",
        "",
        "a rank reports the checkpoint usable; the last rank's line commits it",
    ),
    Kind("save_delete", 0, "", "", "", "an old checkpoint is removed"),
    # the end
    Kind("train_end", 0, "", "", "completed", "the training loop is left as planned"),
    Kind("publish_begin", 0, "publish", "begin", "", "export or publishing begins"),
    Kind("publish_end", 0, "publish", "end", "", "export or publishing is complete"),
    Kind("exit_ok", 0, "", "", "completed", "a process ends with success"),
    Kind("exit_planned", 0, "", "", "completed", "the trainer stops by its own limit (duration, step, interval)"),
    Kind("exit_code", 0, "", "", "failed", "a process ends with a code; a negative code is a signal"),
    Kind("failure", 0, "", "", "failed", "a failure with its cause"),
    Kind("ignored_exception", 0, "", "", "", "an exception is printed that ends nothing: what follows is no failure"),
    Kind("interrupt", 0, "", "", "cancelled", "KeyboardInterrupt: somebody pressed Ctrl-C"),
    Kind("signal", 0, "", "", "killed", "a process received a signal from outside"),
    Kind("kill", 0, "", "", "", "a launcher stops its own workers"),
    Kind("cancelled", 0, "", "", "cancelled", "the scheduler cancelled the job or step"),
    Kind("time_limit", 0, "", "", "time_limit", "the scheduler ended the job at its time limit"),
    Kind("preempted", 0, "", "", "preempted", "the scheduler took the hardware for another job"),
    Kind("node_failure", 0, "", "", "node_failure", "the scheduler lost a node of the job"),
)

JOIN_RULES: dict[str, str] = {
    "template": "a path template of the configuration names it",
    "line": "a line of the log names it",
    "file name": "the file's name tells it",
    "folder": "the folder's name tells it",
    "pod name": "the file, or its folder, is named after a pod or task of the job",
    "name rule": "a rule of the configuration (jobs.rules) maps the name to it",
    "job name": "the scheduler's name of the job is the log's",
    "requeue chain": "another attempt of one scheduler id, with a submission of its own",
    "array": "the log names the task of an array",
    "beside the log": "an inference: the only job of a scheduler's file that holds hardware around all lines of a log of its folder",
    "checkpoint folder": "an inference: the log loads what another log saved to one folder, and goes on from that step",
    "resubmitted": "an inference: the scheduler's name is that of an earlier job, which the log goes on from",
    "id": "the log names the allocation",
    "time": "the latest allocation of the job that had begun",
}
"""How a log, a scheduler's record or a start came to its job or allocation, with a sentence each."""

LINKS: tuple[str, ...] = ("log", "record", "start", "resubmission")
"""What can be joined: a log or a scheduler's record to a job, a start to an allocation, later logs to an earlier job."""

LOOSE: tuple[str, ...] = ("allocation", "log", "job")
"""What can hang loose: an allocation without trainer lines, a log without a start, a job without scheduler records."""

WARMTHS: tuple[str, ...] = ("cold", "warm", "partly", "unknown")
"""How much of what a start compiles its caches held: nothing, everything, some; or no look-up is told of."""


class Cause(NamedTuple):
    """One root cause of a failure, and whose domain it is: the workload's, the infrastructure's, a person's, or nobody can tell."""

    cause: str
    domain: str
    meaning: str


CAUSE_ROWS: tuple[Cause, ...] = (
    Cause("oom", "workload", "memory ran out, of the GPU or of the host"),
    Cause("nccl_timeout", "unknown", "a collective did not come back: a peer hung, died or lost its network"),
    Cause("cuda_error", "unknown", "the driver reports an error; uncorrectable ECC and lost GPUs are `node`"),
    Cause("import_error", "workload", "a module or a shared library is missing"),
    Cause("sigterm", "unknown", "a signal from outside ended it"),
    Cause("sigint", "user", "somebody pressed Ctrl-C"),
    Cause("user_error", "workload", "a setting, argument or path is refused"),
    Cause("node", "infrastructure", "hardware or operating system of a node failed"),
    Cause("preemption", "infrastructure", "the scheduler or the cloud took the hardware back"),
    Cause("storage", "infrastructure", "a file system was full, stale or broken"),
    Cause("numeric", "workload", "loss or gradients are no numbers any more, or the loss scale is at its end"),
    Cause("other", "unknown", "a failure the lines do not explain further"),
)

CAUSES: tuple[str, ...] = tuple(row.cause for row in CAUSE_ROWS)


class Recovering(NamedTuple):
    """One phase of the way back from a fault to the first new step; `parts` are what it is made of."""

    phase: str
    parts: tuple[str, ...]
    meaning: str


RECOVERY_PHASES: tuple[Recovering, ...] = (
    Recovering("fault", (), "last progress of the start before, or its planned end"),
    Recovering("detection", ("hang",), "from the last progress to the failure's first sign"),
    Recovering("teardown", ("teardown", "final_save", "publish"), "the old processes end"),
    Recovering("requeue", ("queue",), "no hardware held"),
    Recovering("placement", ("placement",), "hardware held, no trainer yet"),
    Recovering(
        "init",
        ("launch", "rendezvous", "process_group", "model_build", "data_warmup", "other"),
        "the trainer comes up",
    ),
    Recovering("restore", ("restore",), "a checkpoint is loaded"),
    Recovering("compile", ("compile", "first_step_excess", "recompile"), "compiles, cold or warm"),
    Recovering("replay", ("replay", "step", "abandoned"), "steps are done again"),
    Recovering("held_up", ("save_stall", "evaluation"), "saves and evaluation between steps done again"),
    Recovering("unknown", ("gap",), "no evidence"),
    Recovering("new_step", (), "first step on new data"),
)
"""The anatomy of a recovery, in the usual order; every part is in exactly one phase."""

LOOP_PARTS: tuple[str, ...] = ("step", "replay", "abandoned", "save_stall", "evaluation", "recompile")
"""Parts that come after a start's first step: a recovery counted to its first step of any kind ends before them."""
SAVE_STALL: str = "save_stall"
"""The part in which the loop waits for a checkpoint save."""
LOADED: str = "loaded"
"""State of a checkpoint that was read, not written."""
COMPILATION: str = "compilation"
"""The component that a warm cache shortens."""
REPLAY: str = "replay"
"""The part in which steps are trained again."""
EVALUATION: str = "evaluation"
"""The part that a setting may count as effective."""

PART_BY_NAME: dict[str, Part] = {part.part: part for part in PARTS}
KIND_BY_NAME: dict[str, Kind] = {kind.kind: kind for kind in KINDS}
