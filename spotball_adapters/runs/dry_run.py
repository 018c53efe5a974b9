"""Describe what a run would send and cost, without sending anything."""

from __future__ import annotations

import json
import math
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import astuple, dataclass

from spotball_adapters.providers.protocol import Message, Picture
from spotball_adapters.runs.job import RunJob, without_secrets
from spotball_adapters.runs.plan import ItemT, PromptOf, SamplePlan
from spotball_core.text.tables import beside


def describe(job: RunJob[ItemT], plan: SamplePlan[ItemT]) -> str:
    """Return the settings, the remaining requests and their cost per prompt, and one full conversation per prompt.

    The number of requests assumes that none fails and that each returns all its replies.
    """
    return "\n".join([*_header(job), "", *_cost(job, plan), *_conversations(job)]) + "\n"


def _header(job: RunJob[ItemT]) -> Iterator[str]:
    sports = Counter(item.key[0] for item in job.items)
    images = ", ".join(f"{n} {sport}" for sport, n in sports.items())
    settings = ", ".join(
        f"{name} {value if isinstance(value, str | int | float) else json.dumps(value)}"
        for name, value in job.settings.given().items()
    )
    where = f" at {without_secrets(job.base_url)}" if job.base_url else ""
    yield f"provider    {job.provider.name}{where}, up to {job.provider.max_samples} samples per request"
    yield f"model       {job.provider.model}, stored as {job.kind} {job.respondent}"
    yield beside("settings    ", settings or "the defaults of the provider")
    yield beside("images      ", f"{len(job.items)}: {images}")


@dataclass
class _Cost:
    samples: int
    left: int = 0
    requests: int = 0
    pictures: int = 0
    tokens: float = 0
    """Number of tokens of the images, or NaN if it is unknown for the provider."""

    def cells(self) -> tuple[str, ...]:
        tokens = "unknown" if math.isnan(self.tokens) else f"{self.tokens:,.0f}"
        return (*(f"{number:,}" for number in (self.samples, self.left, self.requests, self.pictures)), tokens)


def _cost(job: RunJob[ItemT], plan: SamplePlan[ItemT]) -> Iterator[str]:
    """Yield one line per prompt and a line for the total."""
    costs = {prompt.name: _Cost(samples * len(plan.scenes)) for prompt, samples in plan.prompts}
    for ask in plan.asks(job.provider.max_samples):
        cost, n = costs[ask.prompt.name], len(ask.prompt.questions)
        last = ask.step == n
        messages = ask.prompt.last(ask.item, ask.samples[0], [""] * n) if last else ask.prompt.question(ask.step)
        cost.left += len(ask.samples) if last else 0
        cost.requests += 1
        if n_pictures := sum(message.picture for message in messages) if job.looks else 0:
            tokens = job.image_tokens(ask.item)
            cost.pictures += n_pictures
            cost.tokens += math.nan if tokens is None else n_pictures * tokens
    rows: list[tuple[str, ...]] = [("prompt", "samples", "left", "requests", "pictures", "image tokens")]
    rows += [(f"{prompt.name} {prompt.version}", *costs[prompt.name].cells()) for prompt, _ in plan.prompts]
    if len(costs) > 1:
        rows.append(("all", *_Cost(*map(sum, zip(*map(astuple, costs.values()), strict=True))).cells()))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *cells in rows:
        yield name.ljust(widths[0]) + "".join(
            cell.rjust(width + 2) for cell, width in zip(cells, widths[1:], strict=True)
        )


def _conversations(job: RunJob[ItemT]) -> Iterator[str]:
    item = job.items[0]
    pictures = job.pictures(None)
    picture = pictures.of(item) if pictures else None
    for prompt, _ in job.prompts:
        for title, messages in _steps(prompt, item):
            yield ""
            yield f"{title}, for {'/'.join(item.key)}:"
            for message in messages:
                yield from _message(message, picture)


def _steps(prompt: PromptOf[ItemT], item: ItemT) -> Iterator[tuple[str, tuple[Message, ...]]]:
    n = len(prompt.questions)
    for index in range(n):
        yield f"prompt {prompt.name}, question {index + 1} of {n}", prompt.question(index)
    answers = [f"[the answer to question {index + 1}]" for index in range(n)]
    yield f"prompt {prompt.name}" + (", final message" if n else ""), prompt.last(item, 1, answers)


def _message(message: Message, picture: Picture | None) -> Iterator[str]:
    yield f"  {message.role}:"
    if message.picture and picture:
        size = f"{picture.width} x {picture.height} pixels, {len(picture.data):,} bytes"
        yield f"    [{picture.media_type}, {size}]"
    yield textwrap.indent(message.text, "    ")
