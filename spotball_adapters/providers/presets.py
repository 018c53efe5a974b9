"""The models that the paper tested, and the settings that it used.

The paper sampled each of its four models at temperature 0.6: 50 samples per image with the prompts `base` and `cue`,
and 20 with `cot`. The published Gemini script, however, sets no temperature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from spotball_adapters.providers.protocol import Settings

SETTINGS = Settings(temperature=0.6)
"""Settings of all models, according to the paper."""

PROMPTS = ("base", "cue", "cot")
SAMPLES = (50, 50, 20)
"""Number of samples per image for each prompt, in the order of `PROMPTS`."""


@dataclass(frozen=True, slots=True)
class Preset:
    """The paper's settings for one model.

    Attributes:
        respondent: the model's name in the published results.
        provider: the name for `--provider`.
        model: the name for `--model`.
        settings: the sampling settings.
        prompts: names of the prompts.
        samples: samples per image, one number per prompt.
    """

    respondent: str
    provider: str
    model: str
    settings: Settings = SETTINGS
    prompts: tuple[str, ...] = PROMPTS
    samples: tuple[int, ...] = SAMPLES

    @property
    def options(self) -> tuple[str, ...]:
        """Return the options of `spotball run` that set these values, as command-line arguments.

        Examples:
            >>> print(*PRESETS["gpt"].options[:4])
            --provider openai --model gpt-4.1-mini
        """
        values = {
            "--provider": self.provider,
            "--model": self.model,
            "--prompt": ",".join(self.prompts),
            "--samples": ",".join(map(str, self.samples)),
            "--respondent": self.respondent,
            **{f"--{name.replace('_', '-')}": f"{value:g}" for name, value in self.settings.given().items()},
        }
        return tuple(part for pair in values.items() for part in pair)


_ALL = (
    Preset("gemini", "gemini", "gemini-2.0-flash-001"),
    Preset("gpt", "openai", "gpt-4.1-mini"),
    Preset("llama", "transformers", "meta-llama/Llama-3.2-11B-Vision-Instruct"),
    Preset("qwen", "transformers", "Qwen/Qwen2.5-VL-7B-Instruct"),
)

PRESETS: Mapping[str, Preset] = MappingProxyType({preset.respondent: preset for preset in _ALL})
"""The settings of the paper's models, by the models' names in the published results."""
