"""Generate on a Ray cluster, and kill a busy worker once the first items are done."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import spotball_gen.run
from spotball_gen.pipeline.engines.ray_data import GenerationRayEngine
from tests.counting.engines.workers import ACTORS, TASKS, first_at_work


class Killing(GenerationRayEngine):
    """Kill one worker during the run."""

    killed, names = 0, TASKS

    def _note(self, *told: object) -> None:
        super()._note(*told)  # type: ignore[arg-type]
        if not Killing.killed:
            assert self._address
            Killing.killed = first_at_work(self._address, self.names)
            os.kill(Killing.killed, signal.SIGKILL)
            print(f"killed {Killing.killed} with {self.tally.seen['filter']} seen by the filter", flush=True)


def main(address: str, config: str, out: str, which: str) -> None:
    """Generate on the cluster at the address, and kill a worker that runs a `task` or an `actor`."""
    Killing.names = ACTORS if which == "actor" else TASKS
    spotball_gen.run.GenerationRayEngine = Killing  # type: ignore[misc]
    spotball_gen.run.generate(Path(config), Path(out), engine="ray", ray_address=address)


if __name__ == "__main__":
    main(*sys.argv[1:])
