"""Writes a simulated fleet's logs: a folder a job, a log an allocation and rank, accounting or pods of each cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ettlog.simulate import faults as happen
from ettlog.simulate.faults import Fault
from ettlog.simulate.kubernetes import pods
from ettlog.simulate.slurm import accounting
from ettlog.simulate.story import FAILED, PREEMPTED, STEP, Moment, story
from ettlog.simulate.template import template
from ettlog.simulate.whole import put
from ettlog.simulate.words import KUBERNETES, SECOND
from ettlog.windows import moment

if TYPE_CHECKING:
    from ettlog.simulate.models import Model
    from ettlog.simulate.plan import Job, Start
    from ettlog.simulate.run import Simulated

CONFIG = """\
# Simulated clusters under Slurm: one folder a job, one log an allocation and rank, one accounting dump a cluster.
[paths]
templates = [
  "**/{model}/{job}/slurm-{allocation}.out*", "**/{model}/{job}/{allocation}/rank{rank}.log*", "sacct-{cluster}*",
]
"""
IN_PODS = """\
# Simulated clusters under Kubernetes: one folder a job, one log a set of pods and rank, one list of pods a cluster.
[paths]
templates = [
  "**/{model}/{job}/pods-*.out*", "**/{model}/{job}/pods-*/rank{rank}.log*", "pods-{cluster}*",
]
"""
CLOCK = """
[clock]
{zone}year = {year}
"""


class Line:
    """A line and its instant; logs are put in order of time before they become text."""

    __slots__ = ("text", "us")

    def __init__(self, us: int, text: str) -> None:
        """Keep both."""
        self.us, self.text = us, text


def write(fleet: Simulated, folder: str | Path, faults: frozenset[Fault] = frozenset()) -> dict[str, bytes]:
    """Write a fleet's logs, configuration and registry; return the files by name. Same fleet, same bytes."""
    made = files(fleet, faults)
    for name, data in made.items():
        put(Path(folder) / name, data)
    return made


def files(fleet: Simulated, faults: frozenset[Fault] = frozenset()) -> dict[str, bytes]:
    """Return name -> bytes of every log, accounting dump, and of ettlog.toml and optimizations.toml."""
    made: dict[str, list[str]] = {}
    for job in fleet.plans:
        for start in job.starts:
            for rank, found in lines(fleet, job, start, faults).items():
                made.setdefault(log_name(fleet, job, start, rank), []).extend(line.text for line in found)
    texts = {name: "".join(f"{text}\n" for text in found) for name, found in made.items()}
    tells = pods if kubernetes(fleet) else accounting
    texts |= tells(fleet, happen.ZONE if Fault.zoneless in faults and tells is accounting else 0)
    texts["ettlog.toml"] = config(fleet, Fault.zoneless not in faults)
    texts["optimizations.toml"] = fleet.registry
    encoded = {name: text.encode() for name, text in sorted(texts.items())}
    return happen.strike(encoded, faults, fleet.seed)


def config(fleet: Simulated, zoned: bool = True) -> str:
    """Return the ettlog.toml that goes with the logs."""
    year = moment(min(job.begin_us for job in fleet.plans)).year
    return (IN_PODS if kubernetes(fleet) else CONFIG) + CLOCK.format(zone='zone = "UTC"\n' if zoned else "", year=year)


def kubernetes(fleet: Simulated) -> bool:
    """Tell whether the scheduler of a fleet is Kubernetes."""
    return bool(fleet.spec.fleet["scheduler"] == KUBERNETES)


def allocation_id(job: Job, allocation: int) -> str:
    """Return the scheduler's number of an allocation."""
    return str(100_000 + job.number * 100 + allocation)


def log_name(fleet: Simulated, job: Job, start: Start, rank: int) -> str:
    """Return the path of a rank's log below the folder."""
    model, allocation = fleet.models[job.model].name, allocation_id(job, start.allocation)
    if kubernetes(fleet):
        allocation = f"pods-{start.allocation}"
    if fleet.spec.fleet["ranks"] == 1:
        return f"{model}/{job.name}/{'' if kubernetes(fleet) else 'slurm-'}{allocation}.out"
    return f"{model}/{job.name}/{allocation}/rank{rank}.log"


def lines(fleet: Simulated, job: Job, start: Start, faults: frozenset[Fault] = frozenset()) -> dict[int, list[Line]]:
    """Return a start's lines by log: one a node, named by its first rank; what is printed once is in the first log."""
    model, ranks = fleet.models[job.model], min(int(fleet.spec.fleet["ranks"]), start.gpus)
    made: dict[int, list[Line]] = {rank: [] for rank in range(ranks)}
    tells = {"first": {0}, "last": {ranks - 1}, "every": set(made)}[model.dialect.steps]
    for one in story(start, model.dialect, int(fleet.spec.fleet["log_every"])):
        everywhere = model.dialect.steps == "every" or one.what in model.dialect.agents
        for rank in made if everywhere else tells if one.what == STEP else (0,):
            # Slurm writes of a preemption into the log, Kubernetes only into the pod
            if one.what != PREEMPTED or (rank == 0 and not kubernetes(fleet)):
                wrong = happen.shift(faults, fleet.seed, f"{job.name}/{start.allocation}/{rank}")
                made[rank].extend(Line(one.us, text) for text in _texts(job, model, start, one, wrong))
    return made


def _texts(job: Job, model: Model, start: Start, one: Moment, wrong: int) -> list[str]:
    keys = model.dialect.lines.get(one.what, ())
    if one.what == FAILED:
        keys = (*model.dialect.failures.get(start.cause, ()), *keys)
    values = _values(job, model, start, one, wrong)
    return [_text(key, one, start, values, wrong) for key in keys]


def _text(key: str, one: Moment, start: Start, values: dict[str, Any], wrong: int) -> str:
    if key[0] == "=":
        return key[1:].format(**values) if "{" in key else key[1:]
    name, _, place = key.partition("@")
    return template(name).fill((start.stop_us if place else one.us) + wrong, values)


def _values(job: Job, model: Model, start: Start, one: Moment, wrong: int) -> dict[str, Any]:
    """Return what the groups of a line are filled with."""
    step = one.step + model.dialect.offset
    values = {
        "step": step, "target": job.target + model.dialect.offset, "samples": one.step * 512, "skipped": 0,
        "duration_ms": f"{one.took_us / 1000:.1f}", "duration_s": f"{one.took_us / SECOND:.3f}",
    }  # fmt: skip
    if one.what != STEP:
        at = moment(one.us + wrong)
        values |= {
            "step_next": step + 1, "world": start.gpus, "world_product": f"dp_shard={start.gpus}",
            "code": -9 if start.cause != "oom" else 1, "glog": f"{at:%m%d %H:%M:%S.%f}",
            "us": f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}",
        }  # fmt: skip
    return values
