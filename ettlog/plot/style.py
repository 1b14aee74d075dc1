"""The one style of all pictures: colours, axes, labels, and a figure as bytes that are the same each time."""

from __future__ import annotations

import re
import warnings
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any

from ettlog import sink
from ettlog.lifecycle import COMPONENTS, PARTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes

# Okabe and Ito's colours, told apart by people of every kind of colour vision, on light and on dark ground.
COLOURS = dict(
    zip(COMPONENTS, ("#e69f00", "#0072b2", "#cc79a7", "#009e73", "#d55e00", "#56b4e9", "#8a8f98"), strict=True)
)
"""Component -> its colour, the same in every picture, table and page."""
GAIN, LOSS, NOBODY, TOTAL = "#0072b2", "#d55e00", "#8a8f98", "#009e73"
"""Colours of what was saved, what was added, what nobody may claim, and of levels."""

SHORT = dict(zip(COMPONENTS, ("sched", "init", "compile", "train", "wasted", "shutdown", "unknown"), strict=True))
"""Component -> its name where room is short."""

INK, MUTED, GRID, GROUND = "#1f2329", "#656d77", "#d5d9df", "#fefefd"
THEMED = {INK: "currentColor", MUTED: "var(--muted)", GRID: "var(--line)", GROUND: "var(--card)"}
"""Colours of text and lines -> what `svg` writes for them, so that a page sets them for light and dark."""

EFFECTIVE = next(part.component for part in PARTS if part.role == "effective")
LONGEST = 44
"""Characters of a row's label that are shown."""


def axes(width: float = 9.0, height: float = 3.0) -> Axes:
    """Return axes of their own figure, in inches, in the style of all pictures."""
    from matplotlib.figure import Figure

    return styled(Figure(figsize=(width, height), layout="constrained", facecolor="none").add_subplot())


def png(ax: Axes, dpi: int = 120) -> bytes:
    """Return the picture of axes as PNG, on a light ground: the same bytes for the same picture."""
    out = BytesIO()
    figure: Any = ax.figure
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a script that the font lacks is drawn as boxes
        figure.savefig(out, format="png", dpi=dpi, facecolor=GROUND, metadata={"Software": None})
    return out.getvalue()


def alone(ax: Axes) -> str:
    """Return a picture as an SVG document of its own, on a light ground: the same bytes for the same picture."""
    import matplotlib as mpl

    out = StringIO()
    rules: Any = {"svg.fonttype": "none", "svg.hashsalt": "ettlog", "text.parse_math": False}
    figure: Any = ax.figure
    with mpl.rc_context(rules), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        figure.savefig(out, format="svg", facecolor=GROUND, metadata=dict.fromkeys(("Date", "Creator"), None))
    return out.getvalue()


def svg(ax: Axes, name: str, said: str) -> str:
    """Return a picture as one SVG element for a page: the same bytes for the same picture, text as text.

    `name` makes its identifiers unique in the page, `said` tells it to those who do not see it. Colours of text and
    lines are left to the page's style. A figure is written once: drawing it again changes its layout.
    """
    from html import escape

    import matplotlib as mpl

    rules: Any = {"svg.fonttype": "none", "svg.hashsalt": name, "font.family": "sans-serif", "text.parse_math": False}
    out = StringIO()
    with mpl.rc_context(rules), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a script that the font lacks: the page's own font has it
        blank = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure: Any = ax.figure
        figure.savefig(out, format="svg", metadata=blank, transparent=True)
    text = out.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg ") :], flags=re.DOTALL)
    text = re.sub(r'(\bid="|xlink:href="#|url\(#)', rf"\g<1>{name}-", text)
    text = re.sub(r'style="[^"]*"', lambda found: _themed(found.group()), text)
    label = f'<svg class="plot" role="img" aria-label="{escape(sink.display(said))}" '
    return text.replace("<svg ", label, 1).strip()


def _themed(style: str) -> str:
    for colour, meaning in THEMED.items():
        style = style.replace(colour, meaning)
    return style.replace("'DejaVu Sans', ", "")


def styled(ax: Axes) -> Axes:
    """Return axes in the style of all pictures: no frame but the bottom line, a light grid."""
    ax.set_facecolor("none")
    ax.set_axisbelow(True)
    ax.grid(visible=True, axis="both", color=GRID, linewidth=0.6)
    for side, spine in ax.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(MUTED)
    ax.tick_params(colors=INK, labelsize=9, length=0)
    return ax


def labelled(ax: Axes, x: str = "", y: str = "") -> Axes:
    """Name the axes and return them; a name is text, never a formula."""
    ax.set_xlabel(x, color=MUTED, fontsize=9, parse_math=False)
    ax.set_ylabel(y, color=MUTED, fontsize=9, parse_math=False)
    return ax


def nothing(ax: Axes) -> Axes:
    """Say that there is nothing to draw, and return the axes."""
    ax.text(0.5, 0.5, "nothing to draw", ha="center", va="center", color=MUTED, transform=ax.transAxes)
    ax.set_xticks([])
    ax.set_yticks([])
    return ax


def named_rows(ax: Axes, labels: Sequence[str]) -> None:
    """Name the rows, the first on top; a label is text, never a formula."""
    shown = [label if len(label) <= LONGEST else label[: LONGEST - 1] + "…" for label in map(sink.display, labels)]
    ax.set_yticks(range(len(shown)), labels=shown, parse_math=False)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")


def dates(ax: Axes) -> None:
    """Let the x axis show dates, as short as they can be."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=3, maxticks=8)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def legend(ax: Axes, names: Iterable[str], *, marks: Iterable[tuple[str, str]] = ()) -> None:
    """Explain the colours of components above the axes; `marks` are further (marker, meaning) pairs."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [Patch(facecolor=COLOURS[name], label=SHORT[name]) for name in names]
    handles += [Line2D([], [], marker=mark, color=INK, linewidth=0, label=said) for mark, said in marks]
    ax.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=len(handles) or 1, frameon=False,
        fontsize=8.5, labelcolor=INK, handlelength=1.0, handleheight=1.0, columnspacing=1.2, borderaxespad=0.2,
        handletextpad=0.5,
    )  # fmt: skip
