"""Types that are stored and not computed with, beside torch: conversions bit by bit, and what moves elements."""

import copy
import math
import pickle
import warnings

import numpy as np
import pytest
import torch

import adjoint

from .compare import EXACT, opening, programs, raised, same

with warnings.catch_warnings():  # torch says once that complex32 is young
    warnings.simplefilter("ignore")
    torch.zeros(1, dtype=torch.complex32)

UNSIGNED = ("uint16", "uint32", "uint64")
FLOAT8 = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")
STORED = (*UNSIGNED, *FLOAT8, "complex32")
COMPUTED = ("float32", "float64", "float16", "bfloat16", "complex64", "complex128", "int64", "int32", "int16")
COMPUTED += ("int8", "uint8", "bool")
WORDS = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}

program, test_program = programs(bound=EXACT)


# ---- Conversions, bit by bit


def same_bits(ours, theirs):
    """Whether two arrays have the same bits."""
    return ours.shape == theirs.shape and ours.tobytes() == theirs.tobytes()


def bits(tensor):
    """The bytes of a tensor."""
    if str(tensor.dtype) == "torch.bool":
        return tensor.numpy().copy()
    library = adjoint if isinstance(tensor, adjoint.Tensor) else torch
    return tensor.contiguous().view(library.uint8).numpy().copy()


def all_floats():
    """Many float32 numbers: both ends of every range of mantissas that 16 bits tell apart."""
    upper = np.arange(2**16, dtype=np.uint32) << 16
    words = np.concatenate([upper, upper + 1, upper - 1, upper + 0x8000, upper + 0x7FFF, upper + 0x8001])
    return words.astype(np.uint32).view(np.float32)


def whole_numbers():
    powers = [2**k + d for k in range(64) for d in (-1, 0, 1)]
    return np.array([n - 2**64 if n >= 2**63 else n for n in powers] + [-n for n in powers if n < 2**63], np.int64)


def source(library, name):
    """Telling values of a type, as many as there are if these are few."""
    dtype = getattr(library, name)
    if name in ("float64", "complex128"):
        with np.errstate(invalid="ignore"):
            exact = all_floats()[::7].astype(np.float64)
        exact = np.concatenate([exact, whole_numbers().astype(np.float64), [1e300, -1e300]])
        values = library.from_numpy(exact)
        return values if name == "float64" else library.complex(values, values.flip(0))
    if name in ("float32", "complex64"):
        values = library.from_numpy(all_floats().copy())
        return values if name == "float32" else library.complex(values, values.flip(0))
    if name == "complex32":
        patterns = library.from_numpy(np.arange(-(2**15), 2**15, dtype=np.int16))
        return library.stack([patterns, patterns.flip(0)], 1).view(library.complex32).flatten()
    if dtype.itemsize <= 2 and name != "bool":
        patterns = np.arange(2 ** (8 * dtype.itemsize), dtype=f"uint{8 * dtype.itemsize}")
        signed = library.from_numpy(patterns.view(f"int{8 * dtype.itemsize}").copy())
        return signed.view(dtype)
    whole = library.from_numpy(whole_numbers())
    return whole.view(library.uint64) if name == "uint64" else whole.to(dtype)


def in_range(values, name):
    """Numbers that a type holds: what C++ makes of others when it converts them to uint32 depends on the machine."""
    values = values.real if values.is_complex() else values
    wide = values.to(torch.float64)
    return (wide > -(2.0**31)) & (wide < 2.0**32) if name == "uint32" else torch.ones_like(wide, dtype=torch.bool)


@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize("other", [*COMPUTED, *STORED])
def test_conversions_have_torchs_bits(name, other):
    for start, end in ((other, name), (name, other)):
        ours, theirs = (source(library, start).to(getattr(library, end)) for library in (adjoint, torch))
        first, second = bits(ours).reshape(-1, ours.element_size()), bits(theirs).reshape(-1, ours.element_size())
        if end == "uint32" and start.startswith(("float", "bfloat", "complex")):
            kept = in_range(source(torch, start), end).numpy()
            first, second = first[kept], second[kept]
        if end in ("float64", "complex128", "float16", "bfloat16", "complex64", "complex32", "float32"):
            # The bits of nan are the processor's, and depend on how many numbers it converts at once.
            nans = (
                torch.view_as_real(theirs.to(torch.complex128)) != torch.view_as_real(theirs.to(torch.complex128))
            ).any(-1)
            assert np.array_equal(np.isnan(np.asarray(ours.to(adjoint.complex128))), nans.numpy())
            first, second = first[~nans.numpy()], second[~nans.numpy()]
        assert same_bits(first, second), np.nonzero((first != second).any(-1))[0][:10]


@pytest.mark.parametrize("name", STORED)
def test_conversions_of_strided_and_large_tensors(name):
    for other in ("float32", "float64", "int64", "complex64", "uint8", "bool", "uint16", "float8_e5m2"):

        def program(library, other=other):
            x = (library.arange(3000 * 41) % 251).to(getattr(library, other)).view(41, 3000)
            y = x.t()[::3].to(getattr(library, name))
            return y.stride(), y[5, 2:7], y.to(getattr(library, other)), x[:, ::7].to(y.dtype)

        same(program, bound=EXACT, warned=None)


def test_numbers_of_uint64_beyond_int64():
    big = 2**63 + 12345

    def program(library):
        x = library.tensor([big, 1, 2**64 - 1], dtype=library.uint64)
        y = library.full((2,), big, dtype=library.uint64)
        return x.tolist(), x[0].item(), float(x[0]), y.tolist(), x == big, x[0] == big, x * big, x.to(library.float64)

    same(program, bound=EXACT)


# ---- Making them, and what they say of themselves


@program
def what_types_say(L):
    types = [getattr(L, name) for name in STORED]
    return [
        (
            str(t),
            t.itemsize,
            t.is_floating_point,
            t.is_complex,
            t.is_signed,
            L.empty(2, dtype=t).is_signed(),
            str(t.to_real()),
            L.empty(2, dtype=t).type(),
        )
        for t in types
    ]


@program
def creation(L):
    made = []
    for name in STORED:
        t = getattr(L, name)
        made += [
            L.zeros(2, 3, dtype=t),
            L.ones(2, dtype=t),
            L.full((2,), 3, dtype=t),
            L.tensor([[1, 2], [4, 8]], dtype=t),
        ]
        made += [
            L.tensor(2, dtype=t),
            L.empty(0, dtype=t),
            L.ones(2, dtype=t).new_full((2,), 2),
            L.scalar_tensor(4, dtype=t),
        ]
        x = L.ones(2, 2, dtype=t)
        made += [L.zeros_like(x), L.ones_like(x), L.full_like(x, 2), x.new_zeros(2), x.new_ones(1), x.new_tensor([1])]
        made += [L.ones(2).to(t), L.ones(2).type(x.type()), L.arange(3).to(x)]
    return made


@program
def what_is_not_made(L):
    def told(call):
        try:
            return call()
        except Exception as error:
            return type(error).__name__, str(error).partition(";")[0]

    refused = []
    for name in STORED:
        t = getattr(L, name)
        refused += [told(lambda t=t: L.arange(4, dtype=t)), told(lambda t=t: L.linspace(0, 1, 3, dtype=t))]
        refused += [told(lambda t=t: L.randperm(4, dtype=t))]
        if name != "complex32":
            refused += [told(lambda t=t: L.rand(2, dtype=t)), told(lambda t=t: L.randn(2, dtype=t))]
        if name in FLOAT8:
            refused += [
                told(lambda t=t: L.empty(2, dtype=t).fill_(1e30)),
                told(lambda t=t: L.randint(3, (2,), dtype=t)),
            ]
            refused += [told(lambda t=t: L.zeros(1, dtype=t).numpy())]
    return refused


@program
def random_integers(L):
    L.manual_seed(3)
    return [L.randint(5, 1000, (20,), dtype=getattr(L, name)) for name in UNSIGNED]


@program
def complex_halves_from_parts(L):
    x = L.tensor([1.5, -2.0, 3.25], dtype=L.float16)
    z = L.complex(x, x * 2)
    half = L.ones(2, dtype=L.float16)
    return z, z.real, z.imag, L.view_as_real(z), L.view_as_complex(L.stack([x, x], 1)), half * 1j, half + (2 + 1j)


# ---- Moving elements


def moved(L, t):
    x = (L.arange(24) % 7 + 1).to(t).view(2, 3, 4)
    i = L.tensor([2, 0, 1])
    y = x.clone()
    y[0, 1] = 2
    y[:, :, 1] = x[:, :, 2]
    return [
        x,
        y,
        x.transpose(0, 2),
        x[1],
        x[:, ::2, -1],
        x[..., None],
        x.t() if x.ndim == 2 else x.mT,
        x.reshape(6, 4),
        x.permute(2, 0, 1).contiguous(),
        x.expand(2, 2, 3, 4),
        x.repeat(1, 2, 1),
        x.unfold(2, 2, 1),
        x.diagonal(),
        L.cat([x, y], 1),
        L.stack([x, y]),
        x.roll(1, 2),
        x.chunk(2, 2),
        x.unbind(1),
        x.split(2, 1),
        x.flatten(),
        L.where(x == y, x, y),
        x.squeeze(),
        x.unsqueeze(1),
        L.atleast_3d(x[0, 0]),
        x.tile(2, 1, 1),
        x.movedim(0, 2),
        x[:, i],
        x[0, [0, 1], [1, 2]],
        x[1, 0, 3],
        L.constant_pad_nd(x, (1, 2), 1),
        x.repeat_interleave(2, 2),
        L.hstack([x, x]),
        copy.deepcopy(x),
        x.view(-1),
        x.as_strided((2, 2), (1, 2)),
        x.new_empty(0),
        L.diag_embed(x[0]),
    ]


@pytest.mark.parametrize("name", STORED)
def test_moving_elements(name):
    same(lambda L: moved(L, getattr(L, name)), bound=EXACT)


@pytest.mark.parametrize("name", STORED)
def test_changes_in_place(name):
    def program(L):
        t = getattr(L, name)
        x = (L.arange(12) % 5 + 1).to(t).view(3, 4)
        x[1] = x[0]
        x[2, ::2] = 4
        x[:, 3] = L.tensor([1.0, 2.0, 4.0])
        x.copy_(x.clone().t().reshape(3, 4))
        x.resize_(2, 4)
        y = L.empty(4, dtype=t).fill_(2)
        z = L.ones(4, dtype=t).zero_()
        return x, y, z, x._version, x.data_ptr() == x[0].data_ptr()

    same(program, bound=EXACT)


@pytest.mark.parametrize("name", STORED)
def test_what_moves_elements_takes_more_types_than_torchs(name):
    """torch has no loops of these for some types; here they go by the size of an element."""
    dtype = getattr(adjoint, name)
    plain = (adjoint.arange(12) % 5 + 1).view(3, 4)
    x = plain.to(dtype)
    index, mask = adjoint.tensor([[2, 0, 1, 1]]), plain > 2
    calls = [
        lambda v: v.flip(0),
        lambda v: v.gather(0, index),
        lambda v: v.index_select(1, adjoint.tensor([3, 0])),
        lambda v: v.masked_select(mask),
        lambda v: v.masked_fill(mask, 1),
        lambda v: v.tril(),
        lambda v: v.rot90(),
        lambda v: v.take(adjoint.tensor([5, 1])),
        lambda v: v.index_fill(0, adjoint.tensor([1]), 2),
        lambda v: v.scatter(0, index, v[:1]),
        lambda v: v[mask],
        lambda v: adjoint.nonzero(v),
        lambda v: v.index_put((adjoint.tensor([0, 2]),), v[1]),
        lambda v: v.masked_scatter(mask, v),
    ]
    for call in calls:
        ours, expected = call(x), call(plain)
        assert ours.to(expected.dtype).tolist() == expected.tolist() or name == "float8_e8m0fnu"
        assert ours.dtype in (dtype, expected.dtype)


@pytest.mark.parametrize("name", STORED)
def test_reading_bytes_as_other_types(name):
    def program(L):
        t = getattr(L, name)
        word = getattr(L, WORDS[t.itemsize])
        x = L.arange(16, dtype=word).view(2, 8)
        return x.view(t).view(word), x.view(t).view(L.uint8), x.view(t).element_size(), x.view(t).nbytes

    same(program, bound=EXACT)


# ---- Computing with them, as far as torch does


def computed(L, name):
    t = getattr(L, name)
    x = L.tensor([[1, 2, 4], [8, 2, 1]], dtype=t)
    y = L.tensor([[1, 4, 4], [2, 2, 8]], dtype=t)
    return {
        "eq": lambda: x == y,
        "ne": lambda: x != y,
        "number": lambda: x == 2,
        "isnan": lambda: x.isnan(),
        "mul": lambda: x * y,
        "mul_number": lambda: x * 3,
        "add": lambda: x + y,
        "sub": lambda: x - y,
        "neg": lambda: -x,
        "abs": lambda: x.abs(),
        "lt": lambda: x < y,
        "sum": lambda: x.sum(),
        "sum_dim": lambda: x.sum(0),
        "prod": lambda: x.prod(),
        "cumsum": lambda: x.cumsum(0),
        "sort": lambda: x.sort(),
        "argsort": lambda: x.argsort(stable=True),
        "unique": lambda: x.unique(),
        "unique_inverse": lambda: x.unique(return_inverse=True, return_counts=True),
        "sin": lambda: x.sin(),
        "sqrt": lambda: x.sqrt(),
        "div": lambda: x / y,
        "and": lambda: x & y,
        "xor": lambda: x ^ y,
        "not": lambda: ~x,
        "floor": lambda: x.floor(),
        "any": lambda: x.any(),
        "all": lambda: x.all(1),
        "isfinite": lambda: x.isfinite(),
        "add_float": lambda: x + 1.5,
        "mul_float32": lambda: x * L.ones(3),
        "equal": lambda: L.equal(x, x.clone()),
        "mean": lambda: x.mean(),
        "matmul": lambda: x @ y.t(),
        "max": lambda: x.max(),
        "clamp": lambda: x.clamp(1, 2),
        "pow": lambda: x**2,
        "floor_divide": lambda: x // y,
        "shift": lambda: x << 1,
        "exp": lambda: x.exp(),
        "softmax": lambda: x.softmax(0),
        "to_float_sum": lambda: x.sum(dtype=L.float32),
        "var": lambda: x.var(),
        "isinf": lambda: x.isinf(),
        "logical_and": lambda: x.logical_and(y),
        "minimum": lambda: L.minimum(x, y),
        "topk": lambda: x.topk(1),
        "addcmul": lambda: L.addcmul(x, x, y),
        "sgn": lambda: x.sgn(),
        "positive": lambda: +x,
        "conj": lambda: x.conj().resolve_conj(),
        "promote_int": lambda: x * L.ones(3, dtype=L.int32),
        "add_": lambda: x.clone().add_(1),
        "mul_": lambda: x.clone().mul_(2),
        "angle": lambda: x.angle(),
        "sigmoid": lambda: x.sigmoid(),
        "remainder": lambda: x % 3,
    }


def refused(ours, theirs):
    """Whether both refuse: a type that has no loop by its name, and other things as errors of a kind."""
    *_, name = str(theirs).partition(" not implemented for ")
    kinds = isinstance(ours, RuntimeError) and isinstance(theirs, RuntimeError)
    return (kinds or type(ours) is type(theirs)) and name.split(";")[0] in str(ours)


# What is computed here and not in torch, and the type that it is computed in.
MORE = {(name, what): "float32" for name in FLOAT8 for what in ("mul_number", "mul_")}
MORE["complex32", "equal"] = "complex64"


@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize("what", list(computed(torch, "uint16")))
def test_computing(name, what):
    if (name, what) in MORE:
        ours, expected = (computed(adjoint, of)[what]() for of in (name, MORE[name, what]))
        assert ours is expected if isinstance(ours, bool) else ours.equal(expected.to(ours.dtype))
        return
    same(lambda library: computed(library, name)[what](), error=refused, warned=None)


@program
def products_wrap_around(L):
    values = {"uint16": 65535, "uint32": 2**32 - 1, "uint64": 2**64 - 1}
    made = []
    for name, top in values.items():
        x = L.tensor([top, top - 1, 2, 3], dtype=getattr(L, name))
        made += [x * x, x * 2, x & 5, x ^ x, x | 1, x == top, x.sum(), x.sort(descending=True), x.unique()]
    return made


@program
def comparisons_of_uint64_in_order(L):
    x = L.tensor([2**63 + 1, 5, 2**63 - 1, 2**64 - 1, 0], dtype=L.uint64)
    return x.sort(), x.sort(descending=True), x.argsort(), x.unique(), x.unique(return_counts=True)


# ---- Promotion


def test_promotion_of_every_pair():
    names = (*COMPUTED, *STORED)

    def promoted(library, a, b):
        try:
            return str(library.promote_types(getattr(library, a), getattr(library, b)))
        except RuntimeError as error:
            return str(error).partition(";")[0]

    for a in names:
        for b in names:
            assert promoted(adjoint, a, b) == promoted(torch, a, b), (a, b)


@program
def types_of_results(L):
    found = []
    for name in STORED:
        x = L.ones(2, dtype=getattr(L, name))
        for other in (1, 1.0, True, L.tensor(2.0), L.tensor(1), L.ones(2)):
            try:
                found.append(str(L.result_type(x, other)))
            except RuntimeError as error:
                found.append(str(error).partition(";")[0])
        found.append([L.can_cast(x.dtype, t) for t in (L.float32, L.int32, L.complex64, L.bool)])
    return found


# ---- Gradients


@pytest.mark.parametrize("name", [*FLOAT8, "complex32"])
def test_gradients_of_conversions(name):
    def program(L):
        t = getattr(L, name)
        x = L.tensor([1.0, 2.5, -3.0, 400.0], requires_grad=True)
        y = x.to(t)
        z = y.to(L.complex64 if t.is_complex else L.float32)
        (z.abs() * L.tensor([1.0, 1.3, 0.7, 2.0])).sum().backward()
        leaf = L.ones(2, dtype=t, requires_grad=True)
        leaf.to(z.dtype).sum().backward()
        return y.requires_grad, y.grad_fn.name(), x.grad, leaf.grad, leaf.is_leaf

    same(program, bound=EXACT)


@program
def gradients_of_complex_halves(L):
    x = L.tensor([1 + 2j, 0.5 - 1j], dtype=L.complex32, requires_grad=True)
    y = L.tensor([2 - 1j, 1 + 1j], dtype=L.complex32, requires_grad=True)
    z = x * y + x - y
    z.backward(L.ones(2, dtype=L.complex32))
    return z.detach(), x.grad, y.grad


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "complex32"])
def test_gradients_of_indexing(name):
    def program(L):
        t = getattr(L, name)
        i = L.tensor([0, 0, 2])
        x = L.ones(4, 2).to(t).requires_grad_()
        x[i].backward(L.ones(3, 2).to(t))
        y = L.ones(4).to(t)
        y.index_put_((i,), L.ones(3).to(t), accumulate=True)
        return x.grad, y, L.ones(4).to(t).index_put((i,), L.ones(3).to(t), accumulate=True)

    same(program, bound=EXACT)


@pytest.mark.parametrize("name", UNSIGNED + FLOAT8)
def test_nothing_is_computed_of_nothing(name):
    def program(L):
        x = L.ones(0, 3).to(getattr(L, name))
        return x.cummax(0), x.mode(1), L.permute_copy(x, (1, 0))

    same(program, bound=EXACT)


# ---- Leaving and coming back


@pytest.mark.parametrize("name", STORED)
def test_files_both_ways(name, tmp_path):
    for writer, reader in ((torch, adjoint), (adjoint, torch), (adjoint, adjoint)):
        x = (writer.arange(12) % 5 + 1).to(getattr(writer, name)).view(3, 4).t()
        writer.save({"x": x, "part": x[1:]}, tmp_path / "x.pt")
        read = reader.load(tmp_path / "x.pt")
        assert str(read["x"].dtype) == f"torch.{name}"
        assert read["x"].stride() == x.stride()
        assert bits(read["x"]).tolist() == bits(x).tolist()
        assert bits(read["part"]).tolist() == bits(x[1:]).tolist()


@pytest.mark.parametrize("name", STORED)
def test_pickles(name):
    x = (adjoint.arange(6) + 1).to(getattr(adjoint, name))
    for protocol in range(2, 6):
        back = pickle.loads(pickle.dumps(x, protocol))
        assert back.dtype is x.dtype
        assert bits(back).tolist() == bits(x).tolist()
    assert pickle.loads(pickle.dumps(x.dtype)) is x.dtype
    assert hash(x.dtype) == hash(getattr(adjoint, name))
    assert repr(x.dtype) == f"torch.{name}"


@pytest.mark.parametrize("name", UNSIGNED)
def test_numpy_both_ways(name):
    array = np.array([1, 2**16 - 1, 7], dtype=name)
    ours = adjoint.from_numpy(array)
    assert str(ours.dtype) == f"torch.{name}"
    assert ours.numpy().dtype == array.dtype
    assert ours.tolist() == array.tolist()
    array[0] = 9
    assert ours[0].item() == 9
    assert np.asarray(adjoint.tensor(array)).tolist() == array.tolist()
    assert adjoint.as_tensor(array).dtype == ours.dtype
    assert adjoint.tensor(array[1]).dtype == ours.dtype
    assert memoryview(ours).format == memoryview(array).format


@pytest.mark.parametrize("name", STORED)
def test_dlpack_both_ways(name):
    theirs = (torch.arange(6) + 1).to(getattr(torch, name))
    ours = adjoint.from_dlpack(theirs)
    assert str(ours.dtype) == f"torch.{name}"
    assert ours.data_ptr() == theirs.data_ptr()
    back = torch.from_dlpack(ours)
    assert back.dtype == theirs.dtype
    assert back.data_ptr() == theirs.data_ptr()


@pytest.mark.parametrize("name", STORED)
def test_printing(name):
    for values in ([1, 2, 4], [[1, 2], [4, 8]], [], 2):
        same(
            lambda L, values=values: (
                repr(L.tensor(values, dtype=getattr(L, name))),
                str(L.tensor(values, dtype=getattr(L, name))),
            )
        )
    same(lambda L: repr((L.arange(2000) % 100).to(getattr(L, name))))
    same(lambda L: f"{L.tensor(2, dtype=getattr(L, name)).item()!r}")


def test_limits():
    for name in STORED:
        ours, theirs = (getattr(library, name) for library in (adjoint, torch))
        info = "iinfo" if name in UNSIGNED else "finfo"
        a, b = getattr(adjoint, info)(ours), getattr(torch, info)(theirs)
        assert (a.max, a.min, a.bits, str(a.dtype)) == (b.max, b.min, b.bits, str(b.dtype))
        assert repr(a) == repr(b)


# ---- Elsewhere, and not at all


@pytest.mark.parametrize("name", STORED)
def test_on_meta(name):
    def program(L):
        x = L.empty(2, 3, dtype=getattr(L, name), device="meta")
        return x, x.t(), x.clone(), L.cat([x, x]), x == x, x.to(L.float32), x[0], L.zeros_like(x), x.view(-1)

    same(program)
    with pytest.raises(NotImplementedError, match="not implemented for"):
        adjoint.empty(2, dtype=getattr(adjoint, name), device="meta").cummax(0)


QUANTIZED = ("quint8", "qint8", "qint32", "quint4x2", "quint2x4")
NAMED = (*QUANTIZED, "float4_e2m1fn_x2", "bits1x8", "bits2x4", "bits4x2", "bits8", "bits16")
NAMED += tuple(f"{sign}int{size}" for sign in ("", "u") for size in range(1, 8))


@pytest.mark.parametrize("name", NAMED)
def test_types_that_can_be_named_only(name):
    def program(L):
        t = getattr(L, name)
        return (
            isinstance(t, L.dtype),
            repr(t),
            t.itemsize,
            t.is_floating_point,
            t.is_complex,
            raised(lambda: t.is_signed),
        )

    same(program)
    dtype = getattr(adjoint, name)
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert getattr(adjoint, name) is dtype
    for call in (
        lambda: adjoint.zeros(2, dtype=dtype),
        lambda: adjoint.ones(2).to(dtype),
        lambda: adjoint.tensor([1], dtype=dtype),
        lambda: adjoint.ones(4, dtype=adjoint.uint8).view(dtype),
    ):
        with pytest.raises(NotImplementedError, match=f"tensors of type torch.{name} are not there"):
            call()


def test_refusals_name_the_type():
    for name in STORED:
        x = adjoint.ones(4, 4, dtype=getattr(adjoint, name))
        legacy = x.type().removeprefix("torch.").removesuffix("Tensor")
        for call in (
            lambda x=x: x.cummax(0),
            lambda x=x: x.median(),
            lambda x=x: adjoint.nn.functional.avg_pool1d(x, 2),
            lambda x=x: x.logcumsumexp(0),
            lambda x=x: x.bincount(),
            lambda x=x: x.kthvalue(1),
            lambda x=x: x.erfinv_(),
        ):
            kind, text = raised(call)
            assert kind in ("NotImplementedError", "RuntimeError", "ValueError"), (name, text)
            assert "internal" not in text
        with pytest.raises(NotImplementedError, match=f"not implemented for '{legacy}'"):
            x.cummax(0)
    assert math.isnan(adjoint.tensor(math.nan, dtype=adjoint.float8_e5m2).item())


REFUSED = {
    "add": lambda x: x + x, "lt": lambda x: x < x, "neg": lambda x: -x, "floor_divide": lambda x: x // x,
    "shift": lambda x: x << x, "max": lambda x: x.max(), "amax": lambda x: x.amax(), "cummax": lambda x: x.cummax(0),
    "kthvalue": lambda x: x.kthvalue(1), "mode": lambda x: x.mode(), "median": lambda x: x.median(),
    "mv": lambda x: x.mv(x[0]), "dot": lambda x: x[0].dot(x[0]), "frac": lambda x: x.frac(), "pow": lambda x: x**2,
    "maximum": lambda x: x.maximum(x), "logical_not": lambda x: x.logical_not(), "hypot": lambda x: x.hypot(x),
    "lerp": lambda x: x.lerp(x, x), "not": lambda x: x.bitwise_not(), "uniform_": lambda x: x.clone().uniform_(),
    "sum": lambda x: x.sum(), "exp": lambda x: x.exp(), "sort": lambda x: x.sort(), "prod": lambda x: x.prod(),
    "mean": lambda x: x.mean(), "var": lambda x: x.std(0), "matmul": lambda x: x @ x, "clamp": lambda x: x.clamp(1, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", ["uint16", "uint64", "float8_e4m3fn", "float8_e8m0fnu", "complex32"])
@pytest.mark.parametrize("what", list(REFUSED))
def test_refusals_have_torchs_words(name, what):
    same(lambda L: REFUSED[what](L.ones(3, 3).to(getattr(L, name))), error=opening(55), warned=None)


# ---- A hash, which is a uint64


@program
def hashes(L):
    x = L.arange(60.0).view(3, 4, 5) * 1.7 - 3
    kinds = [L.float32, L.float64, L.float16, L.bfloat16, L.int64, L.int32, L.int8, L.uint8, L.bool]
    found = [L.hash_tensor(x.to(kind)) for kind in kinds]
    found += [L.hash_tensor(x, dim, keepdim=keep) for dim in (0, -1, (0, 2), [1, 2], ()) for keep in (False, True)]
    found += [x.hash_tensor(1), L.hash_tensor(L.tensor(3.0)), L.hash_tensor(L.empty(0, 3), 1), L.hash_tensor(x.mT)]
    found += [L.hash_tensor(x, out=L.empty(0, dtype=L.uint64)), L.hash_tensor(x.requires_grad_())]
    return found


@program
def what_is_not_hashed(L):
    x = L.ones(2, 3)
    calls = [
        lambda: L.hash_tensor(L.empty(0)), lambda: L.hash_tensor(L.empty(0, 3), 0), lambda: L.hash_tensor(x, (0, 0)),
        lambda: L.hash_tensor(x, 7), lambda: L.hash_tensor(x, mode=1), lambda: L.hash_tensor(x, out=L.empty(0)),
        lambda: L.hash_tensor(x.to(L.complex64)), lambda: L.hash_tensor(x.to(L.uint16)),
    ]  # fmt: skip
    return [raised(call) for call in calls]


# ---- Unsigned types: what torch computes of them


@pytest.mark.parametrize("dtype", UNSIGNED)
def test_signbit_and_isin_of_unsigned(dtype):
    same(lambda L: L.signbit(L.tensor([0, 1, 200], dtype=getattr(L, dtype))))
    same(lambda L: L.isin(L.tensor([1, 2], dtype=getattr(L, dtype)), 2))
    for invert in (False, True):
        same(lambda L, invert=invert: L.isin(*(L.arange(n).to(getattr(L, dtype)) for n in (50, 40)), invert=invert))
    # Of few test elements torch refuses.
    most = np.iinfo(dtype).max
    elements, tests = (adjoint.tensor(values, dtype=getattr(adjoint, dtype)) for values in ([most, 0, 1], [1, most]))
    assert adjoint.isin(elements, tests).tolist() == [True, False, True]


def test_the_layout_of_nested_tensors():
    """It has a name; what is made with it is strided, as in torch."""
    same(lambda L: repr(L.jagged))
    same(lambda L: isinstance(L.jagged, L.layout))
    same(lambda L: L.ones(2).layout == L.jagged)
    same(lambda L: pickle.loads(pickle.dumps(L.jagged)) is L.jagged)
    same(lambda L: copy.deepcopy(L.jagged) is L.jagged)
    for make in ("zeros", "ones", "empty"):
        same(lambda L, make=make: str(getattr(L, make)(2, layout=L.jagged).layout))
    same(lambda L: L.zeros_like(L.ones(2), layout=L.jagged))
    # torch warns of sparse tensors once in a process.
    same(lambda L: L.sparse_compressed_tensor(L.tensor([0, 1]), L.tensor([0]), L.ones(1), layout=L.jagged), warned=None)
