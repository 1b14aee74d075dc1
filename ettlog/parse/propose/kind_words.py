"""What the words of a line say about its kind: rules in the order in which they are tried."""

from __future__ import annotations

import re
from typing import NamedTuple

from ettlog.lifecycle import KIND_BY_NAME

_CKPT = r"(?:checkpoint\w*|ckpt\w*|snapshots?|model state|weights)"
_GROUP = r"process group|collectives|communicators?|device mesh"
_BEGIN = r"(?:start\w*|begin\w*|enter\w*|launch\w*)"
_DONE = r"(?:done|complete\w*|finish\w*|end\w*|stopp?ed)"
EVALUATION = re.compile(r"\beval|\bval(?:id\w*|idation)?[ _]|\btest (?:loss|acc|ppl|set)")
CHECKPOINT = re.compile(rf"\b{_CKPT}\b")
LOSS = re.compile(r"loss|perplexity|\bppl\b|tokens|\btok\b|\blr\b|grad|throughput|tflops|mfu")
"""What is printed at every step."""


class Rule(NamedTuple):
    """Words (a regex over a line in small letters, values as `#`), and the kinds they speak for: the likeliest first.

    With one kind there is nothing to choose.
    """

    words: str
    kinds: tuple[str, ...]
    cause: str = ""


RULES: tuple[Rule, ...] = (
    Rule(r"out of memory|\boom\b", ("failure",), "oom"),
    Rule(r"no space left|stale file handle|i/o error|disk quota", ("failure",), "storage"),
    Rule(r"preempt", ("preempted",)),
    Rule(r"time ?limit (?:reached|exceeded|hit)|due to time limit", ("time_limit",)),
    Rule(r"\bsig(?:term|int|usr1|kill)\b|received signal", ("signal", "kill")),
    Rule(r"exit(?:s|ed|ing)? (?:with )?(?:return )?(?:code|status)", ("exit_code",)),
    Rule(rf"(?:no|without|not find|missing) (?:\w+ )?{_CKPT}|from scratch", ("restore_none",)),
    Rule(rf"(?:delet|remov|prun)\w*\b.*{_CKPT}|{_CKPT}.*(?:deleted|removed|pruned)", ("save_delete",)),
    Rule(rf"(?:loaded|restored|{_DONE} (?:loading|restoring))\b.*{_CKPT}", ("restore_end",)),
    Rule(rf"{_CKPT}.*(?:loaded|restored)", ("restore_end",)),
    Rule(rf"(?:loading|restoring|load|restore)\b.*{_CKPT}", ("restore_begin", "restore_end")),
    Rule(r"resum\w+\b.*(?:step|iter|update)|continu\w+ (?:training )?(?:from|at)\b", ("resume",)),
    Rule(rf"{_CKPT}.*(?:staged|copied to host)|staged\b.*{_CKPT}", ("save_staged",)),
    Rule(r"about to be saved|will be saved", ("save_request", "save_blocking")),
    Rule(rf"{_CKPT}.*\b(?:saved|written|committed|{_DONE})", ("save_commit", "save_written", "save_staged")),
    Rule(rf"(?:saved|wrote|committed|finished saving)\b.*{_CKPT}", ("save_commit", "save_written", "save_staged")),
    Rule(rf"(?:saving|writing|dumping|save|write)\b.*{_CKPT}", ("save_request", "save_blocking")),
    Rule(rf"{_CKPT} (?:save|write)\b", ("save_request", "save_blocking")),
    Rule(r"(?:export|publish)\w*\b.*(?:done|complete|finished)|(?:exported|published)\b", ("publish_end",)),
    Rule(r"(?:exporting|publishing)\b", ("publish_begin",)),
    Rule(r"recompil", ("recompile",)),
    Rule(rf"compil(?:ed|ation|e)\b.*(?:{_DONE}|took| in #)|compiled\b", ("compile", "compile_end")),
    Rule(r"compil(?:ing|ation)", ("compile_begin", "compile_end")),
    Rule(rf"{_BEGIN}\b.*(?:eval\w*|validat\w*)", ("evaluation_begin",)),
    Rule(r"(?:evaluating|validating|running (?:eval|valid)\w*)", ("evaluation_begin",)),
    Rule(rf"(?:eval\w*|valid\w*|test)\b.*(?:loss|acc|accuracy|ppl|result|score|took|{_DONE})\b", ("evaluation_end",)),
    Rule(rf"train\w*\b.*\b{_DONE}|{_DONE} train\w*", ("train_end",)),
    Rule(rf"{_BEGIN} (?:the )?train\w*|train\w* (?:loop )?{_BEGIN}", ("train_start", "trainer_start")),
    Rule(r"entering .*loop", ("train_start",)),
    Rule(rf"rendezvous.*{_DONE}", ("rendezvous_end",)),
    Rule(r"rendezvous", ("rendezvous_begin", "rendezvous_end")),
    Rule(rf"(?:{_GROUP}).*(?:init\w*|created|ready|built|up)\b", ("process_group", "init_mark")),
    Rule(rf"(?:initiali[sz]\w*|creat\w*|built|joined) .*(?:{_GROUP}|group\b)", ("process_group", "init_mark")),
    Rule(r"world[ _]?size", ("world", "worker_start")),
    Rule(r"(?:model|network|optimizer)\b.*(?:built|created|initiali[sz]ed|ready)", ("model_built",)),
    Rule(r"(?:built|created) (?:the )?model", ("model_built",)),
    Rule(r"data(?:sets?| ?loaders?)?\b.*(?:ready|built|loaded|created|open)", ("data_ready", "init_mark")),
    Rule(rf"(?:{_BEGIN}|coming) (?:up|job|run|on)", ("trainer_start", "worker_start", "launch")),
    Rule(rf"(?:job|run|launcher|agent|worker)\b.*{_BEGIN}", ("trainer_start", "worker_start", "launch")),
    Rule(r"trainer (?:version|start)", ("trainer_start", "worker_start")),
    Rule(r"initiali[sz]|set ?up|warm ?up", ("init_mark",)),
    Rule(r"overflow|skipp?(?:ed|ing) (?:step|update|batch)", ("overflow",)),
    Rule(r"(?:shutting|shut) ?down|good ?bye|bye|leaving|clean(?:ed|ing)? up", ("exit_ok", "exit_planned")),
    Rule(r"exit(?:s|ed|ing)?\b", ("exit_ok", "exit_planned")),
    Rule(r"alive|heartbeat|keep-?alive", ("heartbeat",)),
)  # fmt: skip
"""All rules; the first whose words are found, at the beginning of a word, speaks. A line that only holds a word such
as `error` is no failure by itself: nothing is proposed for it.
"""

CAP, CAP_IGNORED = 2, 4
"""Most patterns proposed of one kind, and without a kind: a library that talks much must not fill the page."""

TELLING = re.compile(
    r"(?i)sav|load|restor|resum|start|begin|end|finish|complet|done|fail|error|delet|remov|writ|wrote|commit|stag|"
    r"train|eval|valid|test|compil|step|iter|epoch|launch|exit|stop|abort|kill|export|publish|init|ready|creat|built"
)
"""Words that tell what happens: lines that differ in one of them are two print statements."""


def kinds(said: str) -> tuple[tuple[str, ...], str]:
    """Return the kinds that a line's words speak for, the likeliest first, and the cause of a failure or nothing.

    `said` is the line in small letters with `#` for values. Nothing speaks for a kind: no kinds.
    """
    rule = next((one for one in RULES if re.search(rf"\b(?:{one.words})", said)), None)
    if rule is None:
        return (), ""
    assert all(kind in KIND_BY_NAME for kind in rule.kinds), rule
    return rule.kinds, rule.cause
