"""Define an Inspect AI scorer that returns the distance between the answered cell and the target, in pixels."""
# mypy: allow-untyped-decorators

import asyncio

from inspect_ai.model import ModelName, ModelOutput
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import TaskState

from spotball_core import euclidean_error


@scorer(metrics=[mean()])
def distance() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=float(euclidean_error(state.output.completion, target.text)))

    return score


for cell, ball, error in [("A1", "A3", 128), ("C4", "C4", 0), ("F1", "D1", 120)]:
    output = ModelOutput.from_content("mock/model", cell)
    state = TaskState(ModelName("mock/model"), sample_id=1, epoch=1, input="Where?", messages=[], output=output)
    assert asyncio.run(distance()(state, Target(ball))) == Score(value=error)
