"""The flags of torch.backends that say how exact products are and which libraries are preferred, beside torch."""

import inspect

import pytest
import torch

import adjoint

from .compare import programs, raised
from .processes import python

program, test_program = programs()
SETTINGS = """
    B.cuda.matmul.allow_tf32 = True
    B.cuda.matmul.allow_tf32 = False
    B.cuda.matmul.allow_tf32 = False; B.fp32_precision = "tf32"
    L.set_float32_matmul_precision("high")
    L.set_float32_matmul_precision("medium")
    L.set_float32_matmul_precision("medium"); L.set_float32_matmul_precision("highest")
    B.cuda.matmul.fp32_precision = "tf32"
    B.cuda.matmul.fp32_precision = "ieee"
    B.cuda.matmul.fp32_precision = "tf32"; L.set_float32_matmul_precision("highest"); B.fp32_precision = "ieee"
    B.fp32_precision = "tf32"
    B.fp32_precision = "ieee"
    B.fp32_precision = "ieee"; B.cudnn.conv.fp32_precision = "none"
    B.fp32_precision = "ieee"; B.cudnn.conv.fp32_precision = "tf32"
    B.fp32_precision = "none"
    B.fp32_precision = "bf16"
    B.cudnn.fp32_precision = "ieee"
    B.cudnn.fp32_precision = "tf32"
    B.cudnn.fp32_precision = "none"
    B.cudnn.conv.fp32_precision = "ieee"
    B.cudnn.conv.fp32_precision = "none"
    B.cudnn.allow_tf32 = False
    B.mkldnn.fp32_precision = "bf16"
    B.mkldnn.conv.fp32_precision = "bf16"
"""
STATE = """
print(B.fp32_precision, B.cuda.matmul.fp32_precision, B.cudnn.fp32_precision, B.cudnn.conv.fp32_precision,
      B.cudnn.rnn.fp32_precision, B.mkldnn.fp32_precision, B.mkldnn.matmul.fp32_precision,
      B.mkldnn.conv.fp32_precision, B.mkldnn.rnn.fp32_precision)
"""


def states(package):
    """What is read after each setting, each in a process of its own."""
    program = f"import os, sys, {package} as L\nB = L.backends\n"
    for line in ["pass", *SETTINGS.strip().splitlines()]:
        program += f"if os.fork() == 0:\n    {line.strip()}\n    {' '.join(STATE.split())}\n    sys.stdout.flush()\n"
        program += "    os._exit(0)\nos.wait()\n"
    return python("-W", "ignore", "-c", program).stdout.splitlines()


def test_precisions_follow_one_another():
    assert states("adjoint") == states("torch")


def test_the_old_names_say_what_the_new_ones_chose():
    """Torch refuses to answer where both were used."""
    matmul = adjoint.backends.cuda.matmul
    try:
        matmul.fp32_precision = "tf32"
        assert (matmul.allow_tf32, adjoint.get_float32_matmul_precision()) == (True, "high")
        adjoint.set_float32_matmul_precision("medium")
        assert (matmul.fp32_precision, adjoint.get_float32_matmul_precision()) == ("tf32", "medium")
        matmul.fp32_precision = "ieee"
        assert (matmul.allow_tf32, adjoint.get_float32_matmul_precision()) == (False, "highest")
    finally:
        adjoint.set_float32_matmul_precision("highest")


def test_unknown_precisions():
    matmul = adjoint.backends.cuda.matmul
    with pytest.raises(RuntimeError, match=r"^Unknown precision: foo; it is one of none, ieee, tf32$"):
        matmul.fp32_precision = "foo"
    with pytest.raises(RuntimeError, match=r"^backend 'cuda' does not support precision 'bf16'; it is one of"):
        matmul.fp32_precision = "bf16"


def test_contexts_put_precisions_back():
    B = adjoint.backends
    with B.cudnn.flags(enabled=True, fp32_precision="ieee"):
        assert (B.cudnn.fp32_precision, B.cuda.matmul.fp32_precision) == ("ieee", "ieee")
    with B.mkldnn.flags(fp32_precision="bf16"):
        assert B.mkldnn.conv.fp32_precision == "bf16"
    assert (B.fp32_precision, B.cudnn.fp32_precision, B.cudnn.conv.fp32_precision) == ("none", "none", "tf32")


@program
def preferred_libraries(L):
    cuda = L.backends.cuda
    names = ["linalg", "blas"]
    found = [str(getattr(cuda, f"preferred_{name}_library")().name) for name in names]
    found += [raised(lambda name=name: getattr(cuda, f"preferred_{name}_library")("foo")) for name in names]
    return found, cuda.preferred_linalg_library("default").name, cuda.fp16_bf16_reduction_math_sdp_allowed()


@program
def other_libraries(L):
    B = L.backends
    with B.nnpack.flags(True):
        pass
    return (
        (B.cusparselt.is_available(), B.cusparselt.version(), B.cusparselt.get_max_alg_id()),
        (B.kleidiai.is_available(), B.mha.get_fastpath_enabled(), B.miopen.immediate),
        B.cuda.is_ck_sdpa_available(),
    )


def test_preferring_a_library_takes_a_gpu():
    if adjoint.cuda.is_available():
        pytest.skip("there is a GPU")
    cuda = adjoint.backends.cuda
    with pytest.raises(RuntimeError, match=r"^Cannot set preferred backend to cuSOLVER if there is no GPU"):
        cuda.preferred_linalg_library("cusolver")
    with pytest.raises(RuntimeError, match=r"^Cannot set preferred backend to cuBLASLt if there is no GPU"):
        cuda.preferred_blas_library("cublaslt")
    with pytest.raises(RuntimeError, match=r"^cufft_plan_cache: expected 0 <= device index < 0, but got device with"):
        cuda.cufft_plan_cache[0]
    x = adjoint.ones(1, 2, 4, 8)
    params = cuda.SDPAParams(x, x, x, None, 0.0, False, False)
    for ask in (cuda.can_use_flash_attention, cuda.can_use_efficient_attention, cuda.can_use_cudnn_attention):
        assert not ask(params)
        with pytest.warns(UserWarning, match="cannot be used: "):
            ask(params, debug=True)
    assert not cuda.is_flash_attention_available()


@pytest.mark.parametrize("name", ["cuda", "cudnn", "mkldnn", "nnpack", "cusparselt", "kleidiai", "mha"])
def test_signatures_are_torch_s(name):
    ours, theirs = getattr(adjoint.backends, name), getattr(torch.backends, name)
    functions = {n: f for n, f in vars(ours).items() if inspect.isfunction(f) and not n.startswith("_")}
    for each, function in functions.items():
        wanted = [(p.name, p.default) for p in inspect.signature(getattr(theirs, each)).parameters.values()]
        assert [(p.name, p.default) for p in inspect.signature(function).parameters.values()] == wanted, each
