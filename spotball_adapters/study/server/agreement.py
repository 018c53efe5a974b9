"""Whether what is stored agrees with the plan: with study.toml and its dataset as they are now."""

from __future__ import annotations

from collections.abc import Iterator

from spotball_adapters.study.setup.design import StudyDesign
from spotball_adapters.study.store import StudyReader


def disagreements(reader: StudyReader, design: StudyDesign) -> Iterator[str]:
    """What does not agree, in words; nothing where all does.

    The study's unchangeable parts are those that were when the first participant began, every participant saw a list of
    the study, and the images they saw, their order and what was to be explained are drawn from their recorded seed.
    """
    if changed := reader.changed(design.parts):
        yield f"changed since somebody took part: {', '.join(changed)}"
    names = {study_list.name for study_list in design.config.lists}
    strangers, differing = 0, 0
    for person in reader.participants():
        if person.list not in names:
            strangers += 1
        elif person.trials != design.trials(person.list, person.seed):
            differing += 1
    if strangers:
        yield f"{strangers} participants saw a list that study.toml no longer has"
    if differing:
        yield f"{differing} participants saw other images, or another order, than their seed gives"
