"""Measure whether guesses are near players, and whether they are correct."""

import numpy as np

from spotball_core import Grid, Scene, accuracy, near_player_rate

grid = Grid.standard()
boxes, balls = [(100, 100, 140, 200), (300, 50, 420, 330), (0, 0, 10, 20)], ["D5", "C3", "B1"]
scenes = [Scene(image=i, grid=grid, ball_cells=[balls[i]], players=[boxes[i]]) for i in range(3)]
guesses = [["C2", "F10"], ["A6"], ["E9", "A1", "B1"]]
rates, hits = near_player_rate(guesses, scenes), accuracy(guesses, scenes)

for cells, (x1, y1, x2, y2), ball, rate, hit in zip(guesses, boxes, balls, rates, hits, strict=True):
    assert hit == cells.count(ball) / len(cells)
    points = [(64 * int(cell[1:]) - 32, 60 * (ord(cell[0]) - 64) - 30) for cell in cells]
    away = [np.hypot(max(x1 - x, x - x2, 0), max(y1 - y, y - y2, 0)) for x, y in points]
    assert rate == np.mean(np.array(away) <= 0.08 * np.hypot(640, 360))
