"""Tensors of torch's compilers, which programs look for: none is one, and none can be made."""

from .._absent import absent_module

_ADVICE = 'nothing is compiled here; tensors without values are on the device "meta"'


def _no(x):
    """Whether a value is a tensor of a compiler's: no."""
    return False


def _itself(x):
    """What a tensor of a compiler's stands for: the tensor itself."""
    return x


fake_tensor = absent_module(
    "_subclasses.fake_tensor",
    _ADVICE,
    "",
    "DataDependentOutputException DynamicOutputShapeException FakeTensor FakeTensorConverter FakeTensorMode",
    is_fake=_no,
)
FakeTensor, FakeTensorMode = (vars(fake_tensor)[name] for name in ("FakeTensor", "FakeTensorMode"))
absent_module(
    "_subclasses.functional_tensor",
    _ADVICE,
    "",
    "FunctionalTensor FunctionalTensorMode",
    mb_unwrap_functional_tensor=_itself,
)
absent_module("_subclasses.meta_utils", _ADVICE, "", "MetaConverter")
