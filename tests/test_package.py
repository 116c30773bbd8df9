"""The package as people install it: its files, its stubs, and what importing it costs."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

import adjoint

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import stubs

GOLDEN = {
    "__init__.pyi": """
def mul(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def add_(input: Tensor | _Number, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor: ...
def cat(tensors: _Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor: ...
def permute(input: Tensor, *dims: _Any) -> Tensor: ...
def chunk(input: Tensor, chunks: _Any, dim: _int = 0) -> tuple[Tensor, ...]: ...
from adjoint._C import zeros as zeros
float: _dtype
newaxis: None
""",
    "_C.pyi": """
class _topk(_NamedTuple):
    values: Tensor
    indices: Tensor
    shape: Size
    def __getitem__(self, key: _Any) -> Tensor: ...
    def mm(self, mat2: Tensor) -> Tensor: ...
    def topk(self, k: _Any, dim: _int = -1, largest: _bool = True, sorted: _bool = True) -> _topk: ...
def zeros(*size: _Any, dtype: _dtype | None = None, requires_grad: _bool = False, **kwargs: _Any) -> Tensor: ...
float32: _dtype
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
    names = [name for name in vars(adjoint) if not name.startswith("_")]
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


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_import_needs_neither_torch_nor_numpy():
    code = "import sys, adjoint; print([m for m in ('torch', 'numpy', 'scipy') if m in sys.modules])"
    assert run(code) == "[]"


def test_version_is_that_of_the_distribution():
    try:
        version = importlib.metadata.version("adjoint")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("adjoint is used from its source tree, not installed")
    assert adjoint.__version__ == version
