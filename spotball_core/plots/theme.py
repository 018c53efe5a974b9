"""Define colors and markers, and save figures. Each respondent looks the same in every report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spotball_core.errors import OptionError
from spotball_core.schema.response import Kind
from spotball_core.service.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


INK, FAINT, RULE = "#1f2328", "#5c636b", "#dfe2e5"
PAPER = "#ffffff"

_PAGE = {"ink": (INK, "#e8eaed"), "faint": (FAINT, "#a3abb4"), "rule": (RULE, "#363b42"), "paper": (PAPER, "#16181c")}

# Pairs of colors differ by at least 13 in CIELAB, with normal vision and with each kind of color blindness (simulated
# after Machado et al., 2009), and have a contrast of at least 3.6 to 1 with the page.
_RESPONDENTS = {
    "people": ("#d55e00", "#ff8a3d"),
    "model-1": ("#0077bb", "#7cc8ff"),
    "model-2": ("#00694a", "#3ddca4"),
    "model-3": ("#b8458f", "#f08ccb"),
    "model-4": ("#4f4218", "#f2e2a0"),
    "model-5": ("#2d2380", "#9b6cf6"),
    "baseline": ("#858585", "#868686"),
}

THEME = {**_PAGE, **_RESPONDENTS, "heat": ("#5a1a7d", "#f6b26b"), "truth": ("#111111", "#f4f4f4")}
"""Two colors for each CSS variable, by its name: one for light pages, one for dark pages."""

MODELS = [name for name in _RESPONDENTS if name.startswith("model-")]
"""Names of the colors of models in THEME."""

_PAPER_MODELS = {"gemini": 0, "gpt": 1, "llama": 2, "qwen": 3}
_PROMPT_MARKERS = {"base": "o", "cue": "^", "cot": "s"}
_OTHER_MARKERS = ("v", "P", "X", "<", ">", "h")


@dataclass(frozen=True, slots=True)
class Look:
    """The look of a respondent in figures.

    Attributes:
        name: name of its color in THEME.
        color: its color on light pages, as #rrggbb.
    """

    name: str

    @property
    def color(self) -> str:
        """The color on light pages, as #rrggbb."""
        return THEME[self.name][0]


def look_of(respondent: str, kind: Kind | None) -> Look:
    """Return a respondent's look, which depends only on its name and kind and is the same in every report.

    People and baselines have one color each. The models of the paper have fixed colors. For other models, a hash of the
    name selects one of five colors, so two models may have the same color; their labels distinguish them.

    Examples:
        >>> look_of("human", "human").name, look_of("gpt", "model").name
        ('people', 'model-2')
    """
    if kind in ("human", "baseline"):
        return Look("people" if kind == "human" else "baseline")
    place = _PAPER_MODELS.get(respondent, sha256(respondent.encode()).digest()[0])
    return Look(MODELS[place % len(MODELS)])


def markers(prompts: Iterable[str]) -> dict[str, str]:
    """Return a Matplotlib marker for each prompt. A prompt has the same marker in every figure with the same prompts.

    Examples:
        >>> markers(["base", "cot", "mine"])
        {'base': 'o', 'cot': 's', 'mine': 'v'}
    """
    out: dict[str, str] = {}
    others = 0
    for prompt in dict.fromkeys(prompts):
        if prompt in _PROMPT_MARKERS:
            out[prompt] = _PROMPT_MARKERS[prompt]
        else:
            out[prompt] = _OTHER_MARKERS[others % len(_OTHER_MARKERS)]
            others += 1
    return out


def group_marker(kind: Kind | None, of_prompt: str) -> str:
    """Return the marker of a group: `of_prompt` for models, one marker for people, and one for baselines."""
    return {"human": "D", "baseline": "p"}.get(kind or "", of_prompt)


def css() -> str:
    """Return the colors as CSS variables: light, and dark if the reader's system requests it."""

    def variables(place: int) -> str:
        return " ".join(f"--{name}: {colors[place]};" for name, colors in THEME.items())

    light, dark = (f":root {{ {variables(place)} }}" for place in (0, 1))
    return f"{light}\n@media screen and (prefers-color-scheme: dark) {{ {dark} }}"


FORMATS = (".png", ".svg", ".pdf")
DPI = 160

# No file contains the date or the program's version. PNG files are compressed in a third less time than by default, and
# are 7% larger.
_OPTIONS: dict[str, dict[str, Any]] = {
    ".png": {"metadata": {"Software": None}, "pil_kwargs": {"compress_level": 3}},
    ".svg": {"metadata": {"Date": None, "Creator": None}},
    ".pdf": {"metadata": {"CreationDate": None, "Creator": None, "Producer": None}},
}

_LAYOUT_TABLES = ("GDEF", "GPOS", "GSUB", "kern")
"""Tables of a font that state where glyphs are placed in a text. A PDF file contains the place of each glyph."""


def save_figure(figure: Figure, path: str | Path, *, dpi: int = DPI) -> None:
    """Write a figure as PNG, SVG or PDF, depending on the file's ending. Text in SVG and PDF files remains text.

    Args:
        figure: the figure.
        path: path of the file, which is written to a temporary name and renamed.
        dpi: dots per inch of a PNG file.

    Raises:
        OptionError: if the ending is not .png, .svg or .pdf.
    """
    import matplotlib

    path = Path(path)
    if path.suffix not in FORMATS:
        raise OptionError(
            f"this picture format is not supported. Use one of {', '.join(FORMATS)}",
            code="unsupported-format",
            file=path,
        )
    # Use TrueType fonts in PDF files, which journals require, and SVG ids that do not change between runs.
    with (
        replacing(path) as beside,
        matplotlib.rc_context({"svg.hashsalt": "spotball", "svg.fonttype": "none", "pdf.fonttype": 42}),
        _fonts_without_layout() if path.suffix == ".pdf" else nullcontext(),
    ):
        figure.savefig(beside, dpi=dpi, **_OPTIONS[path.suffix])


@contextmanager
def _fonts_without_layout() -> Iterator[None]:
    """Embed fonts without their layout tables, which would take most of the time of writing a PDF file.

    Matplotlib has no option for this, so the default of fontTools is changed meanwhile.
    """
    from fontTools.subset import Options

    name = "_drop_tables_default"
    before = getattr(Options, name, None)
    if before is None:
        yield
        return
    setattr(Options, name, [*before, *_LAYOUT_TABLES])
    try:
        yield
    finally:
        setattr(Options, name, before)
