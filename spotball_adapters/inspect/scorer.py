"""Score the task: parse each reply to a cell, and compute the metrics of `spotball_core` over all replies."""

from __future__ import annotations

from spotball_adapters.inspect.samples import About, counted, named
from spotball_adapters.outputs.layouts import INSPECT_FINISH
from spotball_adapters.replies import DEFAULT_POLICY, ParsePolicy, parse_reply
from spotball_core.errors import MissingExtraError
from spotball_core.scoring.score import score

try:
    from inspect_ai.scorer import (
        CORRECT,
        INCORRECT,
        NOANSWER,
        Metric,
        SampleScore,
        Score,
        Scorer,
        Target,
        Value,
        metric,
        scorer,
    )
    from inspect_ai.solver import TaskState
except ImportError as error:
    raise MissingExtraError("The task for Inspect", "inspect") from error

RESPONDENT = "this model"
"""Name of the scored model in the counts, to distinguish it from the reference."""


@metric(name=named("spot_the_ball_metrics"), scores="unreduced")
def spot_the_ball_metrics() -> Metric:
    """Return a metric that computes all scores of `spotball score` for each sport, with names such as soccer/accuracy.

    Each epoch counts as a separate reply, because the metrics need the number of replies per cell. Undefined scores,
    for example a distance to a reference if there is none, are omitted.
    """

    def compute(scores: list[SampleScore]) -> Value:
        if not scores:
            return {}
        by_name: dict[str, About] = {}
        answers = []
        for sample_score in scores:
            name = str(sample_score.sample_id)
            if name not in by_name:
                by_name[name] = About.model_validate(sample_score.sample_metadata)
            answers.append((by_name[name], sample_score.score.answer))
        abouts = list(by_name.values())
        reference = next((about.reference.respondent for about in abouts if about.reference), None)
        report = score(
            counted(answers, RESPONDENT),
            [about.scene for about in abouts],
            reference=reference,
            by=("sport", "respondent"),
            bootstrap=0,
        )
        values: dict[str, str | int | float | bool | None] = {}
        for group in report.groups:
            if group.respondent == RESPONDENT:
                values |= {f"{group.sport}/{key}": value.value for key, value in group.metrics.items()}
                values |= {
                    f"{group.sport}/n_images": group.n_images,
                    f"{group.sport}/n_responses": group.n_responses,
                    f"{group.sport}/n_unparsed": group.n_unparsed,
                }
        return {name: value for name, value in values.items() if value is not None}

    return compute


@scorer(metrics=[spot_the_ball_metrics()], name=named("spot_the_ball_scorer"))
def spot_the_ball_scorer(parse_policy: ParsePolicy = DEFAULT_POLICY) -> Scorer:
    """Score a reply as correct if its cell contains the ball, otherwise as incorrect.

    The score is "no answer" if the reply has no cell or if the image has no ground truth.
    """

    async def score_reply(state: TaskState, target: Target) -> Score:
        about = About.model_validate(state.metadata)
        output = state.output
        parsed = parse_reply(
            output.completion,
            about.scene.layout,
            policy=parse_policy,
            finish=INSPECT_FINISH.get(output.stop_reason, "other"),
        )
        truth = about.scene.ball_cells
        correct = CORRECT if truth and parsed.cell in truth else INCORRECT
        return Score(
            value=NOANSWER if parsed.cell is None or truth is None else correct,
            answer=parsed.cell,
            explanation=parsed.reasoning or parsed.problem,
            metadata={"problem": parsed.problem, "parse_policy": parse_policy},
        )

    return score_reply
