"""Test the release tools: licenses, the lock file, and the check that all parts have one version."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from scripts.check_release import problems
from scripts.list_licenses import OWN, PAGE, rows, unknown
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCKED = re.findall(r"^([a-z0-9.-]+)==(\S+)", (ROOT / "constraints/dev.txt").read_text(encoding="utf-8"), re.MULTILINE)
LOWEST = re.findall(
    r"^([A-Za-z0-9.-]+)==(\S+)", (ROOT / "constraints/lowest.txt").read_text(encoding="utf-8"), re.MULTILINE
)


def requirements(*, own: bool) -> list[Requirement]:
    extras = PROJECT["optional-dependencies"]
    chosen = [text for extra, needs in extras.items() if own or extra not in OWN for text in needs]
    return [Requirement(text) for text in (*PROJECT["dependencies"], *chosen)]


def listed() -> set[str]:
    return set(re.findall(r"^\| ([a-z0-9.-]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("name", sorted({canonicalize_name(one.name) for one in requirements(own=False)}))
def test_license_of_every_dependency_is_listed(name: str) -> None:
    assert name in listed(), "run `make licenses`"


@pytest.mark.slow
def test_licenses_of_indirect_dependencies_are_known_and_listed() -> None:
    pytest.importorskip("piplicenses", reason="needs the extra release")
    table = rows()
    assert unknown(table) == []
    assert set(table) <= listed(), "run `make licenses`"


@pytest.mark.parametrize(
    "said", ["UNKNOWN", "", "GPL-3.0-only", "AGPL-3.0", "Proprietary", "LicenseRef-NVIDIA", "Commit"]
)
def test_unknown_reports_a_license_that_is_not_allowed(said: str) -> None:
    assert unknown({"a": ("MIT", "the core"), "b": (said, "`gen`")}) == [f"b: {said!r}"]


@pytest.mark.parametrize("said", ["MIT", "BSD-3-Clause", "Apache Software License", "LGPL-3.0", "MPL-2.0 AND MIT"])
def test_unknown_accepts_an_allowed_license(said: str) -> None:
    assert unknown({"a": (said, "the core")}) == []


class TestLock:
    def test_lock_has_every_requirement_in_an_allowed_version(self) -> None:
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        locked = re.search(r"^LOCKED_EXTRAS := (.*)$", makefile, re.MULTILINE)
        assert locked
        extras = PROJECT["optional-dependencies"]
        wanted = [*PROJECT["dependencies"], *(text for extra in locked[1].split() for text in extras[extra])]
        versions: dict[str, set[str]] = {}
        for name, version in LOCKED:
            versions.setdefault(name, set()).add(version)
        for need in map(Requirement, wanted):
            there = versions.get(canonicalize_name(need.name), set())
            assert there, f"{need.name} is not locked: run `make lock`"
            assert all(need.specifier.contains(version) for version in there), f"{need}: run `make lock`"

    def test_lock_has_a_hash_for_each_package(self) -> None:
        text = (ROOT / "constraints/dev.txt").read_text(encoding="utf-8")
        blocks = re.split(r"^(?=[a-z0-9.-]+==)", text, flags=re.MULTILINE)[1:]
        assert len(blocks) == len(LOCKED) > 100
        assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", block) for block in blocks)

    def test_lock_has_no_local_paths_or_addresses(self) -> None:
        text = (ROOT / "constraints/dev.txt").read_text(encoding="utf-8")
        assert not re.search(r"file://|^--|https?://|/(tmp|home|root|work)/", text, re.MULTILINE)


def test_lowest_versions_match_the_bounds_of_the_package() -> None:
    known = {canonicalize_name(name): version for name, version in LOWEST}
    extras = PROJECT["optional-dependencies"]
    not_run = {canonicalize_name(Requirement(text).name) for text in (*extras["docs"], *extras["release"])}
    for need in requirements(own=True):
        if canonicalize_name(need.name) in {"basedpyright", "mypy", "ruff", "pre-commit", *not_run}:
            continue
        (bound,) = [one.version for one in need.specifier if one.operator == ">="]
        lowest = known[canonicalize_name(need.name)]
        assert need.specifier.contains(lowest)
        assert SpecifierSet(f"=={bound}.*").contains(lowest), f"{need}: constraints/lowest.txt has {lowest}"


class TestCheckRelease:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        (tmp_path / "dist").mkdir()
        for name in ("spotball_core-1.2.3-py3-none-any.whl", "spotball_core-1.2.3.tar.gz", "spotball-core.cdx.json"):
            (tmp_path / "dist" / name).touch()
        (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.3 (2026-11-22)\n\n## 1.2.2\n", encoding="utf-8")
        (tmp_path / "CITATION.cff").write_text("title: a\nversion: 1.2.3\n", encoding="utf-8")
        return tmp_path

    def test_problems_of_a_consistent_release_are_none(self, root: Path) -> None:
        assert problems("v1.2.3", root) == []

    def test_problems_of_another_tag_name_every_file(self, root: Path) -> None:
        assert [line.split(" ")[0] for line in problems("v1.2.4", root)] == ["dist", "CHANGELOG.md", "CITATION.cff"]

    @pytest.mark.parametrize("tag", ["1.2.3", "v1.2", "v1.2.3.dev4", "main", "v1.2.3 "])
    def test_problems_of_an_invalid_tag_name_the_tag(self, root: Path, tag: str) -> None:
        (told,) = problems(tag, root)
        assert "is none of a release" in told

    def test_problems_of_an_unreleased_changelog_name_it(self, root: Path) -> None:
        (root / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased (1.2.3)\n", encoding="utf-8")
        assert problems("v1.2.3", root) == ["CHANGELOG.md begins with 'Unreleased (1.2.3)', not 1.2.3 (date)"]

    def test_problems_of_an_empty_dist_folder_name_it(self, root: Path) -> None:
        for path in (root / "dist").iterdir():
            path.unlink()
        assert problems("v1.2.3", root)[0].startswith("dist holds nothing")
