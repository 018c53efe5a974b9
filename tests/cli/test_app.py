"""Test the whole command: its subcommands, its help, and its error messages."""

from __future__ import annotations

import re
import subprocess
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest
import typer

from tests.builders import dataset, scenes
from tests.cli.process import MODULE, SCRIPT, on_terminal, spotball, spotball_process
from tests.failures import codes
from tests.packages import install_package

NAMES = sorted(
    entry.name for entry in entry_points(group="spotball.commands") if entry.dist and entry.dist.name == "spotball-core"
)

ESCAPE = re.compile(r"\x1b\[")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [{"image": str(i), "respondent": "me", "cell": "D5"} for i in range(3)]
    return dataset(tmp_path_factory.mktemp("cli") / "set", scenes("0", "1", "2"), me=rows)


class TestHelp:
    def test_help_lists_all_commands_with_the_whole_first_paragraph_of_their_help(self) -> None:
        done = spotball("--help")
        assert done.returncode == 0
        assert done.stderr == ""
        assert {"score", "import-release", "baselines"} <= set(NAMES)
        for name in NAMES:
            assert re.search(rf"^  {name} ", done.stdout, re.MULTILINE)
        assert "spotball demo" in done.stdout
        listed = " ".join(done.stdout.split())
        for entry in entry_points(group="spotball.commands"):
            loaded = entry.load()
            said = loaded.info.help if isinstance(loaded, typer.Typer) else loaded.__doc__
            first = (said or "").strip().split("\n\n")[0]
            assert f"{entry.name} {' '.join(first.split())}" in listed

    def test_command_without_arguments_prints_usage_and_exits_with_status_2(self) -> None:
        done = spotball()
        assert done.returncode == 2
        assert "Usage" in done.stdout + done.stderr

    def test_short_and_long_help_option_of_score_print_the_same_text_that_fits_a_terminal(self) -> None:
        done = spotball("score", "--help")
        assert (done.returncode, done.stderr) == (0, "")
        assert not ESCAPE.search(done.stdout)
        assert spotball("score", "-h").stdout == done.stdout
        status, text = on_terminal("score", "--help")
        assert status == 0
        assert "Score predictions" in text
        assert max(map(len, text.splitlines())) <= 80


def test_version_is_the_same_for_module_and_script() -> None:
    for start in (MODULE, SCRIPT):
        done = spotball_process("--version", start=start)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"spotball {version('spotball-core')}\n", "")


@pytest.mark.slow
def test_score_output_is_the_same_for_module_and_script(data: Path) -> None:
    one, other = (spotball_process("score", data, "--bootstrap", "5", start=start) for start in (MODULE, SCRIPT))
    assert (one.returncode, one.stdout, one.stderr) == (0, other.stdout, other.stderr)


class TestErrors:
    @pytest.mark.parametrize(
        "arguments",
        [
            ["nothing"],
            ["score"],
            ["score", "--nothing"],
            ["score", "x", "--format", "pdf"],
            ["score", "x", "--seed", "-1"],
        ],
    )
    def test_wrong_usage_prints_usage_and_exits_with_status_2(self, arguments: list[str]) -> None:
        done = spotball(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert "Usage: " in done.stderr
        assert "Traceback" not in done.stderr
        assert not ESCAPE.search(done.stderr)

    def test_user_error_prints_one_line_and_with_debug_also_a_traceback(self, tmp_path: Path) -> None:
        words = ("score", tmp_path / "no.csv", "--scenes", tmp_path / "no.jsonl")
        done = spotball(*words)
        assert (done.returncode, done.stdout, codes(done.stderr)) == (2, "", ["missing-file"])
        assert done.stderr.startswith(f"error: {tmp_path / 'no.jsonl'}: file: ")
        assert len(done.stderr.splitlines()) == 1
        debugged = spotball(*words, "--debug")
        assert debugged.returncode == 2
        assert debugged.stderr.startswith("Traceback (most recent call last)")
        assert debugged.stderr.splitlines()[-1].startswith("error: ")

    @pytest.mark.slow
    def test_unexpected_error_exits_with_status_1_and_suggests_debug(self, data: Path) -> None:
        code = (
            "import sys, spotball_core.scoring.score as scoring\n"
            "def fail(*args, **kwargs): raise RuntimeError('out of luck')\n"
            "scoring.score = fail\n"
            "from spotball_core.cli.app import main\n"
            f"sys.argv = ['spotball', 'score', {str(data)!r}, *sys.argv[1:]]\n"
            "main()\n"
        )
        start = [MODULE[0], "-c", code]
        done = spotball_process(start=start)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("error: ")
        assert "RuntimeError: out of luck" in done.stderr
        assert "--debug" in done.stderr
        assert "Traceback" not in done.stderr
        debugged = spotball_process("--debug", start=start)
        assert debugged.returncode == 1
        assert "Traceback" in debugged.stderr

    @pytest.mark.slow
    def test_full_disk_is_reported_as_a_user_error(self, data: Path) -> None:
        if not Path("/dev/full").exists():
            pytest.skip("there is no /dev/full here")
        with Path("/dev/full").open("w") as full:
            command = [*MODULE, "score", str(data), "--bootstrap", "0"]
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 2
        assert "No space left on device" in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("arguments", ["score {data} --bootstrap 0", "--help"])
@pytest.mark.parametrize("reader", ["head -1", "true"])
def test_closed_pipe_causes_no_error_message(data: Path, arguments: str, reader: str) -> None:
    line = f"'{MODULE[0]}' -m spotball_core {arguments.format(data=data)} | {reader}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == (1 if reader == "head -1" else 0)


PLUGIN = '''
import typer

def hello(name: str = "you") -> None:
    """Say hello."""
    print("hello", name)

app = typer.Typer()

@app.command()
def one() -> None:
    print("one of a group")

@app.command()
def two() -> None: ...

text = "no function"
'''

BROKEN = {
    "missing": ("no_such_module:x", "ModuleNotFoundError: No module named 'no_such_module'"),
    "nameless": ("plugin:nothing", "AttributeError"),
    "unwritten": ("broken_syntax:x", "SyntaxError"),
    "leaving": ("leaving:x", "SystemExit: 3"),
    "uncallable": ("plugin:text", "TypeError"),
}


class TestOtherPackages:
    @pytest.fixture
    def env(self, tmp_path: Path) -> dict[str, str]:
        """Return an environment with working and broken commands of another package."""
        modules = {"plugin": PLUGIN, "broken_syntax": "def (", "leaving": "raise SystemExit(3)"}
        entries = {"hello": "plugin:hello", "group": "plugin:app", **{name: one for name, (one, _) in BROKEN.items()}}
        return {"PYTHONPATH": str(install_package(tmp_path, "other-package", "spotball.commands", entries, **modules))}

    def test_commands_of_other_packages_run_although_other_commands_are_broken(self, env: dict[str, str]) -> None:
        done = spotball_process("hello", "--name", "world", env=env)
        assert (done.returncode, done.stdout, done.stderr) == (0, "hello world\n", "")
        assert spotball_process("group", "one", env=env).stdout == "one of a group\n"

    def test_help_omits_broken_commands_and_prints_a_warning_for_each(self, env: dict[str, str]) -> None:
        done = spotball_process("--help", env=env)
        assert done.returncode == 0
        listed = done.stdout.split("Show this message and exit.")[1]
        assert "hello" in listed
        assert "score" in listed
        warnings = done.stderr.splitlines()
        assert len(warnings) == len(BROKEN)
        for name, (_, why) in BROKEN.items():
            assert name not in listed
            assert any(line.startswith(f"warning: the command {name} cannot be loaded: {why}") for line in warnings)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", BROKEN)
    def test_broken_command_exits_with_status_2_and_prints_the_reason(self, name: str, env: dict[str, str]) -> None:
        done = spotball_process(name, env=env)
        assert (done.returncode, done.stdout) == (2, "")
        assert codes(done.stderr) == ["unusable-plugin"]
        assert name in done.stderr
        assert BROKEN[name][1] in done.stderr


@pytest.mark.slow
def test_score_does_not_load_torch(tmp_path: Path) -> None:
    shares = [{"image": str(i), "probabilities": {"A1": 0.3, "B2": 0.3, "C3": 0.4}} for i in range(3)]
    other = [{"image": str(i), "probabilities": {"D4": 0.5, "E5": 0.1, "F6": 0.4}} for i in range(3)]
    folder = dataset(tmp_path / "set", scenes("0", "1", "2"), me=shares, you=other)
    (tmp_path / "torch.py").write_text("raise SystemExit('torch was loaded')")
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['numba'] = None")
    options = ("score", folder, "--reference", "responses-you", "--format", "json")
    # Without Numba, POT computes the distances, and importing all of POT would import PyTorch.
    done = spotball_process(*options, env={"PYTHONPATH": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")
