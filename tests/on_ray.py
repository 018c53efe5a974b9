"""Run spotball commands on a Ray cluster in one separate process.

Each connection to a cluster starts new worker processes, which load the libraries again. Commands of one process share
its connection and its workers.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.cli.process import Done, spotball
from tests.conftest import ROOT


def spotball_on_ray(
    address: str, commands: Sequence[Sequence[str | Path]], *, cwd: Path, env: Mapping[str, str] | None = None
) -> list[Done]:
    """Run the commands, one after another, in a process that is connected to the cluster.

    Args:
        cwd: the working folder of the commands.
        env: the environment of the process.
    """
    texts = [[*map(str, command), "--engine", "ray", "--ray-address", address] for command in commands]
    done = subprocess.run(
        [sys.executable, "-m", "tests.on_ray", address, str(cwd)],
        input=json.dumps(texts),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=env,
    )
    # What the commands print is in the results. Apart from it, Ray prints one known warning about actors.
    others = [line for line in done.stderr.splitlines() if "has constructor arguments in the object store" not in line]
    assert (done.returncode, others) == (0, [])
    return [subprocess.CompletedProcess(*one) for one in json.loads(done.stdout)]


def main(address: str, cwd: str) -> None:
    """Read the commands from the standard input, run them, and print their results as JSON."""
    from spotball_core.counting.engines.ray_cluster import connected

    commands = json.load(sys.stdin)
    with connected(address):
        done = [spotball(*command, cwd=Path(cwd)) for command in commands]
    print(json.dumps([(one.args, one.returncode, one.stdout, one.stderr) for one in done]))


if __name__ == "__main__":
    main(*sys.argv[1:])
