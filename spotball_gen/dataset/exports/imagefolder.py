"""Export as a Hugging Face imagefolder, for `load_dataset("imagefolder", data_dir=...)`."""

from __future__ import annotations

import json
from pathlib import Path

from spotball_gen.dataset.exports.rows import PARTS, Row


def write(rows: list[Row], out: Path) -> None:
    """Write the images PART/SPORT/IMAGE, and PART/metadata.jsonl with one line per image. PART is `train` or `test`."""
    for part in PARTS:
        inside = [row for row in rows if row.part == part]
        if not inside:
            continue
        (out / part).mkdir()
        with (out / part / "metadata.jsonl").open("w", encoding="utf-8", newline="\n") as file:
            for row in inside:
                row.copy(out / part)
                file.write(json.dumps({"file_name": row.name, **row.record()}, ensure_ascii=False) + "\n")
