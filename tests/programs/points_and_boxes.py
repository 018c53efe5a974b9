"""Score answers in pixels against bounding boxes x1, y1, x2, y2."""

from spotball_core import Grid, accuracy, load

grid = Grid(rows=8, cols=8, width=800, height=600)
points = [(150.0, 80.0), (420.5, 310.0), (799.0, 599.0), (10.0, 300.0)]
boxes = [(120, 70, 180, 90), (430, 320, 440, 330), (10, 10, 20, 20), (0, 290, 30, 310)]
direct = accuracy([grid.cell_at(x, y) for x, y in points], [set(grid.cells_in(box)) for box in boxes], grid=grid)
rows = [{"image": i, "x": x, "y": y} for i, (x, y) in enumerate(points)]
truth = [{"image": i, "x1": x1, "y1": y1, "x2": x2, "y2": y2} for i, (x1, y1, x2, y2) in enumerate(boxes)]
report = load(rows, truth=truth, grid=grid).score(bootstrap=0)

hits: list[bool] = []
for (x, y), (x1, y1, x2, y2) in zip(points, boxes, strict=True):
    left, top = x // 100 * 100, y // 75 * 75
    hits.append(x1 < left + 100 and x2 > left and y1 < top + 75 and y2 > top)
assert direct.tolist() == hits
assert report.groups[0].metrics["accuracy"].value == sum(hits) / 4
