"""Write the JSON Schemas of all file formats to docs/schemas, where the documentation publishes them."""

from __future__ import annotations

import json
from pathlib import Path

from spotball_core.schema.published import VERSION, formats, json_schema

FOLDER = Path(__file__).parents[1] / "docs" / "schemas" / f"v{VERSION}"


def texts() -> dict[str, str]:
    """Return the content of each schema file, by file name."""
    names = formats("spotball-core")
    return {f"{name}.json": json.dumps(json_schema(name), indent=1, ensure_ascii=False) + "\n" for name in names}


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in texts().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(FOLDER / name)
