"""Instruction sets: ADJOINT_ISA chooses all loops, and each choice computes what torch does."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
import torch

import adjoint

from .processes import script

IFUNC = 10  # the type of a symbol that the loader resolves
IRELATIVE = {62: 37, 183: 1032}  # machine -> the type of the relocation for one without a name


def numbers(library, *shape, scale=1.0):
    return library.tensor(np.random.default_rng(7).standard_normal(shape).astype("float32") * scale)


def with_gradients(function, *inputs):
    """The result and the gradients of the inputs, each element weighed differently."""
    for tensor in inputs:
        tensor.requires_grad_()
    result = function(*inputs)
    (result * numbers(_library_of(result), *result.shape)).sum().backward()
    return [result.detach(), *(tensor.grad for tensor in inputs)]


def _library_of(tensor):
    return torch if isinstance(tensor, torch.Tensor) else adjoint


def softmax(library):
    for n in (10, 100):
        yield from with_gradients(lambda x: x.softmax(1), numbers(library, 3, n))
        yield from with_gradients(lambda x: x.log_softmax(0), numbers(library, n, 40))
        yield library.logsumexp(numbers(library, 3, n).double(), 1)


def reductions(library):
    x = numbers(library, 5, 333)
    for dim in (0, 1):
        yield from (x.sum(dim), x.amax(dim), x.amin(dim), x.norm(dim=dim), x.norm(2.5, dim=dim))
        yield (x * 100).to(library.int64).amax(dim)


def layer_norm(library):
    for n in (7, 300):
        weight, bias = numbers(library, n), numbers(library, n)
        yield from with_gradients(
            lambda *args, n=n: library.nn.functional.layer_norm(args[0], (n,), *args[1:]),
            numbers(library, 4, n),
            weight,
            bias,
        )


def random_numbers(library):
    library.manual_seed(3)
    for dtype in (library.float32, library.float64, library.bfloat16):
        yield library.rand(700, dtype=dtype)
        yield library.randn(700, dtype=dtype)
        yield library.empty(700, dtype=dtype).uniform_(-2, 3)
        yield library.empty(700, dtype=dtype).bernoulli_(0.3)
    yield library.randint(0, 1000, (700,))


def lstm(library):
    library.manual_seed(3)
    module = library.nn.LSTM(5, 21)
    yield from with_gradients(lambda x: module(x)[0], numbers(library, 4, 3, 5))
    yield from (parameter.grad for parameter in module.parameters())


def pooling(library):
    functional = library.nn.functional
    for size, stride, padding in ((2, 2, 0), (3, 1, 1), (3, 2, 1), (9, 9, 0)):
        for pool in (functional.max_pool2d, functional.avg_pool2d):
            yield from with_gradients(
                lambda x, pool=pool, how=(size, stride, padding): pool(x, *how), numbers(library, 2, 3, 36, 36)
            )
    yield from functional.max_pool2d(numbers(library, 2, 36, 36).double(), 2, return_indices=True)


def grid_sample(library):
    def sample(x, grid):
        return library.nn.functional.grid_sample(x, grid, align_corners=False)

    yield from with_gradients(sample, numbers(library, 2, 3, 9, 9), numbers(library, 2, 10, 10, 2))


def remainders(library):
    x, y = numbers(library, 1000, scale=100.0), numbers(library, 1000).flip(0)
    for dtype in (library.float32, library.float64):
        yield library.fmod(x.to(dtype), y.to(dtype))
        yield library.remainder(x.to(dtype), y.to(dtype))


def conversions(library):
    x = numbers(library, 100, scale=1000.0)
    names = ("float16", "bfloat16", "float64", "int64", "int32", "int16", "bool", "complex64")
    for first in names:
        for second in names:
            if not (first == "complex64" and second != "complex64"):
                yield x.to(getattr(library, first)).to(getattr(library, second))
    yield library.full((1000,), 2.5)
    yield numbers(library, 100, 1) * numbers(library, 1, 100)


def products(library):
    for m, k, n in ((3, 5, 7), (16, 16, 16), (1, 400, 20)):
        yield numbers(library, m, k) @ numbers(library, k, n)
        yield (numbers(library, m, k) * 9).to(library.int32) @ (numbers(library, k, n) * 9).to(library.int32)


def convolutions(library):
    for channels, out in ((3, 20), (1, 2)):
        yield from with_gradients(
            lambda x, w: library.nn.functional.conv2d(x, w, padding=1),
            numbers(library, 2, channels, 17, 17),
            numbers(library, out, channels, 3, 3),
        )


def fourier(library):
    for n in (16, 105, 97, 1000):
        yield library.view_as_real(library.fft.fft(numbers(library, 20, n)))
        yield library.fft.irfft(library.fft.rfft(numbers(library, 3, n)), n=n)


def counts(library):
    values = (numbers(library, 5000, scale=10.0).abs()).to(library.int64)
    yield library.bincount(values)
    yield library.unique(values)


def elementwise(library):
    x = numbers(library, 1000)
    yield from (x.exp(), x.tanh(), library.nn.functional.gelu(x), x / x.flip(0), x.to(library.complex64).sqrt())


def optimizers(library):
    x = numbers(library, 300).requires_grad_()
    optimizer = library.optim.Adam([x])
    for _ in range(3):
        (x * x).sum().backward()
        optimizer.step()
    yield x.detach()


FAMILIES = (softmax, reductions, layer_norm, random_numbers, lstm, pooling, grid_sample, remainders, conversions)
FAMILIES += (products, convolutions, fourier, counts, elementwise, optimizers)


def outcomes(library):
    """Family -> the results of its calls as (type, list of elements in double precision)."""

    def plain(tensor):
        real = library.view_as_real(tensor) if tensor.is_complex() else tensor
        return str(tensor.dtype), real.detach().to(library.float64).flatten().tolist()

    return {family.__name__: [plain(tensor) for tensor in family(library)] for family in FAMILIES}


@pytest.fixture(scope="module")
def expected():
    return outcomes(torch)


PROGRAM = """
import json
import adjoint
from tests.test_isa import outcomes
print(json.dumps([adjoint._C._instruction_set(), outcomes(adjoint)]))
"""
LOWER = {"avx512": ["avx2", "baseline"], "avx2": ["baseline"], "baseline": ["baseline"]}


@pytest.mark.parametrize("isa", [*LOWER[adjoint._C._instruction_set()], "of all the best"])
def test_every_family_of_loops_computes_with_each_instruction_set(isa, expected):
    """Each in a process of its own: the choice is made once. A name that is none changes nothing."""
    chosen, found = json.loads(script(PROGRAM, environment={"ADJOINT_ISA": isa}).stdout)
    assert chosen == (isa if isa in LOWER else adjoint._C._instruction_set())
    for family, results in expected.items():
        assert len(found[family]) == len(results), family
        for i, ((dtype, values), (wanted_dtype, wanted)) in enumerate(zip(found[family], results, strict=True)):
            assert dtype == wanted_dtype, f"{family} {i}"
            np.testing.assert_allclose(values, wanted, rtol=2e-4, atol=2e-5, err_msg=f"{family} {i}")


def loader_choices(data):
    """How many symbols and relocations of an ELF file the loader chooses a function for."""
    if data[:5] != b"\x7fELF\x02":
        return 0  # other formats know no such choice
    machine, start = struct.unpack_from("<H", data, 18)[0], struct.unpack_from("<Q", data, 40)[0]
    size, count = struct.unpack_from("<HH", data, 58)
    found = 0
    for section in range(count):
        _, kind, _, _, offset, length, *_ = struct.unpack_from("<IIQQQQ", data, start + section * size)
        if kind in (2, 11):  # symbols
            found += sum(data[at + 4] & 15 == IFUNC for at in range(offset, offset + length, 24))
        elif kind == 4:  # relocations
            types = (struct.unpack_from("<I", data, at + 8)[0] for at in range(offset, offset + length, 24))
            found += sum(kind == IRELATIVE.get(machine) for kind in types)
    return found


def test_nothing_is_left_to_the_loader():
    """Functions that it resolves for the processor would not heed ADJOINT_ISA."""
    assert loader_choices(Path(adjoint._C.__file__).read_bytes()) == 0
