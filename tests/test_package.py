"""The package as people install it: its files, its stubs, and what importing it costs."""

import importlib.metadata
import struct
import sys
from pathlib import Path

import pytest

import adjoint

from .processes import script

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import stubs

GOLDEN = {
    "__init__.pyi": """
def mul(input: _Tensor | _Number, other: _Tensor | _Number, *, out: _Tensor | None = None) -> _Tensor: ...
def exp(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor: ...
def add_(input: _Tensor | _Number, other: _Tensor | _Number, *, alpha: _Number = 1) -> _Tensor: ...
def cat(tensors: _Sequence[_Tensor], dim: _int = 0, *, out: _Tensor | None = None, axis: _int = ...) -> _Tensor: ...
def permute(input: _Tensor, *dims: _int) -> _Tensor: ...
def chunk(input: _Tensor, chunks: _int, dim: _int = 0, *, axis: _int = ...) -> _tuple[_Tensor, ...]: ...
from adjoint._C import zeros as zeros
float: _dtype
newaxis: None
""",
    "_C.pyi": """
float32: _dtype
    def mm(self, mat2: _Tensor) -> _Tensor: ...
    def topk(self, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, axis: _int = ...) \
-> _return_types.topk: ...
    def mul_(self, other: _Tensor | _Number) -> _Self: ...
def zeros(*size: _int, dtype: _dtype | None = None, layout: _layout | None = None, device: _DeviceLike = None, \
pin_memory: _bool = False, requires_grad: _bool = False, out: _Tensor | None = None) -> _Tensor: ...
""",
    "return_types.pyi": """
class topk(_NamedTuple):
    values: _Tensor
    indices: _Tensor
""",
    "nn/modules/linear.pyi": """
class Linear(Module):
    def __init__(self, in_features: _int, out_features: _int, bias: _bool = True, device: _DeviceLike = None, \
dtype: _dtype | None = None) -> None: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    weight: Parameter
""",
}


@pytest.fixture(scope="module")
def texts():
    return stubs.Stubs(adjoint).files()


@pytest.mark.parametrize("name", GOLDEN)
def test_stubs_match_the_golden_lines(texts, name):
    lines = texts[name].splitlines()
    assert [line for line in GOLDEN[name].strip().splitlines() if line not in lines] == []


def test_stubs_name_everything_public(texts):
    text = texts["__init__.pyi"]
    names = script(
        "import adjoint; print(*(name for name in vars(adjoint) if not name.startswith('_')))"
    ).stdout.split()
    missing = [n for n in names if f"def {n}(" not in text and f" as {n}\n" not in text and f"\n{n}: " not in text]
    assert missing == []


def test_installed_package_is_typed_and_small():
    try:
        files = importlib.metadata.files("adjoint")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("adjoint is used from its source tree, not installed")
    sizes = {str(file): file.locate().stat().st_size for file in files if file.locate().is_file()}
    wanted = {"adjoint/py.typed", "adjoint/_C.pyi", "adjoint/__init__.pyi", "adjoint/nn/functional.pyi"}
    assert wanted <= set(sizes)
    assert sum(size for name, size in sizes.items() if not name.endswith(".pyc")) < 40e6


def test_import_needs_neither_torch_nor_numpy_nor_the_generator():
    names = ("torch", "numpy", "scipy", "adjoint.codegen")
    assert script(f"import sys, adjoint; print([m for m in {names} if m in sys.modules])").stdout == "[]\n"


def test_version_is_that_of_the_distribution():
    try:
        version = importlib.metadata.version("adjoint")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("adjoint is used from its source tree, not installed")
    assert adjoint.__version__ == version


def exported_symbols(library):
    """The names that a shared library (64-bit ELF) shows to others."""
    data = Path(library).read_bytes()
    assert data[:6] == b"\x7fELF\x02\x01"
    (sections,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    # Of each section: its type, place, size, and the number of the section with its strings.
    headers = [struct.unpack_from("<4xI16xQQI", data, sections + i * size) for i in range(count)]
    names = set()
    for kind, start, length, link in headers:
        if kind != 11:  # the symbols that are seen by the dynamic linker
            continue
        strings = headers[link][1]
        for place in range(start, start + length, 24):
            name, info, _, section = struct.unpack_from("<IBBH", data, place)
            if section and info >> 4:  # defined here, and not local
                begin = strings + name
                names.add(data[begin : data.index(b"\0", begin)].decode())
    return names


def test_the_extension_exports_its_entry_alone():
    assert exported_symbols(adjoint._C.__file__) == {"PyInit__C"}


@pytest.mark.parametrize("imports", ["import torch, adjoint", "import adjoint, torch"])
def test_errors_beside_another_library(imports):
    program = f"""
{imports}
for library in (adjoint, torch, adjoint):
    try:
        library.ones(2) + library.ones(3)
    except RuntimeError as error:
        print(str(error)[:27])
"""
    assert script(program, timeout=60).stdout == "The size of tensor a (2) mu\n" * 3
