"""Building blocks of networks: modules, parameters, and the functions behind them."""

from . import functional as functional
from . import init as init
from . import modules as modules
from . import utils as utils
from .losses import LinearCrossEntropyOptions as LinearCrossEntropyOptions
from .modules import *
from .modules.module import Module as Module
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter
from .parameter import UninitializedBuffer as UninitializedBuffer
from .parameter import UninitializedParameter as UninitializedParameter


def __getattr__(name):
    import importlib

    if name in ("attention", "grad", "intrinsic", "parallel", "qat", "quantized"):  # imported when first used
        return importlib.import_module(f".{name}", __name__)
    if name == "DataParallel":
        return importlib.import_module(".parallel", __name__).DataParallel
    from .._install import MissingName

    raise MissingName(__name__, name)
