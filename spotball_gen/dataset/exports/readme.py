"""Write the README of an export: metadata for Hugging Face as YAML, and a description of the files."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from spotball_core.service.safe_text import markdown_row, markdown_text
from spotball_core.text.words import plural
from spotball_gen.dataset.croissant import BIBTEX
from spotball_gen.dataset.exports.columns import SCENE_COLUMNS, Column
from spotball_gen.dataset.exports.rows import PARTS, Row
from spotball_gen.dataset.licenses import license_metadata


def yaml_text(value: Mapping[str, Any]) -> str:
    """Return a mapping as YAML in block style.

    Every text is quoted, so that it is not read as a number, a date or a boolean.

    Args:
        value: a mapping of texts, numbers, lists and mappings. Lists and mappings must not be empty.

    Examples:
        >>> print(yaml_text({"license": "mit", "tags": ["a", "b"], "n": 1}), end="")
        license: "mit"
        tags:
          - "a"
          - "b"
        n: 1
    """
    return "".join(f"{line}\n" for line in _block(value))


def _block(value: Mapping[str, Any] | Sequence[Any]) -> Iterator[str]:
    items = value.items() if isinstance(value, Mapping) else ((None, item) for item in value)
    for key, item in items:
        start = "-" if key is None else f"{key}:"
        if not isinstance(item, (Mapping, list)):
            yield f"{start} {_scalar(item)}"
        elif key is None:
            # The first line of the item follows its dash on the same line.
            first, *rest = _block(item)
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)
        else:
            yield start
            yield from (f"  {line}" for line in _block(item))


def _scalar(value: str | float | int) -> str:
    if isinstance(value, str):
        return '"' + "".join(map(_quoted, value)) + '"'
    text = repr(value)
    if isinstance(value, float) and math.isfinite(value) and "." not in text:
        # YAML 1.1 reads 1e-07 as text.
        text = text.replace("e", ".0e", 1)
    return text


def _quoted(sign: str) -> str:
    if sign in '"\\':
        return f"\\{sign}"
    return sign if sign.isprintable() else f"\\U{ord(sign):08x}"


README = "README.md"

TAGS = ("spot-the-ball", "social-inference", "vision-language-models", "croissant")

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))

_PATHS = {"parquet": "data/{}-*.parquet", "imagefolder": "{}/**"}
"""Pattern of the paths of a split's files, for each format that the library `datasets` loads."""

_DATASETS = 'from datasets import load_dataset\n\ndataset = load_dataset("FOLDER")\ndataset["train"][0]["image"]'
_COCO = """from pycocotools.coco import COCO

coco = COCO("FOLDER/annotations/instances_train.json")
coco.loadAnns(coco.getAnnIds())"""
_LOAD = {"parquet": _DATASETS, "imagefolder": _DATASETS, "coco": _COCO}


def size_category(n_images: int) -> str:
    """Return the Hugging Face Hub's size category for a number of images.

    Examples:
        >>> size_category(999), size_category(1000), size_category(5_000_000)
        ('n<1K', '1K<n<10K', 'n>1M')
    """
    return next((category for limit, category in _SIZES if n_images < limit), "n>1M")


def readme(rows: Sequence[Row], format: str, *, with_ball: bool, card: bool) -> str:
    """Return the README of an export, with metadata for the Hugging Face Hub.

    Args:
        rows: the exported images.
        format: name of the export format.
        with_ball: whether the ball is visible in the images.
        card: whether card.md is in the same folder.
    """
    parts = [part for part in PARTS if any(row.part == part for row in rows)]
    task = "object-detection" if format == "coco" else "visual-question-answering"
    metadata: dict[str, Any] = {
        "pretty_name": "Spot the Ball",
        **license_metadata(row.license for row in rows),
        "task_categories": [task],
        "tags": list(TAGS),
        "size_categories": [size_category(len(rows))],
    }
    if format in _PATHS:
        paths = [{"split": part, "path": _PATHS[format].format(part)} for part in parts]
        metadata["configs"] = [{"config_name": "default", "data_files": paths}]
    sources = [(row.video, row.license, row.origin) for row in rows]
    lines = [
        *_about(rows, parts, with_ball, card),
        *_files(format),
        *source_table(["video", "license", "from"], sources),
        *citation(),
    ]
    return front_matter(metadata) + "\n".join(lines) + "\n"


def front_matter(metadata: Mapping[str, Any]) -> str:
    """Return the YAML metadata of a Hugging Face card between lines of `---`."""
    return f"---\n{yaml_text(metadata)}---\n\n"


def citation() -> Iterator[str]:
    """Yield the lines of the section that cites the paper."""
    yield from ("## Citation", "", "```bibtex", BIBTEX.rstrip(), "```")


def column_table(columns: Iterable[Column]) -> Iterator[str]:
    """Yield the lines of a table of columns and their content."""
    yield from (markdown_row(["column", "content"]), "| --- | --- |")
    yield from (markdown_row([f"`{column.name}`", column.description]) for column in columns)
    yield ""


def source_table(heads: Sequence[str], sources: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yield the lines of the section that counts the images by source and license.

    Args:
        heads: names of the values in each source, such as video and license.
        sources: the source of each image, as a tuple of these values.
    """
    yield from ("## Sources and licenses", "", markdown_row([*heads, "images"]), f"|{' --- |' * len(heads)} ---: |")
    for source, count in sorted(Counter(sources).items()):
        yield markdown_row([*(part or "not known" for part in source), f"{count:,}"])
    yield ""


def _about(rows: Sequence[Row], parts: Sequence[str], with_ball: bool, card: bool) -> Iterator[str]:
    sports = Counter(row.scene.sport for row in rows)
    yield from ("# Spot the Ball", "")
    counts = ", ".join(f"{count:,} {markdown_text(sport)}" for sport, count in sorted(sports.items()))
    yield f"{plural(len(rows), 'image')}: {counts}."
    state = (
        "The ball is visible."
        if with_ball
        else "The ball was removed from each image. The task is to say where it was."
    )
    yield f"{state} The dataset was made with spotball-core."
    yield ""
    yield from (markdown_row(["part", "images", "videos"]), "| --- | ---: | ---: |")
    videos = {part: {row.video for row in rows if row.part == part} for part in parts}
    for part in parts:
        yield markdown_row([part, f"{sum(row.part == part for row in rows):,}", f"{len(videos[part]):,}"])
    # The only video of a sport is split by shot.
    shares_videos = len(set().union(*videos.values())) < sum(map(len, videos.values()))
    yield ""
    yield (
        "Some videos are in both parts, but each shot is in only one."
        if shares_videos
        else "No video is in both parts."
    )
    if card:
        yield "[The dataset card](card.md) contains statistics and the leak test, and states how the images were made."
    yield ""


def _files(format: str) -> Iterator[str]:
    yield from ("## Load it", "", "```python", _LOAD[format], "```", "")
    if format == "coco":
        yield "`bbox` is [x, y, width, height] in pixels. `segmentation` contains a player's outline."
        yield "`keypoints` contains a player's pose."
        yield ""
        return
    yield from column_table(SCENE_COLUMNS)
