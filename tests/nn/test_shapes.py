"""Dropout, padding, folding, flattening, shuffles and upsampling as modules beside torch's."""

import pytest
import torch

import adjoint
from tests.compare import same

from .compare import build, check, check_signature, check_trajectory, floats

NN = torch.nn.modules
FAMILIES = [NN.dropout, NN.flatten, NN.fold, NN.padding, NN.pixelshuffle, NN.channelshuffle, NN.upsampling]
NAMES = [name for family in FAMILIES for name in family.__all__]


@pytest.mark.parametrize("name", NAMES)
def test_signatures(name):
    check_signature(name)
    assert getattr(adjoint.nn, name).__constants__ == getattr(torch.nn, name).__constants__


LINE, IMAGE, VOLUME = floats(2, 4, 6), floats(2, 4, 6, 8), floats(2, 4, 3, 4, 5)
MODES = ("Circular", "Reflection", "Replication", "Zero")
CASES = [
    *((f"{name}({p})", IMAGE) for name in NN.dropout.__all__ if name != "Dropout1d" for p in ("", 0.2, 0.0, 1.0)),
    ("Dropout1d(0.3)", LINE),
    ("Dropout2d(0.3)", LINE[0:1].reshape(1, 4, 6, 1)),
    ("Dropout3d(0.3)", VOLUME),
    ("Flatten()", IMAGE),
    ("Flatten(0, 2)", IMAGE),
    ("Flatten(-2)", IMAGE),
    ("Unflatten(1, (2, 2))", IMAGE),
    ("Unflatten(-1, [2, -1])", IMAGE),
    ("Unfold(2)", IMAGE),
    ("Unfold((2, 3), dilation=2, padding=(1, 0), stride=(2, 1))", IMAGE),
    ("Fold(3, 2)", floats(2, 8, 4)),
    ("Fold((4, 5), (2, 2), 1, (1, 1), 2)", floats(2, 8, 9)),
    ("PixelShuffle(2)", IMAGE),
    ("PixelUnshuffle(2)", IMAGE),
    ("ChannelShuffle(2)", IMAGE),
    *((f"{mode}Pad1d({p})", LINE) for mode in MODES for p in (2, [1, 0])),
    *(
        (f"{mode}Pad2d({p})", IMAGE)
        for mode in ("Circular", "Reflection", "Replication", "Zero")
        for p in (2, (1, 0, 2, 3))
    ),
    *(
        (f"{mode}Pad3d({p})", VOLUME)
        for mode in ("Circular", "Reflection", "Replication", "Zero")
        for p in (1, (2, 1, 0, 1, 2, 0))
    ),
    ("ZeroPad2d((-1, 1, 0, -2))", IMAGE),
    ("ConstantPad1d(2, 3.5)", LINE),
    ("ConstantPad2d((1, 2, 0, 1), -1)", IMAGE),
    ("ConstantPad3d(1, 2)", VOLUME),
    ("Upsample(9)", LINE),
    ("Upsample(scale_factor=2)", IMAGE),
    ("Upsample(scale_factor=2.5, recompute_scale_factor=True)", IMAGE),
    ("Upsample(scale_factor=2, mode='linear')", LINE),
    ("Upsample(scale_factor=(2, 3), mode='bilinear')", IMAGE),
    ("Upsample((5, 4), mode='bilinear', align_corners=True)", IMAGE),
    ("Upsample(scale_factor=1.5, mode='bicubic')", IMAGE),
    ("Upsample(scale_factor=2, mode='trilinear')", VOLUME),
    ("Upsample((5, 4), mode='area')", IMAGE),
    ("UpsamplingNearest2d(scale_factor=2)", IMAGE),
    ("UpsamplingNearest2d((3, 5))", IMAGE),
    ("UpsamplingBilinear2d(scale_factor=2)", IMAGE),
    ("UpsamplingBilinear2d(7)", IMAGE),
]


def made(text):
    return lambda L: eval(f"nn.{text}", {"nn": L.nn})


@pytest.mark.parametrize(("text", "x"), CASES, ids=[text for text, _ in CASES])
def test_values(text, x):
    check(made(text), x)
    ours, theirs = ({k: v for k, v in vars(m).items() if k[0] != "_"} for m in build(made(text)))
    assert ours == theirs
    if "rop" in text:
        check(made(text), x, training=False)


def test_every_class_is_tried():
    assert {text.split("(")[0] for text, _ in CASES} == set(NAMES)


@pytest.mark.parametrize("name", NN.dropout.__all__)
def test_dropout_in_place(name):
    def program(L):
        L.manual_seed(5)
        module = getattr(L.nn, name)(0.5, inplace=True)
        x = L.ones(3, 4, 5, 2)[:, :, :, 0] if name == "Dropout1d" else L.ones(3, 4, 5, 2)
        y = module(x)
        L.nn.Dropout(0.5, True)(y)
        return repr(module), y is x, y.sum(), L.rand(2)

    same(program)


@pytest.mark.parametrize(
    "program",
    [
        lambda L: L.nn.Dropout(2),
        lambda L: L.nn.Dropout2d(-0.1),
        lambda L: L.nn.Dropout("half"),
        lambda L: L.nn.Dropout1d()(L.ones(2)),
        lambda L: L.nn.Dropout2d()(L.ones(2, 3, 4)),
        lambda L: L.nn.Dropout3d()(L.ones(2, 3)),
        lambda L: L.nn.FeatureAlphaDropout()(L.ones(2)),
        lambda L: L.nn.Unflatten(1, 3),
        lambda L: L.nn.Unflatten(1, (2, 3.0)),
        lambda L: L.nn.Unflatten("a", (("b", 2),)),
        lambda L: L.nn.Unflatten("a", [("b", 2)]),
        lambda L: repr(L.nn.Unflatten(1, L.Size([2, 3]))),
        lambda L: L.nn.Unflatten(1, (2, 3))(L.ones(2, 5)),
        lambda L: L.nn.Flatten(2, 1)(L.ones(2, 3, 4)),
        lambda L: L.nn.Flatten()(L.ones(2)),
        lambda L: L.nn.CircularPad1d(1)(L.ones(2)),
        lambda L: L.nn.CircularPad2d(1)(L.ones(2, 2)),
        lambda L: L.nn.CircularPad3d(1)(L.ones(2, 2, 2)),
        lambda L: L.nn.CircularPad2d((1, 2))(L.ones(2, 2, 2)),
        lambda L: L.nn.ReflectionPad1d(3)(L.ones(2, 3)),
        lambda L: L.nn.ReflectionPad2d(1)(L.ones(2, 3)),
        lambda L: L.nn.ReplicationPad3d(1)(L.ones(2, 3)),
        lambda L: L.nn.ZeroPad2d(1)(L.ones(2)),
        lambda L: L.nn.PixelShuffle(2)(L.ones(1, 3, 2, 2)),
        lambda L: L.nn.PixelUnshuffle(2)(L.ones(1, 3, 3, 2)),
        lambda L: L.nn.ChannelShuffle(3)(L.ones(1, 4, 2)),
        lambda L: L.nn.Upsample()(L.ones(1, 1, 2)),
        lambda L: L.nn.Upsample(2, 2)(L.ones(1, 1, 2)),
        lambda L: L.nn.Upsample(4, mode="bilinear")(L.ones(1, 1, 2)),
        lambda L: L.nn.Upsample(4, mode="x")(L.ones(1, 1, 2)),
        lambda L: L.nn.Upsample(4, align_corners=True)(L.ones(1, 1, 2)),
        lambda L: L.nn.Unfold(9)(L.ones(1, 1, 2, 2)),
        lambda L: L.nn.Fold(3, 2)(L.ones(1, 3, 4)),
        lambda L: repr(L.nn.CircularPad2d((1, 2))),
        lambda L: repr(L.nn.ReflectionPad2d(L.tensor([1, 2, 3, 4]))),
        lambda L: repr(L.nn.Upsample()),
    ],
)
def test_odd_calls(program):
    same(program)


@pytest.mark.parametrize("name", ["Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"])
@pytest.mark.parametrize("dims", range(7))
def test_channels_of_any_rank(name, dims):
    def program(L, **options):
        L.manual_seed(0)
        module = getattr(L.nn, name)(options.get("p", 0.5))
        return module.train(options.get("training", True))(L.ones((2,) * dims))

    same(program)
    same(lambda L: program(L, training=False))
    same(lambda L: program(L, p=1.0))


@pytest.mark.parametrize("name", ["Dropout", "AlphaDropout"])
def test_training(name):
    """The masks of 50 steps come from one random stream."""
    check_trajectory(
        lambda L: L.nn.Sequential(L.nn.Linear(3, 8), getattr(L.nn, name)(0.3), L.nn.Linear(8, 2)), floats(6, 3), lr=0.02
    )


def test_training_through_images():
    check_trajectory(
        lambda L: L.nn.Sequential(
            L.nn.Linear(6, 16),
            L.nn.Unflatten(1, (4, 2, 2)),
            L.nn.PixelShuffle(2),
            L.nn.ReflectionPad2d(1),
            L.nn.Upsample(scale_factor=2, mode="bilinear"),
            L.nn.Unfold(3, stride=3),
            L.nn.Dropout1d(0.2),
            L.nn.Flatten(),
        ),
        floats(3, 6),
        lr=0.002,
    )
