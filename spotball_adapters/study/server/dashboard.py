"""Keep the admin page's content up to date by reading only new events.

The update runs in the server's event loop, in short steps between requests. A second thread would slow down every
request, because both threads would compete for Python's global interpreter lock.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from spotball_adapters.study.events import Event
from spotball_adapters.study.items import Key, NotAllowedError
from spotball_adapters.study.progress import ParticipantProgress
from spotball_adapters.study.results.exclusion import RULES, exclusion_of
from spotball_adapters.study.results.participations import Participation, misfit, participation_of
from spotball_adapters.study.server.admin import Line, admin_page
from spotball_adapters.study.server.charts import AnswerCounts
from spotball_adapters.study.setup.design import StudyDesign
from spotball_adapters.study.store import Participant, reading
from spotball_core.service.sqlite_file import StoreError

FRESH_SECONDS = 5.0
"""Age of the page in seconds after which a request starts an update. The browser reloads the page at this interval."""

SHARE = 0.1
"""Maximum share of the server's time that updates of the page may take, so that participants do not notice them."""

PATIENCE = 0.05
"""Seconds that a request waits for an updated page before it gets the previous version."""

_RECENT = timedelta(seconds=10)
"""The events of participants who were active within this time are read at each update. The time of the last event does
not reveal all new events, because two events may have the same millisecond."""

_OF_TRIALS = ("shown", "click", "undo", "answer", "choice", "explanation", "mouse")
"""Kinds of events that are not kept in memory, because `ParticipantProgress` contains their effects."""


@dataclass
class _Entry:
    """One participant, with the progress and the events read so far."""

    row: Participant
    progress: ParticipantProgress
    events: list[Event]
    seen_at: str
    person: Participation
    flags: tuple[str, ...] = ()
    n_explained: int = 0


class Dashboard:
    """Keep the admin page of a study up to date. Call `close` when it is no longer needed.

    Args:
        design: the study's design.
        data: the folder with the stored answers.
        address: function that returns the address of an image.
    """

    def __init__(self, design: StudyDesign, data: Path, address: Callable[[Key], str]) -> None:
        self._design, self._exclusion = design, exclusion_of(design.config.exclusion)
        self._entries: dict[int, _Entry] = {}
        self._counts = AnswerCounts(design, address)
        self._opened = ExitStack()
        # A separate connection, so that participants do not wait for it.
        self._reader = self._opened.enter_context(reading(data))
        self._page: str | None = None
        self._looked_at, self._took = float("-inf"), 0.0
        self._task: asyncio.Task[None] | None = None
        # Read before participants arrive, because many stored events take seconds. A study that does not fit its store
        # is reported when the page is requested.
        with contextlib.suppress(StoreError):
            self.look({})

    def close(self) -> None:
        """Close the connection to the store."""
        self._opened.close()

    async def page(self, failures: Mapping[str, int]) -> str:
        """Return the page as HTML: an updated version if it is available quickly, otherwise the previous version.

        Args:
            failures: number of rejected or failed requests since the server started, by HTTP status, such as `422`, in
                some cases with a reason.
        """
        if self._task is None and time.monotonic() - self._looked_at > max(FRESH_SECONDS, self._took / SHARE):
            self._task = asyncio.create_task(self._renew(dict(failures)))
        if self._task is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._task), None if self._page is None else PATIENCE)
        assert self._page is not None
        return self._page

    async def _renew(self, failures: Mapping[str, int]) -> None:
        begin = time.monotonic()
        try:
            for page in self._steps(failures):
                self._page = page or self._page
                await asyncio.sleep(0)
        finally:
            self._looked_at = time.monotonic()
            self._took, self._task = self._looked_at - begin, None

    def look(self, failures: Mapping[str, int]) -> str:
        """Read new events, and return the updated page as HTML.

        Raises:
            StoreError: if stored events violate the study's rules, because the study was changed.
        """
        *_, page = self._steps(failures)
        assert page is not None
        return page

    def _steps(self, failures: Mapping[str, int]) -> Iterator[str | None]:
        """Read new events, and yield None after each participant's events. Finally, yield the page as HTML."""
        at = datetime.now(UTC)
        recent = (at - _RECENT).isoformat(timespec="milliseconds")
        seen = self._reader.seen()
        for deleted in self._entries.keys() - seen.keys():
            self._counts.add(self._entries.pop(deleted).progress.answers, -1)
        for identity, seen_at in seen.items():
            entry = self._entries.get(identity)
            if entry is None or entry.seen_at != seen_at or seen_at > recent:
                self._entries[identity] = self._read(identity, seen_at, entry)
                yield None
        lines = [
            Line(entry.person, entry.seen_at, entry.row.started_at, entry.flags, len(entry.row.trials))
            for entry in self._entries.values()
        ]
        yield admin_page(self._design, self._exclusion, lines, self._counts, failures, at)

    def _read(self, identity: int, seen_at: str, entry: _Entry | None) -> _Entry:
        if entry is None:
            row = self._reader.participant(identity)
            progress = ParticipantProgress(row.trials, self._design.item_type, self._design.surveys)
            entry = _Entry(row, progress, [], "", Participation(row.participant, row.list, "consent", ()))
        new = self._reader.events(identity, after=entry.progress.seq)
        before = len(entry.progress.answers), entry.progress.stage
        try:
            for event in new:
                entry.progress.take(event)
        except (NotAllowedError, KeyError) as error:
            raise misfit(self._reader, entry.row, error) from error
        self._counts.add(entry.progress.answers[before[0] :])
        kept = [event for event in new if event.kind not in _OF_TRIALS]
        entry.events += kept
        entry.seen_at = seen_at
        explained = any(event.kind == "explanation" for event in new)
        if kept or explained or before != (len(entry.progress.answers), entry.progress.stage):
            self._judge(entry)
        return entry

    def _judge(self, entry: _Entry) -> None:
        n_explained = sum(answer.explanation is not None for answer in entry.progress.answers)
        # Explanations are compared only if there is a new one, because this is the slowest step.
        known = entry.person.quality.duplicated_explanations if n_explained == entry.n_explained else None
        entry.person = participation_of(entry.row, entry.progress, entry.events, self._design, n_duplicated=known)
        entry.n_explained = n_explained
        entry.flags = tuple(
            name for name, rule in RULES.items() if rule.broken(entry.person, self._exclusion.min_seconds)
        )
