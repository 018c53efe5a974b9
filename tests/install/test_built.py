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


def test_wheel_contains_exactly_the_tracked_package_files_with_data_files_of_each_kind(wheel: Path) -> None:
    held = content(wheel)
    ours = {name for name in held if ".dist-info/" not in name}
    assert ours == {name for name in tracked() if name.startswith(PACKAGES)}
    assert {name.split(".dist-info/")[1] for name in held if ".dist-info/" in name} == {
        *("METADATA", "WHEEL", "RECORD", "entry_points.txt"),
        "licenses/LICENSE",
    }
    assert all(held[name] == (ROOT / name).read_bytes() for name in ours)
    for kind in (".toml", ".json", ".css", ".js", ".html", ".svg", ".in", "py.typed"):
        assert any(name.endswith(kind) for name in held), kind


def test_readme_in_the_wheel_metadata_has_no_relative_links(wheel: Path) -> None:
    (metadata,) = (data.decode() for name, data in content(wheel).items() if name.endswith(".dist-info/METADATA"))
    head, _, page = metadata.partition("\n\n")
    assert "Description-Content-Type: text/markdown" in head
    assert page.startswith("# spotball-core\n")
    targets = re.findall(r"\]\(([^)]*)\)", page)
    assert [target for target in targets if not target.startswith(("https://", "http://", "#"))] == []


def test_sdist_contains_only_tracked_files_including_those_for_development(dist: Path) -> None:
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


def version(folder: Path) -> str:
    tools = ("--with", "hatchling", "--with", "hatch-vcs")
    return good(UV, "run", "--isolated", "--no-project", *tools, "hatchling", "version", cwd=folder).strip()


def test_version_of_a_small_repository_follows_its_tags_and_commits_and_is_0_0_without_git(tmp_path: Path) -> None:
    folder = tmp_path / "checkout"
    for package in PACKAGES:
        (folder / package).mkdir(parents=True)
        (folder / package / "__init__.py").touch()
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitattributes", ".git_archival.txt"):
        shutil.copy(ROOT / name, folder / name)

    def git(*words: str) -> str:
        who = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false")
        return good("git", *who, *words, cwd=folder).strip()

    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "--message", "a commit")
    # Without a tag, the version is a development version that contains the commit hash.
    assert version(folder).startswith(f"0.1.dev1+g{git('rev-parse', '--short', 'HEAD')}")
    git("tag", "v3.2.1")
    assert version(folder) == "3.2.1"
    # Code hosts offer an archive of a tag for download, which has no Git history.
    git("archive", "--output", str(tmp_path / "a.tar"), "HEAD")
    with tarfile.open(tmp_path / "a.tar") as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    assert version(tmp_path / "unpacked") == "3.2.1"
    git("commit", "--quiet", "--allow-empty", "--message", "more")
    assert version(folder).startswith(f"3.2.2.dev1+g{git('rev-parse', '--short', 'HEAD')}")
    shutil.rmtree(folder / ".git")
    assert version(folder) == "0.0"
