"""Test GazeLLE with a tiny random encoder: weight names and shapes, each part, and the commands."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.failures import raises

torch, transformers = (
    pytest.importorskip(name, reason=f"{name} is not installed: it comes with the local extra")
    for name in ("torch", "transformers")
)

from spotball_adapters.gaze import gazelle  # noqa: E402
from spotball_adapters.gaze.gazelle import Block, GazeLLE, assembled, load_gazelle, peak, positions, prepared  # noqa: E402
from spotball_core.errors import InputError  # noqa: E402
from spotball_core.gaze.data.stimuli import write_stimuli  # noqa: E402
from tests.adapters.gaze.made import made, rows, stimulus  # noqa: E402
from tests.adapters.run_process import good  # noqa: E402

pytestmark = pytest.mark.slow

GRID, WIDTH, DIM = (4, 4), 32, 16


def encoder(width: int = WIDTH) -> object:
    torch.manual_seed(0)
    layers = {"hidden_size": width, "num_hidden_layers": 2, "num_attention_heads": 2}
    return transformers.Dinov2Model(transformers.Dinov2Config(**layers, image_size=56, patch_size=14)).eval()


def tiny(*, inout: bool = False) -> GazeLLE:
    torch.manual_seed(1)
    return GazeLLE(encoder(), grid=GRID, dim=DIM, layers=2, inout=inout).eval()


def decoder(model: GazeLLE) -> dict[str, object]:
    return {name: value for name, value in model.state_dict().items() if not name.startswith("backbone.")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a checkpoint and its encoder."""
    folder = tmp_path_factory.mktemp("gazelle")
    model = tiny()
    model.backbone.save_pretrained(folder / "encoder")
    torch.save(decoder(model), folder / "decoder.pt")
    return folder


def published(width: int, *, inout: bool) -> dict[str, tuple[int, ...]]:
    """Return the names and shapes of the published weights: dimension 256, three blocks, 32 x 32 patches."""
    shapes: dict[str, tuple[int, ...]] = {"pos_embed": (256, 32, 32), "head_token.weight": (1, 256)}
    shapes |= {"linear.weight": (256, width, 1, 1), "linear.bias": (256,)}
    shapes |= {"heatmap_head.0.weight": (256, 256, 2, 2), "heatmap_head.0.bias": (256,)}
    shapes |= {"heatmap_head.1.weight": (1, 256, 1, 1)}
    block: dict[str, tuple[int, ...]] = {f"norm{n}.{part}": (256,) for n in (1, 2) for part in ("weight", "bias")}
    block |= {"attn.qkv.weight": (768, 256), "attn.proj.weight": (256, 256), "attn.proj.bias": (256,)}
    block |= {"mlp.fc1.weight": (1024, 256), "mlp.fc1.bias": (1024,)}
    block |= {"mlp.fc2.weight": (256, 1024), "mlp.fc2.bias": (256,)}
    shapes |= {f"transformer.{number}.{name}": shape for number in range(3) for name, shape in block.items()}
    if inout:
        shapes |= {"inout_head.0.weight": (128, 256), "inout_head.0.bias": (128,), "inout_token.weight": (1, 256)}
        shapes |= {"inout_head.3.weight": (1, 128), "inout_head.3.bias": (1,)}
    return shapes


class TestWeights:
    @pytest.mark.parametrize(("width", "inout"), [(768, False), (1024, False), (768, True), (1024, True)])
    def test_assembled_loads_weights_with_the_names_and_shapes_of_the_published_checkpoints(
        self, width: int, inout: bool
    ) -> None:
        shapes = published(width, inout=inout)
        torch.manual_seed(2)
        weights = {name: torch.randn(shape) for name, shape in shapes.items()}
        model = assembled(weights, encoder(width), "published.pt")
        assert {name: tuple(value.shape) for name, value in decoder(model).items()} == shapes
        assert all((value == weights[name]).all() for name, value in decoder(model).items())
        assert (model.size, model.inout) == ((448, 448), inout)

    def test_load_gazelle_from_files_gives_the_same_heatmaps_as_the_saved_model(self, folder: Path) -> None:
        model, before = load_gazelle(folder / "decoder.pt", str(folder / "encoder")), tiny()
        image = torch.randn(1, 3, 56, 56)
        with torch.no_grad():
            assert torch.allclose(model(image, [None]), before(image, [None]), atol=1e-6)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda weights: {}, "weights: found weights of another model"),
            (lambda weights: {k: v for k, v in weights.items() if k != "linear.bias"}, "such as `linear.bias`"),
            (lambda weights: {**weights, "backbone.cls_token": torch.zeros(1)}, "such as `backbone.cls_token`"),
            (lambda weights: {**weights, "linear.weight": torch.zeros(16, 48, 1, 1)}, "expected dinov2 of width 48"),
            (lambda weights: {**weights, "head_token.weight": torch.zeros(2, 16)}, "such as `head_token.weight`"),
        ],
    )
    def test_assembled_with_unexpected_weights_raises_input_error(
        self, change: Callable[..., dict[str, object]], message: str
    ) -> None:
        with pytest.raises(InputError) as error:
            assembled(change(decoder(tiny())), encoder(), "mine.pt")
        assert message in str(error.value)

    def test_assembled_with_an_encoder_that_is_not_dinov2_raises_input_error(self) -> None:
        layers = {"hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": 2}
        other = transformers.ViTModel(transformers.ViTConfig(**layers, intermediate_size=32))
        with raises(InputError, "unusable-model:backbone"):
            assembled(decoder(tiny()), other, "mine.pt")

    def test_load_gazelle_with_unreadable_files_raises_input_error(self, folder: Path, tmp_path: Path) -> None:
        (tmp_path / "text.pt").write_text("no weights")
        for path in (tmp_path / "text.pt", tmp_path / "nothing.pt"):
            with raises(InputError, "unusable-model:file"):
                load_gazelle(path, str(folder / "encoder"))
        with raises(InputError, "unusable-model:backbone"):
            load_gazelle(folder / "decoder.pt", str(tmp_path))


class TestParts:
    def test_positions_are_sines_and_cosines_of_column_and_row(self) -> None:
        found = positions(8, 3, 5)
        assert found.shape == (8, 3, 5)
        for channel, row, column in np.ndindex(8, 3, 5):
            place, within = (column, channel) if channel < 4 else (row, channel - 4)
            angle = place / 10_000 ** (2 * (within // 2) / 4)
            expected = math.sin(angle) if within % 2 == 0 else math.cos(angle)
            assert found[channel, row, column] == pytest.approx(expected, abs=1e-6)

    def test_block_equals_the_transformer_encoder_layer_of_pytorch(self) -> None:
        torch.manual_seed(3)
        block = Block(DIM).eval()
        options = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
        layer = torch.nn.TransformerEncoderLayer(DIM, 8, 4 * DIM, **options).eval()
        with torch.no_grad():
            layer.self_attn.in_proj_weight.copy_(block.attn.qkv.weight)
            layer.self_attn.in_proj_bias.zero_()
            mine = (block.attn.proj, block.mlp.fc1, block.mlp.fc2, block.norm1, block.norm2)
            other = (layer.self_attn.out_proj, layer.linear1, layer.linear2, layer.norm1, layer.norm2)
            for theirs, ours in zip(other, mine, strict=True):
                ours.weight.add_(torch.randn_like(ours.weight) / 10)
                theirs.weight.copy_(ours.weight)
                theirs.bias.copy_(ours.bias)
            x = torch.randn(2, 7, DIM)
            assert torch.allclose(block(x), layer(x), atol=1e-5)

    def test_block_drops_branches_in_training_and_preserves_their_mean(self) -> None:
        torch.manual_seed(4)
        block = Block(DIM, drop=0.5)
        x = torch.randn(1, 3, DIM).expand(4000, -1, -1)
        with torch.no_grad():
            branch = block.train()._kept(x)
        dropped = (branch == 0).all(dim=(1, 2)).float().mean()
        assert 0.45 < dropped < 0.55
        assert torch.allclose(branch.mean(0), x[0], atol=0.2)

    def test_prepared_resizes_and_normalizes_images(self) -> None:
        values = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)
        found = prepared(Image.fromarray(values), (20, 30))
        assert np.allclose(found.numpy().transpose(1, 2, 0), (values / 255 - gazelle.MEAN) / gazelle.SD, atol=1e-5)
        assert prepared(Image.fromarray(values), (56, 56)).shape == (3, 56, 56)

    def test_peak_returns_the_center_of_the_cell_with_the_largest_value(self) -> None:
        heatmap = torch.zeros(64, 64)
        heatmap[10, 50] = 1
        assert peak(heatmap) == ((50.5) / 64, 10.5 / 64)


class TestForward:
    @pytest.mark.parametrize("inout", [False, True])
    def test_forward_returns_one_heatmap_per_image_and_face_box_independent_of_the_batch(self, inout: bool) -> None:
        model = tiny(inout=inout)
        images, face = torch.randn(3, 3, 56, 56), (0.0, 0.0, 0.5, 0.5)
        with torch.no_grad():
            together = model(images, [None, face, None])
            first, second = model(images[:1], [None]), model(images[1:2], [face])
            other_face = model(images[1:2], [(0.5, 0.5, 1.0, 1.0)])
        assert together.shape == (3, 64, 64)
        assert 0 <= together.min() <= together.max() <= 1
        assert torch.allclose(together[:2], torch.cat([first, second]), atol=1e-5)
        assert not torch.allclose(second, other_face)

    def test_head_map_marks_the_cells_of_the_face_box(self) -> None:
        expected = torch.zeros(4, 4)
        expected[1:2, 2:4] = 1
        assert (tiny()._head_map((0.5, 0.3, 0.9, 0.6)) == expected).all()
        assert not tiny()._head_map(None).any()

    def test_training_changes_the_decoder_but_not_the_encoder(self) -> None:
        model = tiny().train()
        assert not model.backbone.training
        before = {name: value.clone() for name, value in model.backbone.state_dict().items()}
        optimizer = torch.optim.Adam([part for part in model.parameters() if part.requires_grad], lr=1e-2)
        image, target = torch.randn(2, 3, 56, 56), torch.zeros(2, 64, 64)
        target[:, :32, :32] = 1
        losses = []
        for _ in range(30):
            loss = torch.nn.functional.binary_cross_entropy(model(image, [None, None]), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        assert losses[-1] < losses[0] / 2
        assert all((value == before[name]).all() for name, value in model.backbone.state_dict().items())


def test_gaze_points_with_a_checkpoint_writes_the_peak_of_each_heatmap_and_the_trials(
    folder: Path, tmp_path: Path
) -> None:
    stimuli = made(tmp_path / "data", 3, size=(90, 60))
    points = ((0.1, 0.5), (0.9, 0.5), (0.5, 0.1), (0.5, 0.9))
    known = [stimulus(number, points=points[: 2 + number]) for number in range(3)]
    write_stimuli(known, stimuli)
    faces, predicted, trials = tmp_path / "faces.csv", tmp_path / "points.csv", tmp_path / "trials.csv"
    faces.write_text("stimulus_id,x1,y1,x2,y2\n1000,0.3,0.1,0.6,0.4\n")
    model = ("--checkpoint", folder / "decoder.pt", "--backbone", folder / "encoder")
    words = (*model, "--faces", faces, "--out", trials, "--respondent", "gazelle")
    good("gaze", "points", stimuli.parent, predicted, *words)
    found = {row["stimulus_id"]: (float(row["x"]), float(row["y"])) for row in rows(predicted)}
    for number, one in enumerate(known):
        with Image.open(stimuli.parent / str(one.image)) as image, torch.no_grad():
            face = (0.3, 0.1, 0.6, 0.4) if number == 0 else None
            expected = peak(tiny()(prepared(image.convert("RGB"), (56, 56))[None], [face])[0])
        assert found[one.stimulus_id] == pytest.approx(expected, abs=1e-5)
    assert {row["respondent"] for row in rows(trials)} == {"gazelle"}
