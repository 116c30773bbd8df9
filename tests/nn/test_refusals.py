"""Modules and layers given shapes, types and names that do not fit: the errors are torch's, and what fits is taken."""

import itertools

import pytest

from ..compare import EXACT, lines, of_one_kind, opening, same

CALLS = lines("""
    F.linear(None, o(2,3))
    F.linear(o(2,3), None)
    F.linear(o(2,3).long(), o(2,3))
    F.linear(o(2,3).double(), o(2,3))
    F.linear(o(2,3), o(2,3), o(2).double())
    F.bilinear(o(2,3), o(2,4), o(5,3,4)).shape
    F.bilinear(o(2,3), o(2,4), o(5,3,4), o(5)).shape
    F.bilinear(o(2,3), o(2,4), o(5,3,4), o(4)).shape
    F.bilinear(o(2,3), o(2,4), o(5,3,4), o(1)).shape
    F.bilinear(o(2,3), o(2,4), o(5,3,4), o(2,5)).shape
    F.bilinear(o(2,3), o(2,4), o(5,3,4), L.tensor(1.)).shape
    F.bilinear(o(3), o(4), o(5,3,4)).shape
    F.bilinear(o(2,3), o(4), o(5,3,4)).shape
    F.bilinear(o(2,3), o(3,4), o(5,3,4)).shape
    F.bilinear(o(2,4), o(2,4), o(5,3,4)).shape
    F.bilinear(o(2,3), o(2,3), o(5,3,4)).shape
    F.bilinear(o(2,3), o(2,4), o(3,4)).shape
    F.bilinear(o(2,3), o(2,4), o(1,5,3,4)).shape
    F.bilinear(L.tensor(1.), L.tensor(1.), o(5,3,4)).shape
    F.bilinear(o(0,3), o(0,4), o(5,3,4)).shape
    F.bilinear(o(2,2,3), o(2,2,4), o(5,3,4)).shape
    F.bilinear(o(2,3).double(), o(2,4), o(5,3,4)).shape
    F.bilinear(None, o(2,4), o(5,3,4))
    F.bilinear(o(2,3), None, o(5,3,4))
    F.bilinear(o(2,3), o(2,4), None)
    F.bilinear(o(2,3), o(2,4), o(5,3,4), 1)
    nn.Linear(3,2)(o(2,4))
    nn.Linear(3,2)(L.tensor(1.))
    nn.Linear(3,2)(None)
    nn.Linear(3,2)([1.,2.,3.])
    nn.Linear(3,2)(o(2,3).long())
    nn.Linear(-1,2)
    nn.Linear(0,2).weight.shape
    nn.Bilinear(3,4,5)(o(2,3),o(2,5))
    nn.Bilinear(3,4,5)(o(2,3),o(3,4))
    nn.Bilinear(0,4,5)
    nn.LSTM(3,4)(o(5,2,4))
    nn.LSTM(3,4)(o(5,2,3,1))
    nn.LSTM(3,4)(o(3))
    nn.LSTM(3,4)(o(0,2,3))
    nn.LSTM(3,4)(o(5,2,3).long())
    nn.LSTM(3,4)(o(5,2,3).double())
    nn.LSTM(3,4)(None)
    nn.LSTM(3,4)(o(5,2,3), o(1,2,4))
    nn.LSTM(3,4)(o(5,2,3), (o(1,2,4),))
    nn.LSTM(3,4)(o(5,2,3), (o(1,2,4),o(1,2,5)))
    nn.LSTM(3,4)(o(5,2,3), (o(2,2,4),o(1,2,4)))
    nn.LSTM(3,4)(o(5,2,3), (o(1,2,4),o(1,3,4)))
    nn.LSTM(3,4)(o(5,2,3), (o(2,4),o(2,4)))
    nn.LSTM(3,4)(o(5,3), (o(1,2,4),o(1,2,4)))
    nn.LSTM(3,4)(o(5,3), (o(1,4),o(1,5)))
    nn.LSTM(3,4,proj_size=2)(o(5,2,3), (o(1,2,4),o(1,2,4)))
    nn.LSTM(3,4,proj_size=2)(o(5,2,3), (o(1,2,2),o(1,2,2)))
    nn.LSTM(3,4,proj_size=4)
    nn.LSTM(3,4,proj_size=-1)
    nn.LSTM(3,0)
    nn.LSTM(3,4,num_layers=0)
    nn.LSTM(3,4,dropout=2)
    nn.LSTM(3,4,dropout=True)
    nn.LSTM(3,"a")
    nn.LSTM(3,4.0)
    nn.LSTM()
    nn.GRU(3,4)(o(5,2,4))
    nn.GRU(3,4)(o(5,2,3,1))
    nn.GRU(3,4)(o(3))
    nn.GRU(3,4)(o(0,2,3))
    nn.GRU(3,4)(o(5,2,3), o(1,2,5))
    nn.GRU(3,4)(o(5,2,3), o(2,2,4))
    nn.GRU(3,4)(o(5,2,3), o(2,4))
    nn.GRU(3,4)(o(5,3), o(1,2,4))
    nn.GRU(3,4)(o(5,3), o(1,5))
    nn.GRU(3,4)(o(5,2,3), (o(1,2,4),o(1,2,4)))
    nn.GRU(3,4)(None)
    nn.GRU(3,4,proj_size=2)
    nn.RNN(3,4)(o(5,2,4))
    nn.RNN(3,4)(o(5,2,3,1))
    nn.RNN(3,4)(o(5,2,3), o(1,2,5))
    nn.RNN(3,4)(o(5,2,3), o(1,4))
    nn.RNN(3,4)(o(5,3), o(1,2,4))
    nn.RNN(3,4,nonlinearity="sigmoid")
    nn.RNN(3,4)(None)
    nn.LSTMCell(3,4)(o(2,4))
    nn.LSTMCell(3,4)(o(2,2,3))
    nn.LSTMCell(3,4)(o(2,3), o(2,4))
    nn.LSTMCell(3,4)(o(2,3), (o(2,4),o(2,5)))
    nn.LSTMCell(3,4)(o(2,3), (o(3,4),o(3,4)))
    nn.LSTMCell(3,4)(o(2,3), (o(1,2,4),o(1,2,4)))
    nn.LSTMCell(3,4)(None)
    nn.GRUCell(3,4)(o(2,4))
    nn.GRUCell(3,4)(o(2,2,3))
    nn.GRUCell(3,4)(o(2,3), o(2,5))
    nn.GRUCell(3,4)(o(2,3), o(3,4))
    nn.GRUCell(3,4)(o(2,3), o(1,2,4))
    nn.RNNCell(3,4)(o(2,4))
    nn.RNNCell(3,4)(o(2,2,3))
    nn.RNNCell(3,4)(o(2,3), o(2,5))
    nn.RNNCell(3,4)(o(2,3), o(1,2,4))
    nn.RNNCell(3,4,nonlinearity="x")(o(2,3))
    nn.MultiheadAttention(4,2)(o(3,2,4),o(3,2,4),o(3,2,5))
    nn.MultiheadAttention(4,2)(o(3,2,4),o(3,2,5),o(3,2,4))
    nn.MultiheadAttention(4,2)(o(3,2,5),o(3,2,4),o(3,2,4))
    nn.MultiheadAttention(4,2)(o(3,2,4),o(3,4),o(3,4))
    nn.MultiheadAttention(4,2)(o(3,4),o(3,2,4),o(3,2,4))
    nn.MultiheadAttention(4,2)(o(4),o(4),o(4))
    nn.MultiheadAttention(4,2)(o(3,2,4),o(5,2,4),o(6,2,4))
    nn.MultiheadAttention(4,2)(o(3,2,4),o(5,3,4),o(5,3,4))
    nn.MultiheadAttention(4,2)(o(3,2,4),o(3,2,4),o(3,2,4), key_padding_mask=o(3).bool())
    nn.MultiheadAttention(4,2)(o(3,2,4),o(3,2,4),o(3,2,4), key_padding_mask=o(2,3).long())
    nn.MultiheadAttention(4,2)(o(3,2,4),o(3,2,4),o(3,2,4), attn_mask=o(4,3).bool())
    nn.MultiheadAttention(4,2)(o(3,2,4),o(3,2,4),o(3,2,4), attn_mask=o(2,3,3).bool())
    nn.MultiheadAttention(4,2)(o(3,2,4),o(3,2,4),o(3,2,4), attn_mask=o(3).bool())
    nn.MultiheadAttention(4,2)(o(3,2,4),o(3,2,4),o(3,2,4), attn_mask=o(3,3).long())
    nn.MultiheadAttention(4,2)(o(3,2,4),o(3,2,4),o(3,2,4), is_causal=True)
    nn.MultiheadAttention(4,3)
    nn.MultiheadAttention(0,1)
    nn.MultiheadAttention(4,0)
    nn.MultiheadAttention(-4,2)
    F.scaled_dot_product_attention(o(2,3,4),o(2,3,5),o(2,3,4))
    F.scaled_dot_product_attention(o(2,3,4),o(2,3,4),o(2,5,4))
    F.scaled_dot_product_attention(o(4),o(4),o(4))
    F.scaled_dot_product_attention(o(2,3,4),o(2,3,4),o(2,3,4),attn_mask=o(3,3),is_causal=True)
    F.scaled_dot_product_attention(o(2,3,4),o(2,3,4),o(2,3,4),attn_mask=o(5,5))
    F.scaled_dot_product_attention(o(2,3,4),o(2,3,4),o(2,3,4),attn_mask=o(3,3).long())
    nn.TransformerEncoderLayer(4,2)(o(3,2,5))
    nn.TransformerEncoderLayer(4,3)
    nn.Transformer(4,2,1,1,8)(o(3,2,4),o(3,3,4))
    nn.Transformer(4,2,1,1,8)(o(3,2,5),o(3,2,5))
    nn.Transformer(4,2,1,1,8)(o(3,4),o(3,2,4))
    M().register_parameter("a.b", None)
    M().register_parameter("", None)
    M().register_parameter(3, None)
    M().register_parameter("x", o(2))
    M().register_parameter("x", 3)
    M().register_parameter("forward", None)
    M().register_parameter("w", nn.Parameter(o(1))*2)
    M().register_parameter("p", nn.Parameter(o(1)))
    M().register_parameter("b", nn.Parameter(o(1)))
    M().register_buffer("a.b", None)
    M().register_buffer("", None)
    M().register_buffer(3, None)
    M().register_buffer("x", 3)
    M().register_buffer("x", "a")
    M().register_buffer("forward", None)
    M().register_buffer("p", o(1))
    M().register_buffer("b", o(1))
    M().register_buffer("child", o(1))
    M().register_module("a.b", None)
    M().register_module("", None)
    M().register_module(3, None)
    M().register_module("x", 3)
    M().register_module("forward", None)
    M().register_module("p", nn.Linear(1,1))
    M().add_module("x", o(2))
    M().add_module("child", nn.Linear(1,1))
    setattr(M(), "p", 3)
    setattr(M(), "p", o(1))
    setattr(M(), "b", 3)
    setattr(M(), "b", "a")
    setattr(M(), "child", 3)
    setattr(M(), "child", nn.Parameter(o(1)))
    setattr(M(), "p", None)
    setattr(M(), "b", None)
    setattr(M(), "child", None)
    delattr(M(), "zzz")
    M().zzz
    getattr(M(), "p2")
    M().get_parameter("zzz")
    M().get_parameter("b")
    M().get_parameter("child.weight").shape
    M().get_parameter("child.zzz")
    M().get_parameter("zzz.weight")
    M().get_parameter("")
    M().get_buffer("p")
    M().get_buffer("zzz")
    M().get_buffer("b").shape
    M().get_submodule("zzz")
    M().get_submodule("child.weight")
    M().get_submodule("p")
    M().get_submodule("").__class__.__name__
    M().set_submodule("", nn.Linear(1,1))
    M().set_submodule("zzz.a", nn.Linear(1,1))
    M().set_submodule("child", 3)
    M().set_submodule("p", nn.Linear(1,1))
    M().load_state_dict({})
    M().load_state_dict(3)
    M().load_state_dict({"p": o(5)}, strict=False)
    M().load_state_dict({"p": o(1), "b": o(1), "child.weight": o(1,1), "child.bias": o(1), "zzz": o(1)})
    M().load_state_dict({"p": 3, "b": o(1), "child.weight": o(1,1), "child.bias": o(1)})
    M()()
    M()(1)
    M().to("foo")
    M().to(L.int64)
    M().train(3)
    M().train("a")
    M().requires_grad_("a")
    M().apply(3)
    M().type("foo")
    nn.Module(3)
    nn.Module(a=3)
    nn.Module()(1)
    B0()
    B1()
    B2()
    nn.Parameter(3)
    nn.Parameter(o(1).long())
    nn.Parameter(o(1).long(), requires_grad=False).requires_grad
    nn.Parameter("a")
    nn.Parameter(None).shape
    nn.Parameter().shape
    nn.Buffer(3)
    nn.ModuleList([3])
    nn.ModuleList(3)
    nn.ModuleList([nn.ReLU()])[5]
    nn.ModuleList([nn.ReLU()])["a"]
    nn.ModuleDict({"a": 3})
    nn.ModuleDict({"a.b": nn.ReLU()})
    nn.ModuleDict(3)
    nn.ModuleDict([1])
    nn.ModuleDict({"a": nn.ReLU()})["b"]
    nn.ParameterList([3])
    nn.ParameterList(3)
    nn.ParameterDict(3)
    nn.ParameterDict({"a": o(1)})["b"]
    nn.Sequential(3)
    nn.Sequential(nn.ReLU())[3]
    nn.Sequential(nn.ReLU())["a"]
    nn.Sequential(nn.ReLU()).append(3)
    nn.Sequential(nn.ReLU()).insert(9, nn.ReLU())
    nn.Sequential(nn.ReLU()) + 3
    nn.Conv2d(3,4,3)(o(2,4,5,5))
    nn.Conv2d(3,4,3)(o(3))
    nn.Conv2d(3,4,3)(o(2,3,2,2))
    nn.Conv2d(3,4,3,groups=2)
    nn.Conv2d(3,4,3,padding="foo")
    nn.Conv2d(3,4,3,stride=0)(o(2,3,5,5))
    nn.Conv2d(3,4,0)
    nn.BatchNorm1d(3)(o(2,4))
    nn.BatchNorm1d(3)(o(3))
    nn.BatchNorm1d(3)(o(1,3))
    nn.BatchNorm2d(3)(o(2,3))
    nn.LayerNorm(3)(o(2,4))
    nn.LayerNorm((2,3))(o(3))
    nn.GroupNorm(2,3)
    nn.GroupNorm(3,3)(o(2,4))
    nn.Embedding(3,2)(o(2))
    nn.Embedding(3,2)(L.tensor([5]))
    nn.Embedding(3,2,padding_idx=3)
    nn.Dropout(2)
    nn.Dropout(-1)
    nn.Flatten(5)(o(2))
    nn.PixelShuffle(2)(o(1,3,2,2))
    nn.CosineSimilarity(dim=5)(o(2),o(2))
""")


def names(library):
    nn = library.nn

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.p = nn.Parameter(library.ones(1))
            self.register_buffer("b", library.ones(1))
            self.child = nn.Linear(1, 1)

    class B0(nn.Module):
        def __init__(self):
            self.x = nn.Parameter(library.ones(1))

    class B1(nn.Module):
        def __init__(self):
            self.x = nn.Linear(1, 1)

    class B2(nn.Module):
        def __init__(self):
            self.register_buffer("x", library.ones(1))

    return {"L": library, "F": nn.functional, "o": library.ones, "nn": nn, "M": M, "B0": B0, "B1": B1, "B2": B2}


def opening_of_torch(ours, theirs):
    """Names of this library stand for those of torch."""
    return of_one_kind(ours, theirs) and str(ours).replace("adjoint", "torch").startswith(str(theirs)[:40])


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    def program(library):
        result = eval(call, names(library))
        return str(result.shape) if hasattr(result, "shape") else type(result).__name__

    same(program, error=opening_of_torch, warned=None)


INPUTS = [(), (3,), (2, 3), (4, 2, 3), (0, 3), (2,), (3, 0)]
WEIGHTS = [(), (3,), (2, 3), (4, 3), (3, 1), (2, 2, 3), (0, 3)]
BIASES = [None, (), (1,), (2,), (4,), (2, 1), (3,), (5, 2), (1, 2)]


@pytest.mark.parametrize("input", INPUTS)
def test_linear_of_any_rank(input):
    for weight, bias in itertools.product(WEIGHTS, BIASES):

        def program(library, weight=weight, bias=bias):
            tensors = [library.full(shape, 0.5) for shape in (input, weight)]
            last = None if bias is None else library.full(bias, 2.0, requires_grad=True)
            result = library.nn.functional.linear(*tensors, last)
            if result.requires_grad:
                result.sum().backward()
            return result.detach(), None if last is None else last.grad

        # Which of two sizes that do not fit comes first may differ.
        same(program, bound=EXACT, error=opening(24), warned=None)
