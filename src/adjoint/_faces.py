"""The objects under which functions are published: one for each place where torch has one of its own.

`torch.relu`, `torch.nn.functional.relu` and `torch.Tensor.relu` are one op here and three objects, because
`__torch_function__` is told which of them a program has called. See Note [Faces] in csrc/op/object.cpp.
"""

from . import _C
from .ops import language

# In nn.functional and one object with that in torch.
SHARED = frozenset(
    [
        "adaptive_avg_pool1d",
        "avg_pool1d",
        "bilinear",
        "celu_",
        "channel_shuffle",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_tbc",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "cosine_similarity",
        "hardshrink",
        "native_channel_shuffle",
        "pairwise_distance",
        "pdist",
        "pixel_shuffle",
        "pixel_unshuffle",
        "prelu",
        "relu_",
        "rrelu_",
        "selu_",
        "threshold_",
    ]
)
# In nn.functional, and not written in Python in torch; of the others, __torch_function__ is told all options by name.
NATIVE_LAYERS = SHARED | frozenset(
    [
        "avg_pool2d",
        "avg_pool3d",
        "elu_",
        "gelu",
        "hardtanh_",
        "leaky_relu_",
        "linear",
        "logsigmoid",
        "one_hot",
        "scaled_dot_product_attention",
        "softplus",
        "softshrink",
    ]
)
# Elsewhere, and written in Python in torch.
PYTHON_FUNCTIONS = frozenset(
    [
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "block_diag",
        "broadcast_tensors",
        "cartesian_prod",
        "cdist",
        "chain_matmul",
        "einsum",
        "lu",
        "meshgrid",
        "norm",
        "pca_lowrank",
        "split",
        "stft",
        "svd_lowrank",
        "tensordot",
        "unique",
        "unique_consecutive",
        "unravel_index",
    ]
)
PYTHON_METHODS = frozenset(
    [
        "__array__",
        "__array_wrap__",
        "__deepcopy__",
        "__format__",
        "__repr__",
        "__reversed__",
        "__setstate__",
        "backward",
        "dim_order",
        "is_shared",
        "istft",
        "lu",
        "module_load",
        "norm",
        "register_hook",
        "register_post_accumulate_grad_hook",
        "resize",
        "resize_as",
        "share_memory_",
        "split",
        "stft",
        "storage",
        "unflatten",
        "unique",
        "unique_consecutive",
    ]
)

# Methods that leave the asking to what they call; all but one are not torch's.
ASKING_THEMSELVES = frozenset(("__array_function__", "__array_namespace__", "__contains__", "to_device"))
# Functions that ask what something is, and nobody takes over.
LOOKING = frozenset(("is_tensor", "is_storage", "typename"))


def public(function, name, namespace, module):
    """The object to publish in a module, for a function of the op table."""
    layers = namespace == "nn.functional"
    if layers and name in SHARED:
        return getattr(_package(), name)
    in_python = name not in NATIVE_LAYERS if layers else not namespace and name in PYTHON_FUNCTIONS
    if isinstance(function, _C.Op) and not namespace and not in_python and function.__name__ == name:
        function.__module__ = module
        return function
    return face(function, name, module, False, in_python)


def function(function, name, module):
    """The object to publish for a function of Python; those that only look at the type of what they get are left."""
    return function if name in LOOKING else face(function, name, module, False, False)


def method(function, name):
    """The object that is an attribute of Tensor."""
    if name in ASKING_THEMSELVES:
        return function
    return face(function, name, _C.Tensor.__module__, True, name in PYTHON_METHODS)


def attribute(prop, name, keywords=None):
    """The attribute of Tensor that a property of Python is: the tensor, or a mode, may take it over.

    `keywords` is what these are told of keywords: an empty dict where torch has the attribute in Python.
    """

    def get(self):
        return _asked("__get__", self) if _C._has_torch_function_variadic(self) else prop.fget(self)

    def put(self, value):
        return _asked("__set__", self, value) if _C._has_torch_function_variadic(self) else prop.fset(self, value)

    def _asked(method, *args):
        function = getattr(getattr(_C.Tensor, name), method)
        answer = _C._ask_overrides(function, args[:1], args, keywords)
        if answer is not NotImplemented:
            return answer
        from .overrides import _none_found

        raise TypeError(_none_found(f"torch.Tensor.{name}.{method}", [type(args[0])]))

    return property(get, put, doc=prop.__doc__)


def face(function, name, module, is_method, in_python):
    stand_in, first_args = language.STAND_INS.get(function, (None, 1))
    return _C.op_face(function, name, module, is_method, in_python, stand_in, first_args)


def _package():
    import sys

    return sys.modules[__package__]
