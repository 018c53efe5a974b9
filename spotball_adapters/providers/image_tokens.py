"""Estimate how many tokens an image costs, by the rules that model providers publish.

A rule is included only if it is fully published and depends only on what is sent. In all other cases the functions
return None, and the number of tokens is known only from the usage that servers report.
"""

from __future__ import annotations

import math

_PATCH = 32
_MOST_PATCHES = 1536
# Tokens per patch by model name. Source: OpenAI, guide "Images and vision", calculating costs.
_PER_PATCH = {"gpt-4.1-mini": 1.62, "gpt-4.1-nano": 2.46, "o4-mini": 1.72, "gpt-5-mini": 1.62, "gpt-5-nano": 2.46}


def openai_tokens(model: str, width: int, height: int) -> int | None:
    """Return the number of tokens of an image for OpenAI models that count patches of 32 x 32 pixels, or None for
    other models.

    An image of more than 1536 patches is downscaled to at most 1536 patches. At least one of its sides is then a whole
    number of patches long. Models that count tiles are not covered: their cost depends on `detail`, which the server
    chooses if the request does not set it.

    Args:
        model: the name with or without its date, such as `gpt-4.1-mini` or `gpt-4.1-mini-2025-04-14`.
        width: width in pixels.
        height: height in pixels.

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
    """Return the number of tokens of an image for Claude: about one per 750 pixels (Anthropic, guide "Vision").

    Returns None for images with a side above 1568 pixels or more than 1600 tokens, because older models downscale them
    first and newer models do not.

    Examples:
        >>> anthropic_tokens(640, 360)
        308
    """
    tokens = math.ceil(width * height / 750)
    return tokens if max(width, height) <= 1568 and tokens <= 1600 else None


def gemini_tokens(model: str, width: int, height: int) -> int | None:
    """Return the number of tokens of an image for Gemini 2: 258 if no side is longer than 384 pixels.

    The source is Google's guide "Understand tokens". Returns None for other models and for larger images. Google
    publishes two rules for cutting larger images into tiles, and the rules disagree: an image of 640 x 360 pixels is
    one tile by one rule and six by the other.

    Examples:
        >>> gemini_tokens("gemini-2.0-flash-001", 384, 216)
        258
        >>> gemini_tokens("gemini-2.0-flash-001", 640, 360)
    """
    return 258 if model.startswith("gemini-2.") and max(width, height) <= 384 else None


def _is(model: str, name: str) -> bool:
    """Return whether a model is the named model or a dated version of it."""
    return model == name or (model.startswith(f"{name}-") and model[len(name) + 1 :][:4].isdigit())
