"""Puts what the native core and the op table offer where people look for it: in modules, and on Tensor."""

import importlib
import os
import sys

from . import _C, _blas, _faces, _override_switches, _printing, _refusal, _tensor_memory, _tensor_methods
from .ops import language

# Other spellings of the element types.
DTYPE_ALIASES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "chalf": "complex32",
}


# Python 2's and other old names of methods.
OLD_METHODS = {
    "__div__": "__truediv__",
    "__idiv__": "__itruediv__",
    "__long__": "__int__",
    "__nonzero__": "__bool__",
    "__rdiv__": "__rtruediv__",
    "const_data_ptr": "data_ptr",
}


class MissingName(AttributeError):
    """The error of a module that is asked for a name that it does not have.

    Its words are looked up when somebody reads them: hasattr() and Python's own imports ask without reading.
    """

    __module__ = "builtins"

    def __init__(self, module, name):
        super().__init__(f"module {module!r} has no attribute {name!r}", name=name)
        self._place = module

    def __str__(self):
        from ._absent_names import words

        return words(self._place, self.name)

    def __reduce__(self):
        return AttributeError, (str(self),)


MissingName.__name__ = MissingName.__qualname__ = "AttributeError"  # as which it is shown


def _name_of_torchs_core(name):
    """What the native core is asked for and does not have: private names by which programs know torch's own."""
    from . import _native

    return _native.get(name)


def install():
    """Fills the package's namespaces; called once, at the end of its import."""
    _blas.configure()
    _C._set_refusal(_refusal.explain)
    _override_switches.install()
    _C._set_package_path(os.path.join(os.path.dirname(__file__), ""))
    package = sys.modules[__package__]
    for name, value in vars(_C).items():
        if not name.startswith("_") and name not in _INTERNAL:
            setattr(package, name, value)
    for alias, name in DTYPE_ALIASES.items():
        setattr(package, alias, getattr(_C, name))
    for namespace in {namespace for namespace, _, _ in language.PUBLIC} - {"nn.functional"}:  # it fills itself
        publish(namespace)
    for name, function in language.METHODS:
        setattr(_C.Tensor, name, _faces.method(function, name))
    for methods in (_tensor_methods, _tensor_memory):
        for name, value in vars(methods).items():
            if getattr(value, "_tensor_method", False):
                setattr(_C.Tensor, name, _faces.method(value, name))
        for name in methods.FUNCTIONS:
            setattr(package, name, _faces.function(getattr(methods, name), name, __package__))
    for name in ("grad_dtype", "volatile"):
        setattr(_C.Tensor, name, _faces.attribute(getattr(_tensor_methods, name), name))
    interface = "__cuda_array_interface__"
    setattr(_C.Tensor, interface, _faces.attribute(_tensor_memory.cuda_array_interface, interface, {}))
    for old, name in OLD_METHODS.items():
        setattr(_C.Tensor, old, getattr(_C.Tensor, name))
    _C.Tensor.__repr__ = _faces.method(_printing.tensor_repr, "__repr__")
    _C.Tensor.__format__ = _faces.method(_printing.tensor_format, "__format__")
    _C.__getattr__ = _name_of_torchs_core  # last: what asks above for names that are not there needs no more modules


def publish(namespace):
    """Puts the functions of the op table that belong into a module there."""
    module = importlib.import_module(f"{__package__}.{namespace}") if namespace else sys.modules[__package__]
    functions = [(name, function) for where, name, function in language.PUBLIC if where == namespace]
    for name, function in functions:
        setattr(module, name, _faces.public(function, name, namespace, module.__name__))
    if namespace:
        say_what_is_absent(module.__name__)


def say_what_is_absent(name):
    """Lets a module answer for names that it does not have, by the table in _absent_names.py."""

    def get(absent):
        raise MissingName(name, absent)

    vars(sys.modules[name]).setdefault("__getattr__", get)


# Functions of the native core that are machinery, not API.
_INTERNAL = frozenset(
    [
        *("Op", "Node", "declare_op", "op_face", "op_object", "rule_wants", "run_backward", "set_composite"),
        "undeclared_ops",
    ]
)
