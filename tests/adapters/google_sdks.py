"""Google's two SDKs: a test that needs one is skipped where it is not installed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from spotball_adapters.providers import gemini_sdk

SUPPORTED = "google.genai"
OF_THE_PAPER = "google.generativeai"
NAMES = (SUPPORTED, OF_THE_PAPER)
EXTRAS = {SUPPORTED: "gemini", OF_THE_PAPER: "adapters"}


@contextlib.contextmanager
def only(name: str) -> Iterator[None]:
    """Have what is made within use this SDK, though the other one may be installed and preferred."""
    if not gemini_sdk.is_installed(name):
        pytest.skip(f"{name} is not installed: it comes with the {EXTRAS[name]} extra")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gemini_sdk, "SDKS", {name: gemini_sdk.SDKS[name]})
        yield
