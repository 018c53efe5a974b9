"""Client of the Hugging Face Hub for `push` and `pull`.

The token is read only from $HF_TOKEN, never from a stored login. The Hub's URL is read from $HF_ENDPOINT, if set.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from spotball_core.errors import MissingExtraError, OptionError, SpotballError
from spotball_core.service.files import file_digest
from spotball_core.service.paths import file_fault

TOKEN, ENDPOINT = "HF_TOKEN", "HF_ENDPOINT"

_PUBLIC: Final = "https://huggingface.co"
_TYPE: Final = "dataset"


@dataclass(frozen=True)
class RemoteFile:
    """The size and checksums of a file in a repository, as the Hub lists them.

    Attributes:
        size: size in bytes.
        blob: Git's SHA-1 of the file, or of its pointer if the file is in Git LFS (large file storage).
        sha256: SHA-256 of the file if it is in Git LFS, otherwise None.
    """

    size: int
    blob: str
    sha256: str | None

    def is_same(self, path: Path) -> bool:
        """Return whether a local file has the same content as this file."""
        if path.stat().st_size != self.size:
            return False
        if self.sha256 is not None:
            return file_digest(path) == self.sha256
        content = path.read_bytes()
        return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest() == self.blob


def endpoint() -> str:
    """Return the URL of the Hub, from $HF_ENDPOINT if it is set."""
    return (os.environ.get(ENDPOINT) or _PUBLIC).rstrip("/")


def repository_url(repo: str) -> str:
    """Return the URL of a repository's page."""
    return f"{endpoint()}/datasets/{repo}"


class Hub:
    """Client for dataset repositories on the Hub.

    Args:
        what: name of the command that uses the Hub (`push` or `pull`), for error messages.

    Raises:
        MissingExtraError: if huggingface-hub is not installed.
    """

    def __init__(self, what: str) -> None:
        try:
            import huggingface_hub
            from huggingface_hub.errors import HFValidationError
            from huggingface_hub.hf_api import RepoFile
            from huggingface_hub.utils import disable_progress_bars, logging
        except ImportError as error:
            raise MissingExtraError(what, "hub") from error
        self._library: Any = huggingface_hub
        self._repo_file, self._invalid_name = RepoFile, HFValidationError
        self._token = os.environ.get(TOKEN) or None
        # False prevents the library from using a stored login.
        self._api: Any = huggingface_hub.HfApi(
            endpoint=endpoint(), token=self._token or False, library_name="spotball-core"
        )
        logging.set_verbosity_error()
        disable_progress_bars()

    def create(self, repo: str, *, private: bool) -> None:
        """Create a repository unless it exists.

        Raises:
            OptionError: if the token is missing, or if the repository's name is invalid.
            SpotballError: if the Hub rejects the request or cannot be reached.
        """
        if self._token is None:
            raise OptionError(
                f"the Hugging Face token is missing. Set the environment variable {TOKEN} to a token that may write to "
                f"{repo}",
                code="missing-key",
            )
        with self._calls("creating the repository"):
            self._api.create_repo(repo, repo_type=_TYPE, private=private, exist_ok=True)

    def files(self, repo: str, revision: str | None = None) -> tuple[str, dict[str, RemoteFile]]:
        """Return the ID of a revision's commit, and the files in this commit by path.

        A revision is a branch, a tag or a commit; None is the main branch.

        Raises:
            OptionError: if the repository's name is invalid.
            SpotballError: if the repository or revision does not exist, or if the Hub cannot be reached.
        """
        with self._calls(f"reading {repo}"):
            commit = str(self._api.repo_info(repo, repo_type=_TYPE, revision=revision).sha)
            entries = self._api.list_repo_tree(repo, repo_type=_TYPE, revision=commit, recursive=True)
            files = {
                str(entry.path): RemoteFile(int(entry.size), str(entry.blob_id), entry.lfs and str(entry.lfs.sha256))
                for entry in entries
                if isinstance(entry, self._repo_file)
            }
        return commit, files

    def commit(self, repo: str, files: Mapping[str, Path], deleted: Sequence[str], message: str) -> str:
        """Upload `files` and delete the files named in `deleted`, in one commit. Return the commit's ID.

        Files that are complete on the Hub, for example from an interrupted upload, are not sent again.

        Raises:
            SpotballError: if the Hub rejects the request or cannot be reached. A commit is never made with only a part
                of the changes.
        """
        additions = [
            self._library.CommitOperationAdd(path_in_repo=name, path_or_fileobj=str(place))
            for name, place in files.items()
        ]
        deletions = [self._library.CommitOperationDelete(path_in_repo=name) for name in deleted]
        with self._calls(f"uploading to {repo}"):
            info = self._api.create_commit(repo, [*additions, *deletions], commit_message=message, repo_type=_TYPE)
        return str(info.oid)

    def download(self, repo: str, name: str, commit: str, file: RemoteFile, folder: Path) -> Path:
        """Download a file into a folder, under its name in the repository. Return the path of the downloaded file.

        Raises:
            SpotballError: if the downloaded file does not have the size or checksum that the Hub lists, or if the Hub
                cannot be reached.
        """
        with self._calls(f"downloading {name}"):
            path = Path(self._api.hf_hub_download(repo, name, repo_type=_TYPE, revision=commit, local_dir=str(folder)))
        fault = "a link" if path.is_symlink() else file_fault(path)
        if fault is None and not file.is_same(path):
            fault = f"other content ({path.stat().st_size:,} bytes)"
        if fault is not None:
            raise SpotballError(
                f"{repo}: {name}: found {fault}, expected the content that the Hub lists ({file.size:,} bytes). Try "
                "again",
                code="download-failed",
            )
        return path

    @contextmanager
    def _calls(self, what: str) -> Iterator[None]:
        """Convert exceptions of huggingface-hub and of its HTTP client to SpotballError.

        An invalid name of a repository raises OptionError, which is a SpotballError.
        """
        try:
            yield
        except self._invalid_name as error:
            raise OptionError(f"{error}", field="--repo") from error
        except Exception as error:
            causes = list(_causes(error))
            message = ": ".join(" ".join(str(cause).split()) or type(cause).__name__ for cause in causes)
            if self._token is not None:
                message = message.replace(self._token, "***")
            # Addresses of large files are signed, so the message must not contain them.
            message = re.sub(r"(https?://[^\s?'\"]+)\?[^\s'\"]+", r"\1", message)
            statuses = {getattr(getattr(cause, "response", None), "status_code", None) for cause in causes}
            hint = f"\nSet {TOKEN} to a token that has the permission for this." if statuses & {401, 403} else ""
            raise SpotballError(f"{endpoint()}: {what} failed: {message}{hint}", code="download-failed") from error


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception, its cause, the cause of this cause, and so on."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__
