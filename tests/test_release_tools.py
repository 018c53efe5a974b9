"""Test the release tools: licenses, the lock file, and the check that all parts of a release have its version."""

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
LOCK = (ROOT / "constraints/dev.txt").read_text(encoding="utf-8")
LOCKED = re.findall(r"^([a-z0-9.-]+)==(\S+)", LOCK, re.MULTILINE)
LOWEST = (ROOT / "constraints/lowest.txt").read_text(encoding="utf-8")


def requirements(*, own: bool) -> list[Requirement]:
    extras = PROJECT["optional-dependencies"]
    chosen = [text for extra, needs in extras.items() if own or extra not in OWN for text in needs]
    return [Requirement(text) for text in (*PROJECT["dependencies"], *chosen)]


def listed() -> set[str]:
    return set(re.findall(r"^\| ([a-z0-9.-]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))


def test_license_page_lists_every_direct_dependency() -> None:
    assert {canonicalize_name(one.name) for one in requirements(own=False)} - listed() == set(), "run `make licenses`"


@pytest.mark.slow
def test_license_page_lists_every_indirect_dependency_and_all_licenses_are_allowed() -> None:
    pytest.importorskip("piplicenses", reason="needs the extra release")
    table = rows()
    assert unknown(table) == []
    assert set(table) <= listed(), "run `make licenses`"


def test_unknown_reports_only_licenses_that_are_not_allowed() -> None:
    allowed = ["MIT", "BSD-3-Clause", "Apache Software License", "LGPL-3.0", "MPL-2.0 AND MIT"]
    others = ["UNKNOWN", "", "GPL-3.0-only", "AGPL-3.0", "Proprietary", "LicenseRef-NVIDIA", "Commit"]
    assert unknown({said: (said, "the core") for said in (*allowed, *others)}) == [
        f"{said}: {said!r}" for said in others
    ]


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

    def test_lock_has_a_hash_for_each_package_and_no_local_paths_or_addresses(self) -> None:
        blocks = re.split(r"^(?=[a-z0-9.-]+==)", LOCK, flags=re.MULTILINE)[1:]
        assert len(blocks) == len(LOCKED) > 100
        assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", block) for block in blocks)
        assert not re.search(r"file://|^--|https?://|/(tmp|home|root|work)/", LOCK, re.MULTILINE)


def test_lowest_constraints_pin_the_lower_bound_of_each_dependency() -> None:
    pinned = re.findall(r"^([A-Za-z0-9.-]+)==(\S+)", LOWEST, re.MULTILINE)
    known = {canonicalize_name(name): version for name, version in pinned}
    extras = PROJECT["optional-dependencies"]
    not_run = {canonicalize_name(Requirement(text).name) for text in (*extras["docs"], *extras["release"])}
    for need in requirements(own=True):
        if canonicalize_name(need.name) in {"basedpyright", "mypy", "ruff", "pre-commit", *not_run}:
            continue
        (bound,) = [one.version for one in need.specifier if one.operator == ">="]
        lowest = known[canonicalize_name(need.name)]
        assert need.specifier.contains(lowest)
        assert SpecifierSet(f"=={bound}.*").contains(lowest), f"{need}: constraints/lowest.txt has {lowest}"


def test_problems_names_files_whose_version_differs_from_the_tag_and_rejects_an_invalid_tag(tmp_path: Path) -> None:
    (tmp_path / "dist").mkdir()
    files = [f"spotball_core-1.2.3{ending}" for ending in ("-py3-none-any.whl", ".tar.gz")]
    for name in (*files, "spotball-core.cdx.json"):
        (tmp_path / "dist" / name).touch()
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.3 (2026-11-22)\n\n## 1.2.2\n", encoding="utf-8")
    (tmp_path / "CITATION.cff").write_text("title: a\nversion: 1.2.3\n", encoding="utf-8")
    assert problems("v1.2.3", tmp_path) == []
    assert [line.split(" ")[0] for line in problems("v1.2.4", tmp_path)] == ["dist", "CHANGELOG.md", "CITATION.cff"]
    for tag in ("1.2.3", "v1.2", "v1.2.3.dev4", "main", "v1.2.3 "):
        (told,) = problems(tag, tmp_path)
        assert "is none of a release" in told
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased (1.2.3)\n", encoding="utf-8")
    assert problems("v1.2.3", tmp_path) == ["CHANGELOG.md begins with 'Unreleased (1.2.3)', not 1.2.3 (date)"]
    for name in files:
        (tmp_path / "dist" / name).unlink()
    assert problems("v1.2.3", tmp_path)[0].startswith("dist holds nothing")
