"""Self-describing input: readers that know a file by its head and read it without formats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ettlog.parse import (
    aws_batch,
    blocks,
    ckpt_probe,
    dlrover_events,
    goodput_entries,
    htcondor,
    k8s,
    k8s_pod_text,
    kueue_log,
    kueue_watch,
    lsf,
    maxtext_metrics,
    nvrx_cycles,
    one_logger,
    pbs,
    ray_export,
    resiliency_log,
    sacct,
    sacct_lines,
    sagemaker,
    scontrol,
    sge,
    slurm_jobcomp,
    slurm_json,
    slurmctld,
    titan_jsonl,
    torch_trace,
)
from ettlog.parse.parsed import Parsed, ScanOptions
from ettlog.parse.traces import philly, swf, tables

HEAD = 1 << 16
"""Bytes of text a reader is shown to know its input by."""


class Reader(NamedTuple):
    """One reader: `sniff(head, options)` tells whether it knows the input, `read(path, options)` reads it."""

    name: str
    sniff: Callable[[bytes, ScanOptions], bool]
    read: Callable[[Path, ScanOptions], Parsed]


READERS: tuple[Reader, ...] = (
    Reader(torch_trace.NAME, torch_trace.sniff, torch_trace.read),
    Reader(titan_jsonl.NAME, titan_jsonl.sniff, titan_jsonl.read),
    Reader(dlrover_events.NAME, dlrover_events.sniff, dlrover_events.read),
    Reader(one_logger.NAME, one_logger.sniff, one_logger.read),
    Reader(goodput_entries.NAME, goodput_entries.sniff, goodput_entries.read),
    Reader(resiliency_log.NAME, resiliency_log.sniff, resiliency_log.read),
    Reader(maxtext_metrics.NAME, maxtext_metrics.sniff, maxtext_metrics.read),
    Reader(nvrx_cycles.NAME, nvrx_cycles.sniff, nvrx_cycles.read),
    Reader(ray_export.NAME, ray_export.sniff, ray_export.read),
    Reader(kueue_log.NAME, kueue_log.sniff, kueue_log.read),
    Reader(kueue_watch.NAME, kueue_watch.sniff, kueue_watch.read),
    Reader(philly.NAME, philly.sniff, philly.read),
    Reader(k8s.NAME, k8s.sniff, k8s.read),
    Reader(aws_batch.NAME, aws_batch.sniff, aws_batch.read),
    Reader(sagemaker.NAME, sagemaker.sniff, sagemaker.read),
    Reader(slurm_json.NAME, slurm_json.sniff, slurm_json.read),
    Reader(slurm_jobcomp.NAME, slurm_jobcomp.sniff, slurm_jobcomp.read),
    Reader(scontrol.NAME, scontrol.sniff, scontrol.read),
    Reader(lsf.NAME, lsf.sniff, lsf.read),
    Reader(pbs.NAME, pbs.sniff, pbs.read),
    Reader(sge.NAME, sge.sniff, sge.read),
    Reader(slurmctld.NAME, slurmctld.sniff, slurmctld.read),
    Reader(htcondor.NAME, htcondor.sniff, htcondor.read),
    Reader(ckpt_probe.NAME, ckpt_probe.sniff, ckpt_probe.read),
    Reader(k8s_pod_text.NAME, k8s_pod_text.sniff, k8s_pod_text.read),
    Reader(swf.NAME, swf.sniff, swf.read),
    Reader(tables.NAME, tables.sniff, tables.read),
    Reader(sacct.NAME, sacct.sniff, sacct.read),
)
"""All readers; the first that knows a source reads it, so what could be mistaken for another kind stands last."""


def reader_for(path: Path, options: ScanOptions) -> Reader | None:
    """Return the first reader that knows a source by its head, or None; raise SourceRefusedError like the scanner."""
    head = _head(path)
    return next((reader for reader in READERS if reader.sniff(head, options)), None)


def advice(path: Path) -> str:
    """Return what a user could do about a source that no format and no reader knows, as a sentence, or nothing."""
    if sacct_lines.lacks_header(_head(path)):
        return "looks like sacct output without a header: name its fields with --sacct-fields"
    return ""


def _head(path: Path) -> bytes:
    with blocks.open_source(path) as source:
        return source.read_all(HEAD)
