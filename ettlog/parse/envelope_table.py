"""The table of line prefixes: what each can begin with, its regex, a sample; outermost kinds first."""

from __future__ import annotations

from typing import NamedTuple

_DAY = rb"20\d\d-\d\d-\d\d"


class Envelope(NamedTuple):
    """One row of the table."""

    name: str
    first: bytes
    """Bytes the prefix can begin with."""
    regex: bytes
    """Matched at the beginning; groups `rank`, `node`, `stamp`, and `local` or `task` for less global ranks."""
    sample: bytes


_LOWER = b"abcdefghijklmnopqrstuvwxyz"
_ALNUM = _LOWER + _LOWER.upper() + b"0123456789"
NAMES = {
    b"ISO_T": _DAY + rb"T\d\d:\d\d:\d\d",
    b"ISO": _DAY + rb"[T ]\d\d:\d\d:\d\d",
    b"TIME": rb"\d\d:\d\d:\d\d",
    b"LEVEL": rb"(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)",
    b"LOGGER": rb"[\w.]{1,100}",
    b"HOST": rb"[\w.:-]{1,64}",
    b"FILE": rb"[\w./-]{1,120}",
    b"NUM": rb"\d{1,9}",
}
"""Words of the table's regexes that stand for something longer."""

ENVELOPES: tuple[Envelope, ...] = (
    # runners, containers, schedulers
    Envelope("github_actions", b"2", rb"(?P<stamp>ISO_T\.\d{7}Z) ", b"2031-04-05T06:07:08.1234567Z "),
    Envelope(
        "container", b"2", rb"(?P<stamp>ISO\.\d{9}(?:Z|[+-]\d\d:\d\d)) (?:std(?:out|err) [FP] )?",
        b"2031-04-05T06:07:08.123456789Z stdout F ",
    ),
    Envelope(
        "stamp_offset", b"[2", rb"\[?(?P<stamp>ISO_T(?:\.\d{1,9})?[+-]\d\d:?\d\d)\]? ",
        b"[2031-04-05T06:07:08+08:00] ",
    ),
    Envelope("stamp_utc", b"2", rb"(?P<stamp>ISO_T(?:\.\d{1,9})?Z) ", b"2031-04-05T06:07:08Z "),
    Envelope(
        "cloud_logging", b"DINWECAF",
        rb"(?:DEFAULT|DEBUG|INFO|NOTICE|WARNING|ERROR|CRITICAL|ALERT) (?P<stamp>ISO_T(?:\.\d{1,9})?Z) "
        rb"(?:\[resource\.labels\.\w{1,40}: (?P<node>HOST)\] )?",
        b"INFO 2031-04-05T06:07:08.123456789Z [resource.labels.pod_name: trainer-0] ",
    ),
    Envelope("stern", b"[", rb"\[pod/(?P<node>[\w.-]{1,128})/[\w.-]{1,64}\] ", b"[pod/trainer-0/main] "),
    Envelope(
        "pdsh",
        _ALNUM,
        rb"(?P<node>[\w.-]{1,64}): (?=\[20\d\d-\d\d| iteration | samples/sec: |steps: )",
        b"gpu-a: [2031-04-05 06:07:08,123] [INFO] ",
    ),
    Envelope(
        "pdsh_host", _LOWER + b"0123456789",
        rb"(?!(?:rank|step|iter|epoch|layer|stage|acc|loss|cuda)\d)"
        rb"(?P<node>(?=[a-z.-]{1,40}\d)[a-z][a-z0-9.-]{1,62}|\d{1,3}(?:\.\d{1,3}){3}): ",
        b"gpu250: ",
    ),
    Envelope("megatron_ci", b"0123456789", rb"NUM-task-NUM-NUM/NUM ", b"7-task-1-0/0 "),
    Envelope("srun", b" 0123456789", rb" {0,6}(?P<task>\d{1,6}):(?: |\Z)", b" 3: "),
    Envelope(
        "mpirun_channel", b"[",
        rb"\[(?:\d{1,6},)?(?:mpirank:)?(?P<task>\d{1,7})(?:,[\w.-]{1,64})?\]<std(?:out|err|diag)>: ?(?:#\d{3}(?!\d))?",
        b"[1,3]<stdout>:",
    ),
    Envelope(
        "mpirun_stamped", b"MTWFS",
        rb"(?P<stamp>[A-Z][a-z][a-z] [A-Z][a-z][a-z] {1,2}\d{1,2} TIME \d{4})(?:\[(?:\d{1,6},)?(?P<task>\d{1,7})\])?"
        rb"<std(?:out|err|diag)>: ?",
        b"Sat Apr  5 06:07:08 2031[1,3]<stdout>:",
    ),
    Envelope("mpirun_tag", b"[", rb"\[(?P<task>\d{1,7})\] ", b"[3] "),
    Envelope(
        "torchx", _LOWER, rb"[a-z][\w.-]{0,60}/(?P<task>\d{1,6}) (?:\((?P<node>\w{1,40}) pid=NUM\) )?", b"trainer/3 ",
    ),
    Envelope(
        "ray", b"(", rb"\(\w{1,64}(?:\([^()\n]{0,64}\))? pid=NUM(?:, ip=(?P<node>HOST))?\) ",
        b"(TrainWorker pid=88, ip=10.1.2.3) ",
    ),
    Envelope(
        "skypilot", b"(", rb"\([\w.-]{1,40}, (?:rank=(?P<task>\d{1,6}), )?pid=NUM(?:, ip=(?P<node>HOST))?\) ",
        b"(worker1, rank=3, pid=4242, ip=10.1.2.3) ",
    ),
    Envelope("determined", b"[", rb"\[rank=(?P<rank>\d{1,7})\] ", b"[rank=3] "),
    # torch: launcher, ranks, loggers
    Envelope(
        "torchx_tee", b"[", rb"\[(?:default|trainer|worker)(?P<rank>\d{1,7})\|(?P<local>\d{1,6})\]:", b"[trainer9|1]:",
    ),
    Envelope("tee", b"[", rb"\[(?:default|trainer|worker)(?P<local>\d{1,6})\]:", b"[default3]:"),
    Envelope("torch_rank", b"[", rb"\[rank(?P<rank>\d{1,7})\]: ?", b"[rank3]: "),
    Envelope(
        "glog", b"IWEFVC", rb"(?P<stamp>[IWEFVC]\d{4} TIME\.\d{6}) +\d{1,20} [^ \]\n]{1,200}:NUM\] ?",
        b"W0405 06:07:08.123000 4242 torch/distributed/run.py:792] ",
    ),
    Envelope(
        "c10", b"[", rb"\[(?P<stamp>[IWEFVC]\d{3,4} TIME\.\d{6,9}) FILE\.(?:cpp|cc|h|hpp|cu):NUM\] ",
        b"[E405 06:07:08.123456789 ProcessGroupNCCL.cpp:632] ",
    ),
    Envelope("c10_undated", b"[", rb"\[[IWEFVC] FILE\.(?:cpp|cc|h|hpp|cu):NUM\] ", b"[E ProcessGroupNCCL.cpp:456] "),
    Envelope(
        "torch_2.1", b"[", rb"\[(?P<stamp>ISO,\d{3})\] (?:\[\d[\w/]{0,20}\] )?[a-zA-Z_]LOGGER: \[LEVEL\] ",
        b"[2031-04-05 06:07:08,123] [3/0] torch._inductor.graph: [INFO] ",
    ),
    Envelope(
        "torch_1.9", b"[", rb"\[LEVEL\] (?P<stamp>ISO,\d{3}) LOGGER: ",
        b"[INFO] 2031-04-05 06:07:08,123 torch.distributed.elastic.agent.server.api: ",
    ),
    Envelope(
        "python_root", b"DIWECF", rb"LEVEL:(?:torch|root|megatron)[\w.]{0,100}:",
        b"INFO:torch.distributed.elastic.agent.server.api:",
    ),
    Envelope("rich_logger", b"[", rb"\[LEVEL *\| LOGGER\]: ", b"[INFO     | pytorch_lightning.utilities.rank_zero]: "),
    # trainers and libraries
    Envelope(
        "deepspeed", b"[",
        rb"\[(?P<stamp>ISO,\d{3})\] \[LEVEL\] (?=\[FILE:NUM:[\w<>]{1,80}\](?: \[Rank (?P<rank>-?\d{1,7})\])?)",
        b"[2031-04-05 06:07:08,123] [INFO] ",
    ),
    Envelope(
        "hf", b"[", rb"\[LEVEL\|FILE:NUM\] (?P<stamp>ISO,\d{3}) >> ",
        b"[INFO|trainer.py:812] 2031-04-05 06:07:08,123 >> ",
    ),
    Envelope(
        "primus", b"[",
        rb"\[(?P<stamp>\d{8} TIME)\]\[(?:node-NUM/)?rank-(?P<rank>\d{1,7})/NUM\]\[LEVEL *\] (?:\[-*FILE:NUM\] ?: ?)?",
        b"[20310405 06:07:08][rank-3/8][INFO ] [--------trainer.py:2382] : ",
    ),
    Envelope(
        "hf_4.42", b"[", rb"\[LEVEL\|(?P<stamp>ISO)\] (?:FILE|LOGGER):NUM >> ",
        b"[INFO|2031-04-05 06:07:08] trainer.py:812 >> ",
    ),
    Envelope(
        "python_us", b"01", rb"(?P<stamp>\d\d/\d\d/\d{4} TIME) - LEVEL - LOGGER - +(?:\[LEVEL\] (?!\d))?",
        b"04/05/2031 06:07:08 - INFO - llmtuner.train - ",
    ),
    Envelope(
        "axolotl", b"[",
        rb"\[(?P<stamp>ISO,\d{3})\] \[LEVEL\] \[LOGGER:NUM\] \[PID:NUM\] (?:\[RANK:(?P<rank>\d{1,7})\] )?",
        b"[2031-04-05 06:07:08,123] [INFO] [axolotl.train.log:61] [PID:4242] [RANK:3] ",
    ),
    Envelope(
        "paddle", b"[", rb"\[(?P<stamp>ISO,\d{3})\] \[ {0,4}LEVEL\] (?:FILE:NUM )?- ",
        b"[2031-04-05 06:07:08,123] [    INFO] - ",
    ),
    Envelope(
        "mindformers", b"2", rb"(?P<stamp>ISO,\d{3}) - mindformers[^\] \n]{0,120}\] - LEVEL - ",
        b"2031-04-05 06:07:08,123 - mindformers./log[mindformers/core/callback/callback.py:314] - INFO - ",
    ),
    Envelope(
        "titan", b"[2", rb"(?:\[titan\] )?(?P<stamp>ISO,\d{3}) - LOGGER - LEVEL - ",
        b"[titan] 2031-04-05 06:07:08,123 - root - INFO - ",
    ),
    Envelope(
        "nemo", b"[", rb"\[NeMo [IWED] (?P<stamp>ISO) (?:rank(?P<rank>\d{1,7}):)?[\w.-]{1,80}:NUM\] ?",
        b"[NeMo I 2031-04-05 06:07:08 rank3:megatron_init:72] ",
    ),
    Envelope(
        "olmo_core", b"2",
        rb"(?P<stamp>ISO\.\d{3})(?:\t| {1,8})(?P<node>[\w.-]{1,64}):(?P<local>\d{1,6})"
        rb"(?:\t| {1,8})LOGGER:NUM(?:\t| {1,8})LEVEL(?:\t| {1,8})",
        b"2031-04-05 06:07:08.123\tgpu-a:3\tolmo_core.train:81\tINFO\t",
    ),
    Envelope(
        "olmo_core_rich", b"[", rb"\[(?P<stamp>ISO)\] LEVEL +\[LOGGER:NUM, rank=(?P<rank>\d{1,7})\] ",
        b"[2031-04-05 06:07:08] INFO     [olmo_core.train:81, rank=3] ",
    ),
    Envelope(
        "composer", b"2", rb"(?P<stamp>ISO,\d{3}): rank(?P<rank>\d{1,7})\[NUM\]\[[^\]\n]{1,40}\]: LEVEL: LOGGER: ",
        b"2031-04-05 06:07:08,123: rank3[881][MainThread]: INFO: composer.trainer: ",
    ),
    Envelope(
        "levanter", b"2", rb"(?P<stamp>ISO_T) - (?P<rank>\d{1,7}) - LOGGER - (?:FILE:NUM - )?LEVEL :: ",
        b"2031-04-05T06:07:08 - 3 - levanter.checkpoint - checkpoint.py:246 - INFO :: ",
    ),
    Envelope(
        "fairseq", b"2", rb"(?P<stamp>ISO) \| LEVEL +\| LOGGER +\| ",
        b"2031-04-05 06:07:08 | INFO | metaseq.trainer | ",
    ),
    Envelope(
        "hydra", b"[", rb"\[(?P<stamp>ISO,\d{3})\]\[LOGGER\]\[LEVEL\] - ",
        b"[2031-04-05 06:07:08,123][metaseq.train][INFO] - ",
    ),
    Envelope(
        "nanotron",
        b"01",
        rb"(?P<stamp>\d\d/\d\d(?:/20\d\d)? TIME) \[LEVEL\|DP=NUM(?:\|[A-Z]P=NUM){0,4}(?:\|(?P<node>HOST))?\]: ",
        b"04/05/2031 06:07:08 [INFO|DP=1|PP=0|TP=3|gpu-a]: ",
    ),
    Envelope(
        "nvrx", b"2",
        rb"(?P<stamp>ISO,\d{3}) \[LEVEL\] \[(?P<node>HOST)\] "
        rb"(?:\[workload:(?P<rank>\d{1,7})\(NUM\) infra:NUM\(NUM\)\] )?(?:FILE\.py:NUM )?",
        b"2031-04-05 06:07:08,123 [INFO] [gpu-a] [workload:3(1) infra:9(1)] launcher.py:20 ",
    ),
    Envelope(
        "hugectr", b"[", rb"\[HCTR\](?P<stamp>\[TIME\.\d{3}\])\[LEVEL\]\[RK(?P<rank>\d{1,6})\]\[[\w-]{1,40}\]: ",
        b"[HCTR][06:07:08.123][INFO][RK3][main]: ",
    ),
    Envelope(
        "hugectr_3.1", b"[", rb"\[HUGECTR\](?P<stamp>\[TIME\])\[LEVEL\]\[RANK(?P<rank>\d{1,6})\]: ",
        b"[HUGECTR][06:07:08][INFO][RANK3]: ",
    ),
    Envelope(
        "hugectr_2", b"[", rb"\[\d\dd\d\dh\d\dm\d\ds\]\[HUGECTR\]\[LEVEL\]: ", b"[05d06h07m08s][HUGECTR][INFO]: ",
    ),
    Envelope(
        "ucx", b"[", rb"\[(?P<stamp>[12]\d{9}\.\d{6})\] \[(?P<node>[\w.-]{1,64}):NUM(?::NUM)?\] ",
        b"[1933135628.123456] [gpu-a:4242:0] ",
    ),
)  # fmt: skip
"""All known prefixes. Logger prefixes that name the source file keep that name in the body: patterns read it."""
