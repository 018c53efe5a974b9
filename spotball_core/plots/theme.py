"""Define colors and markers: each respondent looks the same in every report, on light and on dark pages.

Figures are drawn in the light colors. On a page, each color is a CSS variable whose value depends on the reader's color
scheme; `css` writes both sets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

from spotball_core.schema.response import Kind

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

_MODELS = [name for name in _RESPONDENTS if name.startswith("model-")]
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
    return Look(_MODELS[place % len(_MODELS)])


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
