"""Test the built files: content of the wheel and the sdist, and the version number."""

from __future__ import annotations

import re
import shutil
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.install.environments import UV, good

pytestmark = [pytest.mark.slow, pytest.mark.install]

PACKAGES = ("spotball_core/", "spotball_adapters/", "spotball_gen/")


def tracked() -> set[str]:
    return set(good("git", "ls-files").splitlines())


def content(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_wheel_contains_only_the_packages(wheel: Path) -> None:
    held = content(wheel)
    ours = {name for name in held if ".dist-info/" not in name}
    assert ours == {name for name in tracked() if name.startswith(PACKAGES)}
    assert {name.split(".dist-info/")[1] for name in held if ".dist-info/" in name} == {
        *("METADATA", "WHEEL", "RECORD", "entry_points.txt"),
        "licenses/LICENSE",
    }
    assert all(held[name] == (ROOT / name).read_bytes() for name in ours)


def test_readme_in_the_wheel_metadata_has_no_relative_links(wheel: Path) -> None:
    (metadata,) = (data.decode() for name, data in content(wheel).items() if name.endswith(".dist-info/METADATA"))
    head, _, page = metadata.partition("\n\n")
    assert "Description-Content-Type: text/markdown" in head
    assert page.startswith("# spotball-core\n")
    targets = re.findall(r"\]\(([^)]*)\)", page)
    assert [target for target in targets if not target.startswith(("https://", "http://", "#"))] == []


@pytest.mark.parametrize("kind", [".toml", ".json", ".css", ".js", ".html", ".svg", ".in", "py.typed"])
def test_wheel_contains_data_files_of_each_kind(wheel: Path, kind: str) -> None:
    assert any(name.endswith(kind) for name in content(wheel))


def test_sdist_contains_only_tracked_files_and_the_development_files(dist: Path) -> None:
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert held - {"PKG-INFO"} <= tracked()
    for name in ("Makefile", "conftest.py", "mkdocs.yml", "LICENSE", "constraints/lowest.txt", "scripts/docs_hooks.py"):
        assert name in held


def test_sdist_and_checkout_build_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    """Check that a wheel from the checkout equals the fixture `wheel`, which was built from the sdist."""
    good(sys.executable, "-m", "build", "--installer", "uv", "--wheel", "--outdir", tmp_path)
    (direct,) = tmp_path.glob("*.whl")
    assert direct.name == wheel.name
    assert content(direct) == content(wheel)


class TestVersion:
    """Test the version number in small repositories with the settings of this one."""

    @pytest.fixture
    def checkout(self, tmp_path: Path) -> Path:
        folder = tmp_path / "checkout"
        for name in ("pyproject.toml", "README.md", "LICENSE", ".gitattributes", ".git_archival.txt"):
            folder.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
        for package in PACKAGES:
            (folder / package).mkdir()
            (folder / package / "__init__.py").touch()
        self.git(folder, "init", "--quiet")
        self.git(folder, "add", "--all")
        self.git(folder, "commit", "--quiet", "--message", "a commit")
        return folder

    @staticmethod
    def git(folder: Path, *words: str) -> str:
        who = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false")
        return good("git", *who, *words, cwd=folder)

    @staticmethod
    def version(folder: Path) -> str:
        tools = ("--with", "hatchling", "--with", "hatch-vcs")
        said = good(UV, "run", "--isolated", "--no-project", *tools, "hatchling", "version", cwd=folder)
        return said.strip()

    def test_version_at_a_tag_is_the_tag(self, checkout: Path) -> None:
        self.git(checkout, "tag", "v3.2.1")
        assert self.version(checkout) == "3.2.1"

    def test_version_after_a_tag_is_a_development_version_with_the_commit(self, checkout: Path) -> None:
        self.git(checkout, "tag", "v3.2.1")
        self.git(checkout, "commit", "--quiet", "--allow-empty", "--message", "more")
        head = self.git(checkout, "rev-parse", "--short", "HEAD").strip()
        assert self.version(checkout).startswith(f"3.2.2.dev1+g{head}")

    def test_version_without_a_tag_is_0_1_dev_with_the_commit(self, checkout: Path) -> None:
        head = self.git(checkout, "rev-parse", "--short", "HEAD").strip()
        assert self.version(checkout).startswith(f"0.1.dev1+g{head}")

    def test_version_without_git_history_is_0_0(self, checkout: Path) -> None:
        shutil.rmtree(checkout / ".git")
        assert self.version(checkout) == "0.0"

    def test_version_of_a_git_archive_is_the_tag(self, checkout: Path, tmp_path: Path) -> None:
        """Check the version in an archive of a tag, such as the one a code host offers for download."""
        self.git(checkout, "tag", "v3.2.1")
        self.git(checkout, "archive", "--output", str(tmp_path / "a.tar"), "HEAD")
        with tarfile.open(tmp_path / "a.tar") as archive:
            archive.extractall(tmp_path / "unpacked", filter="data")
        assert self.version(tmp_path / "unpacked") == "3.2.1"
