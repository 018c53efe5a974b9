"""Run the fake provider in this process, and list the expected replies."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path

from spotball_adapters.prompts.picture import ScenePictures
from spotball_adapters.prompts.prompt import Prompt
from spotball_adapters.providers.protocol import Settings
from spotball_adapters.runs.plan import SamplePlan
from spotball_adapters.runs.runner import Options, Runner
from spotball_adapters.runs.store import ReplyStore
from spotball_core.schema.scene import Scene
from tests.adapters.run_process import Sample
from tests.adapters.tiny import QUICK, Tiny


def start(
    scenes: Sequence[Scene],
    folder: Path,
    provider: Tiny,
    *prompts: tuple[Prompt, int],
    options: Options = QUICK,
    pictures: ScenePictures | None = None,
    stops: tuple[float, ...] = (),
) -> Runner[Scene]:
    """Run until the end, or request a stop after each of these numbers of seconds, and return the runner."""

    async def main() -> Runner[Scene]:
        with ReplyStore(folder) as store:
            plan = SamplePlan(tuple(scenes), prompts, store.done(), store.refused() if options.skip_refused else ())
            session = store.start_session({}, {})
            runner = Runner(provider, plan, pictures, {}, store, session, Settings(), options)
            for seconds in stops:
                asyncio.get_running_loop().call_later(seconds, runner.stop, "interrupted")
            async with asyncio.timeout(30):
                await runner.run()
            return runner

    return asyncio.run(main())


def wanted(
    scenes: Sequence[Scene], *prompts: tuple[Prompt, int], without: Collection[tuple[str, str]] = ()
) -> set[Sample]:
    """Return the keys of the replies that a run should store, except for the (image, prompt) pairs in `without`."""
    return {
        (*one.key, prompt.name, step, sample)
        for one in scenes
        for prompt, samples in prompts
        for step in range(len(prompt.questions) + 1)
        for sample in range(1, samples + 1)
        if (one.image, prompt.name) not in without
    }
