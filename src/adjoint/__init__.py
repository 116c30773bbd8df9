"""PyTorch's eager autograd, small and fast: `import adjoint as torch`.

>>> import adjoint as torch
>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])
"""

from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi

from . import _C as _C
from . import _install
from . import autograd as autograd
from . import fft as fft
from . import linalg as linalg
from . import masked as masked
from . import nn as nn
from . import ops as ops
from . import signal as signal
from . import special as special
from ._printing import get_printoptions as get_printoptions
from ._printing import printoptions as printoptions
from ._printing import set_printoptions as set_printoptions
from ._type_info import finfo as finfo
from ._type_info import iinfo as iinfo
from .autograd import enable_grad as enable_grad
from .autograd import inference_mode as inference_mode
from .autograd import is_inference_mode_enabled as is_inference_mode_enabled
from .autograd import no_grad as no_grad
from .autograd import set_grad_enabled as set_grad_enabled
from .autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from .autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from .autograd.anomaly_mode import set_anomaly_enabled as set_anomaly_enabled

__version__ = "0.1.0"
newaxis = None

_install.install()


def __getattr__(name):
    # Imported when first used: few programs look into the graph, and all of them import the package.
    if name == "inspect":
        import importlib

        return importlib.import_module(".inspect", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
