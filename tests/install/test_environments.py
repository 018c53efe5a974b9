"""Test each extra in a separate environment: imports, commands, and errors about missing extras."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from spotball_core.version import install_command
from tests.conftest import ROOT
from tests.install.environments import PROBE, UV, Environment, good

pytestmark = [pytest.mark.slow, pytest.mark.install]

Made = Callable[[str], Environment]

INSTALLED = (
    *("", "report", "adapters", "gemini", "inspect", "study", "postgres", "gen", "speed", "excel", "hub"),
    "adapters,gen",
)
"""Sets of extras. Each is installed in a separate environment."""

LARGE = ("local", "ray")
"""Extras of several gigabytes, which are resolved but not installed. `make test-all` tests them if installed."""

OWN = ("docs", "dev", "release")
"""Extras for developers of the package. They are installed wherever these tests run."""

BRINGS = {
    "adapters": "httpx stamina PIL filelock google",
    "gemini": "httpx stamina PIL filelock google",
    "gen": "cv2 onnxruntime filelock starlette uvicorn",
    "inspect": "inspect_ai PIL platformdirs httpx",
    "report": "matplotlib jinja2",
    "speed": "numba",
    "excel": "",
    "hub": "huggingface_hub",
    "study": "filelock h11 markdown_it PIL starlette uvicorn",
    "postgres": "psycopg",
    "local": "torch transformers diffusers sentence_transformers PIL jinja2",
    "ray": "ray",
}
"""Third-party modules that our modules import at the top level, by the extra that installs them."""


def brought(extras: str) -> set[str]:
    return set(" ".join(BRINGS[extra] for extra in extras.split(",") if extra).split())


def test_extras_listed_in_this_module_are_exactly_those_of_pyproject() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert {*INSTALLED, *LARGE, *OWN} - {"", "adapters,gen"} == set(extras)
    assert set(BRINGS) == set(extras) - set(OWN)


@pytest.mark.parametrize("extras", INSTALLED)
def test_installed_extra_provides_its_modules_and_failed_imports_name_only_extras_that_are_not_installed(
    extras: str, environment: Made, tmp_path: Path
) -> None:
    python = (environment(extras).python, "-W", "ignore", "-c")
    imports = f"import importlib\nfor name in {sorted(brought(extras))}: importlib.import_module(name)"
    good(*python, imports, cwd=tmp_path)
    failed = json.loads(good(*python, PROBE, cwd=tmp_path))
    for module, (said, missing) in failed.items():
        named = re.search(r'needs the "(\w+)" extra', said)
        if named:
            assert named[1] not in extras.split(","), f"{module}: {said}"
        else:
            # An internal module may fail without naming an extra, because the module that imports it names the extra.
            assert missing in set().union(*map(brought, BRINGS)) - brought(extras), f"{module}: {said}"
    # In spotball_core, only the compiled version of a metric may fail without an extra.
    core = {module for module in failed if module.startswith("spotball_core.")}
    assert core <= {"spotball_core.metrics.transport_numba"}


def test_help_of_every_command_works_without_extras(environment: Made, tmp_path: Path) -> None:
    core = environment("")
    listed = core.spotball("--help", cwd=tmp_path)
    assert (listed.returncode, listed.stderr) == (0, "")
    commands = re.findall(r"^  ([a-z][a-z-]+)  ", listed.stdout.split("Show this message and exit.")[1], re.MULTILINE)
    assert {"score", "run", "study", "gen", "gaze", "schema"} <= set(commands)
    for command in commands:
        done = core.spotball(command, "--help", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), command


def test_version_is_the_same_in_wheel_command_package_and_report(environment: Made, wheel: Path, demo: Path) -> None:
    version = wheel.name.split("-")[1]
    core = environment("")
    assert core.spotball("--version", cwd=demo).stdout == f"spotball {version}\n"
    code = "import spotball_core; print(spotball_core.__version__)"
    assert good(core.python, "-c", code, cwd=demo) == f"{version}\n"
    report = json.loads((demo / "demo/report.json").read_text(encoding="utf-8"))
    assert report["provenance"]["version"] == version
    assert report["signature"].startswith(f"spotball|v:{version}|")


@pytest.mark.parametrize(
    ("extra", "command"),
    [
        ("report", "report demo --reference oracle --out page"),
        ("adapters", "run demo --provider baseline --model center --prompt base --out asked"),
        ("adapters", "batch export demo --out batch"),
        ("adapters", "gaze ask stimuli.csv --images . --provider observer --model head --out asked"),
        ("adapters", "reasoning demo --embedder openai"),
        ("inspect", "parse a.eval --out responses.jsonl"),
        ("study", "study serve --demo"),
        ("gen", "gen run --demo --out items"),
        ("gen", "gen review items"),
        ("hub", "push demo --repo me/demo"),
        ("hub", "pull me/demo --out pulled"),
        ("ray", "score demo --engine ray"),
    ],
)
def test_command_without_its_extra_prints_one_error_line_and_exits_with_2(
    extra: str, command: str, environment: Made, demo: Path
) -> None:
    (demo / "a.eval").touch()
    (demo / "stimuli.csv").write_text("stimulus_id,view,proximity,objects,gaze_target\na,front,1,cup+vase,cup\n")
    done = environment("").spotball(*command.split(), cwd=demo)
    assert done.returncode == 2
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert f'needs the "{extra}" extra: {install_command(extra)} [missing-extra]' in said
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("extras", "command", "makes"),
    [
        ("", "score demo --reference oracle --out scores.json", "scores.json"),
        ("", "push demo --repo me/demo --dry-run", None),
        ("", "compare demo --a center --b uniform --reference oracle --out compared.json", "compared.json"),
        ("", "count demo --out all.counts", "all.counts"),
        ("", "baselines demo --name uniform --samples 2 --out responses-more.jsonl", "responses-more.jsonl"),
        ("", "schema scene --out scene.json", "scene.json"),
        ("gaze", "plan --observer head --trials 1 --simulations 1", None),
        ("speed", "score demo --reference oracle --bootstrap 0 --out quick.json", "quick.json"),
        ("report", "report demo --reference oracle --out page", "page/report.html"),
        ("adapters", "run demo --provider baseline --model center --prompt base --out asked", "asked/run.sqlite"),
        ("gemini", "run demo --provider baseline --model center --prompt base --out answers", "answers/run.sqlite"),
        ("gen", "gen run match.toml --out items", "items/scenes.jsonl"),
        ("adapters,gen", "run demo --provider baseline --model uniform --prompt base --out more", "more/run.sqlite"),
    ],
)
def test_command_with_its_extra_succeeds_and_writes_its_output(
    extras: str, command: str, makes: str | None, environment: Made, demo: Path
) -> None:
    done = environment(extras).spotball(*command.split(), cwd=demo)
    assert done.returncode == 0, done.stderr
    assert (demo / makes).stat().st_size > 0 if makes else done.stdout


def test_study_serve_answers_a_request_and_exits_with_0_on_sigterm(environment: Made, tmp_path: Path) -> None:
    command = [str(environment("study").folder / "bin/spotball"), "study", "serve", "--demo", "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, cwd=tmp_path, text=True, **pipes) as server:
        assert server.stdout
        try:
            address = next(found[0] for line in server.stdout if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
            with urllib.request.urlopen(address, timeout=30) as answer:
                assert b"<!doctype html>" in answer.read().lower()
        finally:
            server.send_signal(signal.SIGTERM)
            server.stdout.read()
    assert server.returncode == 0


def test_pip_installs_the_wheel_without_conflicts_and_the_score_command_succeeds(
    wheel: Path, demo: Path, tmp_path: Path
) -> None:
    """Install the wheel as a user does, with only Python and pip."""
    good(sys.executable, "-m", "venv", tmp_path / "venv")
    good(tmp_path / "venv/bin/python", "-m", "pip", "install", "--quiet", wheel)
    installed = Environment(tmp_path / "venv", "")
    done = installed.spotball("score", "demo", "--reference", "oracle", "--bootstrap", "0", cwd=demo)
    assert done.returncode == 0, done.stderr
    assert good(installed.python, "-m", "pip", "check") == "No broken requirements found.\n"


def test_pip_resolves_two_extras_together_including_their_dependencies(wheel: Path, tmp_path: Path) -> None:
    wanted = f"spotball-core[adapters,gen] @ {wheel.as_uri()}"
    report = tmp_path / "report.json"
    pip = (sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet")
    good(*pip, "--report", report, wanted)
    names = {one["metadata"]["name"] for one in json.loads(report.read_text(encoding="utf-8"))["install"]}
    assert {"spotball-core", "google-generativeai", "opencv-python-headless", "onnxruntime", "httpx"} <= names


@pytest.mark.parametrize("extra", LARGE)
def test_uv_resolves_a_large_extra_including_its_dependencies(extra: str, wheel: Path, tmp_path: Path) -> None:
    (tmp_path / "wanted.in").write_text(f"spotball-core[{extra}] @ {wheel.as_uri()}\n", encoding="utf-8")
    resolved = good(UV, "pip", "compile", "--quiet", "--python", sys.executable, tmp_path / "wanted.in")
    names = {line.split("==")[0] for line in resolved.splitlines() if "==" in line}
    assert {"local": {"torch", "transformers"}, "ray": {"ray", "pyarrow"}}[extra] <= names
