"""Test the token counts of images with values computed by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from spotball_adapters.providers.image_tokens import anthropic_tokens, gemini_tokens, openai_tokens


@pytest.mark.parametrize(
    ("model", "width", "height", "tokens"),
    [
        # 20 x 12 patches (360 / 32 = 11.25) are 240; 240 * 1.62 = 388.8.
        ("gpt-4.1-mini", 640, 360, 389),
        ("gpt-4.1-mini-2025-04-14", 640, 360, 389),
        # 240 * 2.46 = 590.4; 240 * 1.72 = 412.8.
        ("gpt-4.1-nano", 640, 360, 591),
        ("o4-mini", 640, 360, 413),
        # First example of OpenAI's guide: 32 x 32 patches are 1024; 1024 * 1.62 = 1658.88.
        ("gpt-4.1-mini", 1024, 1024, 1659),
        # Second example: 1800 x 2400 has 57 x 75 patches; it is resized to 33 x 44 = 1452; 1452 * 1.62 = 2352.24.
        ("gpt-4.1-mini", 1800, 2400, 2353),
        ("gpt-4.1-mini", 1, 1, 2),
        ("gpt-4o", 640, 360, None),
        ("gpt-4.1", 640, 360, None),
        ("gpt-4.1-minimal", 640, 360, None),
        ("gpt-4.1-mini-audio", 640, 360, None),
        ("Qwen/Qwen2.5-VL-7B-Instruct", 640, 360, None),
    ],
)
def test_openai_tokens_equal_the_values_computed_by_hand(
    model: str, width: int, height: int, tokens: int | None
) -> None:
    assert openai_tokens(model, width, height) == tokens


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [
        (640, 360, 308),  # 230400 / 750 = 307.2
        (1000, 1000, 1334),  # example in Anthropic's guide
        (1092, 1092, 1590),  # 1192464 / 750 = 1589.95, example in Anthropic's guide
        (1100, 1100, None),  # 1613.3
        (1569, 100, None),
    ],
)
def test_anthropic_tokens_equal_the_values_computed_by_hand(width: int, height: int, tokens: int | None) -> None:
    assert anthropic_tokens(width, height) == tokens


@pytest.mark.parametrize(
    ("model", "width", "height", "tokens"),
    [
        ("gemini-2.0-flash-001", 384, 384, 258),
        ("gemini-2.5-flash", 100, 50, 258),
        ("gemini-2.0-flash-001", 385, 100, None),
        ("gemini-3-flash", 100, 50, None),
    ],
)
def test_gemini_tokens_equal_the_values_computed_by_hand(
    model: str, width: int, height: int, tokens: int | None
) -> None:
    assert gemini_tokens(model, width, height) == tokens


@given(width=st.integers(1, 6000), height=st.integers(1, 6000))
def test_openai_tokens_of_any_image_are_at_most_1536_patches(width: int, height: int) -> None:
    tokens = openai_tokens("gpt-4.1-mini", width, height)
    assert tokens is not None
    assert 0 < tokens <= 2489  # 1536 * 1.62 = 2488.32
