"""Check that sampling settings are within the range that a provider supports."""

from __future__ import annotations

from spotball_adapters.providers.protocol import Settings
from spotball_core.errors import OptionError

_REQUEST_FIELDS = {"reasoning_effort": "--reasoning-effort", "extra_body": "--extra-body"}
"""Settings that only OpenAI-compatible servers support, and their command-line options."""


def check_ranges(
    settings: Settings, provider: str, *, max_temperature: float, has_request_fields: bool = False
) -> None:
    """Raise an error for settings that are out of range or not supported by the provider.

    Args:
        has_request_fields: whether the provider sends `reasoning_effort` and `extra_body`.

    Raises:
        OptionError: if a setting is out of range or not supported. The message names the setting.

    Examples:
        >>> check_ranges(Settings(temperature=0.6, top_p=1), "openai", max_temperature=2)
    """
    values = settings.given()
    for name, option in _REQUEST_FIELDS.items():
        if name in values and not has_request_fields:
            raise OptionError(
                f"{provider} does not support {option}, because it does not use the Chat Completions API. Remove it",
                code="unsupported-option",
            )
    if settings.reasoning_effort is not None and not settings.reasoning_effort.strip():
        raise OptionError("is empty. Give a value such as low, medium or high", field="--reasoning-effort")
    ranges = {
        "temperature": (0 <= values.get("temperature", 0) <= max_temperature, f"0 to {max_temperature:g}"),
        "top_p": (0 < values.get("top_p", 1) <= 1, "above 0 and at most 1"),
        "max_output_tokens": (values.get("max_output_tokens", 1) >= 1, "at least 1"),
        "seed": (values.get("seed", 0) >= 0, "at least 0"),
    }
    for name, (fits, expected) in ranges.items():
        if not fits:
            raise OptionError(f"found {values[name]}, expected {expected} for {provider}", field=option_of(name))


def refuse(settings: Settings, *names: str, why: str) -> None:
    """Raise an error if a setting with one of these names is set, because the provider would ignore it.

    Raises:
        OptionError: if at least one of the settings is set. The message names the first one that is set.
    """
    for name in names:
        if name in settings.given():
            raise OptionError(f"{why}. Remove {option_of(name)}", code="unsupported-option", field=option_of(name))


def option_of(name: str) -> str:
    """Return the command line option of a setting.

    Examples:
        >>> option_of("top_p")
        '--top-p'
    """
    return f"--{name.replace('_', '-')}"
