"""Test the token counts of images with values computed by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from spotball_adapters.providers.image_tokens import anthropic_tokens, gemini_tokens, openai_tokens


@pytest.mark.parametrize(
    ("tokens_of", "image", "tokens"),
    [
        # 20 x 12 patches (360 / 32 = 11.25) are 240; 240 * 1.62 = 388.8.
        (openai_tokens, ("gpt-4.1-mini", 640, 360), 389),
        (openai_tokens, ("gpt-4.1-mini-2025-04-14", 640, 360), 389),
        # 240 * 2.46 = 590.4; 240 * 1.72 = 412.8.
        (openai_tokens, ("gpt-4.1-nano", 640, 360), 591),
        (openai_tokens, ("o4-mini", 640, 360), 413),
        # First example of OpenAI's guide: 32 x 32 patches are 1024; 1024 * 1.62 = 1658.88.
        (openai_tokens, ("gpt-4.1-mini", 1024, 1024), 1659),
        # Second example: 1800 x 2400 has 57 x 75 patches; it is resized to 33 x 44 = 1452; 1452 * 1.62 = 2352.24.
        (openai_tokens, ("gpt-4.1-mini", 1800, 2400), 2353),
        (openai_tokens, ("gpt-4.1-mini", 1, 1), 2),
        (openai_tokens, ("gpt-4o", 640, 360), None),
        (openai_tokens, ("gpt-4.1", 640, 360), None),
        (openai_tokens, ("gpt-4.1-minimal", 640, 360), None),
        (openai_tokens, ("gpt-4.1-mini-audio", 640, 360), None),
        (openai_tokens, ("Qwen/Qwen2.5-VL-7B-Instruct", 640, 360), None),
        (anthropic_tokens, (640, 360), 308),  # 230400 / 750 = 307.2
        (anthropic_tokens, (1000, 1000), 1334),  # example in Anthropic's guide
        (anthropic_tokens, (1092, 1092), 1590),  # 1192464 / 750 = 1589.95, example in Anthropic's guide
        (anthropic_tokens, (1100, 1100), None),  # 1613.3
        (anthropic_tokens, (1569, 100), None),
        (gemini_tokens, ("gemini-2.0-flash-001", 384, 384), 258),
        (gemini_tokens, ("gemini-2.5-flash", 100, 50), 258),
        (gemini_tokens, ("gemini-2.0-flash-001", 385, 100), None),
        (gemini_tokens, ("gemini-3-flash", 100, 50), None),
    ],
)
def test_image_tokens_equal_the_values_computed_by_hand(
    tokens_of: Callable[..., int | None], image: tuple[str | int, ...], tokens: int | None
) -> None:
    assert tokens_of(*image) == tokens


@given(width=st.integers(1, 6000), height=st.integers(1, 6000))
def test_openai_tokens_of_any_image_are_at_most_those_of_1536_patches(width: int, height: int) -> None:
    tokens = openai_tokens("gpt-4.1-mini", width, height)
    assert tokens is not None
    assert 0 < tokens <= 2489  # 1536 * 1.62 = 2488.32
