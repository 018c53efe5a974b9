"""Test the repository files: workflows, forms and the citation match their schemas and agree with each other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml
from check_jsonschema import main as check_jsonschema
from click.testing import CliRunner, Result

from spotball_gen.dataset.croissant import BIBTEX, PAPER
from tests.conftest import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted(path for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def checked(schema: str, *files: Path) -> Result:
    return CliRunner().invoke(check_jsonschema, ["--builtin-schema", f"vendor.{schema}", *map(str, files)])


def targets(command: str) -> set[str]:
    """Return the targets of all calls of make in a shell command."""
    calls = re.findall(r"(?:^|[;&]\s*)make ([^;&\n]+)", command, re.MULTILINE)
    return {word for call in calls for word in call.split() if re.fullmatch(r"[a-z-]+", word)}


def steps(workflow: Any) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job.get("steps", ())]


def test_install_lines_name_the_package_that_pip_finds() -> None:
    from scripts.install_lines import changed_files

    assert [path for path, _ in changed_files()] == []


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-workflows", WORKFLOWS),
        ("github-issue-forms", FORMS),
        ("github-issue-config", [ROOT / ".github/ISSUE_TEMPLATE/config.yml"]),
        ("dependabot", [ROOT / ".github/dependabot.yml"]),
        ("citation-file-format", [ROOT / "CITATION.cff"]),
    ],
)
def test_workflows_forms_dependabot_and_citation_files_match_their_published_schemas(
    schema: str, files: list[Path]
) -> None:
    assert files
    done = checked(schema, *files)
    assert done.exit_code == 0, done.output


def test_schema_checker_rejects_an_invalid_citation_file(tmp_path: Path) -> None:
    spoiled = tmp_path / "CITATION.cff"
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    spoiled.write_text(text.replace("family-names: Wu", "family_names: Wu"), encoding="utf-8")
    assert checked("citation-file-format", spoiled).exit_code == 1


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflow_has_existing_make_targets_pinned_actions_time_limits_and_read_only_permissions(path: Path) -> None:
    workflow = loaded(path)
    called = set(chain.from_iterable(targets(step.get("run", "")) for step in steps(workflow)))
    assert called <= set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    used = [step["uses"] for step in steps(workflow) if "uses" in step]
    assert [action for action in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}|\./.*", action)] == []
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        # The jobs of a called workflow have separate limits.
        assert "uses" in job or job["timeout-minutes"] <= 120, name


def test_workflow_tests_every_python_version_of_the_package() -> None:
    named = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())
    workflow = loaded(ROOT / ".github/workflows/test.yml")
    assert workflow["jobs"]["test"]["strategy"]["matrix"]["python"] == named
    others = workflow["jobs"]["systems"]["strategy"]["matrix"]
    assert others == {"system": ["macos-latest", "windows-latest"], "python": named}


def test_cache_folders_of_the_development_tools_are_ignored_by_git() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a Git checkout")
    files = [f"{name}/x" for name in (".grimp_cache", ".ruff_cache", ".mypy_cache", ".pytest_cache", ".hypothesis")]
    done = subprocess.run(["git", "check-ignore", *files], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == files


def test_local_ci_github_and_hooks_run_the_expected_make_targets() -> None:
    local = targets((ROOT / ".ci/run").read_text(encoding="utf-8"))
    workflow = steps(loaded(ROOT / ".github/workflows/test.yml"))
    github = set(chain.from_iterable(targets(step.get("run", "")) for step in workflow))
    assert local == github == {"test", "test-all"}
    hooks = loaded(ROOT / ".pre-commit-config.yaml")["repos"][0]["hooks"]
    assert [hook["entry"] for hook in hooks] == ["make lint", "make test"]


def test_fuzzing_takes_one_minute_in_make_test_all_and_one_hour_in_make_fuzz() -> None:
    rule = re.search(r"^fuzz: export SPOTBALL_FUZZ_SECONDS = (\d+)\nfuzz: .*\n\t(.*)", MAKEFILE, re.MULTILINE)
    assert rule
    assert rule[1] == "3600"
    assert rule[2].endswith("-m slow tests/fuzz")
    assert MAKEFILE.count("SPOTBALL_FUZZ_SECONDS") == 1
    assert 'get("SPOTBALL_FUZZ_SECONDS", "60")' in (ROOT / "tests/fuzz/targets.py").read_text(encoding="utf-8")
    assert "`make fuzz`" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_make_test_all_tries_100_hypothesis_examples_instead_of_25() -> None:
    rule = re.search(r"^test-all: .*\n\t(.*)", MAKEFILE, re.MULTILINE)
    assert rule
    assert rule[1].startswith("SPOTBALL_TESTS=thorough ")
    code = "from hypothesis import settings; import tests.conftest; print(settings.default.max_examples)"
    for value, n in (("thorough", 100), ("", 25)):
        environment = os.environ | {"SPOTBALL_TESTS": value}
        assert int(subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, env=environment)) == n


def test_citation_names_both_papers_and_the_newest_version_in_the_changelog_and_matches_the_bibtex() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## .*?(\d+\.\d+\.\d+)", changelog, re.MULTILINE)
    assert newest
    citation = loaded(ROOT / "CITATION.cff")
    assert citation["version"] == newest[1]
    paper = citation["preferred-citation"]
    of_gaze = "Vision-Language Models Mistake Head Orientation for Gaze Direction"
    titles = [paper["title"], *(work["title"] for work in citation["references"])]
    assert [title.split(":")[0] for title in titles] == ["Spot the Ball", of_gaze]
    assert paper["url"] == PAPER
    assert f"title = {{{paper['title']}}}" in BIBTEX
    authors = [f"{author['family-names']}, {author['given-names']}" for author in paper["authors"]]
    assert " and ".join(authors) in " ".join(BIBTEX.split())
    assert f"year = {{{paper['year']}}}" in BIBTEX
