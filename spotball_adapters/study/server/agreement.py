"""Check whether the stored data agree with the current study.toml and dataset."""

from __future__ import annotations

from collections.abc import Iterator

from spotball_adapters.study.setup.design import StudyDesign
from spotball_adapters.study.store import StudyReader


def disagreements(reader: StudyReader, design: StudyDesign) -> Iterator[str]:
    """Yield descriptions of disagreements between the stored data and the study.

    The fixed parts of the study must be unchanged since the first participant began. Every participant must have seen a
    list of the study, and their images, their order and the images to explain must follow from their recorded seed.
    """
    if changed := reader.changed(design.parts):
        yield f"these parts of the study changed after the first participant began: {', '.join(changed)}"
    names = {study_list.name for study_list in design.config.lists}
    strangers, differing = 0, 0
    for person in reader.participants():
        if person.list not in names:
            strangers += 1
        elif person.trials != design.trials(person.list, person.seed):
            differing += 1
    if strangers:
        yield f"the lists of {strangers} participants are no longer in study.toml"
    if differing:
        yield f"the images or their order do not follow from the stored seed for {differing} participants"
