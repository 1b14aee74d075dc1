"""Prefixes come off outermost first, whatever they are nested in, and say rank, node and stamp."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettlog.parse import format as formats
from ettlog.parse.envelope import ENVELOPES, MAX_DEPTH, Envelope, Peeled, peel, split_states

STEP = b" iteration       20/     700 | consumed samples:        10240 | elapsed time per iteration (ms): 912.4 |"


@pytest.mark.parametrize("one", ENVELOPES, ids=lambda one: one.name)
def test_each_prefix_comes_off_alone(one: Envelope) -> None:
    """The sample of a row is taken off whole, and what follows stays."""
    line = one.sample + b"[launch.py:136:main] text"
    bare = peel(b"[launch.py:136:main] text")
    assert peel(line).body in (
        bare.body,
        line[line.index(b"[launch") :],
        b"[2031-04-05 06:07:08,123] [INFO] " + bare.body,
    )
    if one.name != "pdsh":
        assert peel(line).offset == len(one.sample)


@pytest.mark.parametrize(
    ("line", "body", "rank", "node", "stamp"),
    [
        (b"plain text", b"plain text", None, None, None),
        (b"", b"", None, None, None),
        (b"\xef\xbb\xbf", b"", None, None, None),
        (b"\xef\xbb\xbf" * 20_000, b"\xef\xbb\xbf" * 19_999, None, None, None),
        (b"\xef\xbb\xbf2031-04-05T06:07:08.1234567Z x", b"x", None, None, b"2031-04-05T06:07:08.1234567Z"),
        (b"2031-04-05T06:07:08.1234567Z 7-task-1-0/0 [default3]: x", b" x", 3, None, b"2031-04-05T06:07:08.1234567Z"),
        (b" 3: [default5]:x", b"x", 3, None, None),
        (b" 3: [default5]:[rank29]:x", b"x", 29, None, None),
        (b"[rank1]:[rank9]: x", b"x", 9, None, None),
        (b"[1,12]<stdout>:x", b"x", 12, None, None),
        (b"[12] x", b"x", 12, None, None),
        (b"27: ", b"", 27, None, None),
        (b"27:", b"", 27, None, None),
        (b"12:34:56 x", b"12:34:56 x", None, None, None),
        (b"trainer/4 (CommandActor pid=88) x", b"x", 4, b"CommandActor", None),
        (b"(TrainWorker pid=88, ip=10.1.2.3) x", b"x", None, b"10.1.2.3", None),
        (b"[pod/t-0/main] 2031-04-05T06:07:08.123456789Z x", b"x", None, b"t-0", b"2031-04-05T06:07:08.123456789Z"),
        (
            b"INFO 2031-04-05T06:07:08.1Z [resource.labels.pod_name: t-0] x",
            b"x", None, b"t-0", b"2031-04-05T06:07:08.1Z",
        ),
        (
            b"[2031-04-05 06:07:08,123] [INFO] [logging.py:96:log_dist] [Rank 6] step=1",
            b"[logging.py:96:log_dist] [Rank 6] step=1", 6, None, b"2031-04-05 06:07:08,123",
        ),
        (
            b"[2031-04-05 06:07:08,123] [INFO] [logging.py:96:log_dist] [Rank -1] x",
            b"[logging.py:96:log_dist] [Rank -1] x", None, None, b"2031-04-05 06:07:08,123",
        ),
        (
            b"gpu-b: [2031-04-05 06:07:08,123] [INFO] [a.py:1:f] x",
            b"[a.py:1:f] x", None, b"gpu-b", b"2031-04-05 06:07:08,123",
        ),
        (b"gpu-b: " + STEP, STEP, None, b"gpu-b", None),
        (b"W0405 06:07:08.123000 4242 torch/distributed/run.py:792] ***", b"***", None, None, b"W0405 06:07:08.123000"),
        (
            b"[rank4]:[E405 06:07:08.408271257 ProcessGroupNCCL.cpp:632] [Rank 4] Watchdog",
            b"[Rank 4] Watchdog", 4, None, b"E405 06:07:08.408271257",
        ),
        (
            b"[2031-04-05 06:07:08,123] torch.distributed.run: [WARNING] x",
            b"x", None, None, b"2031-04-05 06:07:08,123",
        ),
        (b"[INFO] 2031-04-05 06:07:08,123 api: x", b"x", None, None, b"2031-04-05 06:07:08,123"),
        (b"INFO:torch.distributed.elastic.agent.server.api:[default] x", b"[default] x", None, None, None),
        (
            b"2031-04-05 06:07:08.123\tgpu-a:3\tolmo_core.train:81\tINFO\tx",
            b"x", 3, b"gpu-a", b"2031-04-05 06:07:08.123",
        ),
        (
            b"2031-04-05 06:07:08,123: rank4[8][Main]: INFO: composer.trainer: x",
            b"x", 4, None, b"2031-04-05 06:07:08,123",
        ),
        (
            b"2031-04-05 06:07:08,1234 x", b"2031-04-05 06:07:08,1234 x", None, None, None,
        ),
        (
            b"2031-04-05 06:07:08,123 [INFO] [gpu-a] [workload:9(1) infra:9(1)] launcher.py:20 x",
            b"x", 9, b"gpu-a", b"2031-04-05 06:07:08,123",
        ),
        (b"[HCTR][06:07:08.123][INFO][RK2][main]: x", b"x", 2, None, b"[06:07:08.123]"),
        (
            b"[1933135628.123456] [gpu-a:4242:0] ib_md.c:348  UCX",
            b"ib_md.c:348  UCX", None, b"gpu-a", b"1933135628.123456",
        ),
        (b"[31mstep", b"[31mstep", None, None, None),
        (b"\x1b[31m[rank2]: \x1b[0mx", b"x", 2, None, None),
        (b"\x1b]8;;http://a\x07[rank2]: x\x1b]8;;\x07", b"x", 2, None, None),
        (b"[2031-04-05 06:07:08.123456] saving", b"[2031-04-05 06:07:08.123456] saving", None, None, None),
        (
            b"04/05/2031 06:07:08 - INFO - llmtuner.train - [INFO] 2031-04-05 06:07:08,123 torch.distributed.run: x",
            b"x", None, None, b"04/05/2031 06:07:08",
        ),
    ],
)  # fmt: skip
def test_prefixes_say_what_they_know(
    line: bytes, body: bytes, rank: int | None, node: bytes | None, stamp: bytes | None
) -> None:
    """Body, rank (the most global one), node and outermost stamp, as read by eye."""
    peeled = peel(line)
    assert (peeled.body, peeled.rank, peeled.node, peeled.stamp) == (body, rank, node, stamp)


def test_depth_is_bounded() -> None:
    """A line of nothing but prefixes stops after eight of them."""
    line = b"[rank3]:" * 50 + b"x"
    assert peel(line).body == b"[rank3]:" * (50 - MAX_DEPTH) + b"x"


def test_states_of_a_progress_bar() -> None:
    """Carriage returns split a line into its states; one at the end (CRLF) does not make an empty state."""
    assert split_states(b"0: a\rb\rc") == [b"0: a", b"b", b"c"]
    assert split_states(b"a\r") == [b"a"]
    assert split_states(b"") == [b""]


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_peel(line: bytes) -> None:
    """Never an exception; the body is the tail of the line (of the line without escape codes)."""
    peeled = peel(line)
    assert isinstance(peeled, Peeled)
    if b"\x1b" not in line:
        assert line[peeled.offset :] == peeled.body
    assert b"\r".join(split_states(line)) == line.rstrip(b"\r") or line.strip(b"\r") == b""


ALONE = [one for one in ENVELOPES if b"(?=" not in one.regex]
NESTED = st.lists(st.sampled_from([one.sample for one in ALONE]), max_size=MAX_DEPTH - 2)
SET = formats.load_all()


@pytest.mark.parametrize("envelope", ALONE, ids=[one.name for one in ALONE])
def test_no_prefix_changes_an_event(envelope: Envelope) -> None:
    """Every sample of every pattern behind each prefix alone gives the same fields, also one of leading blanks."""
    lost = []
    for pattern in SET.patterns:
        for sample in pattern.samples if pattern.kind else ():
            alone = pattern.regex.search(peel(sample.line.encode()).body)
            behind = pattern.regex.search(peel(envelope.sample + sample.line.encode()).body)
            if not (alone and behind and formats.fields(pattern, alone) == formats.fields(pattern, behind)):
                lost.append((pattern.format, pattern.name))
    assert lost == []


@settings(deadline=None)
@given(NESTED, st.sampled_from([pattern for pattern in SET.patterns if pattern.kind]))
def test_no_nesting_of_prefixes_changes_an_event(prefixes: list[bytes], pattern: formats.Pattern) -> None:
    """A sample behind any nesting of prefixes (save those that look at what follows) gives the same fields."""
    for sample in pattern.samples:
        alone = pattern.regex.search(peel(sample.line.encode()).body)
        behind = pattern.regex.search(peel(b"".join(prefixes) + sample.line.encode()).body)
        assert alone is not None
        assert behind is not None
        assert formats.fields(pattern, alone) == formats.fields(pattern, behind)


@settings(deadline=None)
@given(st.binary(max_size=200), st.sampled_from(SET.patterns))
def test_any_bytes_around_a_sample_raise_nothing(noise: bytes, pattern: formats.Pattern) -> None:
    """Bytes of any kind before and after a sample never raise, in peeling, searching or decoding."""
    for sample in pattern.samples:
        for line in (noise + sample.line.encode(), sample.line.encode() + noise, noise):
            match = pattern.regex.search(peel(line).body)
            if match is not None:
                assert isinstance(formats.fields(pattern, match), dict)


@pytest.mark.parametrize("one", ENVELOPES, ids=lambda one: one.name)
def test_hostile_prefixes_take_no_time(one: Envelope) -> None:
    """64 KiB of a prefix, of its beginning, or of one byte behind it are peeled in 5 ms (best of five)."""
    head = one.sample[: len(one.sample) // 2]
    lines = [
        one.sample * 4096,
        head * 4096,
        head + b"a" * 65536,
        head + b"1" * 65536,
        head + b" " * 65536,
        b"\x1b[" * 32768,
    ]
    for line in lines:
        seconds = []
        for _ in range(5):
            begin = time.thread_time()
            peel(line[:65536])
            seconds.append(time.thread_time() - begin)
        assert min(seconds) < 0.005
