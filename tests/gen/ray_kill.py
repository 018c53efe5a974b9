"""Generate on a Ray cluster twice, and kill a busy worker once the first items are done."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import spotball_gen.run
from spotball_core.counting.engines.ray_cluster import connected
from spotball_gen.pipeline.engines.ray_data import GenerationRayEngine
from tests.counting.engines.workers import ACTORS, TASKS, first_at_work


class Killing(GenerationRayEngine):
    """Kill one worker during the run."""

    which, killed = "task", False

    def _note(self, *told: object) -> None:
        super()._note(*told)  # type: ignore[arg-type]
        if not Killing.killed:
            assert self._address
            worker = first_at_work(self._address, ACTORS if self.which == "actor" else TASKS)
            Killing.killed = True
            os.kill(worker, signal.SIGKILL)
            print(f"killed a busy {self.which} with {self.tally.seen['filter']} seen by the filter", flush=True)


def main(address: str, config: str, out: str) -> None:
    """Generate on the cluster at the address, and kill a worker that runs a task, and then one that runs an actor.

    Args:
        out: the folder in which the datasets `task` and `actor` are written.
    """
    spotball_gen.run.GenerationRayEngine = Killing  # type: ignore[misc]
    with connected(address):
        for Killing.which in ("task", "actor"):
            Killing.killed = False
            spotball_gen.run.generate(Path(config), Path(out, Killing.which), engine="ray", ray_address=address)


if __name__ == "__main__":
    main(*sys.argv[1:])
