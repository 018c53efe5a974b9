"""`spotball import-release`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spotball_core.cli.console import progress, teller
from spotball_core.cli.options import Debug, OutFolder, Quiet

if TYPE_CHECKING:
    from spotball_core.release.convert import Release


def import_release(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Folder of the published Spot the Ball release, or its subfolder `data`."),
    ],
    out: OutFolder,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Convert the published release to a dataset.

    Example: `spotball import-release spot-the-ball-release --out dataset`

    Writes `scenes.jsonl`, `images/`, and `responses-RESPONDENT.jsonl` for human, gpt, gemini, llama and qwen. Levels 0,
    1 and 2 of the release become the prompts base, cue and cot. The release may be incomplete, but it must contain the
    ground truth. Replaces an earlier import at DATASET; refuses a folder with other files.
    """
    from spotball_core.release import convert as releases

    tell = teller(quiet)
    release = releases.import_release(folder)
    for line in _summary(release):
        tell(line)
    for note in release.notes:
        tell(f"note: {note}")

    with progress("copying images", quiet=quiet) as on_progress:
        release.write(out, on_progress=on_progress)
    tell(f"wrote {out}")


def _summary(release: Release) -> list[str]:
    lines = []
    for sport in dict.fromkeys(scene.sport for scene in release.scenes):
        of_sport = [scene for scene in release.scenes if scene.sport == sport]
        controls = [scene.image for scene in of_sport if scene.control]
        lines.append(
            f"{sport}: {len(of_sport)} scenes, {len(controls)} of them controls ({', '.join(controls) or 'none'})"
        )
    groups = release.responses.group_by("respondent", "sport", "prompt", maintain_order=True).len()
    for (respondent,), rows in groups.group_by("respondent", maintain_order=True):
        parts = ", ".join(f"{sport} {prompt} {n}" for _, sport, prompt, n in rows.iter_rows())
        lines.append(f"{respondent}: {rows['len'].sum()} responses ({parts})")
    return lines
