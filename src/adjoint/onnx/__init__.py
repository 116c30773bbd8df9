"""torch.onnx: its names, so that programs that can export import them; exporting refuses."""

import enum

from .._absent import absent_module, refusing, refusing_type

ADVICE = (
    "there is no export to ONNX here; save the weights by torch.save(model.state_dict(), f), load them into the same "
    "model in PyTorch, and export it there"
)

export = refusing("onnx", "export", ADVICE)
dynamo_export = refusing("onnx", "dynamo_export", ADVICE)
ONNXProgram = refusing_type("onnx", "ONNXProgram", ADVICE)
ExportableModule = refusing_type("onnx", "ExportableModule", ADVICE)
JitScalarType = refusing_type("onnx", "JitScalarType", ADVICE)


class OnnxExporterError(RuntimeError):
    """An error of an export to ONNX."""


class TrainingMode(enum.Enum):
    """In which mode a model would be exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(enum.Enum):
    """What an export would do with ops that ONNX does not have."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


TensorProtoDataType = enum.IntEnum(
    "TensorProtoDataType",
    "UNDEFINED FLOAT UINT8 INT8 UINT16 INT16 INT32 INT64 STRING BOOL FLOAT16 DOUBLE UINT32 UINT64 COMPLEX64 COMPLEX128 "
    "BFLOAT16 FLOAT8E4M3FN FLOAT8E4M3FNUZ FLOAT8E5M2 FLOAT8E5M2FNUZ",
    module=__name__,
    start=0,
)


def is_in_onnx_export():
    """Whether the code that asks is being exported: no.

    >>> import adjoint as torch
    >>> torch.onnx.is_in_onnx_export()
    False
    """
    return False


def register_custom_op_symbolic(symbolic_name, symbolic_fn, opset_version):
    """Takes how an op would be exported, and does nothing with it.

    >>> import adjoint as torch
    >>> torch.onnx.register_custom_op_symbolic("mine::op", lambda g, x: x, 9)
    """


def unregister_custom_op_symbolic(symbolic_name, opset_version):
    """Does nothing: how an op would be exported is not kept.

    >>> import adjoint as torch
    >>> torch.onnx.unregister_custom_op_symbolic("mine::op", 9)
    """


def _parse_args(*kinds):
    """A decorator that returns its function: it is never called to export."""
    return lambda function: function


absent_module("onnx.errors", ADVICE, OnnxExporterError=OnnxExporterError, SymbolicValueError=OnnxExporterError)
absent_module("onnx.ops", ADVICE, "rotary_embedding attention symbolic symbolic_multi_out")
absent_module("onnx.operators", ADVICE, "shape_as_tensor reshape_from_tensor_shape")
absent_module("onnx.utils", ADVICE, export=export, is_in_onnx_export=is_in_onnx_export)
absent_module("onnx.symbolic_helper", ADVICE, "cast_pytorch_to_onnx", parse_args=_parse_args)
for _opset in range(7, 21):
    absent_module(f"onnx.symbolic_opset{_opset}", ADVICE, "dropout masked_fill select softmax squeeze unsqueeze")
