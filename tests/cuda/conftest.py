"""Without a GPU, or the stand-in for one, these tests are left out; `python -m tests.cuda` brings the stand-in."""

import warnings

import pytest

import adjoint

NATIVE_ONLY = "has no kernel on cuda yet"


def pytest_collection_modifyitems(items):
    if adjoint.cuda.is_available():
        return
    here = str(__file__).rpartition("/")[0]
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.skip(reason="no GPU here: python -m tests.cuda runs this on a stand-in"))


@pytest.fixture(autouse=True)
def kernels_of_the_cpu():
    """What has no kernel yet is computed on the CPU, and warns of it once: no matter here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=f".*{NATIVE_ONLY}")
        warnings.filterwarnings("ignore", message=".*(in beta|deprecated|reduction: 'mean' divides)")
        yield


@pytest.fixture(autouse=True)
def exact_convolutions():
    """Convolutions on a GPU round to TF32 if nobody says otherwise, and are compared here with those of the CPU."""
    with adjoint.backends.cudnn.flags(enabled=True, allow_tf32=False):
        yield
