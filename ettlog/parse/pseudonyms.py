"""Pseudonyms for names of users, hosts and jobs while they are read, word by word, so that joins stay what they are.

A name is replaced letter group by letter group, never as a whole: numbers, separators, endings and the words by which
ettlog knows ranks, nodes, parts and rotations stay. What two names have in common they have in common afterwards.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping

MARK = "pseudonyms"
"""Name among the hints of a source that says its names are pseudonyms; its value tells the key from another one."""
LETTERS = 10
"""Letters of a pseudonym: of a hundred thousand words, two meet by chance in one lake of thirty thousand."""

KEPT = frozenset((
    "log", "logs", "out", "err", "txt", "output", "outputs", "stdout", "stderr", "std", "json", "jsonl", "csv",
    "tsv", "acct", "yaml", "yml", "toml", "md", "gz", "zst", "zstd", "bz2", "xz", "train", "training", "trainer",
    "console", "main", "result", "results", "slurm", "driver", "rank", "global", "local", "job", "jobid", "jobs",
    "run", "runs", "nohup", "worker", "node", "nid", "host", "master", "chief", "launcher", "compute", "gpu", "cpu",
    "gpunode", "cn", "hgx", "dgx", "attempt", "start", "restart", "launch", "part", "of", "step", "steps", "iter",
    "iteration", "epoch", "ckpt", "ckpts", "checkpoint", "checkpoints", "model", "models", "mp", "pt", "pth", "bin",
    "safetensors", "distcp", "dedicated", "torch", "trace", "traces", "events", "cycle", "info", "progress",
    "metrics", "one", "logger", "goodput", "structured", "nvrx", "alloc", "batch", "extern", "home", "users", "mnt",
    "data", "tmp", "scratch", "lustre", "fs", "gpfs", "nfs", "s3", "gs", "az", "abfs", "http", "https", "file",
    "pods", "pod", "containers", "namespaces", "latest", "last", "best", "final", "sacct", "scontrol", "squeue",
    "default",
))  # fmt: skip
"""Words that say what a thing is, never whose: reading rests on them."""
NUMBERED = frozenset(("node", "nid", "host", "cn", "hgx", "dgx", "gpunode", "compute"))
"""Words behind which a number names one host."""

_RUN = re.compile(r"[^\W_]+")
_SMALL = re.compile(r"[A-Za-z]?\d+[A-Za-z]?|[A-Za-z]")
_ENDED = re.compile(r"([^\W\d_]+)(\d+)")

COLUMNS: dict[str, tuple[str, ...]] = {
    "event": ("node", "name"),
    "alloc": ("name", "user", "node", "task", "id", "raw"),
}
"""Columns of the fact tables whose names are replaced; of events only names that are paths."""
HINTS = ("job", "node", "allocation", "stream")


class Pseudonyms:
    """The pseudonyms of one key."""

    def __init__(self, key: bytes) -> None:
        """Take the secret key: with it, and only with it, whoever guesses a name can check the guess."""
        self.key = key

    @property
    def mark(self) -> str:
        """Return what tells this key from another one, and nothing else about it."""
        return self._digest("mark", "")[:8]

    def name(self, text: str) -> str:
        """Return a name, or a path of names, with every word replaced that says whose it is."""
        return _RUN.sub(lambda found: self._word(found[0]), text)

    def event_name(self, text: str) -> str:
        """Return what an event is about: paths are replaced, names of timers and the like are not."""
        return self.name(text) if "/" in text else text

    def sentence(self, text: str, hints: Mapping[str, str]) -> str:
        """Return a sentence with the names that the hints hold replaced."""
        for name in HINTS:
            if len(hints.get(name, "")) > 1:
                text = text.replace(hints[name], self.name(hints[name]))
        return text

    def hints(self, hints: Mapping[str, str]) -> dict[str, str]:
        """Return the identity found in a source with names replaced, and the mark beside it."""
        made = {name: self.name(value) if name in HINTS else value for name, value in hints.items()}
        return {**made, MARK: self.mark}

    def changes(self, table: str) -> list[tuple[str, Callable[[str], str]]]:
        """Return what is to be done with the columns of a fact table, as `redaction.cleaned` takes it."""
        return [
            (column, self.event_name if (table, column) == ("event", "name") else self.name)
            for column in COLUMNS.get(table, ())
        ]

    def _word(self, word: str) -> str:
        if _SMALL.fullmatch(word) or word.lower() in KEPT:
            return word
        ended = _ENDED.fullmatch(word)
        if ended and ended[1].lower() in NUMBERED and len(ended[2]) <= 6:
            return f"{ended[1]}{self._number(int(ended[2])):06d}"
        if ended and ended[1].lower() in KEPT:
            return word
        digits = int(self._digest("word", word), 16)
        return "".join(chr(ord("a") + digits // 26**place % 26) for place in range(LETTERS))

    def _number(self, number: int) -> int:
        """Return another number below a million, for each number another: four rounds of a Feistel network."""
        left, right = divmod(number, 1000)
        for turn in range(4):
            left, right = right, (left + int(self._digest(f"round {turn}", str(right)), 16)) % 1000
        return left * 1000 + right

    def _digest(self, use: str, text: str) -> str:
        keyed = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=self.key[:64], digest_size=16)
        keyed.update(b"\0" + use.encode())
        return keyed.hexdigest()
