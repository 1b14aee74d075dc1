"""Write docs/metrics/*.md, a page per metric with its formula: `python -m tests.metrics_reference`."""

from __future__ import annotations

import tomllib
from typing import NamedTuple

from tests.conftest import ROOT

FOLDER = ROOT / "docs/metrics"


INDEX = """# Metrics

Written by `make docs`; tests compare the pages, run their examples, and look for every column of a result here.

| metric | |
|---|---|"""


class Metric(NamedTuple):
    """One metric: what it is, how it is computed, where it is shown, and an example that runs."""

    name: str
    title: str
    sentence: str
    formula: str
    unit: str
    kind: str
    """Measured, bound, modelled or a convention: what the number rests on."""
    columns: str
    """Columns of results that hold it, each as `function.column`."""
    reading: str
    example: str


def _read() -> tuple[Metric, ...]:
    rows = tomllib.loads((ROOT / "tests/metrics.toml").read_text())["metric"]
    return tuple(Metric(**{key: value.strip() for key, value in row.items()}) for row in rows)


METRICS = _read()
"""Every metric, in the order of the index."""


def page(metric: Metric) -> str:
    """Return the page of a metric, in Markdown."""
    named = [name.split(".") for name in metric.columns.split()]
    columns = "\n".join(f"| `{function}` | `{column}` |" for function, column in named)
    return f"""# {metric.title}

{metric.sentence}

```text
{metric.formula}
```

| | |
|---|---|
| unit | {metric.unit} |
| what it is | {metric.kind} |

{metric.reading}

```python
{metric.example}
```

| result of | column |
|---|---|
{columns}
"""


def index() -> str:
    """Return the list of all metrics, in Markdown."""
    rows = [f"| [{one.title}]({one.name}.md) | {one.sentence} |" for one in METRICS]
    names = "\n".join(one.name for one in METRICS)
    return "\n".join([INDEX, *rows, f"\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"])


def pages() -> dict[str, str]:
    """Return file name -> text of every page."""
    return {"index.md": index(), **{f"{one.name}.md": page(one) for one in METRICS}}


if __name__ == "__main__":
    for old in FOLDER.glob("*.md"):
        old.unlink()
    for name, text in pages().items():
        (FOLDER / name).write_text(text)
