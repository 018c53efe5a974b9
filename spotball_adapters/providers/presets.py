"""The paper's models and how it asked them.

It asked each of its four models with temperature 0.6: 50 times about each image with the prompts `base` and `cue`, and
20 times with `cot`. The script that was published for Gemini passes no temperature, though.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from spotball_adapters.providers.protocol import Settings

SOURCE = "Spot the Ball: A Benchmark for Visual Social Inference, arXiv 2511.00261"
"""Where the settings come from."""

SETTINGS = Settings(temperature=0.6)
"""Of all models, as the paper says."""

PROMPTS = ("base", "cue", "cot")
SAMPLES = (50, 50, 20)
"""Of each image with each of the prompts."""


@dataclass(frozen=True, slots=True)
class Preset:
    """How one model is asked.

    Attributes:
        respondent: what the published results call it.
        provider: as `--provider` names it.
        model: as `--model` names it.
        settings: how it samples.
        prompts: their names.
        samples: of each image, one number for each prompt.
    """

    respondent: str
    provider: str
    model: str
    settings: Settings = SETTINGS
    prompts: tuple[str, ...] = PROMPTS
    samples: tuple[int, ...] = SAMPLES

    @property
    def options(self) -> tuple[str, ...]:
        """The options of `spotball run` that say the same.

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
"""The paper's models by the names that its published results bear."""
