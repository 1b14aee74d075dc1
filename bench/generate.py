"""Writes about a gigabyte of trainer logs to measure with: the same bytes for the same options, on any machine.

    python -m bench.generate bench/data/text --mb 1000
    python -m bench.generate bench/data/packed --mb 1000 --gz
    python -m bench.generate bench/data/big --mb 1000 --one-file
    python -m bench.generate bench/data/long --mb 50 --long-line 200

Mixture: step lines of Megatron-LM (seven versions), GPT-NeoX and DeepSpeed, two thirds of all lines; NCCL, warning,
progress bar (carriage returns), traceback and configuration noise; about one line in a hundred about launches, saves,
loads and ends; a fifth of the files with `[rankN]:`, a fifth with `srun -l` labels, a fifth with pod names; stamps in
five styles or none; a few bytes that are no UTF-8; lines that look like steps or saves and are not.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

START = datetime(2031, 3, 1, 6, 0, 0)
FILES = 200


class Run:
    """One file's trainer: its clock, its step, its random numbers."""

    def __init__(self, number: int) -> None:
        """Seed everything with the file's number."""
        self.number, self.random = number, Random(number)
        self.now = START + timedelta(hours=7 * number, microseconds=self.random.randrange(1_000_000))
        self.step, self.target, self.batch = 0, 500_000, 1024
        self.ms = self.random.choice((412.0, 1890.0, 7300.0, 12_480.0))
        self.loss = 11.0

    def tick(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(microseconds=round(seconds * 1e6))

    def seconds(self) -> str:
        """Return the clock in whole seconds."""
        return self.now.strftime("%Y-%m-%d %H:%M:%S")

    def micros(self) -> str:
        """Return the clock in microseconds."""
        return self.now.strftime("%Y-%m-%d %H:%M:%S.%f")

    def comma(self) -> str:
        """Return the clock as Python's logging prints it."""
        return f"{self.seconds()},{self.now.microsecond // 1000:03d}"


def _tail(run: Run) -> str:
    random = run.random
    return (
        f"learning rate: {3e-4 * random.uniform(0.9, 1.0):.6E} | global batch size: {run.batch:5d} | "
        f"lm loss: {run.loss:.6E} | loss scale: 1.0 | grad norm: {random.lognormvariate(-0.5, 0.4):.3f} | "
        f"number of skipped iterations: {0:3d} | number of nan iterations: {0:3d} |"
    )


def _head(run: Run) -> str:
    return f" iteration {run.step:8d}/{run.target:8d} | consumed samples: {run.step * run.batch:12d} |"


def _elapsed(run: Run) -> float:
    return run.ms * run.random.lognormvariate(0, 0.02)


def v2(run: Run, ms: float) -> Iterator[str]:
    """Yield the step line of Megatron-LM 2.x: no stamp."""
    yield f"{_head(run)} elapsed time per iteration (ms): {ms:.1f} | {_tail(run)}"


def core5(run: Run, ms: float) -> Iterator[str]:
    """Yield the step line of core 0.5: no stamp, a throughput."""
    flops = 412_000 / ms
    yield (
        f"{_head(run)} elapsed time per iteration (ms): {ms:.1f} | throughput per GPU (TFLOP/s/GPU): "
        f"{flops:.1f} | {_tail(run)}"
    )


def core6(run: Run, ms: float) -> Iterator[str]:
    """Yield the step line of core 0.6 to 0.15: seconds."""
    yield f" [{run.seconds()}]{_head(run)} elapsed time per iteration (ms): {ms:.1f} | {_tail(run)}"


def core16(run: Run, ms: float) -> Iterator[str]:
    """Yield the step line of core 0.16: microseconds."""
    flops = 412_000 / ms
    text = f"elapsed time per iteration (ms): {ms:.1f} | throughput per GPU (TFLOP/s/GPU): {flops:.1f}"
    yield f" [{run.micros()}]{_head(run)} {text} | {_tail(run)}"


def bigscience(run: Run, ms: float) -> Iterator[str]:
    """Yield the step line of the BigScience fork: seconds per step, tokens."""
    tokens = f"consumed tokens: {run.step * run.batch * 2048:14d}"
    yield f"{_head(run)} {tokens} | elapsed time per iteration (s): {ms / 1000:.2f} | {_tail(run)}"


def microsoft(run: Run, ms: float) -> Iterator[str]:
    """Yield the DeepSpeed line and the step line of the Microsoft fork."""
    yield from deepspeed(run, ms)
    tokens = f"consumed tokens: {run.step * run.batch * 2048:12d}"
    yield f"{_head(run)} {tokens} | elapsed time per iteration (ms): {ms:.1f} | {_tail(run)}"


def neox(run: Run, ms: float) -> Iterator[str]:
    """Yield the two lines a step has in GPT-NeoX."""
    yield from deepspeed(run, ms)
    rate = 1000 * run.batch / ms
    yield (
        f" samples/sec: {rate:.3f} | iteration {run.step:8d}/{run.target:8d} | "
        f"elapsed time per iteration (ms): {ms:.1f} | learning rate: 2.052E-06 | "
        f"approx flops per GPU: {190_000 / ms:.1f}TFLOPS | lm_loss: {run.loss:.6E} | "
        f"number of skipped iterations: {0:3d} | number of nan iterations: {0:3d} |"
    )


def deepspeed(run: Run, ms: float) -> Iterator[str]:
    """Yield the step line of DeepSpeed's engine, without regard to its duration."""
    rate = run.random.uniform(1e-6, 9e-4) + 0 * ms
    yield (
        f"[{run.comma()}] [INFO] [logging.py:96:log_dist] [Rank 0] step={run.step}, skipped=0, "
        f"lr=[{rate}, {rate}], mom=[[0.9, 0.95]]"
    )


STEPS: tuple[Callable[[Run, float], Iterator[str]], ...] = (
    core6,
    core16,
    v2,
    neox,
    core6,
    microsoft,
    core5,
    core16,
    bigscience,
    deepspeed,
)


def begin(run: Run) -> Iterator[str]:
    """Yield the lines of a start, up to the training loop."""
    yield (
        f"[{run.comma()}] [INFO] [runner.py:555:main] cmd = /usr/bin/python3 -u -m "
        f"deepspeed.launcher.launch --world_info=eyJub2RlIjo --master_addr=10.1.0.4 pretrain.py"
    )
    run.tick(3)
    yield f"[{run.comma()}] [INFO] [launch.py:145:main] WORLD INFO DICT: {{'node-a': [0, 1, 2, 3, 4, 5, 6, 7]}}"
    for name in (
        "hidden_size",
        "num_layers",
        "save_interval",
        "checkpoint_activations",
        "tensor_model_parallel_size",
        "lr",
    ):
        yield f"  {name} {'.' * (46 - len(name))} {run.random.randrange(1, 8192)}"
    run.tick(21)
    yield "> initialized tensor model parallel with size 4"
    yield f"time to initialize megatron (seconds): {run.random.uniform(8, 40):.3f}"
    yield f"[after megatron is initialized] datetime: {run.seconds()} "
    run.tick(run.random.uniform(20, 60))
    if run.step:
        yield f" loading checkpoint from /data/exp{run.number}/ckpt at iteration {run.step}"
        run.tick(run.random.uniform(30, 200))
        yield (
            f"  successfully loaded checkpoint from /data/exp{run.number}/ckpt [ t 0/4, p 0/2 ] at iteration {run.step}"
        )
    else:
        yield f"WARNING: could not find the metadata file /data/exp{run.number}/ckpt/latest_checkpointed_iteration.txt "
        yield "    will not load any checkpoints and will start from random"
    yield f"[after model, optimizer, and learning rate scheduler are built] datetime: {run.seconds()} "
    run.tick(12)
    yield f"[after dataloaders are built] datetime: {run.seconds()} "
    yield "done with setup ..."
    yield "training ..."
    yield f"[before the start of training step] datetime: {run.seconds()} "


def save(run: Run) -> Iterator[str]:
    """Yield the lines of a checkpoint save."""
    yield f"saving checkpoint at iteration {run.step:7d} to /data/exp{run.number}/ckpt in torch_dist format"
    run.tick(run.random.uniform(8, 40))
    yield f"  successfully saved checkpoint from iteration {run.step:7d} to /data/exp{run.number}/ckpt [ t 1/4, p 1/2 ]"
    yield "(min, max) time across ranks (ms):"
    yield (
        f"    save-checkpoint ................................: ({run.random.uniform(7e3, 8e3):.2f}, "
        f"{run.random.uniform(8e3, 9e3):.2f})"
    )


def evaluate(run: Run) -> Iterator[str]:
    """Yield the lines of an evaluation."""
    bar = "-" * 100
    yield bar
    yield (
        f" validation loss at iteration {run.step} | lm loss value: {run.loss:.6E} | "
        f"lm loss PPL: {2.7 ** min(run.loss, 9):.6E} "
        f"| "
    )
    yield bar


def fail(run: Run) -> Iterator[str]:
    """Yield the lines of a failure and the time until somebody starts again."""
    yield "Traceback (most recent call last):"
    for name in ("pretrain_gpt.py", "megatron/training/training.py", "torch/nn/modules/module.py"):
        yield f'  File "/opt/{name}", line {run.random.randrange(20, 2000)}, in forward'
        yield "    return self._call_impl(*args, **kwargs)"
    yield (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has a total "
        "capacity of 79.10 GiB"
    )
    yield (
        f"[{run.comma()}] [ERROR] [launch.py:321:sigkill_handler] ['/usr/bin/python3', '-u', "
        f"'pretrain.py'] exits with return code = 1"
    )
    run.tick(run.random.uniform(60, 7200))
    run.step = max(0, run.step - run.step % 500)


def noise(run: Run) -> Iterator[str]:
    """Yield one or a few lines that say nothing about the timeline."""
    random, kind = run.random, run.random.randrange(60) % 52
    if kind > 11:
        kind = (0, 0, 4, 0, 4, 6, 9, 11, 10, 0)[kind % 10]
    if kind < 4:
        yield (
            f"node-{random.randrange(64):03d}:{random.randrange(9999)}:{random.randrange(9999)} "
            f"[{random.randrange(8)}] NCCL INFO Channel {random.randrange(24):02d}/0 : "
            f"{random.randrange(64)}[{random.randrange(8)}] -> {random.randrange(64)}[{random.randrange(8)}] "
            f"via P2P/CUMEM"
        )
    elif kind < 6:
        yield (
            "/usr/local/lib/python3.10/dist-packages/torch/distributed/c10d_logger.py:83: FutureWarning: "
            "`torch.cpu.amp.autocast(args...)` is deprecated."
        )
        yield "  warnings.warn("
    elif kind == 6:
        states = [
            f"Processing shards:  {share:3d}%|{'#' * (share // 10):10s}| {share}/100 "
            f"[00:{share % 60:02d}<01:{59 - share % 60:02d},  1.21s/it]"
            for share in range(0, 100, 9)
        ]
        yield "\r".join(states)
    elif kind == 7:
        yield (
            f"will save a checkpoint every 500 iterations; last iteration {run.step} of {run.target} "
            f"checkpoint-{random.randrange(999)} pending"
        )
    elif kind == 8:
        yield (
            f"saving checkpoint policy for iteration/step={run.step} is keep_last_3, elapsed time per "
            f"iteration is not known yet"
        )
    elif kind == 9:
        yield (
            f"rank {random.randrange(512)} data shard /mnt/corpus/part-{random.randrange(99999):05d}.bin "
            f"bytes=\udcff\udcfe{random.randrange(10**9)}"
        )
    elif kind == 10:
        yield (
            f"W{run.now.strftime('%m%d %H:%M:%S.%f')} {random.randrange(10**6)} "
            f"torch/_dynamo/convert_frame.py:844] [0/{random.randrange(9)}] cache_size_limit is 8"
        )
    else:
        yield (
            f"memory (MB) | allocated: {random.uniform(1e4, 4e4):.3f} | max allocated: {random.uniform(4e4, 7e4):.3f} "
            f"| reserved: {random.randrange(70000)}.0"
        )


def lines(run: Run) -> Iterator[str]:
    """Yield lines without end: starts, steps with noise between them, saves, failures."""
    step = STEPS[run.number % len(STEPS)]
    while True:
        yield from begin(run)
        run.tick(40)
        until = run.step + run.random.randrange(800, 4000)
        while run.step < until:
            ms = _elapsed(run)
            run.tick(ms / 1000)
            run.step += 1
            run.loss = 1.9 + 9 / (1 + run.step / 300) + run.random.gauss(0, 0.01)
            yield from step(run, ms)
            if run.random.random() < 0.36:
                yield from noise(run)
            if run.step % 500 == 0:
                yield from save(run)
            if run.step % 250 == 0:
                yield from evaluate(run)
        yield from fail(run)


def labelled(run: Run) -> Iterator[bytes]:
    """Yield encoded lines with the prefix of the file's launcher."""
    style = run.number % 5
    pod = f"[pod/exp{run.number}-trainer-{run.random.randrange(10**5):05d}/main] "
    for line in lines(run):
        rank = run.random.randrange(8)
        label = (f"[rank{rank}]:", f"{rank + 8 * (run.number % 3):2d}: ", pod, "", "")[style]
        yield (label + line + "\n").encode("utf-8", "surrogateescape")


def text(number: int, size: int) -> bytes:
    """Return about `size` bytes of file `number`."""
    parts, total = [], 0
    for line in labelled(Run(number)):
        parts.append(line)
        total += len(line)
        if total >= size:
            break
    return b"".join(parts)


def write(folder: Path, *, mb: int, packed: bool = False, one_file: bool = False, long_line: int = 0) -> int:
    """Write the logs to a folder and return the bytes of text in them; `long_line` adds a line of so many MB."""
    folder.mkdir(parents=True, exist_ok=True)
    total, size = 0, max(1, mb * 1_000_000 // FILES)
    for number in range(FILES):
        data = text(number, size)
        if long_line and number == FILES // 2:
            data += b"x" * (long_line * 1_000_000) + b"\n" + data
        total += len(data)
        if one_file:
            with (folder / "all.log").open("ab" if number else "wb") as file:
                file.write(data)
        else:
            name = folder / f"run{number:03d}.log"
            if packed:
                name.with_suffix(".log.gz").write_bytes(gzip.compress(data, 6, mtime=0))
            else:
                name.write_bytes(data)
    return total


def main() -> None:
    """Read the options and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mb", type=int, default=1000)
    parser.add_argument("--gz", action="store_true")
    parser.add_argument("--one-file", action="store_true")
    parser.add_argument("--long-line", type=int, default=0, metavar="MB")
    options = parser.parse_args()
    size = write(
        options.folder, mb=options.mb, packed=options.gz, one_file=options.one_file, long_line=options.long_line
    )
    print(f"{size} bytes of text in {options.folder}")


if __name__ == "__main__":
    main()
