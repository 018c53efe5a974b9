"""Parse the replies in other tools' files to responses, and list the replies that could not be parsed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, cast

from spotball_adapters.outputs.layouts import IDS, RawReply, raw_replies
from spotball_adapters.outputs.records import FileRecords, read_records
from spotball_adapters.providers.server_messages import shortened, writable
from spotball_adapters.replies import ParsePolicy, parse_reply
from spotball_adapters.replies.points import PointAnswer, only_scale
from spotball_adapters.runs.responses import ParsedReplies
from spotball_core.errors import InputError, Problem
from spotball_core.io.frames import COLUMNS
from spotball_core.schema.scene import Scene

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Target:
    """The scene that an id identifies, and its prompt in the index table (None if the table does not name one)."""

    scene: Scene
    prompt: str | None = None


class SceneIndex:
    """Find the scene that an id identifies.

    Without an index table, an id is `image`, `sport/image`, or the path of the image file. With an index table, only
    its ids are valid.

    Args:
        scenes: the scenes of the dataset.
        table: an index table, which is a file that maps ids to images. It has a column of ids, such as `index`, `id` or
            `custom_id`, the column `image`, and optionally `sport` and `prompt`. Without a column of ids, the ids are
            the row numbers from 0.

    Raises:
        InputError: if the table cannot be read, repeats an id, or names an image that is not among the scenes.
    """

    def __init__(self, scenes: Sequence[Scene], table: Path | None = None) -> None:
        self._by_name: dict[str, Scene | None] = {}
        for scene in scenes:
            names = {scene.image, f"{scene.sport}/{scene.image}"}
            if scene.path:
                path = PurePosixPath(scene.path)
                names |= {str(path), path.name, path.stem, f"{scene.sport}/{path.name}"}
            for name in names:
                # A name that several scenes share is ambiguous, so it identifies none.
                self._by_name[name] = None if self._by_name.get(name, scene) is not scene else scene
        self._table: dict[str, Target] = {}
        if table:
            self._table = self._read(table)

    def find(self, ids: Sequence[str], sport: str | None = None, index: str | None = None) -> Target | None:
        """Return the scene of the first id that identifies exactly one scene, or None if no id does.

        Args:
            ids: possible ids of an image, the preferred id first.
            sport: the image's sport, or None if it is unknown.
            index: the id in the table of ids, or None if it is one of `ids`.
        """
        for name in ids if index is None else [index, *ids]:
            if name in self._table:
                return self._table[name]
        if self._table:
            return None
        for name in ids:
            path = PurePosixPath(name.replace("\\", "/"))
            parents = [sport] if sport else [path.parent.name] if path.parent.name else []
            spellings = [f"{parent}/{end}" for parent in parents for end in (path.name, path.stem)]
            if not sport:
                spellings = [name, *spellings, path.name, path.stem]
            for spelling in spellings:
                if (scene := self._by_name.get(spelling)) is not None:
                    return Target(scene)
        return None

    def _read(self, path: Path) -> dict[str, Target]:
        rows = read_records(path).rows
        id_column = next((name for name in IDS if name != "image" and name in rows[0][1]), None)
        table: dict[str, Target] = {}
        problems = []
        for place, (line, record) in enumerate(rows):
            image, sport, prompt = (record.get(name) for name in ("image", "sport", "prompt"))
            key = str(record[id_column]).strip() if id_column else str(place)
            target = (
                self.find([str(image).strip()], str(sport).strip() if sport else None) if image is not None else None
            )
            if target is None:
                problems.append(
                    Problem(
                        "unknown-image", str(path), line, "image", repr(image), "the id of an image in the scenes file"
                    )
                )
            elif key in table:
                problems.append(Problem("duplicate", str(path), line, str(id_column), repr(key), "each id once"))
            else:
                table[key] = Target(target.scene, str(prompt) if prompt else None)
        if problems:
            raise InputError(problems)
        return table


DEFAULT_POLICY: ParsePolicy = "lenient"
"""Replies of other tools follow no prompt of this package, so they are read in any wording."""

PROMPT = "base"
"""Default value of the column `prompt` in the responses."""

SHOWN = 200
"""Maximum number of characters of a reply in `ParsedFiles.unparsed`. Longer replies are cut off."""

_UNPARSED = ("file", "line", "sport", "image", "respondent", "prompt", "sample", "problem", "reply")


@dataclass(frozen=True)
class ParsedFiles:
    """The parsed replies from all given files.

    Attributes:
        reading: the responses, and the number of unparsed replies for each reason.
        unparsed: a table with one row per reply that could not be parsed, and the columns `file`, `line`, `sport`,
            `image`, `respondent`, `prompt`, `sample`, `problem`, and `reply` (the beginning of the reply).
        layouts: the format's title and the number of replies, by path of the file.
        failed: number of requests without a reply, by reason. They are not among the responses.
        missing: number of scenes without a reply. Controls, which show the ball, are not counted.
    """

    reading: ParsedReplies
    unparsed: pl.DataFrame
    layouts: Mapping[str, tuple[str, int]]
    failed: Mapping[str, int]
    missing: int


def parse_files(
    paths: Sequence[Path],
    scenes: Sequence[Scene],
    *,
    layout: str | None = None,
    reply: str | None = None,
    image: str | None = None,
    index: Path | None = None,
    respondent: str | None = None,
    prompt: str = PROMPT,
    policy: ParsePolicy | PointAnswer = DEFAULT_POLICY,
) -> ParsedFiles:
    """Parse the replies in files that other tools wrote.

    Args:
        paths: JSON Lines, JSON, CSV, TSV, Excel, Parquet or Inspect (.eval) files. Text files may be compressed with
            gzip.
        scenes: the scenes of the dataset.
        layout: a key of `LAYOUTS`, or None to recognize the format.
        reply: name of the column that contains the reply, only for tables.
        image: name of the column that contains the image's id.
        index: a file that maps ids to images; see `SceneIndex`.
        respondent: the respondent's name in the responses; by default the model's name in the file, or else the name of
            the file.
        prompt: the prompt's name in the responses, unless the index table contains a prompt.
        policy: how to parse replies; "point" or "box" for coordinates in the only scale that all of them fit.

    Raises:
        InputError: if a file cannot be read or has an unknown format, if no id of a reply identifies a scene, or if a
            sample occurs twice.
        OptionError: if `layout` is unknown, if `reply` is given and `layout` is not `table` or None, or if the
            coordinates do not fit exactly one scale.
        MissingExtraError: if the extra `excel` (for Excel files) or `inspect` (for .eval files) is not installed.
    """
    scene_index = SceneIndex(scenes, index)
    targeted: list[tuple[FileRecords, RawReply, Target]] = []
    layouts: dict[str, tuple[str, int]] = {}
    problems: list[Problem] = []
    for path in paths:
        file = read_records(path)
        title, replies = raw_replies(file, layout=layout, reply=reply, image=image)
        layouts[str(path)] = title, sum(raw.failed is None for raw in replies)
        for raw in replies:
            target = scene_index.find(raw.ids, raw.sport, raw.index)
            if target is None:
                problems.append(_unknown(path, raw, index))
            else:
                targeted.append((file, raw, target))
    if problems:
        raise InputError(problems)
    if policy == "point" or policy == "box":
        replies_of = ((raw.text, target.scene.layout) for _, raw, target in targeted if raw.failed is None)
        policy = cast("ParsePolicy", f"{policy}-{only_scale(replies_of, policy)}")
    gathered = _Gathered(respondent, prompt, policy)
    if repeated := [problem for one in targeted if (problem := gathered.add(*one))]:
        raise InputError(repeated)
    answered = {tuple(key) for key in zip(gathered.columns["sport"], gathered.columns["image"], strict=True)}
    missing = sum(not scene.control and scene.key not in answered for scene in scenes)
    return ParsedFiles(gathered.reading(), gathered.table(), layouts, dict(gathered.failed.most_common()), missing)


class _Gathered:
    """Parse the replies of all files, and collect the responses column by column."""

    def __init__(self, respondent: str | None, prompt: str, policy: ParsePolicy) -> None:
        self._respondent, self._prompt, self._policy = respondent, prompt, policy
        self.columns: dict[str, list[Any]] = {column: [] for column in COLUMNS}
        self.failed: Counter[str] = Counter()
        self._continued = 0
        self._unparsed: list[tuple[Any, ...]] = []
        self._places: dict[tuple[str, str, str, str, int], str] = {}
        self._answers: Counter[tuple[str, str, str, str]] = Counter()

    def add(self, file: FileRecords, raw: RawReply, target: Target) -> Problem | None:
        """Parse and add a reply. Return a problem if another reply has the same sample number, otherwise None."""
        if raw.failed is not None:
            self.failed[shortened(raw.failed, 100)] += 1
            return None
        name = self._respondent or raw.model or file.name
        group = (*target.scene.key, name, target.prompt or self._prompt)
        self._answers[group] += 1
        sample = raw.sample or self._answers[group]
        place = f"{file.path}:{raw.line}"
        if (before := self._places.setdefault((*group, sample), place)) != place:
            actual = (
                f"a second reply of {name} to {'/'.join(target.scene.key)}, prompt {group[3]}, sample {sample} "
                f"(the first is in {before})"
            )
            return Problem("duplicate", str(file.path), raw.line, "sample", actual, "each sample once")
        parsed = parse_reply(raw.text, target.scene.layout, policy=self._policy, finish=raw.finish)
        reasoning = parsed.reasoning and writable(parsed.reasoning)
        values = (*target.scene.key, name, "model", group[3], sample, None, parsed.cell, reasoning)
        for column, value in zip(COLUMNS, values, strict=True):
            self.columns[column].append(value)
        self._continued += parsed.continued
        if parsed.problem:
            start = shortened(writable(raw.text), SHOWN)
            self._unparsed.append((str(file.path), raw.line, *group, sample, parsed.problem, start))
        return None

    def reading(self) -> ParsedReplies:
        import polars as pl

        schema = {column: pl.Int64 if column == "sample" else pl.String for column in COLUMNS}
        rows = pl.DataFrame(self.columns, schema=schema)
        reasons = Counter(row[_UNPARSED.index("problem")] for row in self._unparsed)
        return ParsedReplies(rows, dict(reasons.most_common()), (), len(rows), self._policy, self._continued)

    def table(self) -> pl.DataFrame:
        import polars as pl

        schema = {name: pl.Int64 if name in ("line", "sample") else pl.String for name in _UNPARSED}
        return pl.DataFrame(self._unparsed, schema=schema, orient="row")


def _unknown(path: Path, raw: RawReply, index: Path | None) -> Problem:
    ids = ", ".join(map(repr, raw.ids[:3])) or "no id"
    expected = (
        f"an id in {index}"
        if index
        else "the id of an image in the scenes file. Give the column of ids with --id, or map the ids with --index"
    )
    return Problem("unknown-image", str(path), raw.line, "id", ids, expected)
