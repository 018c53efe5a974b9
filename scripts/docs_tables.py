"""Format tables and listings from the code for the documentation."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from html import escape

from spotball_core.schema.published import attributes
from spotball_core.service.sqlite_file import SQLITE_TYPES, Schema, Table


def output(command: str) -> str:
    """Run a command, and return what it prints to standard output."""
    return subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout


def listing(text: str) -> str:
    """Return a text as HTML that keeps its lines and wraps long ones."""
    return f'\n<pre style="white-space:pre-wrap"><code>{escape(text)}</code></pre>\n'


def meanings(head: str, rows: Mapping[str, str]) -> str:
    """Return a table of names and their meanings."""
    return "\n".join(
        [f"| {head} | Meaning |", "| --- | --- |", *(f"| {name} | {text} |" for name, text in rows.items())]
    )


def reply(text: str) -> str:
    """Return a model's reply as code in a table. Its Markdown is escaped."""
    return "".join(c if c.isalnum() or c == " " else "<br>" if c == "\n" else f"&#{ord(c)};" for c in text)


def gaze_prompts() -> str:
    """Return the prompts of the gaze task, and the judge's prompt."""
    from spotball_adapters.gaze.judge import judge_prompt
    from spotball_adapters.gaze.prompts import SETS, built_in

    sources = {
        "main": "written for this project from the paper's description; the paper does not print them",
        "pilot": "the paper's Table 5, verbatim",
        "pre-pilot": "the paper's Table 4, verbatim",
    }
    lines = ["| Set | Prompts | Source |", "| --- | --- | --- |"]
    lines += [f"| `{name}` | `{name}-1` to `{name}-{len(built_in(name))}` | {sources[name]} |" for name in SETS]
    lines += ["", "| Prompt | Hints | Question |", "| --- | --- | --- |"]
    for prompt in built_in("main"):
        lines.append(f"| `{prompt.name}` | {', '.join(prompt.hints) or 'none'} | {prompt.text.splitlines()[0]} |")
    lines += ["\n`main-13`, with both hints:", listing(built_in("main")[12].text)]
    for name in SETS[1:]:
        for prompt in built_in(name):
            lines += [f"\n`{prompt.name}`:", listing(prompt.text)]
    lines += ["\nThe judge's prompt, with *none of these* as the last option:", listing(judge_prompt().text)]
    return "\n".join(lines)


def gaze_replies(options: Sequence[str], replies: Sequence[str]) -> str:
    """Return the option that the templates match with each reply."""
    from spotball_adapters.gaze.templates import match

    lines = [f"| Reply, to {', '.join(f'{a}. {b}' for a, b in zip('ABCD', options, strict=False))} | Choice |"]
    lines.append("| --- | --- |")
    for text in replies:
        result = match(text, list(options))
        choice = f"**{result.choice}**, by its {result.how}" if result.choice else f"none: {result.problem}"
        lines.append(f"| {text} | {choice} |")
    return "\n".join(lines)


def tables(schema: Schema, *, version: int, file: str | None = None) -> str:
    """Return a section in Markdown for each table.

    Args:
        version: the schema's version that the page states.
        file: the name of the SQLite file, if the page describes several files.
    """
    assert schema.version == version
    return "\n".join(_section(table, file) for table in schema.tables)


def _section(table: Table, file: str | None) -> str:
    keys, about = ", ".join(f"`{column}`" for column in table.key), attributes(table.record)
    meaning = (table.record.__doc__ or "").partition("\n")[0]
    lines = [f"### {table.name}\n", f"{f'In `{file}`. ' if file else ''}{meaning} Key: {keys}.\n"]
    lines += ["| Column | Type | Meaning |", "| --- | --- | --- |"]
    for name, (kind, constraints) in table.columns().items():
        null = "" if "NOT NULL" in constraints else " or null"
        lines.append(f"| `{name}` | {SQLITE_TYPES[kind]}{null} | {about[name].removesuffix('.')} |")
    return "\n".join(lines) + "\n"


def templates() -> str:
    """Return the sentences and keywords that rationales are compared with."""
    from spotball_core.reasoning.templates import load_templates

    found = load_templates()
    lines = [f"`{found.name}`, version {found.version}, `{found.digest}`", "", "| pose | gaze | neutral |"]
    lines.append("| --- | --- | --- |")
    lines += [f"| {' | '.join(row)} |" for row in zip(*found.categories.values(), found.neutral, strict=True)]
    lines += ["", "The keywords are regular expressions for whole words. Case is ignored.", ""]
    lines += [f"- {name}: {', '.join(f'`{word}`' for word in words)}" for name, words in found.keywords.items()]
    return "\n".join(lines)


def study_events() -> str:
    """Return the kinds of events of a study, with the fields of their values."""
    from typing import get_args

    from spotball_adapters.study.events import Kind
    from spotball_adapters.study.server.wire import VALUES

    about = {
        "stage": "a stage is complete; the server writes the first one, `consent`",
        "shown": "the trial was displayed; stored again after a reload",
        "click": "a cell was clicked: row and column from 1, position as a share of the image's width and height, and "
        "the input device",
        "undo": "the last click was undone",
        "answer": "the clicks were confirmed",
        "choice": "an option was chosen; options count from 0 in the order shown",
        "explanation": "the explanation of the answer",
        "questionnaire": "a questionnaire was completed; answers by the name of the question",
        "quiz": "an attempt at the comprehension quiz; study.toml contains the right answers",
        "fullscreen": "full screen was entered (`on`) or left, in a study that requires it",
        "mouse": "the path of the mouse over the image until the answer: milliseconds since the image was shown, and "
        "thousandths of its width and height; one point per 50 ms of movement, at most 600",
        "away": "the page was hidden, or another window had the focus, for `ms` milliseconds",
    }
    lines = ["| `kind` | Fields of `value` | Meaning |", "| --- | --- | --- |"]
    for kind in get_args(Kind):
        fields = ", ".join(f"`{name}`" for name in VALUES[kind].model_fields) or "none"
        lines.append(f"| `{kind}` | {fields} | {about[kind]} |")
    return "\n".join(lines)


def study_export() -> str:
    """Return a section for each table of a study's export."""
    from spotball_adapters.study.results import columns

    sections = (
        ("participants.csv", "All participants, including excluded ones.", columns.PARTICIPANTS),
        ("clicks.csv", "Each click of the exported participants, including clicks in checks.", columns.CLICKS),
        ("trials.csv", "Only for the task `choice`: [trials](gaze.md#files).", columns.TRIALS),
        ("quiz.csv", "Each answer to the comprehension quiz, from all participants.", columns.QUIZ),
        ("mouse.csv", "The mouse paths of the exported participants, if the study records them.", columns.MOUSE),
    )
    lines = []
    for file, about, table in sections:
        lines += [f"### {file}\n\n{about}\n", "| Column | Type | Meaning |", "| --- | --- | --- |"]
        lines += [f"| `{name}` | {kind} | {meaning} |" for name, (kind, meaning) in table.items()]
        lines.append("")
    return "\n".join(lines)


def providers() -> str:
    """Return which settings each provider supports."""
    from spotball_adapters.providers.protocol import Access, Settings, find
    from spotball_core.errors import OptionError

    keys = {
        "openai": "OPENAI_API_KEY; optional for your own server",
        "gemini": "GEMINI_API_KEY",
        "anthropic": "ANTHROPIC_API_KEY",
        "baseline": "none",
    }
    models = {"openai": "gpt-4.1-mini", "gemini": "gemini-2.0-flash-001", "anthropic": "claude", "baseline": "uniform"}
    values = {
        "temperature": 0.6,
        "top_p": 0.9,
        "max_output_tokens": 9,
        "seed": 1,
        "reasoning_effort": "low",
        "extra_body": {"top_k": 20},
    }
    lines = [f"| Provider | Key | Samples per request | {' | '.join(f'`{name}`' for name in values)} |"]
    lines.append("| --- | --- | --- |" + " --- |" * len(values))
    for name, model in models.items():
        provider = find(name, Access(model))
        most = f"up to {provider.max_samples}" if provider.max_samples > 1 else "1"
        cells = []
        for setting, value in values.items():
            try:
                provider.check(Settings(**{setting: value}))
                cells.append("yes")
            except OptionError:
                cells.append("no")
        lines.append(f"| `{name}` | {keys[name]} | {most} | {' | '.join(cells)} |")
    own = "none; `HF_TOKEN` for restricted models | up to 50 | yes | yes | yes | yes | no | no"
    return "\n".join([*lines, f"| `transformers` | {own} |"])


def presets() -> str:
    """Return the options of each preset."""
    from spotball_adapters.providers.presets import PRESETS

    lines = ["| Preset | Options |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| `{name}` | `{' '.join(one.options)}` |" for name, one in PRESETS.items())])


def prompts() -> str:
    """Return the built-in prompts of Spot the Ball."""
    from spotball_adapters.prompts.prompt import BUILT_IN, load_prompt

    lines = ["| Prompt | Version | SHA-256 of text and questions | Number of questions |", "| --- | --- | --- | --- |"]
    found = [load_prompt(name) for name in BUILT_IN]
    lines += [f"| `{one.name}` | {one.version} | `{one.digest[:16]}...` | {len(one.questions) or 0} |" for one in found]
    for one in found:
        lines += [f"\nText of `{one.name}`:", listing(one.text)]
        if one.questions:
            lines += ["Questions, asked before this text:", listing("\n".join(one.questions))]
    return "\n".join(lines)


def parsed_replies(*replies: str, finish: str = "stop") -> str:
    """Return what both parse policies read from replies."""
    from spotball_adapters.replies import parse_reply
    from spotball_core.grid import Grid

    lines = ["| Reply | `strict` | `lenient` |", "| --- | --- | --- |"]
    for text in replies:
        read = [parse_reply(text, Grid.standard(), policy=policy, finish=finish) for policy in ("strict", "lenient")]
        cells = [f"**{one.cell}**" if one.cell else f"unparsed: {one.problem}" for one in read]
        lines.append(f"| <code>{reply(text)}</code> | {' | '.join(cells)} |")
    return "\n".join(lines)


def parsing_accuracy() -> str:
    """Return what the authors' script and both parse policies read from labeled synthetic replies."""
    import json
    import re

    from scripts.docs_results import ROOT
    from spotball_adapters.replies import parse_reply
    from spotball_core.grid import Grid

    def by_script(text: str) -> str | None:
        match = re.search(r"Cell:\s*([A-Fa-f][0-9]+)", text)
        return match[1].upper() if match else None

    lines = ["| Replies | Method | Readable replies read | Wrong cells | Same as the script |"]
    lines.append("| --- | --- | --- | --- | --- |")
    for name in ("development", "development_2", "development_3", "held_out"):
        path = ROOT / f"tests/adapters/replies/{name}.jsonl"
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
        script = [by_script(row["reply"]) for row in rows]
        for method in ("script", "strict", "lenient") if rows else ():
            cells = script
            if method != "script":
                grid = Grid.standard()
                cells = [parse_reply(row["reply"], grid, policy=method, finish=row["finish"]).cell for row in rows]
            readable = sum(row["answer"] is not None for row in rows)
            pairs = list(zip((row["answer"] for row in rows), cells, strict=True))
            read = sum(answer is not None and answer == cell for answer, cell in pairs)
            wrong = sum(cell is not None and answer != cell for answer, cell in pairs)
            same = sum(a == b for a, b in zip(script, cells, strict=True)) / len(rows)
            share = f"{read} of {readable} ({read / readable:.0%})"
            lines.append(f"| {name.replace('_', ' ')} | {method} | {share} | {wrong} | {same:.0%} |")
    return "\n".join(lines)


def stage_kinds() -> str:
    """Return the kinds of each stage of generation."""
    from spotball_gen.items.stage import ORDER
    from spotball_gen.pipeline.config import DEFAULT_KINDS, kinds

    lines = ["| Stage | Kinds | Default |", "| --- | --- | --- |"]
    for stage in ("frames", *ORDER):
        default = DEFAULT_KINDS.get(stage)
        names = ", ".join(f"`{kind}`" for kind in kinds(stage))
        lines.append(f"| `{stage}` | {names} | {f'`{default}`' if default else 'none: name a kind'} |")
    return "\n".join(lines)


def metric_needs() -> str:
    """Return the metrics by the data that they require."""
    from spotball_core import METRICS

    names = {"truth": "`ball_cells` or `ball_box`", "players": "`players`", "reference": "a reference, such as `human`"}
    needs: dict[tuple[str, ...], list[str]] = {}
    for metric in METRICS.values():
        needs.setdefault(metric.needs, []).append(f"`{metric.key}`")
    lines = ["| Required data | Metrics |", "| --- | --- |"]
    for need, keys in sorted(needs.items(), key=lambda item: len(item[1]), reverse=True):
        lines.append(f"| {' and '.join(names[name] for name in need) or 'only the guesses'} | {', '.join(keys)} |")
    return "\n".join(lines)
