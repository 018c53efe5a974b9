"""Select one of Google's two SDKs for a test, and skip the test if the SDK is not installed."""

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
    """Make providers created in this context use this SDK, even if the other one is installed and preferred."""
    if not gemini_sdk.is_installed(name):
        pytest.skip(f"{name} is not installed: it comes with the {EXTRAS[name]} extra")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gemini_sdk, "SDKS", {name: gemini_sdk.SDKS[name]})
        yield
