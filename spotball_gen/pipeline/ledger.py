"""Store the results of a generation in the ledger DATASET/.work/ledger.sqlite, from which the dataset is derived.

A stage's result is stored when its transaction is committed. Committed results survive a killed process and a power
failure. Only one process at a time can open a ledger for writing; the operating system releases the lock when the
process ends for any reason.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from spotball_core.service.sqlite_file import StoreError, now
from spotball_core.service.sqlite_store import RunKind, RunStore
from spotball_gen.items.item import Item, VideoSource
from spotball_gen.items.stage import Failure, Outcome, Reject
from spotball_gen.pipeline.folder import LEDGER, SCHEMA, WORK, check_folder, read_only

FRAMES = "frames"
"""Name of the stage that creates items from videos."""

State = Literal["going", "held", "passed", "rejected", "failed"]
"""The state of an item: in progress, waiting for a stage that needs all items, passed by all stages, rejected by a
stage, or failed at a stage.
"""


@dataclass(frozen=True, slots=True)
class Video:
    """A video in the ledger: a row of the table `videos`, see `spotball_gen.pipeline.folder`."""

    source: VideoSource
    size: int
    modified: int
    state: str = "waiting"
    detail: str | None = None
    frames: int = 0


@dataclass(frozen=True, slots=True)
class TakenFrame:
    """A frame that was taken from a video.

    Attributes:
        item: the item made from the frame.
        frame: the frame's number in the video.
        digest: the frame's perceptual hash.
        reject: why the item does not continue, or None if it continues.
    """

    item: Item
    frame: int
    digest: bytes
    reject: Reject | None = None


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """A step of the funnel: the numbers of items that one stage kept, rejected (also by reason) and failed on."""

    stage: str
    kept: int
    rejected: int
    failed: int
    reasons: Mapping[str, int]

    @property
    def entered(self) -> int:
        """Return the number of items that the stage decided on."""
        return self.kept + self.rejected + self.failed


_KIND = RunKind(
    name="dataset",
    work="generating items",
    extra="gen",
    content="videos",
    detail="engine",
    grows=False,
    conflict="--out: {folder} was started with another configuration:\n  {differences}\n"
    "Use another folder, or restore the configuration",
)


class Ledger(RunStore):
    """A dataset's ledger, locked by this process. As a context manager, it releases the lock. Threads may share it.

    Args:
        dataset: the dataset's folder.

    Raises:
        OptionError: if the folder has other content than a run of `spotball gen run`, or if another process uses it.
        StoreError: if the ledger cannot be opened, or if a later version wrote it.
    """

    def __init__(self, dataset: Path) -> None:
        self.dataset, self.work = dataset, dataset / WORK
        check_folder(dataset)
        self.work.mkdir(parents=True, exist_ok=True)
        super().__init__(dataset, self.work / LEDGER, SCHEMA, _KIND)
        self._sources: dict[str, VideoSource] = {}

    @property
    def killed(self) -> bool:
        """Return whether the last session was killed and may have left temporary files."""
        ended = self.rows("SELECT ended FROM sessions ORDER BY session DESC LIMIT 1")
        return bool(ended) and ended[0][0] is None

    # Videos -------------------------------------------------------------------------------------------------------

    def add_videos(self, videos: Iterable[Video]) -> None:
        """Store the videos, in the order in which their frames are read."""
        rows = [
            (
                video.source.video,
                position,
                video.source.sport,
                self._stored_path(video.source.path),
                video.source.license,
                video.source.origin,
                video.source.sha256,
                video.size,
                video.modified,
                video.state,
                video.detail,
                video.frames,
            )
            for position, video in enumerate(videos)
        ]
        with self.transaction() as connection:
            connection.executemany(f"INSERT INTO videos VALUES ({', '.join('?' * 12)})", rows)

    def videos(self) -> tuple[Video, ...]:
        """Return all videos in the ledger, in the order in which their frames are read."""
        columns = "video, path, sport, license, origin, sha256, size, modified, state, detail, frames"
        videos = []
        for video, path, *row in self.rows(f"SELECT {columns} FROM videos ORDER BY position"):
            videos.append(Video(VideoSource(video, str(self.work / path), *row[:4]), *row[4:]))
        return tuple(videos)

    def moved(self, video: str, path: str, size: int, modified: int) -> None:
        """Store the new path of a video whose content is unchanged."""
        with self.transaction() as connection:
            connection.execute(
                "UPDATE videos SET path = ?, size = ?, modified = ? WHERE video = ?",
                (self._stored_path(path), size, modified, video),
            )
        self._sources.clear()

    def end_video(self, video: str, detail: str | None, *, failed: bool = False) -> None:
        """Store that all frames of a video were read, and the problem with the video if there was one."""
        with self.transaction() as connection:
            connection.execute(
                "UPDATE videos SET state = ?, detail = ? WHERE video = ?",
                ("failed" if failed else "done", detail, video),
            )

    # Frames -------------------------------------------------------------------------------------------------------

    def take(self, video: str, frames: Sequence[TakenFrame], failures: Sequence[Failure] = ()) -> None:
        """Store frames of a video, and failures to read frames. Frames that are not rejected continue as items."""
        at = now()
        with self.transaction() as connection:
            for frame in frames:
                state = "rejected" if frame.reject else "going"
                record = json.dumps(frame.item.record(self.work))
                row = (
                    frame.item.id,
                    video,
                    round(frame.item.time * 1000),
                    frame.frame,
                    frame.item.shot,
                    frame.digest,
                    FRAMES,
                )
                connection.execute("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, state, record))
            rejects = [frame.reject for frame in frames if frame.reject]
            items = [frame.item for frame in frames if not frame.reject]
            self._results(connection, FRAMES, at, items, rejects, failures)
            connection.execute("UPDATE videos SET frames = frames + ? WHERE video = ?", (len(frames), video))

    def last(self, video: str) -> tuple[int, int, int] | None:
        """Return frame number, time stamp in milliseconds and shot of a video's last frame, or None if it has none."""
        query = "SELECT frame, ms, shot FROM items WHERE video = ? ORDER BY ms DESC LIMIT 1"
        for row in self.rows(query, video):
            frame, ms, shot = row
            return frame, ms, shot
        return None

    def digests(self) -> Iterator[tuple[str, bytes]]:
        """Yield the ids and perceptual hashes of the frames that are not near duplicates, in the order in which the
        frames were read.
        """
        query = (
            "SELECT item, hash FROM items JOIN videos USING (video) "
            f"WHERE NOT (stage = '{FRAMES}' AND items.state = 'rejected') ORDER BY position, ms"
        )
        with read_only(self.dataset) as ledger:
            yield from ledger.stream(query)

    # Items --------------------------------------------------------------------------------------------------------

    def keep(self, stage: str, outcome: Outcome, state: State = "going") -> None:
        """Store a stage's result for a batch.

        Args:
            state: state of the kept items: `held` for a stage that needs all items, `passed` after the last stage.
        """
        with self.transaction() as connection:
            for item in outcome.items:
                connection.execute(
                    "UPDATE items SET stage = ?, state = ?, record = ? WHERE item = ?",
                    (stage, state, json.dumps(item.record(self.work)), item.id),
                )
            self._decided(connection, stage, outcome.rejects, outcome.failures)
            self._results(connection, stage, now(), outcome.items, outcome.rejects, outcome.failures)

    def held(self, stage: str) -> dict[str, dict[str, float]]:
        """Return the scores of the items that wait for the decision of a stage, by item id and sorted by item id."""
        query = "SELECT item, json_extract(record, '$.scores') FROM items WHERE stage = ? AND state = 'held' ORDER BY 1"
        return {item: json.loads(scores) for item, scores in self.rows(query, stage)}

    def settle(self, stage: str, rejects: Sequence[Reject], state: State) -> None:
        """Store the decision of a stage that needs all items: its rejects, and `state` as the new state of the other
        items that waited for it.
        """
        with self.transaction() as connection:
            connection.executemany(
                "DELETE FROM results WHERE item = ? AND stage = ?", [(reject.item, stage) for reject in rejects]
            )
            self._decided(connection, stage, rejects, ())
            self._results(connection, stage, now(), (), rejects, ())
            connection.execute("INSERT OR IGNORE INTO settled VALUES (?, ?)", (stage, now()))
            connection.execute("UPDATE items SET state = ? WHERE stage = ? AND state = 'held'", (state, stage))

    def ids(self, state: State, stage: str | None = None) -> tuple[str, ...]:
        """Return the sorted ids of the items in a state; with `stage`, only of those that this stage processed last."""
        query = "SELECT item FROM items WHERE state = ? AND stage = coalesce(?, stage) ORDER BY item"
        return tuple(item for (item,) in self.rows(query, state, stage))

    def item(self, name: str) -> Item:
        """Return an item as it was after the last stage that it passed.

        Raises:
            KeyError: if the id is unknown.
            StoreError: if its record is damaged, or refers to an image outside the work folder.
        """
        for video, record in self.rows("SELECT video, record FROM items WHERE item = ?", name):
            try:
                return Item.from_record(json.loads(record), self._source(video), self.work)
            except ValueError as error:
                raise StoreError(
                    f"the item {name} cannot be read ({error}). Restore the file from a backup", file=self.path
                ) from error
        raise KeyError(name)

    def items(self, state: State = "passed", stage: str | None = None) -> Iterator[Item]:
        """Return the items in a state, sorted by id. Their images are read on access."""
        return (self.item(name) for name in self.ids(state, stage))

    @property
    def unfinished(self) -> bool:
        """Return whether videos remain to be read, or items are in progress."""
        query = "SELECT EXISTS (SELECT * FROM videos WHERE state = 'waiting')"
        going = " OR EXISTS (SELECT * FROM items WHERE state IN ('going', 'held'))"
        return bool(self.rows(query + going)[0][0])

    def forget_failures(self) -> int:
        """Let failed items repeat their stage, and return their number.

        If a stage that needs all items has already decided, its failures are kept, because a decision on only the
        failed items would differ from a decision on all items.
        """
        stages = [FRAMES, *self.identity()["stages"]]
        before = dict(zip(stages[1:], stages, strict=False))
        query = "SELECT item, stage FROM items WHERE state = 'failed' AND stage NOT IN (SELECT stage FROM settled)"
        with self.transaction() as connection:
            failed = connection.execute(query).fetchall()
            connection.executemany("DELETE FROM results WHERE item = ? AND stage = ?", failed)
            rows = [(before[stage], item) for item, stage in failed]
            connection.executemany("UPDATE items SET state = 'going', stage = ? WHERE item = ?", rows)
        return len(failed)

    def go_again(self, items: Iterable[Item], stage: str) -> None:
        """Send items that passed all stages back to a stage. Results of this and later stages are deleted."""
        stages = [FRAMES, *self.identity()["stages"]]
        at = stages.index(stage)
        with self.transaction() as connection:
            for item in items:
                connection.execute(
                    "UPDATE items SET stage = ?, state = 'going', record = ? WHERE item = ? AND state = 'passed'",
                    (stages[at - 1], json.dumps(item.record(self.work)), item.id),
                )
                rows = [(item.id, name) for name in stages[at:]]
                connection.executemany("DELETE FROM results WHERE item = ? AND stage = ?", rows)

    def shots(self) -> dict[str, int]:
        """Return the number of the shot of each item that passed all stages."""
        return dict(self.rows("SELECT item, shot FROM items WHERE state = 'passed'"))

    def repainted(self) -> frozenset[str]:
        """Return the ids of items that were inpainted again at the request of reviewers."""
        query = "SELECT item FROM items WHERE json_extract(record, '$.notes.inpaint.repainted') > 0"
        return frozenset(item for (item,) in self.rows(query))

    def digest(self) -> str:
        """Return a SHA-256 digest of the items that passed all stages. It does not depend on the engine or restarts."""
        digest = hashlib.sha256()
        with read_only(self.dataset) as ledger:
            for row in ledger.stream("SELECT item, record FROM items WHERE state = 'passed' ORDER BY item"):
                digest.update("\0".join(row).encode())
        return digest.hexdigest()

    # Summaries -----------------------------------------------------------------------------------------------------

    def funnel(self, stages: Sequence[str]) -> tuple[FunnelStep, ...]:
        """Return the numbers of items that each of the given stages kept, rejected and failed on, with the reasons."""
        counts: dict[str, Counter[str]] = {stage: Counter() for stage in stages}
        reasons: dict[str, Counter[str]] = {stage: Counter() for stage in stages}
        reason_of = "CASE outcome WHEN 'rejected' THEN reason END"
        query = f"SELECT stage, outcome, {reason_of}, count(*) FROM results GROUP BY 1, 2, 3"
        for stage, outcome, reason, count in self.rows(query):
            counts[stage][outcome] += count
            if outcome == "rejected":
                reasons[stage][reason] += count
        return tuple(
            FunnelStep(stage, of["kept"], of["rejected"], of["failed"], dict(sorted(reasons[stage].items())))
            for stage, of in counts.items()
        )

    def failures(self) -> tuple[Failure, ...]:
        """Return the videos with a problem, followed by the frames and items that failed, sorted by id and stage."""
        query = "SELECT item, stage, reason FROM results WHERE outcome = 'failed' ORDER BY item, stage"
        videos = [
            Failure(video.source.video, FRAMES, video.detail) for video in self.videos() if video.detail is not None
        ]
        return (*videos, *(Failure(*row) for row in self.rows(query)))

    def progress(self) -> Counter[tuple[str, str]]:
        """Return the number of items for each (stage, state): the stage that processed them last, and their state."""
        query = "SELECT stage, state, count(*) FROM items GROUP BY 1, 2"
        return Counter({(stage, state): count for stage, state, count in self.rows(query)})

    # -----------------------------------------------------------------------------------------------------------------

    def _source(self, video: str) -> VideoSource:
        if video not in self._sources:
            self._sources.update((video.source.video, video.source) for video in self.videos())
        return self._sources[video]

    def _stored_path(self, path: str) -> str:
        """Return a path relative to the work folder if the file is inside it, so that the dataset can be moved."""
        absolute = Path(path).absolute()
        work = self.work.absolute()
        return absolute.relative_to(work).as_posix() if absolute.is_relative_to(work) else str(absolute)

    def _decided(
        self, connection: sqlite3.Connection, stage: str, rejects: Sequence[Reject], failures: Sequence[Failure]
    ) -> None:
        rows = [
            *((stage, "rejected", entry.item) for entry in rejects),
            *((stage, "failed", entry.item) for entry in failures),
        ]
        connection.executemany("UPDATE items SET stage = ?, state = ? WHERE item = ?", rows)

    def _results(
        self,
        connection: sqlite3.Connection,
        stage: str,
        at: str,
        items: Iterable[Item],
        rejects: Iterable[Reject],
        failures: Iterable[Failure],
    ) -> None:
        rows = [
            *((item.id, stage, "kept", None, None, "{}", self.session, at) for item in items),
            *(
                (
                    reject.item,
                    stage,
                    "rejected",
                    reject.reason,
                    reject.detail,
                    json.dumps(dict(reject.scores)),
                    self.session,
                    at,
                )
                for reject in rejects
            ),
            *((failure.item, stage, "failed", failure.error, None, "{}", self.session, at) for failure in failures),
        ]
        connection.executemany("INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
