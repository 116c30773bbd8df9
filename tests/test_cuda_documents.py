"""docs/cuda.md lists the kernels that a GPU does not have: `python -m tests.test_cuda_documents` writes the list."""

import textwrap
from pathlib import Path

from adjoint import _C

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cuda.md"
BEGIN, END = "<!-- through the cpu -->", "<!-- end -->"


def listed():
    """The list of such kernels, by family."""
    families = {}
    for name in _C._cuda_kernels(False):
        family, _, kernel = name.partition(".")
        families.setdefault(family, []).append(kernel)
    lines = []
    for family, kernels in families.items():
        text = f"- **{family}**: " + ", ".join(f"`{kernel}`" for kernel in kernels)
        lines += textwrap.wrap(text, 118, subsequent_indent="  ", break_long_words=False)
    return "\n".join(["", *lines, ""])


def page():
    before, _, rest = PAGE.read_text().partition(BEGIN)
    return f"{before}{BEGIN}\n{listed()}\n{END}{rest.partition(END)[2]}"


def test_kernels_of_the_cpu_are_listed():
    assert PAGE.read_text() == page()


def test_every_kernel_has_a_name():
    names = [*_C._cuda_kernels(True), *_C._cuda_kernels(False)]
    assert len(names) == len(set(names))
    assert {"memory.copy", "elementwise.run", "reduce.sum", "distance.pdist_backward"} <= set(names)


if __name__ == "__main__":
    PAGE.write_text(page())
