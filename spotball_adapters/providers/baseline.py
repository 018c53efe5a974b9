"""`baseline`: the core's baselines, asked like a model. Its models are uniform, center, nearest-player, prior, oracle.

Sample k of a scene is what `spotball baselines` draws for it with the same seed. No picture is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping

from spotball_adapters.providers.drawn import DrawingProvider
from spotball_adapters.providers.protocol import Access, Answer, PermanentError, Provider, Reply, Request
from spotball_core.baselines import BASELINES, baseline_responses

MAX_SAMPLES = 1000
"""Samples a request: as many as a benchmark wants, since they cost nothing."""

NO_ANSWER = "no answer"
"""How a baseline declines a scene that lacks what it answers from."""

Key = tuple[str, str]


class BaselineProvider(DrawingProvider):
    """One baseline. It answers from all scenes of the run, since `prior` does.

    Raises:
        OptionError: for a model that is no baseline, or a base URL.
    """

    name = "baseline"
    models = tuple(BASELINES)

    def __init__(self, access: Access) -> None:
        super().__init__(access)
        self.max_samples = MAX_SAMPLES
        self._scenes = access.scenes
        self._drawn: dict[tuple[int, int], dict[Key, list[str | None]]] = {}

    async def ask(self, request: Request) -> Answer:
        """The samples' cells, each as a reply in the form that the paper's prompts ask for."""
        seed = request.settings.seed or 0
        cells = self._cells(seed, max(request.samples)).get(request.scene.key)
        if cells is None:
            raise PermanentError(f"baseline: {'/'.join(request.scene.key)} is not among the scenes of the run")
        replies = tuple(self._reply(cells[sample - 1]) for sample in request.samples)
        return Answer(replies, model=None, input_tokens=0, output_tokens=0)

    def _cells(self, seed: int, samples: int) -> Mapping[Key, list[str | None]]:
        """Each scene's cells, for at least so many samples."""
        # More samples begin with fewer, so drawing in powers of two draws seldom.
        enough = 1 << (samples - 1).bit_length()
        if (seed, enough) not in self._drawn:
            rows = baseline_responses(self._scenes, [self.model], samples=enough, seed=seed)
            cells = rows["cell"].to_list()
            self._drawn[seed, enough] = {
                scene.key: cells[i * enough : (i + 1) * enough] for i, scene in enumerate(self._scenes)
            }
        return self._drawn[seed, enough]

    def _reply(self, cell: str | None) -> Reply:
        if cell is None:
            return Reply("", "refused", NO_ANSWER)
        return Reply(f"Reasoning: {BASELINES[self.model].description}\nCell: {cell}", "stop", "stop")


def provider(access: Access) -> Provider:
    """The entry point."""
    return BaselineProvider(access)
