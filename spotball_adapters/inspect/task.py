"""Define the task: ask one prompt about each image of a dataset, by default with the paper's number of replies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from spotball_adapters.inspect.samples import About, Reference, named, references
from spotball_adapters.inspect.scorer import spot_the_ball_scorer
from spotball_adapters.prompts.picture import kept
from spotball_adapters.prompts.prompt import Prompt, load_prompt
from spotball_adapters.providers.presets import SETTINGS
from spotball_adapters.replies import DEFAULT_POLICY, ParsePolicy
from spotball_adapters.runs.plan import limited
from spotball_core.counting.read import read_counts
from spotball_core.counting.responses import common_grid
from spotball_core.errors import MissingExtraError, OptionError
from spotball_core.io.dataset import SCENES, response_files
from spotball_core.io.scenes import read_scenes
from spotball_core.schema.scene import Scene

try:
    from inspect_ai import Epochs, Task, task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessage, ChatMessageUser, ContentImage, ContentText, GenerateConfig, get_model
    from inspect_ai.solver import Generate, Solver, TaskState, generate, solver
    from platformdirs import user_cache_dir
except ImportError as error:
    raise MissingExtraError("The task for Inspect", "inspect") from error

SAMPLES, CHAIN_SAMPLES = 50, 20
"""Default number of epochs, as in Spot the Ball: for prompts without questions, and for prompts with questions."""

HUMAN = "human"


@task(name=named("spot_the_ball"))
def spot_the_ball(
    dataset: str,
    prompt: str = "base",
    samples: int | None = None,
    reference: str | None = None,
    controls: bool = False,
    pictures: str | None = None,
    parse_policy: ParsePolicy = DEFAULT_POLICY,
) -> Task:
    """Return the task of locating the removed ball in each image.

    Args:
        dataset: folder with scenes.jsonl and the images.
        prompt: base, cue, cot, or the path of your own prompt file.
        samples: number of replies per image (epochs). The default is that of Spot the Ball: 50, or 20 for prompts with
            questions.
        reference: the respondent to compare the model with, from the dataset's responses; by default `human`, if it
            has responses.
        controls: whether to ask also about images in which the ball is visible.
        pictures: folder for the images with drawn grids; by default a folder in the user's cache.
        parse_policy: how to parse replies: `strict` or `lenient`.

    Raises:
        OptionError: if the dataset has no images to ask about, or if the reference has no responses.
        InputError: if the scenes, the responses or the prompt file are invalid, or if an image is missing or invalid.
    """
    folder = Path(dataset)
    all_scenes = read_scenes(folder / SCENES)
    common_grid(all_scenes)
    # Alternate between sports, so that the first images cover all of them.
    scenes = limited([scene for scene in all_scenes if controls or not scene.control], None)
    if not scenes:
        raise OptionError(
            "all images are controls (the ball is visible). Set controls=true to include them",
            code="no-data",
            file=dataset,
        )
    loaded_prompt = load_prompt(prompt)
    compared = _references(folder, all_scenes, reference)
    picture_folder = Path(pictures) if pictures else Path(user_cache_dir("spotball-core"), "pictures")
    return Task(
        dataset=MemoryDataset(
            [
                _sample(scene, loaded_prompt, compared.get(scene.key), kept(scene, folder, picture_folder))
                for scene in scenes
            ],
            name=folder.resolve().name,
        ),
        solver=questions_first(prompt) if loaded_prompt.questions else generate(),
        scorer=spot_the_ball_scorer(parse_policy),
        epochs=Epochs(samples or (CHAIN_SAMPLES if loaded_prompt.questions else SAMPLES)),
        config=GenerateConfig(temperature=SETTINGS.temperature),
    )


@solver(name=named("questions_first"))
def questions_first(prompt: str) -> Solver:
    """Return a solver that asks each question of a prompt in its own conversation, then asks for the cell.

    The final message, which asks for the cell, contains the answers to the questions.

    Args:
        prompt: the prompt's name or file, as for `spot_the_ball`.
    """
    loaded_prompt = load_prompt(prompt)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        # Use the image that Inspect prepared, because Inspect reads no files while a sample runs.
        picture = next(part for part in state.user_prompt.content if isinstance(part, ContentImage))
        answers = []
        for index in range(len(loaded_prompt.questions)):
            (question,) = loaded_prompt.question(index)
            output = await get_model().generate([_message(picture, question.text)])
            answers.append(output.completion)
        about = state.metadata_as(About)
        state.store.set("answers", answers)
        state.messages = _messages(picture, loaded_prompt, about.scene, answers)
        return await generate(state)

    return solve


def _sample(scene: Scene, prompt: Prompt, reference: Reference | None, picture: Path) -> Sample:
    pending = [f"[the answer to question {index + 1}]" for index in range(len(prompt.questions))]
    return Sample(
        id=_id(scene),
        input=_messages(ContentImage(image=str(picture)), prompt, scene, pending),
        target=list(scene.ball_cells or ()),
        metadata=About.of(scene, prompt, reference).model_dump(mode="json"),
    )


def _id(scene: Scene) -> str:
    """Return the sample's id SPORT/IMAGE. Slashes and percent signs in the two names are escaped."""
    return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in scene.key)


def _messages(picture: ContentImage, prompt: Prompt, scene: Scene, answers: Sequence[str]) -> list[ChatMessage]:
    return [_message(picture, message.text) for message in prompt.final(scene.sport, answers)]


def _message(picture: ContentImage, text: str) -> ChatMessageUser:
    return ChatMessageUser(content=[picture, ContentText(text=text)])


def _references(folder: Path, scenes: Sequence[Scene], respondent: str | None) -> dict[tuple[str, str], Reference]:
    """Return the reference's answers by (sport, image).

    If `respondent` is None, human participants are the reference. The result is empty if they have no responses.
    """
    if respondent is None and not any(folder.glob("responses*")):
        return {}
    by_image = references(read_counts(response_files(folder), scenes), respondent or HUMAN)
    if respondent and not by_image:
        raise OptionError(
            f"the responses in {folder} have no respondent {respondent!r}. Give one of their respondents",
            code="unknown-name",
            field="reference",
        )
    return by_image
