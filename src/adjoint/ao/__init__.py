"""torch.ao, as far as programs import it without quantizing: marks in a network are there, quantizing refuses."""

import sys

from .._absent import absent_module
from ._stubs import DeQuantStub, FloatFunctional, FXFloatFunctional, QuantStub, QuantWrapper

ADVICE = "there is no quantization here; run the network in float32, or quantize it with PyTorch"
_OBSERVERS = (
    "FakeQuantize FakeQuantizeBase HistogramObserver MinMaxObserver MovingAverageMinMaxObserver NoopObserver "
    "ObserverBase PerChannelMinMaxObserver PlaceholderObserver QConfig QConfigMapping RecordingObserver"
)
_QUANTIZES = (
    "convert fuse_modules fuse_modules_qat get_default_qat_qconfig get_default_qat_qconfig_mapping get_default_qconfig "
    "get_default_qconfig_mapping prepare prepare_qat propagate_qconfig_ quantize quantize_dynamic quantize_qat "
    "swap_module default_eval_fn default_observer default_weight_observer "
    "default_per_channel_weight_observer default_fake_quant"
)
_LAYERS = (
    "Conv1d Conv2d Conv3d Embedding EmbeddingBag Linear LSTM BatchNorm2d LayerNorm QFunctional Quantize DeQuantize"
)
_FUSED = "BNReLU2d ConvBn1d ConvBn2d ConvBnReLU1d ConvBnReLU2d ConvReLU1d ConvReLU2d LinearReLU LinearBn1d _FusedModule"

absent_module(
    "ao.quantization",
    ADVICE,
    _QUANTIZES,
    _OBSERVERS,
    DeQuantStub=DeQuantStub,
    QuantStub=QuantStub,
    QuantWrapper=QuantWrapper,
    default_qconfig=None,
    default_dynamic_qconfig=None,
)
absent_module("ao.quantization.observer", ADVICE, "", _OBSERVERS)
absent_module("ao.quantization.fake_quantize", ADVICE, "", "FakeQuantize FakeQuantizeBase")
absent_module("ao.quantization.stubs", ADVICE, DeQuantStub=DeQuantStub, QuantStub=QuantStub, QuantWrapper=QuantWrapper)
absent_module("ao.quantization.qconfig", ADVICE, "", "QConfig")
absent_module("ao.quantization.quantize_fx", ADVICE, "convert_fx fuse_fx prepare_fx prepare_qat_fx")
absent_module("ao.quantization.fx", ADVICE)
absent_module("ao.quantization.fx._decomposed", ADVICE)
absent_module("ao.nn", ADVICE)
absent_module(
    "ao.nn.quantized", ADVICE, "", _LAYERS, FloatFunctional=FloatFunctional, FXFloatFunctional=FXFloatFunctional
)
absent_module("ao.nn.quantized.dynamic", ADVICE, "", "GRU GRUCell Linear LSTM LSTMCell RNNCell")
absent_module("ao.nn.qat", ADVICE, "", "Conv1d Conv2d Conv3d Embedding EmbeddingBag Linear")
absent_module("ao.nn.intrinsic", ADVICE, "", _FUSED)
absent_module("ao.nn.intrinsic.qat", ADVICE, "freeze_bn_stats update_bn_stats", _FUSED)
absent_module("ao.nn.intrinsic.quantized", ADVICE, "", "ConvReLU1d ConvReLU2d ConvReLU3d LinearReLU BNReLU2d")


def old_names(module):
    """What is in a module of torch.ao, for the one that it was before."""
    found = vars(sys.modules[f"{__name__}.{module}"])
    return {name: value for name, value in found.items() if not name.startswith("__")}
