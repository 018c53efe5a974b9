"""Upload a dataset, an export or score reports to the Hub."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from spotball_gen.hub.client import Hub, repository_url
from spotball_gen.hub.stage import stage
from spotball_gen.hub.tables import content_of


@dataclass(frozen=True)
class Pushed:
    """The result of an upload.

    Attributes:
        url: address of the repository.
        sizes: size in bytes of each file in the repository, by path.
        notes: sentences for the user, for example about files that were not uploaded.
        commit: the ID of the new commit, or None if nothing has changed or for a dry run.
    """

    url: str
    sizes: dict[str, int]
    notes: tuple[str, ...]
    commit: str | None = None


def push(
    folder: Path,
    repo: str,
    *,
    private: bool = False,
    license: str | None = None,
    dry_run: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Pushed:
    """Upload a folder to a repository on the Hub, in one commit.

    Args:
        folder: a dataset, an export, or a folder with score reports.
        repo: the repository, such as me/my-balls. It is created unless it exists.
        private: whether a new repository is private.
        license: the Hub's identifier of the license, or None if the licenses of the sources apply.
        dry_run: prepare the files, but do not use the network.
        tell: called with a progress message at each step.

    Raises:
        InputError: if files cannot be read.
        MissingExtraError: if huggingface-hub is not installed.
        OptionError: if the folder does not exist, if the repository's name is invalid, if the token is missing, or if a
            license is given for an export, which already states one.
        SpotballError: if the Hub rejects the upload or cannot be reached.
    """
    hub = None if dry_run else Hub("push")
    with TemporaryDirectory(prefix="spotball-push-") as work:
        tell("Preparing the files.")
        staged = stage(folder, Path(work), repo=repo, license=license, url=repository_url(repo))
        sizes = {name: place.stat().st_size for name, place in sorted(staged.files.items())}
        pushed = Pushed(repository_url(repo), sizes, tuple(staged.notes))
        if hub is None:
            return pushed
        hub.create(repo, private=private)
        _, remote = hub.files(repo)
        changed = {
            name: place
            for name, place in sorted(staged.files.items())
            if name not in remote or not remote[name].is_same(place)
        }
        # Delete the Parquet files of an earlier push. Otherwise, they would be read together with the new ones.
        stale = sorted(name for name in remote if content_of(name) and name not in staged.files)
        if not changed and not stale:
            return pushed
        tell(f"Uploading {len(changed):,} of {len(sizes):,} files.")
        commit = hub.commit(repo, changed, stale, f"Push a {staged.kind} with spotball")
        return Pushed(pushed.url, sizes, pushed.notes, commit)
