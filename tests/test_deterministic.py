"""use_deterministic_algorithms(): what it refuses, warns of and fills, and its flags, as in torch."""

import pytest
import torch

import adjoint

from .compare import lines, outcome, same


@pytest.fixture(autouse=True)
def as_before():
    yield
    for library in (adjoint, torch):
        library.use_deterministic_algorithms(False)
        library.utils.deterministic.fill_uninitialized_memory = True


CALLS = lines("""
    L.ones(3).put_(L.tensor([1]), L.tensor([2.0]))
    L.ones(3).put(L.tensor([1]), L.tensor([2.0]))
    L.put(L.ones(3), L.tensor([1]), L.tensor([2.0]))
    L.ones(3).put_(L.tensor([9]), L.tensor([2.0]))
    L.ones(3).put_(L.tensor([], dtype=L.int64), L.tensor([]))
    L.ones(3).put_(L.tensor([1]), L.tensor([2.0]), accumulate=True)
    L.ones(3).take(L.tensor([1]))
    L.nn.functional.max_unpool1d(L.ones(1, 1, 2), L.tensor([[[0, 2]]]), 2)
    L.nn.functional.max_unpool2d(L.ones(1, 1, 1, 1), L.tensor([[[[0]]]]), 2)
    L.nn.functional.max_unpool3d(L.ones(1, 1, 1, 1, 1), L.tensor([[[[[0]]]]]), 2)
    L.nn.MaxUnpool1d(2)(L.ones(1, 1, 2), L.tensor([[[0, 2]]]))
    L.nn.functional.max_unpool1d(L.ones(1, 1, 2), L.tensor([[[0, 2]]]), 2, output_size=(99,))
    L.zeros(3).index_put_((L.tensor([0, 0]),), L.tensor([1.0, 2.0]))
    L.ones(3).scatter_(0, L.tensor([0]), 2.0)
    L.ones(3).index_add(0, L.tensor([0, 0]), L.tensor([1.0, 2.0]))
""")


@pytest.mark.parametrize("warn_only", [False, True])
@pytest.mark.parametrize("call", CALLS)
def test_refused_or_warned_of(call, warn_only):
    def program(library):
        library.use_deterministic_algorithms(True, warn_only=warn_only)
        return eval(call, {"L": library})

    same(program)


def test_the_way_out_is_named():
    adjoint.use_deterministic_algorithms(True)
    with pytest.raises(RuntimeError, match=r"put_ does not have a deterministic.*warn_only=True"):
        adjoint.ones(3).put_(adjoint.tensor([1]), adjoint.tensor([2.0]))


DTYPES = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]


@pytest.mark.parametrize("dtype", [*DTYPES, "complex64", "complex128"])
def test_new_memory_is_filled(dtype):
    def program(library):
        library.use_deterministic_algorithms(True)
        kind = getattr(library, dtype)
        one = library.ones(2, dtype=kind)
        return [
            library.empty(3, dtype=kind),
            library.empty_like(one),
            library.empty_strided((2, 2), (3, 1), dtype=kind),
            library.empty_permuted((2, 3), (1, 0), dtype=kind),
            library.empty(2, out=library.zeros(2, dtype=kind)),
            one.new_empty(2, 2),
            one.new_empty_strided((2, 2), (1, 2)),
            one.new(2),
            library.ones(2, dtype=kind).resize_(2, 2),
            library.ones(4, dtype=kind).resize_(2),
            library.ones(2, dtype=kind).resize_(0).resize_(4),
            library.ones(2, dtype=kind).resize_as_(library.ones(3)),
        ]

    same(program)


def test_memory_is_filled_only_when_asked():
    def program(library):
        library.use_deterministic_algorithms(True)
        filled = library.LongTensor(2), library.Tensor(2, 2)
        library.utils.deterministic.fill_uninitialized_memory = False
        seen = [bool(library.full((3,), 7.0).new_empty(3).isnan().all())]
        library.utils.deterministic.fill_uninitialized_memory = True
        library.use_deterministic_algorithms(False)
        return filled, [*seen, bool(library.full((3,), 7.0).new_empty(3).isnan().all())]

    same(program)


FLAGS = lines("""
    L.use_deterministic_algorithms(True)
    L.use_deterministic_algorithms(True, warn_only=True)
    L.use_deterministic_algorithms(False, warn_only=True)
    L.use_deterministic_algorithms("a")
    L.use_deterministic_algorithms(1)
    L.use_deterministic_algorithms(None)
    L.use_deterministic_algorithms(True, warn_only=3)
    L.use_deterministic_algorithms(True, True)
    L.use_deterministic_algorithms(mode=True)
    L.set_deterministic_debug_mode("default")
    L.set_deterministic_debug_mode("warn")
    L.set_deterministic_debug_mode("error")
    L.set_deterministic_debug_mode("x")
    L.set_deterministic_debug_mode(1)
    L.set_deterministic_debug_mode(True)
    L.set_deterministic_debug_mode(3)
    L.set_deterministic_debug_mode(-1)
    L.set_deterministic_debug_mode(1.0)
    L.set_deterministic_debug_mode(None)
    L.set_deterministic_debug_mode(debug_mode=2)
    setattr(L.utils.deterministic, "fill_uninitialized_memory", False)
    setattr(L.utils.deterministic, "fill_uninitialized_memory", 3)
    setattr(L.utils.deterministic, "fill_uninitialized_memory", None)
""")


@pytest.mark.parametrize("call", FLAGS)
def test_flags(call):
    def program(library):
        result = outcome(lambda L: eval(call, {"L": L}), library)
        return (
            result.kind,
            result.value,
            [
                library.are_deterministic_algorithms_enabled(),
                library.is_deterministic_algorithms_warn_only_enabled(),
                library.get_deterministic_debug_mode(),
                library.utils.deterministic.fill_uninitialized_memory,
            ],
        )

    same(program)
