"""Create the README's picture from synthetic scenes: the question, the guesses of two respondents, and the ball's
position.

    python scripts/readme_picture.py [FILE]

The numbers in the picture are computed from the demo's scenes. Panels have a background, so they are readable on light
and dark pages.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from spotball_core import Scene, baseline_distributions, baseline_responses, score, synthetic_scenes
from spotball_core.overlay import gridded
from spotball_core.synthetic.pictures import draw_scene

FILE = Path(__file__).parents[1] / "docs/assets/readme.png"

SCENE = ("synthetic-soccer", "9")
RESPONDENTS = {"nearest-player": (255, 214, 64), "center": (255, 122, 190)}

_PANEL, _GAP, _FOOT, _ROUND = (640, 360), 24, 92, 18
_GROUND, _INK, _FAINT = (31, 35, 40), (245, 246, 247), (190, 196, 203)
_COLORS = 160


def picture() -> Image.Image:
    """Return three panels side by side, on a transparent background."""
    scenes = tuple(one for one in synthetic_scenes(60) if one.sport == SCENE[0] and not one.control)
    (scene,) = (one for one in scenes if one.key == SCENE)
    asked = gridded(draw_scene(scene, ball=False), scene.layout)
    shown = draw_scene(scene, ball=True)
    lines = [
        [("The ball is painted out. In which cell is it?", _INK)],
        [("Guesses of ", _INK), *_names(" and ")],
        [(f"Here it was. Over {len(scenes)} such scenes:", _INK)],
    ]
    below = [
        [("Synthetic scene; models and people are asked like this.", _FAINT)],
        [("Two of the built-in baselines; a larger disc: more often.", _FAINT)],
        _scores(scenes),
    ]
    panels = (asked, _with_guesses(asked, scene), _with_ring(_with_guesses(shown, scene), scene))
    width, height = _PANEL
    whole = Image.new("RGBA", (3 * width + 2 * _GAP, height + _FOOT), (0, 0, 0, 0))
    for place, (panel, first, second) in enumerate(zip(panels, lines, below, strict=True)):
        whole.paste(_card(panel, first, second), (place * (width + _GAP), 0), _mask())
    return whole


def save(image: Image.Image, file: Path) -> None:
    """Write the image with few colors, which reduces its size to a quarter without visible differences."""
    file.parent.mkdir(parents=True, exist_ok=True)
    image.quantize(_COLORS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(file, optimize=True)


def _names(between: str) -> list[tuple[str, tuple[int, int, int]]]:
    first, second = RESPONDENTS.items()
    return [first, (between, _INK), second]


def _scores(scenes: tuple[Scene, ...]) -> list[tuple[str, tuple[int, int, int]]]:
    report = score(baseline_responses(scenes, RESPONDENTS), scenes, by=["respondent"], bootstrap=0)
    words: list[tuple[str, tuple[int, int, int]]] = []
    for name, color in RESPONDENTS.items():
        (group,) = (one for one in report.groups if one.respondent == name)
        right, off = (group.metrics[key].value for key in ("accuracy", "euclidean_error"))
        assert right is not None
        words += [(", ", _FAINT)] if words else []
        words.append((f"{name} {right:.0%} right, {off:.0f} px off", color))
    return words


def _with_guesses(image: Image.Image, scene: Scene) -> Image.Image:
    """Draw each respondent's guesses as disks, with areas proportional to the share of guesses."""
    layer = Image.new("RGBA", image.size, (0, 0, 0, 0))
    draw = ImageDraw.Draw(layer)
    for side, (name, color) in zip((-1, 1), RESPONDENTS.items(), strict=True):
        shares = baseline_distributions(name, [scene])[0]
        for (x, y), share in zip(scene.layout.centers, shares, strict=True):
            radius = 62 * float(np.sqrt(share))
            if radius >= 2:
                middle = x + 8 * side
                box = (middle - radius, y - radius, middle + radius, y + radius)
                draw.ellipse(box, fill=(*color, 190), outline=(20, 24, 28, 230), width=2)
    return Image.alpha_composite(image.convert("RGBA"), layer).convert("RGB")


def _with_ring(image: Image.Image, scene: Scene) -> Image.Image:
    assert scene.ball_box is not None
    x1, y1, x2, y2 = scene.ball_box
    draw = ImageDraw.Draw(image)
    for margin, color, width in ((16, (20, 24, 28), 8), (14, (255, 255, 255), 4)):
        draw.ellipse((x1 - margin, y1 - margin, x2 + margin, y2 + margin), outline=color, width=width)
    return image


def _card(panel: Image.Image, *lines: list[tuple[str, tuple[int, int, int]]]) -> Image.Image:
    width, height = _PANEL
    card = Image.new("RGB", (width, height + _FOOT), _GROUND)
    card.paste(panel, (0, 0))
    draw = ImageDraw.Draw(card)
    for number, (line, size) in enumerate(zip(lines, (24, 21), strict=True)):
        x, font = 20.0, ImageFont.load_default(size)
        for words, color in line:
            draw.text((x, height + 28 + 36 * number), words, color, font, anchor="lm")
            x += font.getlength(words)
        if x > width - 12:
            raise ValueError(f"a line is {x:.0f} pixels long, and has {width - 12}: {line}")
    return card


def _mask() -> Image.Image:
    width, height = _PANEL
    mask = Image.new("L", (width, height + _FOOT), 0)
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, width - 1, height + _FOOT - 1), _ROUND, fill=255)
    return mask


if __name__ == "__main__":
    save(picture(), Path(sys.argv[1]) if len(sys.argv) > 1 else FILE)
