"""Compute what the published answers show about people and Gemini, for `spotball plan --published`.

Writes spotball_core/planning/published.json, which contains variances and no answers. The script needs the published
release: `python scripts/published_pilots.py RELEASE`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from spotball_core.dataset import load
from spotball_core.planning import published
from spotball_core.planning.plan import Goal, metric_keys, pilot_of
from spotball_core.planning.record import Pilot
from spotball_core.release.convert import import_release
from spotball_core.schema.policy import ScorePolicy
from spotball_core.scoring.groups import Scoring
from spotball_core.service.files import replacing

DATA = Path(published.__file__).with_name(published.FILE)


def results(release: Path) -> list[Pilot]:
    """Return the pilots that the release gives."""
    found = import_release(release)
    data = load(found.responses, found.scenes, reference="human")
    scoring = Scoring(data.counts, data.scenes, ScorePolicy.standard(reference="human", bootstrap=0))
    keys = metric_keys(None, Goal(5.0))
    return [pilot_of(scoring, keys, a=a, b=b, sport="soccer") for a, b in published.PAIRS]


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", type=Path)
    pilots = [pilot.model_dump(mode="json") for pilot in results(parser.parse_args().release)]
    with replacing(DATA) as path:
        path.write_text(json.dumps(pilots, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
