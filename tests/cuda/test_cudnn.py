"""The tests of convolutions and recurrent networks once more, through cuDNN's functions; without it, own kernels."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .driver import count

ROOT = Path(__file__).resolve().parent.parent.parent
WITHIN = "ADJOINT_TESTS_WITHIN_CUDNN"


@pytest.fixture
def folder():
    """Where the stand-in lies."""
    place = Path(os.environ.get("ADJOINT_CUDA_LIBRARIES", ""))
    if not (place / "cuda_shim.h").exists():
        pytest.skip("on the stand-in only")
    return place


def test_through_cudnn(folder, tmp_path):
    for path in folder.iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "libcudnn.so.9").symlink_to(folder / "libcuda.so.1")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-p", "no:randomly"]
    files = ["test_convolution.py", "test_recurrent.py", "test_cudnn.py::test_it_was_called"]
    tests = [f"tests/cuda/{each}" for each in files]
    tests += ["-k", "test_samples.py and (gru or lstm or rnn) or not test_samples.py", "tests/cuda/test_samples.py"]
    environment = os.environ | {"ADJOINT_CUDA_LIBRARIES": str(tmp_path), WITHIN: "1"}
    result = subprocess.run([*command, *tests], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-4000:]


@pytest.mark.skipif(WITHIN not in os.environ, reason="a part of the test before")
def test_it_was_called():
    assert count("cudnnConvolution") > 100
    for name in ("cudnnRNNForward", "cudnnRNNBackwardData_v8", "cudnnRNNBackwardWeights_v8"):
        assert count(name) > 50
    assert count("cudnnConvolution of halves") >= 18  # both types, in all dimensions, all three ways
