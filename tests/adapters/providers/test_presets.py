"""Test the presets with the settings of the paper."""

from __future__ import annotations

from importlib.metadata import entry_points

from spotball_adapters.prompts.prompt import BUILT_IN
from spotball_adapters.providers.presets import PRESETS
from spotball_adapters.providers.protocol import ENTRY_POINTS, Settings
from spotball_core.replication.published import published


def test_preset_sample_counts_equal_the_published_ones() -> None:
    published_counts = {
        (item.respondent, item.prompt): int(item.value or 0)
        for item in published().printed
        if item.quantity == "answers an image" and item.sport == "soccer"
    }
    ours = {
        (name, prompt): n
        for name, preset in PRESETS.items()
        for prompt, n in zip(preset.prompts, preset.samples, strict=True)
    }
    assert ours == published_counts


def test_presets_have_the_providers_models_settings_prompts_and_samples_of_the_paper() -> None:
    assert {name: (preset.provider, preset.model) for name, preset in PRESETS.items()} == {
        "gemini": ("gemini", "gemini-2.0-flash-001"),
        "gpt": ("openai", "gpt-4.1-mini"),
        "llama": ("transformers", "meta-llama/Llama-3.2-11B-Vision-Instruct"),
        "qwen": ("transformers", "Qwen/Qwen2.5-VL-7B-Instruct"),
    }
    assert {(preset.settings, preset.prompts, preset.samples) for preset in PRESETS.values()} == {
        (Settings(temperature=0.6), BUILT_IN, (50, 50, 20))
    }
    assert {PRESETS[name].provider for name in ("gemini", "gpt")} <= entry_points(group=ENTRY_POINTS).names


def test_preset_options_are_the_equivalent_command_line_options() -> None:
    assert " ".join(PRESETS["gemini"].options) == (
        "--provider gemini --model gemini-2.0-flash-001 --prompt base,cue,cot --samples 50,50,20 "
        "--respondent gemini --temperature 0.6"
    )
