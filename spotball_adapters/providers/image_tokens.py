"""How many tokens an image costs, by the rules that the models' makers publish.

A rule is here only where it is published in full and what is sent decides it. For all else the answer is None, and the
usage that comes with each reply is what tells.
"""

from __future__ import annotations

import math

_PATCH = 32
_MOST_PATCHES = 1536
# OpenAI, guide "Images and vision", calculating costs: tokens a patch, by the model's name.
_PER_PATCH = {"gpt-4.1-mini": 1.62, "gpt-4.1-nano": 2.46, "o4-mini": 1.72, "gpt-5-mini": 1.62, "gpt-5-nano": 2.46}


def openai_tokens(model: str, width: int, height: int) -> int | None:
    """Tokens of an image for OpenAI's models that count patches of 32 x 32 pixels.

    An image that takes more than 1536 patches is made smaller until it takes no more, and so that the patches of at
    least one side are whole. Models that count tiles have no figure here: `detail` decides there, and left out it is
    the server that does.

    Args:
        model: with or without its date: `gpt-4.1-mini`, `gpt-4.1-mini-2025-04-14`.
        width: in pixels.
        height: in pixels.

    Examples:
        >>> openai_tokens("gpt-4.1-mini", 640, 360)  # 20 x 12 patches at 1.62
        389
        >>> openai_tokens("gpt-4o", 640, 360)
    """
    rate = next((rate for name, rate in _PER_PATCH.items() if _is(model, name)), None)
    if rate is None:
        return None
    patches = math.ceil(width / _PATCH) * math.ceil(height / _PATCH)
    if patches > _MOST_PATCHES:
        shrink = math.sqrt(_MOST_PATCHES * _PATCH**2 / (width * height))
        across, down = width * shrink / _PATCH, height * shrink / _PATCH
        shrink *= min(max(math.floor(side), 1) / side for side in (across, down))
        patches = math.ceil(round(width * shrink / _PATCH, 6)) * math.ceil(round(height * shrink / _PATCH, 6))
    return math.ceil(patches * rate)


def anthropic_tokens(width: int, height: int) -> int | None:
    """Tokens of an image for Claude: about one for each 750 pixels (Anthropic, guide "Vision").

    None for images with a side of more than 1568 pixels or more than 1600 tokens: older models make them smaller first,
    newer ones do not.

    Examples:
        >>> anthropic_tokens(640, 360)
        308
    """
    tokens = math.ceil(width * height / 750)
    return tokens if max(width, height) <= 1568 and tokens <= 1600 else None


def gemini_tokens(model: str, width: int, height: int) -> int | None:
    """Tokens of an image for Gemini 2: 258 where no side has more than 384 pixels (Google, guide "Understand tokens").

    None for larger ones, which are cut into tiles by two published rules that do not agree: 640 x 360 pixels are one
    tile by one of them and six by the other.

    Examples:
        >>> gemini_tokens("gemini-2.0-flash-001", 384, 216)
        258
        >>> gemini_tokens("gemini-2.0-flash-001", 640, 360)
    """
    return 258 if model.startswith("gemini-2.") and max(width, height) <= 384 else None


def _is(model: str, name: str) -> bool:
    """Whether a model is the named one, or a dated version of it."""
    return model == name or (model.startswith(f"{name}-") and model[len(name) + 1 :][:4].isdigit())
