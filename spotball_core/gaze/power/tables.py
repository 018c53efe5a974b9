"""Format the results of a power simulation as text, Markdown or JSON, with the settings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from spotball_core.gaze.battery.findings import QUESTIONS, Key
from spotball_core.gaze.battery.run import ORDER, TestPolicy
from spotball_core.gaze.battery.types import TYPES
from spotball_core.gaze.power.observers import Observer
from spotball_core.gaze.power.simulate import Power
from spotball_core.text.numbers import interval, number
from spotball_core.text.tables import Titled, tables_as_markdown, tables_as_text
from spotball_core.text.words import plural


def to_json(powers: Sequence[Power], prompts: Sequence[int], observer: Observer, policy: TestPolicy, seed: int) -> str:
    """Return the results of the simulation, the observer and the settings as JSON."""
    rows = [{"prompts": n, **power.model_dump(mode="json")} for n, power in zip(prompts, powers, strict=True)]
    content = {"observer": asdict(observer), "power": rows, "signature": signature(powers, policy, seed)}
    return json.dumps(content, indent=1) + "\n"


def to_text(powers: Sequence[Power], prompts: Sequence[int], observer: Observer, policy: TestPolicy, seed: int) -> str:
    """Return the rates of verdicts and types as text tables."""
    tables = _tables(powers, prompts)
    return tables_as_text(tables, _foot(powers, observer, policy, seed), to_terminal=True)


def to_markdown(
    powers: Sequence[Power], prompts: Sequence[int], observer: Observer, policy: TestPolicy, seed: int
) -> str:
    """Return the rates of verdicts and types as Markdown tables."""
    return tables_as_markdown(_tables(powers, prompts), _foot(powers, observer, policy, seed))


def signature(powers: Sequence[Power], policy: TestPolicy, seed: int) -> str:
    """Return a short signature of the version and the settings."""
    from spotball_core.version import version

    fields = {
        "v": version(),
        "simulations": powers[0].n,
        "alpha": f"{policy.alpha:g}",
        "multiplicity": policy.multiplicity,
        "seed": seed,
    }
    return "|".join(["spotball-gaze-power", *(f"{key}:{value}" for key, value in fields.items())])


def said(power: Power, key: Key) -> str:
    """Return how often a test answered yes, in percent with its 95% interval, or "no answer"."""
    rate = power.tests[key]
    if rate.no_answer == rate.n:
        return "no answer"
    return f"{number(rate.share, 'share')} {interval(rate.ci95, 'share')}"


def _tables(powers: Sequence[Power], prompts: Sequence[int]) -> Iterator[Titled]:
    columns = [f"{n} per photo ({plural(power.n_trials, 'trial')})" for n, power in zip(prompts, powers, strict=True)]
    rows = [[key, QUESTIONS[key], *(said(power, key) for power in powers)] for key in ORDER]
    yield "How often each test answers yes (%)", 2, ["test", "question", *columns], rows
    kinds = [kind for kind in TYPES if any(kind in power.types for power in powers)]
    rows = [[kind, *(number(power.types.get(kind, 0) / power.n, "share") for power in powers)] for kind in kinds]
    yield "How often each type is assigned (%)", 1, ["type", *columns], rows


def _foot(powers: Sequence[Power], observer: Observer, policy: TestPolicy, seed: int) -> str:
    about = ", ".join(f"{name} {value}" for name, value in asdict(observer).items())
    lines = [f"Simulated respondent: {about}", "Brackets show 95% Wilson intervals over simulated respondents."]
    return "\n".join([*lines, signature(powers, policy, seed)])
