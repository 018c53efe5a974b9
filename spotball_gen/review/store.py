"""Store reviewers' decisions in the SQLite file DATASET/review.sqlite.

A change is on disk before the server confirms it. Changes are never deleted, only marked as undone.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal
from uuid import uuid4

from spotball_core.service.paths import confined
from spotball_core.service.sqlite_file import Schema, Table, now
from spotball_core.service.sqlite_store import SqliteStore

REVIEW = "review.sqlite"

Key = tuple[str, str]
"""Identifies an image: (sport, image)."""
Corners = tuple[float, float, float, float]
"""A box (x1, y1, x2, y2) in pixels of the image: its top left and bottom right corners."""
Verdict = Literal["accept", "reject", "repaint"]

REASONS = (
    "ball still visible",
    "inpainted region stands out",
    "ball's place is wrong",
    "player damaged",
    "not a scene of play",
    "blurred",
    "text or graphics",
    "seen before",
    "other",
)
"""Reasons to reject an image. On the page, the key 1 selects the first reason, 2 the second, and so on."""


class Changes:
    """Decisions of reviewers on images, one per row. The last one that was not undone is valid.

    Attributes:
        number: number of the change, from 1.
        change: id that the page assigned, so that a repeated request counts once.
        reviewer: name of the reviewer.
        sport: sport of the image.
        image: the image's id.
        verdict: accept, reject or repaint; null if only boxes were changed.
        reason: reason of a rejection.
        unchecked: corners of the boxes that do not hold a player, as JSON.
        regions: corners of the regions to repaint, as JSON.
        at: time of the change, UTC.
        undone: time when the change was undone, UTC; null if it was not undone.
    """

    number: int
    change: Annotated[str, "UNIQUE"]
    reviewer: str
    sport: str
    image: str
    verdict: str | None
    reason: str | None
    unchecked: str
    regions: str
    at: str
    undone: str | None


class Added:
    """Boxes that a change adds. A moved box is unchecked and added at its new position.

    Attributes:
        number: number of the change.
        boxes: corners of the boxes of players that were not detected, as JSON.
    """

    number: int
    boxes: str


class Applied:
    """One row for each time that decisions were applied to the dataset.

    Attributes:
        number: number of the row, from 1.
        original: SHA-256 of the original scenes.
        written: SHA-256 of the scenes with the decisions.
        at: time when the decisions were applied, UTC.
    """

    number: int
    original: str
    written: str
    at: str


SCHEMA = Schema(
    version=2,
    tables=(
        Table(Changes, ("number",)),
        Table(Added, ("number",)),
        Table(Applied, ("number",)),
    ),
    start_over=f"move this file and {REVIEW}-wal to another folder, and review all images again",
)


@dataclass(frozen=True, slots=True)
class Decision:
    """A reviewer's decision on an image.

    Attributes:
        verdict: the verdict, or None if only boxes were changed.
        reason: reason for the verdict `reject`, one of `REASONS`; None for other verdicts.
        unchecked: boxes that do not contain a player.
        regions: regions to repaint.
        added: boxes of players that are missing in the scene.
    """

    verdict: Verdict | None = None
    reason: str | None = None
    unchecked: tuple[Corners, ...] = ()
    regions: tuple[Corners, ...] = ()
    added: tuple[Corners, ...] = ()


class StaleError(Exception):
    """Raised if a page sends a change although it has not received the reviewer's last change.

    For example, the last change was made in another tab of the browser.
    """


class ReviewStore(SqliteStore):
    """Store the reviewers' decisions on a dataset, in DATASET/review.sqlite.

    Several processes may open the file, and threads may share the store. As a context manager, it closes the file at
    the end of the block.

    Raises:
        StoreError: if the file cannot be opened, or if a later version of the package wrote it.
        InputError: if the file is a link that leads outside the dataset.
    """

    def __init__(self, dataset: Path) -> None:
        # A dataset from elsewhere may contain a link with this name to any file.
        confined(dataset, REVIEW)
        super().__init__(dataset / REVIEW, SCHEMA)

    def decide(self, change: str, reviewer: str, key: Key, decision: Decision, *, after: int) -> int:
        """Store a change, which is on disk when this method returns. A stored change is not stored again.

        Args:
            change: UUID of the change.
            reviewer: the reviewer's name.
            key: identity (sport, image) of the image.
            decision: the decision on the image.
            after: number of the reviewer's last valid change that the page has received; 0 if there is none.

        Returns:
            The number of the change.

        Raises:
            StaleError: if the reviewer has made another change since `after`.
        """
        row = (
            change,
            reviewer,
            *key,
            decision.verdict,
            decision.reason,
            json.dumps(decision.unchecked),
            json.dumps(decision.regions),
            now(),
        )
        with self.transaction() as connection:
            for (number,) in connection.execute("SELECT number FROM changes WHERE change = ?", (change,)):
                return int(number)
            if self.last(reviewer) != after:
                raise StaleError
            cursor = connection.execute(
                "INSERT INTO changes (change, reviewer, sport, image, verdict, reason, unchecked, regions, at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )
            _add(connection, cursor, decision.added)
            return int(cursor.lastrowid or 0)

    def reopen(self, key: Key) -> None:
        """Reopen an image for review: verdicts on it no longer count, but unchecked and added boxes still do."""
        with self.transaction() as connection:
            for reviewer, of in self.decisions().items():
                if key in of and of[key].verdict:
                    row = (f"painted again {uuid4()}", reviewer, *key, json.dumps(of[key].unchecked), now())
                    cursor = connection.execute(
                        "INSERT INTO changes (change, reviewer, sport, image, unchecked, regions, at) "
                        "VALUES (?, ?, ?, ?, ?, '[]', ?)",
                        row,
                    )
                    _add(connection, cursor, of[key].added)

    def undo(self, reviewer: str, number: int) -> Key:
        """Undo a reviewer's last change. A change that is already undone stays undone.

        Returns:
            Identity (sport, image) of the image that was changed.

        Raises:
            StaleError: if `number` is not the reviewer's last change.
        """
        query = "SELECT sport, image, undone FROM changes WHERE number = ? AND reviewer = ?"
        with self.transaction() as connection:
            for sport, image, undone in connection.execute(query, (number, reviewer)).fetchall():
                if undone is None and self.last(reviewer) != number:
                    break
                connection.execute("UPDATE changes SET undone = ? WHERE number = ? AND undone IS NULL", (now(), number))
                return sport, image
            raise StaleError

    def last(self, reviewer: str) -> int:
        """Return the number of a reviewer's last valid change, or 0 if there is none."""
        query = "SELECT coalesce(max(number), 0) FROM changes WHERE reviewer = ? AND undone IS NULL"
        ((number,),) = self.rows(query, reviewer)
        return int(number)

    def decisions(self) -> dict[str, dict[Key, Decision]]:
        """Return the valid decisions by reviewer (sorted by name), then by image."""
        query = (
            "SELECT reviewer, sport, image, verdict, reason, unchecked, regions, coalesce(boxes, '[]') FROM changes "
            "LEFT JOIN added USING (number) WHERE undone IS NULL ORDER BY reviewer, number"
        )
        decisions: dict[str, dict[Key, Decision]] = {}
        for reviewer, sport, image, verdict, reason, *boxes in self.rows(query):
            corners = (tuple(tuple(box) for box in json.loads(text)) for text in boxes)
            decisions.setdefault(reviewer, {})[sport, image] = Decision(verdict, reason, *corners)
        return decisions

    def applied(self, original: str, written: str) -> None:
        """Store that applying decisions to the scenes with digest `original` gives the scenes with digest `written`."""
        with self.transaction() as connection:
            connection.execute(
                "INSERT INTO applied (original, written, at) VALUES (?, ?, ?)", (original, written, now())
            )

    def was_applied(self, original: str, written: str) -> bool:
        """Return whether applying decisions to the scenes with digest `original` gave those with digest `written`."""
        query = "SELECT EXISTS (SELECT * FROM applied WHERE original = ? AND written = ?)"
        return bool(self.rows(query, original, written)[0][0])


def _add(connection: sqlite3.Connection, cursor: sqlite3.Cursor, boxes: Sequence[Corners]) -> None:
    """Store the boxes that were added by the change that was inserted last with this cursor."""
    if boxes:
        connection.execute("INSERT INTO added VALUES (?, ?)", (cursor.lastrowid, json.dumps(boxes)))
