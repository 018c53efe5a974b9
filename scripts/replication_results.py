"""Replicate the published figures that the public data can check, and write docs/assets/replication.json.

The documentation shows the file. The script needs the published release. Run `python scripts/replication_results.py
RELEASE`, which takes about ten seconds. The file contains only figures, and no photos or responses.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from spotball_core.replication import Replication, replicate
from spotball_core.replication.record import ReplicatedFigure, Status

PAGE_DATA = Path(__file__).parents[1] / "docs/assets/replication.json"


def results(release: Path) -> Replication:
    """Return the published figures that can be recomputed from the release, with their results."""
    found = replicate(release)
    return found.model_copy(update={"items": tuple(item for item in found.items if item.status != "no data")})


def stored() -> Replication:
    """Return the committed figures."""
    return Replication.model_validate_json(PAGE_DATA.read_text(encoding="utf-8"))


def summary(found: Replication) -> str:
    """Return sentences that state how many figures agree."""
    n, matches = len(found.items), sum(item.status == "match" for item in found.items)
    return (
        f"The public data can check **{n}** published figures. **{matches}** agree to the printed precision, and "
        f"**{n - matches}** do not."
    )


def results_table(found: Replication, status: Status) -> str:
    """Return the figures with a status as a table in Markdown. Mismatches have a column with the cause's short name."""
    causes = status == "mismatch"
    lines = [f"| Where | Data | Figure | Published | Reproduced | Standard |{' Cause |' if causes else ''}"]
    lines += [f"| --- | --- | --- | ---: | ---: | ---: |{' --- |' if causes else ''}"]
    for item in found.items:
        if item.status == status:
            published = _shortened(item.published)
            figures = [published, _as(item.reproduced, published), _as(item.standard, published)]
            cells = [item.where, item.name, item.quantity, *figures, *([cause(item)] if causes else [])]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def cause(item: ReplicatedFigure) -> str:
    """Return the short name of a mismatch's cause."""
    return (item.note or "").partition(":")[0]


def _shortened(published: str | None) -> str:
    """Return a published figure, rounded to four decimals if it has more than six. The release has up to 16."""
    if published is None:
        return ""
    return f"{float(published):.4f}" if len(published.partition(".")[2]) > 6 else published


def _as(value: float | None, published: str) -> str:
    """Return a figure with as many decimals as the published one."""
    return "-" if value is None else f"{value:.{len(published.partition('.')[2])}f}"


def main() -> None:
    """Replicate the published figures from a release, and write docs/assets/replication.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", type=Path, help="folder of the published release")
    release = parser.parse_args().release
    PAGE_DATA.write_text(results(release).model_dump_json(indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
