"""What the processor can do."""

from .. import _C


def get_cpu_capability():
    """The instruction set in use, by PyTorch's names.

    >>> import adjoint as torch
    >>> torch.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")
    True
    """
    return {"avx512": "AVX512", "avx2": "AVX2"}.get(_C._instruction_set(), "DEFAULT")
