"""Chooses the literals the first pass looks for: few, none inside another, one in every anchor."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

MAX_GATES = 60
"""Most literals of one automaton: from the 65th on its vector search falls back to a third of the speed."""

MAX_AUTOMATA = 2
"""Most passes over a block; a pass costs about as much as reading the block."""

COMMON = b"""
Processing process_group processes processor subprocess multiprocessing ProcessGroup preprocess
torch.nn.modules.module torch.distributed torch.cuda torch._dynamo torch.utils.data import torch.compile torchvision
torch/csrc
training trainer train_iters pretraining strategy worker workers num_workers dataloader_workers error errors warning
warnings
Starting started launch launcher launching rank ranks world_size WORLD_SIZE signal node nodes nodelist
/usr/local/lib/python3.10/site-packages/ /opt/conda/lib/python3.11/dist-packages/ File line in forward return
self._call_impl
UserWarning FutureWarning DeprecationWarning is deprecated and will be removed in a future release
NCCL INFO Channel via P2P/IPC NET/IB comm nRanks busId Connected all rings trees Init COMPLETE
[INFO] [WARNING] [ERROR] DEBUG INFO WARNING ERROR CRITICAL main] time: elapsed seconds memory allocated reserved
loss scale: grad norm: params norm: num zeros: learning rate: global batch size: lm loss: with without memory Memory
Error:
loading loaded setting settings parameters arguments config configuration default model optimizer scheduler iteration
iterations
http:// https:// wandb: step: steps epoch batch loss tokens samples dataset directory exist exists file files path
"""
"""Words that trainer logs are full of: a literal out of them would be found everywhere."""

MIN_GATE = 6
"""Shortest literal in bytes; shorter ones are found everywhere."""


END, MIN_RARE = 4, 8
"""Last bytes of a literal by which it is told to be rare, and the fewest bytes that an anchor is cut to."""


class Gates(NamedTuple):
    """Literals to look for, and for each one the anchors (by index) that a hit of it may belong to."""

    literals: tuple[bytes, ...]
    owners: tuple[tuple[int, ...], ...]


def choose(
    anchors: Sequence[bytes],
    *,
    kept: Iterable[bytes] = (),
    avoid: bytes = b"",
    most: int = MAX_GATES * MAX_AUTOMATA,
) -> Gates:
    """Return at most `most` literals of at least 6 bytes so that each anchor contains one; the same for the same
    anchors.

    Without need nothing is shortened but for outer marks (they make literals overlap): an anchor that contains
    another anchor is served by it. Beyond `most` the substring that serves most anchors (then the longest, then the
    smallest) takes their place, if it does not occur in `avoid`. `kept` literals stay, unless one contains another:
    they are for lines so frequent that nothing else may run on them, and `avoid` is such lines.
    """
    fixed = minimal(kept, b" ")
    loose = set(minimal((one for one in anchors if not any(keep in one for keep in fixed)), b" :|", avoid))
    for part, served in _shared_parts(loose, fixed, avoid):
        if len(fixed) + len(loose) <= most:
            break
        loose = (loose - served) | {part}
    literals = tuple(sorted({*fixed, *loose}))
    return Gates(literals, _owners(literals, anchors))


def _shared_parts(anchors: Iterable[bytes], fixed: Sequence[bytes], avoid: bytes) -> Iterator[tuple[bytes, set[bytes]]]:
    """Yield substrings and the anchors that each takes the place of, best first; an anchor is taken once."""
    holders: dict[bytes, set[bytes]] = {}
    for one in anchors:
        for begin in range(len(one)):
            for end in range(begin + MIN_GATE, len(one) + 1):
                holders.setdefault(one[begin:end], set()).add(one)
    shared = {
        part: held for part, held in holders.items() if len(held) > 1 and part.strip() == part and part not in avoid
    }
    free = [part for part in shared if not any(_overlaps(part, keep) for keep in fixed)]
    heap = [(-len(shared[part]), -len(part), part) for part in free]
    heapq.heapify(heap)
    taken: set[bytes] = set()
    while heap:
        count, size, part = heapq.heappop(heap)
        served = shared[part] - taken
        if len(served) == -count:
            taken |= served
            yield part, served
        elif len(served) > 1:
            heapq.heappush(heap, (-len(served), size, part))


def _overlaps(one: bytes, other: bytes) -> bool:
    return one in other or other in one


def minimal(anchors: Iterable[bytes], edge: bytes = b"", avoid: bytes = b"") -> list[bytes]:
    """Return literals so that each anchor contains one: those that contain no other, without marks of `edge` at their
    ends where enough is left that is not in `avoid`."""
    bare = {one if len(one.strip(edge)) < MIN_GATE or one.strip(edge) in avoid else one.strip(edge) for one in anchors}
    head = min(map(len, bare), default=0)
    found: dict[bytes, list[bytes]] = {}
    """By their first bytes: of hundreds of literals hardly two begin alike."""
    for one in sorted(bare, key=lambda one: (len(one), one)):
        begins = range(len(one) - head + 1)
        if not any(one.startswith(other, at) for at in begins for other in found.get(one[at : at + head], ())):
            found.setdefault(one[:head], []).append(one)
    return sorted(one for alike in found.values() for one in alike)


def _owners(literals: Sequence[bytes], anchors: Sequence[bytes]) -> tuple[tuple[int, ...], ...]:
    """Return the anchors a hit may stand for: those with the literal in them, or with one that the hit can hide.

    The search gives the leftmost literal and goes on behind it, so a literal that begins inside another one is not
    reported.
    """
    holding = [[index for index, anchor in enumerate(anchors) if gate in anchor] for gate in literals]
    begun: dict[bytes, list[int]] = {}
    for number, gate in enumerate(literals):
        for size in range(1, len(gate)):
            begun.setdefault(gate[:size], []).append(number)
    hidden = [{other for at in range(1, len(gate)) for other in begun.get(gate[at:], ())} for gate in literals]
    near = [rest | {number} for number, rest in enumerate(hidden)]
    return tuple(tuple(sorted({index for one in numbers for index in holding[one]})) for numbers in near)


def rare_ends(anchors: Iterable[bytes], text: bytes) -> list[bytes]:
    """Return literals so that each anchor begins with one, cut where the last bytes are rarest in a text that blocks
    are full of.

    A search for hundreds of literals at once looks at their last bytes first: where those are everywhere, as in
    `iterations`, most of its time goes into places where nothing stands.
    """
    seen = Counter(text[at : at + END] for at in range(len(text) - END + 1))
    return minimal(one[: _rare_end(one, seen)] for one in anchors)


def _rare_end(anchor: bytes, seen: Counter[bytes]) -> int:
    """Return where to cut an anchor: where least is seen, and there as late as can be."""
    ends = range(min(len(anchor), MIN_RARE), len(anchor) + 1)
    return min(ends, key=lambda end: (seen[anchor[max(0, end - END) : end]], -end))
