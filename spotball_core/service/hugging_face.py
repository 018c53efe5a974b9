"""Use the Hugging Face libraries: turn off their progress bars and shorten their error messages."""

from __future__ import annotations

import sys


def disable_progress_bars() -> None:
    """Turn off the progress bars of the Hugging Face libraries, for non-interactive use."""
    import huggingface_hub.utils
    import transformers.utils.logging

    transformers.utils.logging.disable_progress_bar()
    huggingface_hub.utils.disable_progress_bars()
    if "diffusers" in sys.modules:
        import diffusers.utils.logging

        diffusers.utils.logging.disable_progress_bar()


def one_line(error: Exception) -> str:
    """Return the first line of an error message, without the Hub token."""
    from huggingface_hub import get_token

    line = next(iter(str(error).splitlines()), type(error).__name__)
    token = get_token()
    return line.replace(token, "***") if token else line
