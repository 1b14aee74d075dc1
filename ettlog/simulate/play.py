"""Plays a job through: what chance and the optimizations that are on make of every start, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ettlog.simulate.draw import COLUMN, STARTS, lognormal
from ettlog.simulate.hazard import FAILURE, FIRST, PLANNED, PREEMPTION, cause
from ettlog.simulate.models import habits
from ettlog.simulate.plan import Interrupt, Job, Start
from ettlog.simulate.words import KUBERNETES, SECOND, End, P

if TYPE_CHECKING:
    from ettlog.simulate.draw import Draws
    from ettlog.simulate.hazard import Place, Strike
    from ettlog.simulate.models import Habits, Model
    from ettlog.simulate.spec import Spec

LOST = (End.failed, End.hung, End.node)
"""Ends that are failures."""
SILENT = (End.hung, End.node)
"""Ends the log does not tell of: the release is all there is."""
STOPS = (End.done, End.planned)
"""Ends by the run's own decision, with a last save."""
REST_US = 3 * SECOND
"""Least time from the last line to the release."""


def whole(us: int) -> int:
    """Return the next whole second."""
    return -(-us // SECOND) * SECOND


@dataclass
class Player:
    """A job while it is played."""

    spec: Spec
    model: Model
    draws: Draws
    place: Place
    kept: dict[frozenset[str], Habits]
    """Habits of the model by the optimizations that are on, worked out once."""
    now: int
    begin_us: int = 0
    """The scenario's first instant, from which parts drift."""
    launches: tuple[int, ...] = ()
    """Where optimizations were left out: the launches of the same job with all of them, which decide what is on."""
    starts: list[Start] = field(default_factory=list)
    kind: str = FIRST
    allocation: int = -1
    gpus: int = 0
    submit_us: int = 0
    granted_us: int = 0
    high: int = 0
    saved: list[int] = field(default_factory=list)
    gone: bool = False

    @property
    def k(self) -> int:
        """Return the number of the start that comes next."""
        return len(self.starts)

    def habits(self) -> Habits:
        """Return how a start that is launched now goes."""
        when = self.launches[min(self.k, len(self.launches) - 1)] if self.launches else self.now
        on = frozenset(name for name, since in self.model.rollout_us.items() if since <= when)
        if on not in self.kept:
            self.kept[on] = habits(self.spec, self.model, on)
        return self.kept[on]

    def takes(self, part: P, now: Habits, grain: int = 0) -> int:
        """Return what a part takes in this start, a multiple of what the dialect's stamps resolve."""
        mean = now.times.get(part)
        grain = grain or self.model.dialect.resolution_us
        if mean is None:
            return 0
        k = self.k
        seconds = mean.first if k == 0 else mean.again
        drift = float(self.spec.fleet["drift"].get(part, 0.0))
        if drift:
            seconds *= max(1 + drift * (self.now - self.begin_us) / (365 * 86_400 * SECOND), 0.0)
        z = float(self.draws.normal[min(k, STARTS - 1), COLUMN[part]])
        return max(round(lognormal(seconds, mean.sigma, z) * SECOND / grain), 1) * grain if seconds else 0

    def ask(self) -> None:
        """Submit, wait, and get hardware."""
        self.submit_us = whole(self.now)
        self.granted_us = self.submit_us + self.takes(P.queue, self.habits(), SECOND)
        self.allocation += 1
        small = self.draws.pick(self.k, "size") < float(self.spec.fleet["elastic"])
        self.gpus = max(self.model.gpus // 2, 1) if small and self.k else self.model.gpus
        self.now = self.granted_us

    def resumed(self) -> int:
        """Return the step that the next start loads: the newest committed one, now and then the one before it."""
        older = self.draws.pick(self.k, "older") < float(self.spec.failures["older"])
        below = self.saved[:-1] if older and len(self.saved) > 1 and self.kind == FAILURE else self.saved
        if not below:
            return 0
        del self.saved[len(below) :]
        return below[-1]


def play(player: Player, number: int, name: str, target: int, strikes: list[Strike]) -> Job:
    """Return the job: every strike ends a start, and crashes before the first step make more of them."""
    player.ask()
    for strike in strikes:
        while _crashes(player):
            one = _start(player, strike, crashed=True)
            player.kind = FAILURE
            _end(player, one, strike)
        one = _start(player, strike, crashed=False)
        _end(player, one, strike)
        player.high = max(player.high, one.last)
        player.kind = strike.kind
        if player.gone or player.k >= STARTS:
            break
    gone = player.starts[-1].end is not End.done
    protected = max([*player.saved, *(start.resumed for start in player.starts)], default=0)
    return Job(number, name, player.model.number, target, tuple(player.starts), protected, gone)


def _crashes(player: Player) -> bool:
    failures, k = player.spec.failures, player.k
    looping = k > 0 and not player.starts[-1].steps
    return k < STARTS - 1 and player.draws.pick(k, "crash") < float(failures["again" if looping else "at_start"])


def _start(player: Player, strike: Strike, crashed: bool) -> Start:
    """Return the next start, launched after the placement, up to the end that the strike asks for."""
    now, model = player.habits(), player.model
    player.now += player.takes(P.placement, now, SECOND if player.spec.fleet["scheduler"] == KUBERNETES else 0)
    resumed = player.resumed()
    path = _path(player, now, resumed)
    if crashed:
        path = _cut(player, path)
    end, why = _crash(player) if crashed else _ending(player, strike)
    timed = crashed or any(part is P.compile for part, _ in path)
    excess = 0 if timed else player.takes(P.first_step_excess, now)
    last = resumed if crashed else strike.step
    begun = player.now + sum(us for _, us in path) + excess
    step_us = model.step_us * (model.gpus // player.gpus)
    return Start(
        player.k, player.kind, player.allocation, player.gpus, player.submit_us, player.granted_us, player.now,
        path, excess, resumed, last, player.high, step_us,
        _interrupts(player, now, begun, resumed, last, step_us, end), end, why, player.place.nodes[0],
        0 if crashed else _hang(player, now, end),
        player.takes(P.final_save, now) if end in STOPS else 0,
        player.takes(P.publish, now) if end is End.done and P.publish in model.dialect.loop else 0,
        player.takes(P.teardown, now) if end not in SILENT else 0, 0, False,
    )  # fmt: skip


def _crash(player: Player) -> tuple[End, str]:
    return End.failed, "import_error" if player.draws.pick(player.k, "cause") < 0.3 else "other"


def _hang(player: Player, now: Habits, end: End) -> int:
    """Return the time from the last progress to the end's detection; nobody watches a job that hangs in silence."""
    if end is End.preempted:
        return player.model.step_us // 2 // SECOND * SECOND + player.model.dialect.resolution_us
    return player.takes(P.hang, now) * (3 if end is End.hung else 1) if end in LOST else 0


def _path(player: Player, now: Habits, resumed: int) -> tuple[tuple[P, int], ...]:
    parts = [part for part in player.model.dialect.path if part is not P.restore or resumed]
    return tuple((part, us) for part in parts if (us := player.takes(part, now)))


def _cut(player: Player, path: tuple[tuple[P, int], ...]) -> tuple[tuple[P, int], ...]:
    """Return the path up to a crash inside one of its parts."""
    grain, u = player.model.dialect.resolution_us, player.draws.pick(player.k, "where") * len(path)
    at = min(int(u), len(path) - 1)
    part, us = path[at]
    return (*path[:at], (part, max(round(us * (u - at) / grain), 1) * grain))


def _ending(player: Player, strike: Strike) -> tuple[End, str]:
    if strike.kind == FIRST:
        return End.done, ""
    if strike.kind == PREEMPTION:
        return End.preempted, "preemption"
    if strike.kind == PLANNED:
        return End.planned, ""
    why = cause(player.spec, player.draws.pick(player.k, "cause"))
    if player.draws.pick(player.k, "hung") < float(player.spec.failures["hung"]):
        return End.hung, ""
    return (End.node if why == "node" else End.failed), why


def _interrupts(
    player: Player, now: Habits, begun: int, resumed: int, last: int, step_us: int, end: End
) -> tuple[Interrupt, ...]:
    """Return evaluations, saves and recompiles in their order; a save that is not through by the end is lost."""
    tells, found = player.model.dialect.loop, []
    if P.evaluation in tells and now.evaluate_every:
        us = player.takes(P.evaluation, now)
        found += [Interrupt(step, P.evaluation, us) for step in _marks(now.evaluate_every, resumed, last)]
    stall = player.takes(P.save_stall, now)
    saves = [Interrupt(step, P.save_stall, stall) for step in _marks(now.save_every, resumed, last)]
    if end in STOPS and saves and saves[-1].step == last:
        saves.pop()
    if P.recompile in tells and player.draws.pick(player.k, "recompiles") < now.recompiles and last - resumed > 4:
        found.append(Interrupt(resumed + (last - resumed) // 2, P.recompile, player.takes(P.recompile, now)))
    first = begun - resumed * step_us
    return _through(player, now, sorted([*found, *saves], key=lambda one: one.step), first, step_us, last, end)


def _through(
    player: Player, now: Habits, found: list[Interrupt], first: int, step_us: int, last: int, end: End
) -> tuple[Interrupt, ...]:
    """Return them with the instants at which saves are committed; step n ends at first + n * step_us + what held."""
    over, held, made = first + last * step_us + sum(one.us for one in found), 0, []
    for one in found:
        held += one.us
        commit = first + one.step * step_us + held + now.background_us
        if one.part is P.save_stall and commit <= over:
            player.saved.append(one.step)
            made.append(one._replace(commit_us=commit))
        else:
            made.append(one)
    if end in STOPS:
        player.saved.append(last)
    return tuple(made)


def _marks(every: int, resumed: int, last: int) -> range:
    return range((resumed // every + 1) * every, last + 1, every) if every else range(0)


def _found_at_whole_seconds(one: Start) -> Start:
    """Return a start whose end is found at a whole second, because launchers and schedulers print no finer one."""
    late = whole(one.stop_us) - one.stop_us
    if one.steps or not one.path:
        return one._replace(hang=one.hang + late)
    (part, us), path = one.path[-1], one.path[:-1]
    return one._replace(path=(*path, (part, us + late)))


def _end(player: Player, one: Start, strike: Strike) -> None:
    """Add the start and go on behind it: in the same allocation, or with a new one."""
    failures, k = player.spec.failures, player.k
    stays = one.end is End.failed and player.draws.pick(k, "place") < float(failures["in_place"])
    struck = one.end in LOST and one.steps > 0
    player.gone = struck and strike.kind == FAILURE and player.draws.pick(k, "back") < float(failures["gives_up"])
    stays = stays and not player.gone and k < STARTS - 1
    if one.end not in STOPS:
        one = _found_at_whole_seconds(one)
    over = one.stop_us + one.final_save + one.publish + one.teardown
    done = over if stays else whole(over + REST_US)
    silent = one.end in SILENT
    hang, teardown = (one.hang + done - over, 0) if silent else (one.hang, one.teardown + done - over)
    player.starts.append(one._replace(done_us=done, releases=not stays, hang=hang, teardown=teardown))
    player.now = done
    if not stays and one.end is not End.done and not player.gone:
        player.now += round(5 + 55 * player.draws.pick(k, "late")) * SECOND
        player.ask()
