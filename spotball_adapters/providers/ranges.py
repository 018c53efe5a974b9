"""Which values of a setting make sense, wherever they are sent."""

from __future__ import annotations

from spotball_adapters.providers.protocol import Settings
from spotball_core.errors import OptionError


def check_ranges(settings: Settings, provider: str, *, max_temperature: float) -> None:
    """Refuse settings out of their ranges.

    Raises:
        OptionError: naming the setting.

    Examples:
        >>> check_ranges(Settings(temperature=0.6, top_p=1), "openai", max_temperature=2)
    """
    values = settings.given()
    ranges = {
        "temperature": (0 <= values.get("temperature", 0) <= max_temperature, f"0 to {max_temperature:g}"),
        "top_p": (0 < values.get("top_p", 1) <= 1, "above 0, and at most 1"),
        "max_output_tokens": (values.get("max_output_tokens", 1) >= 1, "at least 1"),
        "seed": (values.get("seed", 0) >= 0, "at least 0"),
    }
    for name, (fits, expected) in ranges.items():
        if not fits:
            raise OptionError(f"{provider} takes no {name} of {values[name]}, expected {expected}")


def refuse(settings: Settings, *names: str, why: str) -> None:
    """Refuse settings that would be ignored.

    Raises:
        OptionError: naming the first of them that is given.
    """
    for name in names:
        if name in settings.given():
            raise OptionError(f"{why}: leave {name} out")
