"""Provide a fake provider that answers in this process from the request alone and raises configured errors."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping

from spotball_adapters.prompts.prompt import Prompt
from spotball_adapters.providers.protocol import Answer, Reply, Request, Settings
from spotball_adapters.runs.runner import Options

BASE = Prompt("base", "1", "Where is the ball in this {sport} image?")
CHAIN = Prompt("chain", "1", "{context}\nWhere is the ball?", ("Who plays?", "Where do they look?"))

Fault = Callable[[Request, int], None]
"""Function that is called with a request and the number of earlier attempts; it raises an error to make it fail."""


class Tiny:
    """Answer every request with the cell in column A whose row is the sample number."""

    name, model = "tiny", "tiny-1"

    def __init__(self, *, max_samples: int = 1, seconds: float = 0.0, gives: int | None = None) -> None:
        self.max_samples, self.seconds, self.gives = max_samples, seconds, gives
        self.fault: Fault = lambda request, before: None
        self.asked: Counter[tuple[str, str, str, tuple[int, ...]]] = Counter()
        self.requests: list[Request] = []
        self.under_way = self.most_under_way = 0

    def check(self, settings: Settings) -> None:
        """Accept all settings."""

    def image_tokens(self, width: int, height: int) -> int | None:
        return 100

    def versions(self) -> Mapping[str, str]:
        return {"tiny": "1.0"}

    async def ask(self, request: Request) -> Answer:
        key = (*request.scene.key, request.messages[-1].text, request.samples)
        before = self.asked[key]
        self.asked[key] += 1
        self.requests.append(request)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await asyncio.sleep(self.seconds)
            self.fault(request, before)
        finally:
            self.under_way -= 1
        samples = request.samples[: self.gives]
        if self.gives is not None:
            self.max_samples = min(self.max_samples, self.gives)
        replies = tuple(Reply(f"A{sample}", "stop", "stop") for sample in samples)
        return Answer(replies, model="tiny-1-0001", input_tokens=110, output_tokens=2 * len(samples))

    async def close(self) -> None:
        """Do nothing, because there is nothing to release."""


QUICK = Options(attempts=3, first_wait=0.001, longest_wait=0.002, grace=5)
