"""adjoint.inspect: the steps of loops, and modules, are one box in tables and drawings of large graphs."""

import xml.etree.ElementTree as ET

import pytest

import adjoint as torch
from adjoint import nn
from adjoint.inspect import graph
from adjoint.inspect.loops import Loop, find_loops

SVG = "{http://www.w3.org/2000/svg}"


def drawn(document):
    """The lines of text in each box of a drawing."""
    return [[text.text for text in box.iter(f"{SVG}text")] for box in ET.fromstring(document).iter(f"{SVG}g")]


def names(document):
    return [box[0] for box in drawn(document)]


# ---- loops


@pytest.mark.parametrize(
    ("tokens", "loops"),
    [
        ("", []),
        ("abab", []),  # two are no loop
        ("aaa", [Loop(0, 1, 3, ())]),
        ("abababab", [Loop(0, 2, 4, ())]),
        ("xabcabcabcacy", [Loop(1, 3, 3, (0, 2))]),
        ("aabaabaab", [Loop(0, 3, 3, ())]),
        ("abcabcabcxdedede", [Loop(0, 3, 3, ()), Loop(10, 2, 3, ())]),
        ("ab" * 5000, [Loop(0, 2, 5000, ())]),
        ([*range(3000), *range(3000)], []),
    ],
)
def test_find_loops(tokens, loops):
    assert find_loops(tokens) == loops


def pendulum(length, damping, steps=20):
    theta, omega = torch.tensor(0.5), torch.tensor(0.0)
    for _ in range(steps):
        acceleration = -9.81 / length * torch.sin(theta) - damping * omega
        omega = omega + 0.05 * acceleration
        theta = theta + 0.05 * omega
    return (theta - 0.3).square()


def test_a_pendulum_fits_one_screen():
    length, damping = torch.tensor(1.0, requires_grad=True), torch.tensor(0.1, requires_grad=True)
    g = graph(pendulum(length, damping))
    assert len(g) > 200
    document = g.svg()
    root = ET.fromstring(document)
    assert float(root.get("height")) < 900
    assert float(root.get("width")) < 1200
    found = names(document)
    assert len(found) == 14
    assert found.count("MulBackward0 x 20") == 5
    assert "SinBackward0 x 19" in found  # the first angle is a constant
    assert {"leaf length", "leaf damping", "PowBackward0"} <= set(found)
    assert len([path for path in root.iter(f"{SVG}path") if path.get("class") == "cut"]) == 4  # to the next step
    table = str(g).splitlines()
    assert len(table) == 17
    theta = next(line for line in table if "theta = theta + 0.05 * omega" in line and "AddBackward0 x 20" in line)
    assert "2 (step before)" in theta
    assert table[-1] == "Loops and modules are folded; text(fold=False) shows single nodes."


def test_folding_can_be_turned_off_and_on():
    length, damping = torch.tensor(1.0, requires_grad=True), torch.tensor(0.1, requires_grad=True)
    g = graph(pendulum(length, damping))
    assert len(drawn(g.svg(fold=False))) == len(g)
    assert len(g.text(limit=None).splitlines()) == len(g) + 2
    assert g.dot().count("label=") == len(g)
    assert g.dot(fold=True).count("label=") == 14
    assert "[style=dashed, constraint=false]" in g.dot(fold=True)
    small = graph(pendulum(length, damping, steps=4))
    assert len(drawn(small.svg(fold=False))) == len(small)
    tiny = graph(pendulum(length, damping, steps=2))
    assert len(drawn(tiny.svg())) == len(tiny)
    assert "AddBackward0 x 4" in small.svg(fold=True)
    assert "AddBackward0 x 4" in small.text(fold=True)
    assert "x 4" not in str(small)


def test_loops_in_loops():
    x = w = torch.ones(3, requires_grad=True)
    for _ in range(6):
        for _ in range(5):
            x = x * 2
        x = x + w
    found = names(graph(x.sum()).svg(fold=True))
    assert found == ["SumBackward0", "AddBackward0 x 6", "MulBackward0 x 30", "leaf w"]


def test_steps_whose_shapes_differ_are_not_folded():
    x = torch.ones(60, requires_grad=True)
    y = x * 1
    for _ in range(50):
        y = y[1:]
    assert len(drawn(graph(y).svg())) == 52


# ---- modules


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(4), nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(self.norm(x))))


class Deep(nn.Module):
    def __init__(self, *blocks):
        super().__init__()
        self.blocks, self.out = nn.Sequential(*blocks), nn.Linear(4, 1)

    def forward(self, x):
        return self.out(self.blocks(x)) * 2


def test_alike_layers_are_folded_like_steps():
    deep = Deep(*(Block() for _ in range(12)))
    g = graph(deep(torch.ones(2, 4)).sum(), gradients=True)
    found = {box[0]: box for box in drawn(g.svg())}
    assert found["TanhBackward0 x 12"][1] == "deep.blocks.0-11"
    assert "leaf deep.blocks.0-11.up.weight x 12" in found
    assert any(" to " in line for line in found["TanhBackward0 x 12"] if line.startswith("|gradient|"))


def test_modules_are_one_box_with_their_parameters():
    deep = Deep(Block(), nn.Linear(4, 4))
    g = graph(deep(torch.ones(2, 4)).sum())
    boxes = {box[0]: box for box in drawn(g.svg(fold=True))}
    assert boxes["deep.out: Linear"][2] == "bias [1], weight [1, 4]"
    assert not any(name.startswith("leaf") for name in boxes)
    assert {"deep.blocks.0.norm: LayerNorm", "TanhBackward0", "AddBackward0", "MulBackward0"} <= set(boxes)
    opened = names(g.svg(fold=True, unfold="deep.out"))
    assert "deep.out: Linear" not in opened
    assert {"leaf deep.out.bias", "leaf deep.out.weight"} <= set(opened)
    assert names(g.svg(unfold=("deep.out",))) == opened
    assert "deep.out: Linear" in g.text(fold=True)
    assert "bias [1], weight [1, 4]" in g.text(fold=True)
    with pytest.raises(ValueError, match=r"expected a module of this graph; got 'nonsense'; it has deep, deep\.blocks"):
        g.svg(unfold="nonsense")


def unlike(i):
    return nn.Sequential(nn.Linear(4, 4 + i), nn.Tanh(), nn.Linear(4 + i, 4))


def test_deep_models_are_folded_as_far_as_a_screen_asks_for():
    deep = Deep(*(unlike(i) for i in range(20)))
    g = graph(deep(torch.ones(2, 4)).sum())
    found = names(g.svg())
    assert len(found) <= 40
    assert {"deep.out: Linear", "deep.blocks.0: Sequential", "deep.blocks.19: Sequential"} <= set(found)
    opened = names(g.svg(unfold="deep.blocks.3"))
    assert "deep.blocks.3.0: Linear" in opened
    assert "deep.blocks.4: Sequential" in opened


def test_a_cell_in_a_loop():
    cell, h, x = nn.GRUCell(2, 3), torch.zeros(1, 3), torch.ones(1, 2)
    for _ in range(30):
        h = cell(x, h)
    found = names(graph(h.sum()).svg(fold=True))
    assert found == ["SumBackward0", "cell: GRUCell x 30"]


def test_what_is_shared_by_modules_stays_a_leaf():
    a, b = nn.Linear(4, 4), nn.Linear(4, 4)
    b.weight = a.weight
    found = names(graph(b(a(torch.ones(1, 4))).sum()).svg(fold=True))
    assert found == ["SumBackward0", "b: Linear", "a: Linear", "leaf a.weight"]


def test_edges_between_boxes_are_those_between_their_nodes():
    deep = Deep(Block(), Block(), Block(), Block())
    g = graph(deep(torch.ones(2, 4)).sum())
    for fold in (True, False):
        picture = g.picture(None, fold)
        seen = sorted(number for box in picture.boxes for number in (*box.numbers, *box.owned))
        assert seen == list(range(len(g)))
        for i in range(len(picture.boxes)):
            assert all(source > i for source in picture.sources(i))
