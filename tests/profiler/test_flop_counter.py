"""FlopCounterMode beside torch's: counts of forward and backward, by op and by module, formulas, tables, errors."""

import importlib

import pytest
import torch

import adjoint

LIBRARIES = (torch, adjoint)


def module(library):
    return importlib.import_module(f"{library.__name__}.utils.flop_counter")


def counted(library, call, **options):
    """The counts by module and by op, with the names of ops."""
    with module(library).FlopCounterMode(display=False, **options) as counter:
        call(library)
    counts = counter.get_flop_counts()
    assert counter.get_total_flops() == sum(counts.get("Global", {}).values())
    return {name: {str(op): count for op, count in ops.items()} for name, ops in counts.items()}


def same(call, **options):
    theirs, ours = (counted(library, call, **options) for library in LIBRARIES)
    assert ours == theirs
    return ours


def grown(L, *shape):
    return L.ones(*shape, requires_grad=True)


def backward(f):
    return lambda L: f(L).sum().backward()


CALLS = {
    "mm": lambda L: grown(L, 4, 5) @ grown(L, 5, 6),
    "mm of one leaf": lambda L: L.ones(4, 5) @ grown(L, 5, 6),
    "bmm": lambda L: L.bmm(grown(L, 2, 4, 5), grown(L, 2, 5, 6)),
    "addmm": lambda L: L.addmm(grown(L, 6), grown(L, 4, 5), grown(L, 5, 6), beta=2, alpha=3),
    "baddbmm": lambda L: L.baddbmm(grown(L, 2, 4, 6), grown(L, 2, 4, 5), grown(L, 2, 5, 6)),
    "matmul": lambda L: grown(L, 2, 3, 4, 5) @ grown(L, 5, 6),
    "dot": lambda L: grown(L, 5) @ grown(L, 5),
    "mv": lambda L: grown(L, 4, 5) @ grown(L, 5),
    "einsum": lambda L: L.einsum("ij,jk->ik", grown(L, 4, 5), grown(L, 5, 6)),
    "einsum of batches": lambda L: L.einsum("bij,bjk->bik", grown(L, 2, 4, 5), grown(L, 2, 5, 6)),
    "linear": lambda L: L.nn.functional.linear(grown(L, 4, 5), grown(L, 6, 5), grown(L, 6)),
    "linear of batches": lambda L: L.nn.functional.linear(grown(L, 2, 4, 5), grown(L, 6, 5), grown(L, 6)),
    "linear without bias": lambda L: L.nn.functional.linear(grown(L, 4, 5), grown(L, 6, 5)),
    "conv1d": lambda L: L.nn.functional.conv1d(grown(L, 2, 3, 8), grown(L, 4, 3, 3)),
    "conv2d": lambda L: L.nn.functional.conv2d(grown(L, 2, 3, 8, 8), grown(L, 4, 3, 3, 3), grown(L, 4)),
    "conv2d of data": lambda L: L.nn.functional.conv2d(L.ones(2, 3, 8, 8), grown(L, 4, 3, 3, 3)),
    "conv2d of fixed kernels": lambda L: L.nn.functional.conv2d(grown(L, 2, 3, 8, 8), L.ones(4, 3, 3, 3)),
    "groups": lambda L: L.nn.functional.conv2d(grown(L, 2, 4, 8, 8), grown(L, 6, 2, 3, 3), None, 2, 1, groups=2),
    "conv2d of one": lambda L: L.nn.functional.conv2d(grown(L, 3, 8, 8), grown(L, 4, 3, 3, 3)),
    "conv3d": lambda L: L.nn.functional.conv3d(grown(L, 1, 2, 4, 4, 4), grown(L, 3, 2, 2, 2, 2)),
    "transposed": lambda L: L.nn.functional.conv_transpose2d(grown(L, 2, 3, 8, 8), grown(L, 3, 4, 3, 3), grown(L, 4)),
    "transposed groups": lambda L: L.nn.functional.conv_transpose2d(
        grown(L, 2, 4, 8, 8), grown(L, 4, 3, 3, 3), None, 2, 1, groups=2
    ),
    "attention": lambda L: L.nn.functional.scaled_dot_product_attention(*[grown(L, 2, 3, 4, 8)] * 3),
    "attention with a mask": lambda L: L.nn.functional.scaled_dot_product_attention(
        *[grown(L, 2, 3, 4, 8)] * 3, attn_mask=L.ones(4, 4)
    ),
    "attention by products": lambda L: L.nn.functional.scaled_dot_product_attention(
        grown(L, 2, 3, 4, 8), grown(L, 2, 3, 6, 8), grown(L, 2, 3, 6, 5)
    ),
    "attention of three dimensions": lambda L: L.nn.functional.scaled_dot_product_attention(
        grown(L, 3, 4, 8), grown(L, 3, 6, 8), grown(L, 3, 6, 8)
    ),
    "elementwise": lambda L: (grown(L, 4, 5) * 2).exp(),
    "distances": lambda L: L.cdist(grown(L, 3, 4), grown(L, 5, 4)),
}


@pytest.mark.parametrize("name", CALLS)
def test_counts_of_calls(name):
    same(CALLS[name])
    same(backward(CALLS[name]))


def test_counts_of_results_in_place_and_given():
    same(lambda L: L.mm(L.ones(2, 3), L.ones(3, 4), out=L.ones(2, 4)))
    same(lambda L: L.ones(2, 4).addmm_(L.ones(2, 3), L.ones(3, 4)))
    with_no_grad = same(lambda L: L.no_grad()(lambda: grown(L, 4, 5) @ grown(L, 5, 6))())
    assert with_no_grad["Global"] == {"aten.mm": 240}


def test_counts_of_second_derivatives():
    def twice(L):
        a = grown(L, 4, 5)
        (gradient,) = L.autograd.grad((a @ L.ones(5, 6)).pow(2).sum(), a, create_graph=True)
        gradient.sum().backward()

    assert same(twice)["Global"] == {"aten.mm": 960}


def test_counts_under_vmap():
    same(lambda L: L.vmap(L.mm)(L.ones(3, 4, 5), L.ones(3, 5, 6)))


def net(L):
    return L.nn.Sequential(L.nn.Linear(5, 6), L.nn.ReLU(), L.nn.Sequential(L.nn.Linear(6, 7), L.nn.Linear(7, 2)))


def test_counts_by_module():
    counts = same(lambda L: net(L)(L.ones(4, 5)).sum().backward())
    assert set(counts) == {"Global", "Sequential", "Sequential.0", "Sequential.2", "Sequential.2.0", "Sequential.2.1"}
    same(lambda L: net(L)(grown(L, 4, 5)).sum().backward())


@pytest.mark.parametrize(
    "layer",
    [
        lambda L: (L.nn.GRU(3, 4), L.ones(5, 2, 3)),
        lambda L: (L.nn.LSTM(3, 4), L.ones(5, 2, 3)),
        lambda L: (L.nn.TransformerEncoderLayer(8, 2, 16), L.ones(3, 2, 8)),
        lambda L: (L.nn.Conv2d(1, 2, 3), L.ones(1, 1, 9, 9)),
    ],
)
def test_counts_of_layers(layer):
    def run(L):
        made, data = layer(L)
        result = made(data)
        (result[0] if isinstance(result, tuple) else result).sum().backward()

    same(run)


def test_a_layer_that_is_used_twice_counts_its_backward_where_it_belongs():
    class Twice(adjoint.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = adjoint.nn.Linear(5, 5)

        def forward(self, x):
            return self.layer(self.layer(x)).sum()

    counts = counted(adjoint, lambda L: Twice()(L.ones(5, 5)).backward())
    assert counts["Twice.layer"] == counts["Twice"] == counts["Global"] == {"aten.addmm": 500, "aten.mm": 750}


def test_modes_in_modes_and_blocks_one_after_the_other():
    for library in LIBRARIES:
        mode = module(library).FlopCounterMode
        a, b = library.ones(3, 4), library.ones(4, 5)
        with mode(display=False) as outer:
            a @ b
            with mode(display=False) as inner:
                a @ b
                assert inner.get_total_flops() == 120
        assert (outer.get_total_flops(), inner.get_total_flops()) == (240, 120)
        with inner:
            a @ b
        assert inner.get_total_flops() == 120  # counts begin anew
    with inner, pytest.raises(RuntimeError, match="expected one that is not open"):
        inner.__enter__()


def test_formulas_of_a_program():
    got = []
    for library in LIBRARIES:
        seen = []

        def formula(*args, out_shape=None, seen=seen, **kwargs):
            seen.append((args, out_shape))
            return 7

        ops = library.ops.aten
        with module(library).FlopCounterMode(display=False, custom_mapping={ops.mul: formula, ops.mm: formula}) as mode:
            library.ones(2, 3).mul(2)
            library.ones(2, 3) @ library.ones(3, 4)
        assert mode.get_total_flops() == 14
        got.append([(tuple(map(str, args)), str(shape)) for args, shape in seen])
    assert got[1] == got[0]


def test_attention_counts_where_a_formula_is_given():
    flops = module(adjoint)
    attention = adjoint.ops.aten._scaled_dot_product_flash_attention_for_cpu
    with flops.FlopCounterMode(display=False, custom_mapping={attention: flops.sdpa_flop}) as mode:
        q = adjoint.ones(2, 3, 4, 8)
        adjoint.nn.functional.scaled_dot_product_attention(q, q, q)
    assert mode.get_total_flops() == flops.sdpa_flop_count(q.shape, q.shape, q.shape)


def test_formulas_are_registered_once():
    for library in LIBRARIES:
        flops = module(library)
        with pytest.raises(ValueError, match="register_flop_formula\\(targets\\): expected each target to be"):
            flops.register_flop_formula(library.add)(lambda *args: 1)
        with pytest.raises(RuntimeError, match=r"duplicate registrations for aten\.mm"):
            flops.register_flop_formula(library.ops.aten.mm)(lambda *args: 1)
        target = library.ops.aten.tan
        flops.register_flop_formula([target])(lambda shape, *args, **kwargs: 11)
        try:
            assert counted(library, lambda L: L.ones(3).tan()) == {"Global": {"aten.tan": 11}}
        finally:
            del flops.flop_registry[target]


def test_formulas_that_take_tensors():
    for library in LIBRARIES:

        def count(*args, out_val, **kwargs):
            return out_val.numel() + args[0].dim()

        count._get_raw = True
        flops = module(library)
        add = library.ops.aten.add
        with flops.FlopCounterMode(display=False, custom_mapping={add: count}) as mode:
            library.ones(4, 5) + library.ones(4, 5)
        assert mode.flop_counts["Global"][add] == 22
        assert mode.flop_counts["Nothing"][add] == 0
        target = library.ops.aten.atan
        flops.register_flop_formula(target, get_raw=True)(count)
        try:
            assert counted(library, lambda L: L.ones(3).atan()) == {"Global": {"aten.atan": 4}}
        finally:
            del flops.flop_registry[target]


def test_formulas_of_shapes():
    theirs, ours = (module(library) for library in LIBRARIES)
    shapes = [2, 4, 8, 8], [6, 2, 3, 3], [2, 6, 4, 4]
    assert ours.conv_flop_count(*shapes) == theirs.conv_flop_count(*shapes)
    shapes = [2, 3, 8, 8], [3, 4, 3, 3], [2, 4, 10, 10]
    assert ours.conv_flop_count(*shapes, transposed=True) == theirs.conv_flop_count(*shapes, transposed=True)
    shapes = (2, 3, 4, 8), (2, 3, 6, 8), (2, 3, 6, 8)
    assert ours.sdpa_flop_count(*shapes) == theirs.sdpa_flop_count(*shapes)
    assert ours.sdpa_backward_flop_count(shapes[0], *shapes) == theirs.sdpa_backward_flop_count(shapes[0], *shapes)


def test_texts_of_numbers():
    theirs, ours = (module(library) for library in LIBRARIES)
    for number in (0, 1, 999, 1000, 9999, 10000, 99999, 123456, 10**6, 10**7, 10**9, 10**10, 10**13, 10**16, 10**20):
        suffix = theirs.get_suffix_str(number)
        assert ours.get_suffix_str(number) == suffix
        assert ours.convert_num_with_suffix(number, suffix) == theirs.convert_num_with_suffix(number, suffix)
    for share in ((1, 3), (0, 0), (5, 20)):
        assert ours.convert_to_percent_str(*share) == theirs.convert_to_percent_str(*share)


# torch prints its tables by a package that the tests do without: these are what it prints.
DEPTH_2 = """\
Module          FLOP    % Total
------------  ------  ---------
Sequential      1824    100.00%
- aten.addmm     688     37.72%
- aten.mm       1136     62.28%
Sequential.0     480     26.32%
- aten.addmm     240     13.16%
- aten.mm        240     13.16%
Sequential.2    1344     73.68%
- aten.addmm     448     24.56%
- aten.mm        896     49.12%"""
DEPTH_0 = """\
Module          FLOP    % Total
------------  ------  ---------
Global          1824    100.00%
- aten.addmm     688     37.72%
- aten.mm       1136     62.28%"""
SEVERAL = """\
Module                  FLOP    % Total
------------------  --------  ---------
Global              421.884K    100.00%
- aten.addmm        420.000K     99.55%
- aten.convolution    1.764K      0.42%
- aten.mm             0.120K      0.03%
Conv2d                1.764K      0.42%
- aten.convolution    1.764K      0.42%
Linear              420.000K     99.55%
- aten.addmm        420.000K     99.55%"""
NOTHING = """\
Module      FLOP    % Total
--------  ------  ---------
Global         0         0%"""


def test_tables(capsys):
    flops = module(adjoint)
    with flops.FlopCounterMode() as mode:
        net(adjoint)(adjoint.ones(4, 5)).sum().backward()
    assert capsys.readouterr().out == DEPTH_2 + "\n"
    assert mode.get_table() == mode.get_table(depth=2) == DEPTH_2
    assert mode.get_table(depth=0) == DEPTH_0
    assert mode.get_table(depth=3).count("\n") == 16
    with flops.FlopCounterMode(display=False) as mode:
        adjoint.nn.Linear(50, 60)(adjoint.ones(70, 50))
        adjoint.nn.Conv2d(1, 2, 3)(adjoint.ones(1, 1, 9, 9))
        adjoint.ones(3, 4) @ adjoint.ones(4, 5)
    assert mode.get_table() == SEVERAL
    with flops.FlopCounterMode(display=False) as mode:
        pass
    assert mode.get_table() == NOTHING
    assert capsys.readouterr().out == ""


def test_modules_need_not_be_named():
    for library in LIBRARIES:
        with pytest.warns(UserWarning, match="mods argument is not needed anymore"):
            module(library).FlopCounterMode(library.nn.Linear(2, 2), display=False)


def test_an_error_in_a_module_leaves_the_counter_whole():
    class Fails(adjoint.nn.Module):
        def forward(self, x):
            raise ValueError("no")

    with module(adjoint).FlopCounterMode(display=False) as mode:
        with pytest.raises(ValueError, match="no"):
            Fails()(adjoint.ones(2))
        adjoint.ones(3, 4) @ adjoint.ones(4, 5)
    assert list(mode.get_flop_counts()) == ["Global"]


def test_packets():
    aten = adjoint.ops.aten
    assert str(aten.mm) == str(torch.ops.aten.mm) == "aten.mm"
    assert repr(aten.mm) == repr(torch.ops.aten.mm)
    assert aten.mm is aten.mm
    assert aten.mul(adjoint.ones(2), 3).tolist() == [3.0, 3.0]
    for library in LIBRARIES:
        with pytest.raises(AttributeError, match="'_OpNamespace' 'aten' object has no attribute 'nothing_like_it'"):
            _ = library.ops.aten.nothing_like_it
    with pytest.raises(RuntimeError, match="not an op of its own here"):
        aten.convolution_backward()
