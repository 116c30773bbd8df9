"""The flags of torch.backends beside torch's: how exact products are, which libraries compute, what flags may be."""

import contextlib
import inspect
import warnings

import pytest
import torch

import adjoint

from .compare import programs, raised
from .processes import python

program, test_program = programs()


@pytest.fixture(autouse=True)
def torchs_flags_are_not_frozen(monkeypatch):
    """Torch's tools for tests, which other tests import, freeze its flags for the process."""
    monkeypatch.setitem(torch.backends.flags_frozen.__globals__, "__allow_nonbracketed_mutation_flag", True)


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
def flags_are_set_together(L):
    B, seen = L.backends, []
    warnings.simplefilter("ignore")  # torch says that oneDNN has no GPU
    for name, wanted in {
        "": {"fp32_precision": "ieee"},
        "cudnn": {"benchmark": True, "deterministic": True, "depthwise_kernel": "native"},
        "mkldnn": {"enabled": False, "deterministic": True, "fp32_precision": "bf16"},
        "miopen": {"immediate": True},
    }.items():
        module = getattr(B, name) if name else B
        with module.flags(**wanted):
            seen.append([getattr(module, flag) for flag in wanted])
        seen.append([getattr(module, flag) for flag in wanted])
        former = module.set_flags(**{f"_{flag}": value for flag, value in wanted.items()})
        seen += [former, module.set_flags(**{f"_{flag}": value for flag, value in zip(wanted, seen[-1], strict=True)})]
        with contextlib.suppress(KeyError), module.flags(**wanted):
            raise KeyError
        seen.append([getattr(module, flag) for flag in wanted])
    return seen


@program
def flags_take_what_they_are_of(L):
    B = L.backends
    places = [(B.cudnn, name) for name in ("enabled", "benchmark", "deterministic", "depthwise_kernel")]
    places += [(B.mkldnn, name) for name in ("enabled", "deterministic", "allow_tf32")]
    places += [(B.miopen, "immediate")]
    matmul = [f"allow_{name}_reduced_precision_reduction" for name in ("fp16", "bf16")]
    places += [(B.cuda.matmul, name) for name in ("allow_fp16_accumulation", *matmul)]
    seen = [raised(lambda m=m, n=n, v=v: setattr(m, n, v)) for m, n in places for v in (1, "True", None, [True, False])]
    for place in (B.cudnn, B.cuda.matmul):  # whose words name another function, and of the precision an own one
        seen += [raised(lambda m=place: setattr(m, "allow_tf32", 1), length=0)]
        seen += [raised(lambda m=place: setattr(m, "fp32_precision", None), length=0)]
    for name in ("flash", "mem_efficient", "math", "cudnn"):
        seen.append(raised(lambda n=name: getattr(B.cuda, f"enable_{n}_sdp")(1), length=11))
    for value in ((True,), [False, False], (False, True), (), (True, True, True), True):
        for name in matmul:
            seen += [raised(lambda n=name, v=value: setattr(B.cuda.matmul, n, v)), getattr(B.cuda.matmul, name)]
    seen += [getattr(module, name) for module, name in places]
    seen.append(raised(lambda: setattr(B.cudnn.conv, "foo", 1), length=0))
    seen.append(raised(lambda: L.set_float32_matmul_precision(3)))
    return seen, sorted(map(str, B.cudnn.CUDNN_TENSOR_DTYPES))


@program
def the_order_of_einsum(L):
    flags = L.backends.opt_einsum
    with flags.flags(enabled=False, strategy=None):
        seen = [flags.enabled, flags.strategy]
    return [
        *(seen, flags.get_opt_einsum(), flags.set_flags()),
        raised(lambda: flags.set_flags(_enabled=True)),
        raised(lambda: flags.flags(strategy="greedy").__enter__()),
    ]


FREEZE = """
B.disable_global_flags()
def put(*settings):
    for each in settings:
        try: exec(each)
        except RuntimeError as error: print(each, str(error)[:90])
put("B.fp32_precision = 'ieee'", "B.cudnn.enabled = False", "B.cudnn.allow_tf32 = False", "B.mkldnn.enabled = False")
put("B.miopen.immediate = True", "B.cudnn.fp32_precision = 'ieee'", "B.mkldnn.fp32_precision = 'ieee'")
put("B.mkldnn.set_flags(_deterministic=True)", "B.cuda.matmul.allow_tf32 = True", "B.opt_einsum.enabled = False")
with B.cudnn.flags(enabled=False, benchmark=True):
    print(B.cudnn.enabled, B.cudnn.benchmark, B.flags_frozen())
    put("B.cudnn.enabled = True")
print(B.cudnn.enabled, B.cudnn.benchmark, B.fp32_precision, B.mkldnn.deterministic, B.flags_frozen())
"""


def test_flags_are_frozen():
    programs = [f"import {package}\nB = {package}.backends\n{FREEZE}" for package in ("adjoint", "torch")]
    ours, theirs = (python("-W", "ignore", "-c", text) for text in programs)
    assert ours.stdout == theirs.stdout
    assert "not allowed to set torch.backends.cudnn flags after disable_global_flags" in ours.stdout


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


@pytest.mark.parametrize(
    "name", ["", "cuda", "cudnn", "mkldnn", "nnpack", "cusparselt", "kleidiai", "mha", "miopen", "opt_einsum"]
)
def test_signatures_are_torch_s(name):
    ours, theirs = (getattr(L.backends, name) if name else L.backends for L in (adjoint, torch))
    functions = {n: f for n, f in vars(ours).items() if inspect.isfunction(f) and not n.startswith("_")}
    for each, function in functions.items():
        wanted = [(p.name, p.default) for p in inspect.signature(getattr(theirs, each)).parameters.values()]
        assert [(p.name, p.default) for p in inspect.signature(function).parameters.values()] == wanted, each
