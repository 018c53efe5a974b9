"""Count answers on two machines, and merge the counts on one of them."""

from spotball_core import Accumulator, Grid, Scene

balls = {"1": "A1", "2": "B2", "3": "C3", "4": "D4"}
scenes = [Scene(image=image, grid=Grid.standard(), ball_cells=[ball]) for image, ball in balls.items()]
answers = [("1", "A1"), ("1", "A2"), ("2", "B2"), ("3", "F9"), ("4", ""), ("4", "D4")]

machines = [Accumulator(scenes), Accumulator(scenes)]
for machine, batch in zip(machines, (answers[:3], answers[3:]), strict=True):
    machine.update([cell for _, cell in batch], [image for image, _ in batch])
machines[0].merge(machines[1])

assert machines[0].compute()["accuracy"] == sum(cell == balls[image] for image, cell in answers) / len(answers)
