"""Test the contrast and the distinguishability of the theme colors."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from spotball_core.plots.theme import THEME, css, look_of, markers
from spotball_core.typing import FloatArray

# Simulation of color blindness by Machado, Oliveira and Fernandes (2009): severity 1, on linear sRGB.
VISIONS = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.119192, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])


def linear(color: str) -> FloatArray:
    """Return the linear sRGB values of #rrggbb."""
    values = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb: FloatArray) -> FloatArray:
    """Return the CIELAB values of linear sRGB values."""
    x = TO_XYZ @ np.clip(rgb, 0, 1) / WHITE
    f = np.where(x > 216 / 24389, np.cbrt(x), (24389 / 27 * x + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(a: str, b: str) -> float:
    """Return the contrast ratio of WCAG 2."""
    weights = np.array([0.2126, 0.7152, 0.0722])
    dark, light = sorted(float(weights @ linear(color)) for color in (a, b))
    return (light + 0.05) / (dark + 0.05)


RESPONDENTS = [name for name in THEME if name.startswith("model-") or name in ("people", "baseline")]


@pytest.mark.parametrize("place", [0, 1])
def test_colors_are_distinguishable_with_color_blindness_in_light_and_dark_mode(place: int) -> None:
    assert len(RESPONDENTS) == 7
    page = THEME["paper"][place]
    for name in RESPONDENTS:
        assert contrast(THEME[name][place], page) >= 3.6, name
    for name in ("ink", "faint"):  # Colors of texts have the contrast that WCAG requires for level AA.
        assert contrast(THEME[name][place], page) >= 4.5, name
    for vision, matrix in VISIONS.items():
        for a, b in combinations(RESPONDENTS, 2):
            seen = [lab(matrix @ linear(THEME[name][place])) for name in (a, b)]
            assert np.linalg.norm(seen[0] - seen[1]) >= 13, (vision, a, b)


def test_look_of_a_respondent_depends_only_on_name_and_kind_and_markers_of_prompts_are_unique() -> None:
    assert (look_of("human", "human").name, look_of("uniform", "baseline").name) == ("people", "baseline")
    paper = [look_of(name, "model").name for name in ("gemini", "gpt", "llama", "qwen")]
    assert paper == ["model-1", "model-2", "model-3", "model-4"]
    # Other names are spread over all colors. The mapping is fixed, so that reports of different versions agree.
    assert [look_of(f"model {i}", "model").name for i in range(4)] == ["model-1", "model-1", "model-2", "model-2"]
    assert len({look_of(f"model {i}", "model").name for i in range(40)}) == 5
    found = markers(["x", "base", "y", "cot", "x"])
    assert len(set(found.values())) == 4
    assert found["base"] == markers(["base"])["base"]


def test_css_defines_a_unique_light_value_and_a_dark_value_for_every_color() -> None:
    # The inline code replaces each light color with a CSS variable, so the light colors must be unique.
    assert len({light for light, _ in THEME.values()}) == len(THEME)
    light, dark = css().split("@media screen and (prefers-color-scheme: dark)")
    for name, colors in THEME.items():
        assert f"--{name}: {colors[0]};" in light
        assert f"--{name}: {colors[1]};" in dark
