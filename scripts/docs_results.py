"""Format the measured results in `docs/assets` and `benchmarks/kept.json` as tables for the documentation."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]


def stored(name: str) -> Any:
    """Return the content of `docs/assets/NAME.json`."""
    return json.loads((ROOT / "docs/assets" / f"{name}.json").read_text(encoding="utf-8"))


def benchmark(name: str) -> Any:
    """Return the stored result of a benchmark."""
    kept = json.loads((ROOT / "benchmarks/kept.json").read_text(encoding="utf-8"))
    return next(result for result in kept if result["name"] == name)


def table(head: Sequence[str], rows: Iterable[Sequence[object]], *, left: int = 1) -> str:
    """Return a table in Markdown whose first columns are aligned to the left, and the others to the right."""
    marks = ["---" if place < left else "---:" for place in range(len(head))]
    lines = [head, marks, *(["" if cell is None else str(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def figure(path: Path, label: str) -> str:
    """Return an SVG file as HTML with a label for screen readers."""
    svg = path.read_text(encoding="utf-8")
    svg = svg[svg.index("<svg") :].replace('id="', f'id="{path.stem}-').replace('href="#', f'href="#{path.stem}-')
    svg = svg.replace("url(#", f"url(#{path.stem}-")
    svg = svg.replace("<svg ", '<svg style="max-width: 100%; height: auto; background: white" ', 1)
    return f'<div role="img" aria-label="{label}" style="max-width: 100%">{svg}</div>'


# Statistics ---------------------------------------------------------------------------------------------------------


def interval_coverage() -> str:
    """Return the coverage of the intervals of each metric, and the cells that are far from 95%."""
    found = stored("interval-coverage")
    kinds = list(found["coverage"].values())
    sizes = list(kinds[0])
    rows = [
        [f"`{key}`", *(", ".join(f"{100 * kind[size][key]['coverage']:.1f}%" for kind in kinds) for size in sizes)]
        for key in kinds[0][sizes[0]]
    ]
    outside = [
        f"`{key}` with {size} images ({100 * numbers['coverage']:.1f}%, {name})"
        for name, by_size in found["coverage"].items()
        for size, by_metric in by_size.items()
        for key, numbers in by_metric.items()
        if not 0.92 <= numbers["coverage"] <= 0.975
    ]
    n = len(kinds) * len(sizes) * len(rows)
    error = 100 * (0.95 * 0.05 / found["simulations"]) ** 0.5
    return (
        table(["Metric", *(f"{size} images" for size in sizes)], rows)
        + f"\n\n{n - len(outside)} of {n} cells are between 92% and 97.5%. The others: {'; '.join(outside) or 'none'}. "
        f"Each cell is {found['simulations']} simulations, so one standard error is {error:.1f} points.\n"
    )


def plan_power() -> str:
    """Return the predicted and the observed power of the permutation test, and the range of their differences."""
    found = stored("plan-power")
    groups: dict[tuple[str, int, int, int], list[dict[str, Any]]] = {}
    for cell in found["cells"]:
        groups.setdefault((cell["metric"], cell["tests"], cell["images"], cell["answers"]), []).append(cell)
    rows = []
    for (metric, tests, images, answers), cells in groups.items():
        pairs = "; ".join(f"{100 * c['predicted']:.0f}%, {100 * c['observed']:.0f}%" for c in cells if c["shift"])
        null = next(cell for cell in cells if not cell["shift"])
        false = f"{100 * null['predicted']:.1f}%, {100 * null['observed']:.1f}%"
        rows.append([f"`{metric}`", tests, images, answers, false, pairs])
    errors = [100 * (cell["observed"] - cell["predicted"]) for cell in found["cells"] if cell["shift"]]
    least = min(cell["benchmarks"] for cell in found["cells"])
    head = ["Metric", "Tests", "Images", "Answers", "Predicted and observed false positives"]
    return (
        table([*head, "Predicted and observed power, by the size of the effect"], rows)
        + f"\n\n*At least {least:,} simulated benchmarks per cell: one standard error is at most "
        f"{50 / least**0.5:.1f} points. Observed minus predicted power ranges from {min(errors):+.1f} to "
        f"{max(errors):+.1f} points.*\n"
    )


def adaptive_answers() -> str:
    """Return how much answers in rounds save, and the bias of their estimate and of the plain mean."""
    found = stored("adaptive-answers")
    rows = [
        [
            *(f"`{cell['metric']}`", cell["answers"], f"{100 * cell['possible']:.0f}%", f"{100 * cell['saved']:.0f}%"),
            *(f"{100 * cell['saved'] / cell['possible']:.0f}%", f"{cell['bias']:+.1f}"),
            f"{cell['bias_of_plain_mean']:+.1f}",
        ]
        for cell in found["cells"]
    ]
    head = ["Metric", "Answers per image", "Possible saving", "Saving", "Share reached", "Bias (standard errors)"]
    return (
        table([*head, "Bias of the plain mean"], rows)
        + f"\n\n*At least {min(cell['runs'] for cell in found['cells']):,} simulated runs of "
        f"`benchmarks/adaptive_answers.py` per row, for {found['images']} fixed images. Savings are shares of all "
        "answers, for the same noise of answers. The plain mean is the mean of all answers of an image.*\n"
    )


def sequence_coverage() -> str:
    """Return how often confidence sequences always contain the mean, and their width."""
    found = stored("sequence-coverage")
    rows = [[name, f"{100 * row['coverage']:.1f}%", f"{row['ratio']:.2f}"] for name, row in found["kinds"].items()]
    width = f"Width after {found['images']} images, relative to a fixed-size interval"
    return (
        table(["Values", "Mean contained at all times", width], rows)
        + f"\n\n*{found['runs']:,} simulated runs of `benchmarks/sequence_coverage.py` per row.*\n"
    )


def matched_errors() -> str:
    """Return the errors of plain and matched distances, and how often they rank two respondents correctly."""
    found = stored("matched-metrics")
    sizes = list(next(iter(next(iter(found["errors"].values())).values())))
    errors = [
        [
            kind,
            f"{float(distance):.0f}",
            *(f"{e['plain']:+.1f}, {e['matched']:+.1f} ({e['sd']:.1f})" for e in by_size.values()),
        ]
        for kind, by_distance in found["errors"].items()
        for distance, by_size in by_distance.items()
    ]
    ranks = []
    for name, by_gap in found["ordered"].items():
        for gap, by_size in by_gap.items():
            counts = [[sum(n) for n in zip(*by_size.values(), strict=True)], *by_size.values()]
            ranks.append([name, gap, *(f"{100 * right / n:.1f}%" for right, n in counts)])
    heads = [f"{size} responses" for size in sizes]
    return (
        table(["People mixed with", "True distance", *heads], errors)
        + "\n\nThe next table shows the share of pairs of respondents that are ranked in the right order "
        f"({found['benchmarks']} synthetic benchmarks of 150 images), by the smaller number of responses:\n\n"
        + table(["Respondents", "True distances differ by", "all pairs", *heads], ranks, left=2)
    )


def outline_rates() -> str:
    """Return near-player and overlap rates by boxes and by outlines."""
    found = stored("outlines")
    names = {"near_player_rate": "Near-player rate", "overlap_rate": "Overlap rate"}
    rows = [
        [f"{names[rate]}, {group}", f"{box:.1%}", f"{outline:.1%}"]
        for group, rates in found["rates"].items()
        for rate, (box, outline) in rates.items()
    ]
    return table(["", "By boxes", "By outlines"], rows) + (
        f"\n\n*The {found['images']} published soccer images. `benchmarks/outlines.py` makes outlines for "
        f"{found['outlines']} of {found['players']} players with OpenCV's GrabCut. The outlines were inspected but not "
        "corrected.*\n"
    )


def trillion_rows() -> str:
    """Return the estimated cost of counting a trillion rows."""
    result = benchmark("counting_shards")
    value = {one["name"]: one["value"] for one in result["figures"]}
    rows = []
    for name in ("Parquet", "CSV", "JSON Lines"):
        rate, size = value[f"{name}: counting on one core"], value[f"{name}: file size"]
        hours = 10**12 / (rate * 1e6) / 3600
        rows.append([name, f"{rate:.2g}", f"{hours:,.0f}", f"{hours * 60 / 1000:,.0f} minutes", f"{size:,.1f} TB"])
    adding = value["adding the counts of 1,000 shards on one core"] * 10_000 / 1000 / 60
    counts = value["size of a file with counts"] * 10_000 / 1e6
    return table(["Format", "Million rows/s per core", "Core-hours", "On 1,000 cores", "To read"], rows) + (
        f"\n\nThe counts of 10,000 shards of 100 million rows have {counts:,.1f} GB. One core adds them in "
        f"{adding:,.0f} minutes. The rows are synthetic, so their Parquet files are small. The figures do not include "
        "reading from a disk or a network.\n"
    )


# Cues and rationales ------------------------------------------------------------------------------------------------


def cue_findings() -> str:
    """Return one sentence per respondent, the gains and shares of cues, and the weights of all cues."""
    from spotball_core import CUES
    from spotball_core.cues.explanation_record import CueReport
    from spotball_core.cues.explanation_text import headline

    def value(number: Any, digits: int = 3) -> str:
        if number is None or number.value is None:
            return "–"
        return f"{number.value:.{digits}f} [{number.ci95[0]:.{digits}f}, {number.ci95[1]:.{digits}f}]"

    found = stored("cues")
    report = CueReport.model_validate(found["report"])
    groups = report.groups
    names = [group.respondent for group in groups]
    rows: dict[str, list[str]] = {
        "All cues over uniform guessing": [value(group.gain) for group in groups],
        "Places and players over uniform guessing": [value(group.base_gain) for group in groups],
        "**Bodies over places and players**": [f"**{value(group.body_gain)}**" for group in groups],
        "Explainable (lower bound)": [value(group.explainable) for group in groups],
        "Explained share": [value(group.explained, 2) for group in groups],
        "Bodies, mirrored at random (mean gain)": [f"{group.mirrored:.3f}" for group in groups],
        "p of the gain with true sides": [f"{group.mirror_p:.3f}" for group in groups],
    }
    rows |= {f"Share of {key}": [value(group.shapley[key]) for group in groups] for key in groups[0].shapley}
    weights = [{weight.key: weight for weight in group.weights} for group in groups]
    (difference,) = report.differences
    return "\n".join(
        [
            f"MediaPipe found the poses of {found['n_poses']} of {found['n_players']} players.\n",
            *(
                f"- **{one.respondent}** ({one.prompt}; {one.n_images} images, {one.n_guesses:,.0f} guesses): "
                + headline(one)
                for one in groups
            ),
            "\nHeld-out gain in bits per guess, with 95% intervals over images:\n",
            table(["", *names], [[name, *cells] for name, cells in rows.items()]),
            (
                f"\n{difference.respondent} minus {difference.reference}, on the same images: bodies "
                f"{value(difference.body_gain)}, head {value(difference.shapley['head'])}, torso "
                f"{value(difference.shapley['torso'])}.\n"
            ),
            "Standardized weights of the model with all cues:\n",
            table(
                ["Cue", *names],
                [
                    [CUES[key].title, *("–" if key not in own else value(own[key], 2) for own in weights)]
                    for key in weights[0]
                ],
            ),
        ]
    )


def cue_keys() -> str:
    """Return the built-in cues."""
    from spotball_core import CUES

    rows = [[f"`{cue.key}`", cue.group, cue.description, cue.unit, cue.needs] for cue in list(CUES.values())[:9]]
    return table(["Key", "Group", "Score of a cell", "Unit", "Needs"], rows, left=5)


def cue_maps() -> str:
    """Return a figure of the cues on a synthetic scene."""
    from io import StringIO

    from spotball_core import cue_scores, synthetic_poses, synthetic_scenes
    from spotball_core.plots.canvas import plain_style
    from spotball_core.plots.cue_maps import cue_map_figure

    scenes = synthetic_poses([scene for scene in synthetic_scenes(60) if scene.sport == "synthetic-soccer"])
    scores = cue_scores(scenes)
    with plain_style():
        drawn = cue_map_figure(scenes[2], scores.cues, scores.values[2])
        drawn.savefig(file := StringIO(), format="svg", metadata={"Date": None})
    label = "Maps of nine cues on a synthetic scene, with skeletons and directions."
    svg = file.getvalue().partition("<svg ")[2]
    svg = f'<svg role="img" aria-label="{label}" style="max-width: 100%; height: auto" {svg}'
    return f'<div style="background: white">{svg}</div>'


def cue_power() -> str:
    """Return how often simulated studies detect that people follow bodies."""
    found = stored("cues")
    rows = [
        [one["n_images"], f"{one['strength']:g}", f"{one['gain']:.3f}", f"{one['power']:.1%}"] for one in found["power"]
    ]
    curve = [(one["power"], one["gain"]) for one in found["power"] if one["n_images"] == 50]
    detected = np.interp(0.8, *zip(*curve, strict=True))
    return table(["Images", "Strength", "Mean gain (bits per guess)", "Detected"], rows, left=0) + (
        f"\n\nEach row is {found['power'][0]['simulations']} studies. By interpolation, 50 images detect a gain of "
        f"about {detected:.2f} bits per guess in people with 80% power.\n"
    )


def cue_distances() -> str:
    """Return the distance to people of each respondent and of the baseline `social`."""
    found = sorted(stored("cues")["distances"].items(), key=lambda item: float(item[1]["value"]))
    rows = [[name, f"{one['value']:.1f} [{one['ci95'][0]:.1f}, {one['ci95'][1]:.1f}]"] for name, one in found]
    return table(["Respondent", "Distance to people (px)"], rows)


def rationale_categories() -> str:
    """Return how sentences with a known category are classified, and the offsets of both sets."""
    found = stored("reasoning-confusion")
    columns = ("pose", "gaze", "tie", "none")
    rows = [
        [rule, kind, *(counts.get(column, 0) for column in columns)]
        for rule, kinds in found["rules"].items()
        for kind, counts in kinds.items()
    ]
    right = [
        f"{rule} {kinds['pose'].get('pose', 0) + kinds['gaze'].get('gaze', 0)} of 40"
        for rule, kinds in found["rules"].items()
    ]
    offsets = [[f"of the {texts}", f"{o['pose']:.2f}", f"{o['gaze']:.2f}"] for texts, o in found["offsets"].items()]
    return (
        table(["Rule", "Sentences about", *columns], rows, left=2)
        + f"\n\nCorrect of the 40 sentences about pose or gaze only: {', '.join(right)}.\n\n"
        + table(["Offset: mean cosine", "with pose", "with gaze"], offsets)
    )


def pose_results() -> str:
    """Return how many players of the published soccer images have a pose."""
    found = stored("poses")
    rows: list[list[object]] = [
        ["Images", found["images"]],
        ["Players", found["players"]],
        ["Players with a pose", f"{found['poses']} ({found['poses'] / found['players']:.0%})"],
        *([f"No pose: {reason}", count] for reason, count in found["failures"].items()),
        *(
            [f"Poses with a confidence of at least 0.5 in both {part}", f"{share:.0%}"]
            for part, share in found["confident"].items()
        ),
        ["CPU time", f"{found['seconds']:.0f} s"],
    ]
    own = found["mediapipe"]
    return table(["Published soccer images", ""], rows) + (
        "\n\n*Kind `mediapipe`, measured by `benchmarks/poses.py`. MediaPipe's own pipeline finds "
        f"{own['found']} of these players. For the {own['both']} players that both find, keypoints with a confidence "
        f"of at least 0.5 differ by {own['median']:.1%} of the box's longer side (median).*\n"
    )


# Gaze ---------------------------------------------------------------------------------------------------------------


def gaze_confusion(part: str, column: str) -> str:
    """Return how often each result occurs for each true mechanism.

    Args:
        part: `1` or `16` trials per photo, or `tree 1` or `tree 16`.
        column: `kinds` or `types`.
    """
    kinds = ("eye", "head", "compromise", "coin", "guess")
    found = stored("gaze-mechanism")[part]
    names = {name for kind in kinds if kind in found for name in found[kind][column]}
    order = sorted(names, key=lambda name: (name not in kinds, name))
    rows = [
        [kind, found[kind]["n"], *(found[kind][column].get(name, "") for name in order)]
        for kind in kinds
        if kind in found
    ]
    return table(["True mechanism", "Observers", *order], rows)


def gaze_coverage() -> str:
    """Return how often the intervals of the cue model contain the true value."""
    names = ("w", "q", "noise", "closeness", "side", "lapse")
    with_all = stored("gaze-designs")["coverage"]
    others = stored("gaze-mechanism")
    measured = [("1", kind, with_all[kind]["coverage"]) for kind in with_all]
    measured += [
        (trials, kind, others[trials][kind]["coverage"])
        for trials, kind in (("1", "mixed"), ("16", "compromise"), ("16", "coin"), ("16", "mixed"))
    ]
    rows = []
    for trials, kind, covered in measured:
        shares = (covered.get(name) for name in names)
        cells = [f"{share[0]} of {share[1]} ({share[0] / share[1]:.0%})" if share else "" for share in shares]
        rows.append([trials, kind, *cells])
    return table(["Trials per photo", "Observers", *names], rows, left=2)


def gaze_designs() -> str:
    """Return which mechanism results in small and large designs."""
    kinds = ("eye", "head", "compromise", "coin")
    rows = [
        [design, photos, *(", ".join(f"{name} {n}" for name, n in part[kind].items()) for kind in kinds)]
        for design, by_photos in stored("gaze-designs")["designs"].items()
        for photos, part in by_photos.items()
    ]
    return table(["Design", "Photos", *kinds], rows, left=6)


def gaze_nulls() -> str:
    """Return how often the tests reject a true null hypothesis."""
    who = {"guess": "guesses", "eye": "follows the eyes", "head": "follows the head", "people": "as accurate as people"}
    rows = []
    for null, rates in stored("gaze-null").items():
        for key, rate in rates.items():
            low, high = (100 * end for end in rate["ci95"])
            share = 100 * rate["rejected"] / rate["n"]
            rows.append([who[null], key, f"{rate['n']:,}", f"{share:.1f} [{low:.1f}, {high:.1f}]"])
    return table(["Respondent", "Test", "Data sets", "Rejected (%)"], rows, left=2)


def gaze_types() -> str:
    """Return how often the decision tree finds the right type of observers with little noise."""
    found = stored("gaze-types")
    design = found["design"]
    rows = []
    for name, kind in found["kinds"].items():
        shares = {type_: 100 * n / kind["n"] for type_, n in kind["types"].items()}
        right = shares.pop(kind["expected"], 0.0)
        others = ", ".join(f"{type_} {share:.1f}" for type_, share in shares.items())
        rows.append([name, kind["expected"], f"**{right:.1f}**", others])
    return (
        f"{found['simulations']} synthetic respondents of each kind answer {design['n_stimuli']:,} photos with "
        f"{design['prompts']} prompts. The table shows how often each type results (%):\n\n"
        + table(["Synthetic observers", "Right type", "Right", "Other types"], rows, left=4)
    )


def gaze_training_tables() -> str:
    """Return the accuracies of the trained networks, and the results of the tests."""
    from spotball_adapters.gaze.training.results import TrainingReport, to_markdown

    found = stored("gaze-training")
    report = TrainingReport.model_validate(found["report"])
    keys = ("1", "2.1", "2.2", "2.3", "2.4", "3", "4")
    rows = []
    for one in report.sets:
        runs = [found["battery"][name] for name in one.respondents]
        types = ", ".join(f"{kind} ({n} of {len(runs)})" for kind, n in Counter(run["type"] for run in runs).items())
        rows.append(
            [one.set, types, *(f"{sum(run['tests'][key] is True for run in runs)} of {len(runs)}" for key in keys)]
        )
    return f"{to_markdown(report)}\n\nIn how many runs the verdict of a [test](#the-tests) was yes:\n\n" + table(
        ["Trained on", "Type", *keys], rows, left=2
    )


def gaze_training_figure() -> str:
    """Return the figure of accuracy by epoch."""
    from spotball_adapters.gaze.training.results import TrainingReport, training_chart
    from spotball_core.plots.canvas import plain_style
    from spotball_core.plots.theme import save_figure

    chart = training_chart(TrainingReport.model_validate(stored("gaze-training")["report"]))
    parts = []
    with plain_style():
        for place, panel in enumerate(chart.panels):
            path = Path(f"gaze-training-{place}.svg")
            save_figure(chart.draw([place]), path)
            lines = "; ".join(
                f"{line.name} from {line.points[0].value:.0%} to {line.points[-1].value:.0%}"
                for line in panel.lines[:-1]
            )
            parts.append(figure(path, f"{panel.title}: {lines}."))
    return f'<div style="display: flex; flex-wrap: wrap; gap: 1em">{"".join(parts)}</div>'


# Generation ---------------------------------------------------------------------------------------------------------


def ball_detectors() -> str:
    """Return the recall and precision of a detector of balls, by its threshold."""
    rows = []
    for row in stored("gen-detector")["rows"]:
        share = row["correct"] / row["detections"]
        found, large = f"{row['found']} of {row['images']}", f"{row['found_large']} of {row['large']}"
        rows.append([row["confidence"], found, large, f"{share:.2f}", row["false_without"]])
    head = ["Detected balls", "Detected balls of 20 pixels or more", "Precision"]
    return table(["`confidence`", *head, "False detections in frames without a ball"], rows, left=0)


def million_items() -> str:
    """Return the estimated cost of a million items."""
    record = stored("gen-stages")
    entering = {"frames": 20e6, "filter": 20e6, "detect": 10e6, "track": 2e6, "plausibility": 10e6}
    rows = [("decoding, 720p at 30 frames/s", 20e6, record["decoding"])]
    rows += [(f"`{name}`", entering.get(name, 1e6), s) for name, s in record["stages"].items() if name != "detect"]
    total = sum(count * seconds for _, count, seconds in rows) / 3600
    cells: list[list[object]] = [
        [name, f"{count / 1e6:,.0f} million", f"{seconds * 1000:,.2g}", f"{count * seconds / 3600:,.1f}"]
        for name, count, seconds in rows
    ]
    cells.append(["**these together**", "", "", f"**{total:,.0f}**"])
    return table(["", "Items entering", "Core-ms each", "Core-hours"], cells) + (
        f"\n\nThis is {20e6 / 3600:,.0f} hours of video, and {total / 16 / 24:,.1f} days on one machine with 16 cores. "
        f"The images need {record['bytes'] * 1e6 / 1e12:,.1f} TB, and the index of near duplicates about 210 bytes of "
        "memory per frame.\n"
    )


def leak_test_level() -> str:
    """Return how often datasets without inpainting fail the leak test."""
    figures = benchmark("gen_leak")["figures"]
    rows = []
    for own, independent in zip(figures[::2], figures[1::2], strict=True):
        n, images = own["note"].removesuffix(" images").split(" datasets of about ")
        name = own["name"].split(":")[0]
        shares = [f"{own['value']:.1f}%", f"{independent['value']:.1f}%"]
        rows.append([f"{n} datasets with {name} each", f"about {images}", *shares])
    return table(["Datasets without inpainting", "Images", "Fail the test", "Fail with independent permutations"], rows)


def inpainting_kinds() -> str:
    """Return the result of the leak test for each kind of inpainting."""
    rows = [
        [part, kind, r["images"], *(f"{r[key]:.{digits}f}" for key, digits in _LEAK)]
        for part, kinds in stored("gen-inpainting").items()
        for kind, r in kinds.items()
    ]
    heads = ["Images", "Accuracy (chance about 0.2)", "p", "AUC (chance about 0.5)", "p", "Joint p"]
    return table(["", "Kind", *heads], rows, left=2)


_LEAK = (("accuracy", 2), ("accuracy_p", 3), ("auc", 2), ("auc_p", 3), ("p", 3))
"""Field and digits of each number in the table of inpainting kinds."""


def inpainting_flights() -> str:
    """Return the results of the leak test by flight of the ball across real videos."""
    rows = []
    for kind, r in list(stored("gen-inpainting").values())[-1].items():
        ps, more = r["p_by_flight"], r.get("accuracy_over_untouched")
        difference = "{:+.3f} ({:+.3f} to {:+.3f})".format(*more) if more else ""
        rows.append([kind, f"{sum(p < 0.05 for p in ps)} of {len(ps)}", difference])
    return table(["Kind", "Flights with p < 0.05", "Accuracy minus that on untouched frames"], rows)


# Pictures -----------------------------------------------------------------------------------------------------------


def gridded_scene(rows: int, cols: int) -> str:
    """Return a synthetic scene with a grid as an image in HTML."""
    import base64
    import io

    from spotball_core.grid import Grid
    from spotball_core.overlay import gridded
    from spotball_core.synthetic.pictures import draw_scene
    from spotball_core.synthetic.scenes import synthetic_scenes

    picture = draw_scene(synthetic_scenes(1)[0], ball=False)
    gridded(picture, Grid(rows, cols, picture.width, picture.height)).save(file := io.BytesIO(), "PNG")
    data = base64.b64encode(file.getvalue()).decode()
    alt = f"A synthetic soccer scene with a grid of {rows} rows and {cols} columns."
    return f'<p><img alt="{alt}" src="data:image/png;base64,{data}"></p>'


def item_pictures(dataset: str) -> str:
    """Return the first item of a dataset, with the ball and with the ball inpainted."""
    import base64

    from spotball_core.io.scenes import read_scenes

    items = Path(dataset)
    scene = read_scenes(items / "scenes.jsonl")[0]
    lines = []
    for folder, words in (("with_ball", "with the ball"), ("images", "with the ball inpainted")):
        file = items / folder / Path(scene.path or "").relative_to("images")
        kind = "jpeg" if file.suffix in (".jpg", ".jpeg") else "png"
        data = base64.b64encode(file.read_bytes()).decode()
        lines.append(f"![{scene.sport} {scene.image}, {words}](data:image/{kind};base64,{data})\n")
        lines.append(f"*{scene.image}, {words}.*\n")
    return "\n".join(lines)


# Performance ---------------------------------------------------------------------------------------------------------

CLAIMS = (
    (
        "Wasserstein distances of 3,000 pairs, relative to a loop over `ot.emd2`, one core",
        "wasserstein_pairs",
        "speedup over ot.emd2: 3,000 pairs of realistic counts, one core",
    ),
    (
        "The same on two cores",
        "wasserstein_pairs",
        "speedup over ot.emd2: 3,000 pairs of realistic counts, two cores",
    ),
    (
        "The same without the extra `speed`",
        "wasserstein_pairs",
        "speedup over ot.emd2: 3,000 pairs of realistic counts, one core without Numba",
    ),
    (
        "The same relative to `scipy.optimize.linprog`",
        "wasserstein_pairs",
        "speedup over scipy.optimize.linprog: realistic counts, one core",
    ),
    (
        "Growth of this time from 60 to 960 cells, relative to `ot.emd2`",
        "wasserstein_growth",
        "growth of time relative to ot.emd2: 20 cells in use",
    ),
    (
        "10,000 bootstrap resamples of every metric, full release",
        "intervals",
        "all intervals with 10,000 resamples",
    ),
    (
        "The same relative to `scipy.stats.bootstrap`",
        "intervals",
        "speedup over scipy.stats.bootstrap",
    ),
    (
        "Counting 10 million rows of CSV, relative to Polars",
        "scoring_files",
        "CSV: time relative to Polars",
    ),
    (
        "The same for JSON Lines",
        "scoring_files",
        "JSON Lines: time relative to Polars",
    ),
    (
        "The same for Parquet",
        "scoring_files",
        "Parquet: time relative to Polars",
    ),
    (
        "The same for Parquet with a column of samples",
        "scoring_files",
        "Parquet with samples: time relative to Polars",
    ),
    (
        "Counting rows of Parquet on one core",
        "counting_shards",
        "Parquet: counting on one core",
    ),
    (
        "Adding the counts of 1,000 shards",
        "counting_shards",
        "adding the counts of 1,000 shards on one core",
    ),
    (
        "Memory to read 100 million rows of Parquet",
        "reading_growth",
        "100 million rows: peak memory",
    ),
    (
        "`import spotball_core`, relative to `import numpy, pydantic`",
        "startup",
        "import spotball_core relative to import numpy, pydantic",
    ),
    (
        "`spotball score` with 1,000 rows, relative to `import numpy, polars, pydantic`",
        "startup",
        "spotball score relative to import numpy, polars, pydantic",
    ),
    (
        "`spotball replicate`, full release",
        "replicate",
        "spotball replicate",
    ),
    (
        "`spotball report`, full release",
        "report",
        "spotball report",
    ),
    (
        "`spotball cues explain`, full release",
        "cues",
        "spotball cues explain",
    ),
    (
        "`spotball gaze analyze`, ten respondents with 21,760 trials each",
        "gaze_analyze",
        "spotball gaze analyze",
    ),
    (
        "Mixed model of 21,760 trials, relative to glmer of R's lme4",
        "gaze_mixed",
        "speedup over glmer: binary outcome, two random intercepts",
    ),
    (
        "Analysis of 100,000 rationales, without embedding them",
        "reasoning",
        "analysis after embedding, with distinct texts",
    ),
    (
        "Requests per second of `spotball run`, relative to an httpx loop",
        "runner",
        "runner relative to httpx, 16 concurrent requests",
    ),
    (
        "Memory for 100,000 requests, relative to 10,000",
        "runner",
        "memory of 100,000 requests relative to 10,000",
    ),
    (
        "Time to acknowledge a click with 200 participants at once, 99th percentile",
        "study_load",
        "time to acknowledge a click, 99th percentile",
    ),
    (
        "Extracting one frame per second, relative to decoding the video",
        "gen_decode",
        "with grain: time of extracting one frame per second, relative to decoding only",
    ),
    (
        "Extracting ten frames per second from a small real video, relative to decoding it",
        "gen_decode",
        "vtest.avi: extracting 10 frames per second relative to decoding only",
    ),
    (
        "All stages without trained models, relative to decoding one second of video",
        "gen_stages",
        "all stages but track relative to decoding",
    ),
    (
        "Datasets without inpainting that fail the leak test",
        "gen_leak",
        "1 flight: datasets without inpainting that fail",
    ),
    (
        "p-value of inpainted balls against decoys, real footage",
        "gen_inpainting",
        "footage, temporal: p against decoys",
    ),
)
"""Each claim, with its benchmark and its figure."""


def claims() -> str:
    """Return each claim about speed and memory, its measured value and its goal."""
    kept = json.loads((ROOT / "benchmarks/kept.json").read_text(encoding="utf-8"))
    figures = {(result["name"], one["name"]): one for result in kept for one in result["figures"]}
    rows = []
    for claim, name, title in CLAIMS:
        one = figures[name, title]
        missed = "" if one["met"] in (True, None) else ": **missed**"
        rows.append([claim, f"{one['value']:.3g} {one['unit']}".strip(), f"{one['goal']}{missed}", f"`{name}`"])
    lines = ["| Claim | Measured | Goal | Benchmark |", "| --- | ---: | --- | --- |"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    setting = kept[0]["setting"]
    return "\n".join([*lines, f"\nMachine: {setting['machine']}. Versions: {setting['versions']}."])


def command_times() -> str:
    """Return where the time of each command goes."""
    record = stored("profile")
    commands = record["commands"]
    places = list(dict.fromkeys(place for command in commands for place in command["places"]))
    places.sort(key=lambda place: -sum(command["places"].get(place, 0) for command in commands))
    rows = [["**whole**", *(f"**{command['seconds']:.1f} s**" for command in commands)]]
    for place in places:
        took = [(command["places"].get(place, 0.0), command["seconds"]) for command in commands]
        rows.append(
            [place, *(f"{seconds:.2f} s, {seconds / whole:.0%}" if seconds >= 0.005 else "" for seconds, whole in took)]
        )
    rows.append(["peak memory", *(f"{command['megabytes']:.0f} MB" for command in commands)])
    floors = [[name, f"{seconds:.2f} s"] for name, seconds in record["floors"].items()]
    whole = table(["", *(f"`spotball {command['command']}`" for command in commands)], rows)
    return f"{whole}\n\nThe libraries alone need:\n\n{table(['', ''], floors)}"
