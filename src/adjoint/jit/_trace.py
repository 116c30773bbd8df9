"""trace: runs a function on example inputs, looks whether a second run gives the same, and returns it to be called.

Nothing is recorded: what is returned calls the function, which sees, as while torch traces, that is_tracing().
"""

import contextlib
import functools
import threading
import types
import warnings

from .. import _C
from ..nn.modules.module import Module
from ..testing import assert_close
from ._script import RecursiveScriptModule, ScriptFunction, ScriptModule, compiled_module

_state = threading.local()


class TracerWarning(Warning):
    """What trace() warns of: a function whose runs do not agree.

    >>> import adjoint as torch
    >>> torch.jit.TracerWarning.ignore_lib_warnings()
    """

    @staticmethod
    def ignore_lib_warnings():
        """Hides these warnings where they come from the library itself."""
        for name in ("torch", __package__.partition(".")[0]):
            warnings.filterwarnings("ignore", category=TracerWarning, module=rf"{name}\.(?!jit)")


class TracingCheckError(Exception):
    """A function whose second run was another one."""

    def __init__(self, graph_diff_error, tensor_compare_error, extra_msg=None):
        lines = ["Tracing failed sanity checks!"]
        if extra_msg is not None:
            lines.append(extra_msg)
        if graph_diff_error is not None:
            lines += ["ERROR: Graphs differed across invocations!", _indented(graph_diff_error)]
        if tensor_compare_error is not None:
            lines.append(
                "ERROR: Tensor-valued Constant nodes differed in value across invocations. This often indicates that "
                "the tracer has encountered untraceable code."
            )
            lines.append(_indented(tensor_compare_error))
        self.message = "\n".join(lines) + "\n"
        super().__init__(self.message)


def _indented(text):
    return "\n".join("\t" + line for line in text.split("\n"))


class TracedModule(RecursiveScriptModule):
    """A module inside of one that was traced."""

    def _shown_name(self):
        return self.original_name


class TopLevelTracedModule(TracedModule):
    """What trace() makes of a module: it has the module's parameters, buffers and attributes, and calls its forward.

    >>> import adjoint as torch
    >>> torch.jit.trace(torch.nn.ReLU(), torch.ones(2))
    ReLU(original_name=ReLU)
    """


class ONNXTracedModule(Module):
    """Cannot be made: there is no export to ONNX."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("ONNXTracedModule: there is no export to ONNX here; export the model with PyTorch")


def is_tracing():
    """Whether the code that asks is run by trace(), or by what trace() has returned.

    >>> import adjoint as torch
    >>> torch.jit.is_tracing()
    False
    """
    return getattr(_state, "depth", 0) > 0


@contextlib.contextmanager
def _tracing(on=True):
    before = getattr(_state, "depth", 0)
    _state.depth = before + 1 if on else 0
    try:
        yield
    finally:
        _state.depth = before


def trace(
    func,
    example_inputs=None,
    optimize=None,
    check_trace=True,
    check_inputs=None,
    check_tolerance=1e-5,
    strict=True,
    _force_outplace=False,
    _module_class=None,
    _compilation_unit=None,
    example_kwarg_inputs=None,
    _store_inputs=True,
):
    """The function or module, to be called as what torch has traced is; it is run on the examples, and runs as Python.

    With `check_trace` it runs a second time, and on each of `check_inputs`; results that do not agree are warned of.

    >>> import adjoint as torch
    >>> traced = torch.jit.trace(lambda x, y: x + 2 * y, (torch.ones(2), torch.ones(2)))
    >>> traced(torch.zeros(2), torch.ones(2))
    tensor([2., 2.])
    """
    if isinstance(func, ScriptModule):
        warnings.warn(
            "The input to trace is already a ScriptModule, tracing it is a no-op. Returning the object as is.",
            stacklevel=2,
        )
        return func
    if not callable(func):
        raise RuntimeError(f"trace: expected a function or a module; got {type(func).__name__}")
    examples = _examples(example_inputs, example_kwarg_inputs)
    if isinstance(func, Module):
        return _traced_module(func, {"forward": examples}, check_trace, check_inputs, check_tolerance, strict)
    _check_run(func, examples, check_trace, check_inputs, check_tolerance, strict)
    return ScriptFunction(_as_traced(func))


def trace_module(
    mod,
    inputs,
    optimize=None,
    check_trace=True,
    check_inputs=None,
    check_tolerance=1e-5,
    strict=True,
    _force_outplace=False,
    _module_class=None,
    _compilation_unit=None,
    example_inputs_is_kwarg=False,
    _store_inputs=True,
):
    """trace() of several methods of a module, with examples for each by its name.

    >>> import adjoint as torch
    >>> traced = torch.jit.trace_module(torch.nn.Tanh(), {"forward": torch.zeros(1)})
    >>> traced(torch.zeros(2))
    tensor([0., 0.])
    """
    if not isinstance(mod, Module):
        raise AttributeError(f"expected torch.nn.Module as the first argument; got {type(mod).__name__}")
    if not isinstance(inputs, dict):
        raise AttributeError(f"expected a dictionary of (method_name, input) pairs; got {type(inputs).__name__}")
    keywords = example_inputs_is_kwarg
    examples = {name: _examples(*((None, given) if keywords else (given, None))) for name, given in inputs.items()}
    return _traced_module(mod, examples, check_trace, check_inputs, check_tolerance, strict)


def _traced_module(module, examples, check, check_inputs, tolerance, strict):
    traced = compiled_module(module, TopLevelTracedModule, TracedModule, {})
    for name, given in examples.items():
        more = [one[name] if isinstance(one, dict) else one for one in check_inputs or ()]
        _check_run(module if name == "forward" else getattr(module, name), given, check, more, tolerance, strict)
        method = getattr(traced, name)
        # A bound method, which a deep copy binds to the copy.
        vars(traced)[name] = types.MethodType(_as_traced(getattr(method, "__func__", method)), traced)
    return traced


def _as_traced(function):
    @functools.wraps(function)
    def runs(*args, **kwargs):
        with _tracing():
            return function(*args, **kwargs)

    return runs


def _examples(inputs, keywords):
    """(the inputs, the keywords) of a call, checked."""
    if keywords is not None:
        args, given = (), dict(keywords)
    else:
        args, given = (inputs,) if isinstance(inputs, (_C.Tensor, dict)) else tuple(inputs), {}
    if not all(map(_is_traceable, (*args, *given.values()))):
        raise RuntimeError(
            f"Type '{_type_name(args or tuple(given.values()))}' cannot be traced. Only Tensors and (possibly nested) "
            "Lists, Dicts, and Tuples of Tensors can be traced"
        )
    return args, given


def _is_traceable(value):
    if isinstance(value, dict):
        return all(map(_is_traceable, value.values()))
    return isinstance(value, _C.Tensor) or (isinstance(value, (tuple, list)) and all(map(_is_traceable, value)))


def _type_name(value):
    if isinstance(value, tuple):
        return f"Tuple[{', '.join(map(_type_name, value))}]"
    return "Tensor" if isinstance(value, _C.Tensor) else type(value).__name__


def _check_run(function, examples, check, check_inputs, tolerance, strict):
    """Runs the function as torch would, and compares its runs where that is asked for."""
    more = [_examples(one, None) for one in check_inputs or ()]
    with _tracing():
        first = function(*examples[0], **examples[1])
    _check_output(first, strict)
    if not check:
        return
    for args, keywords in more or [examples]:
        result = first
        if more:
            with _tracing():
                result = function(*args, **keywords)
        with _tracing(False):  # the Python function, as anybody else calls it
            again = function(*args, **keywords)
        _compare(result, again, tolerance)


def _check_output(value, strict, depth=0):
    if value is None and depth == 0:
        raise RuntimeError(
            "The traced function didn't return any values! Side-effects are not captured in traces, so it would be "
            "a no-op."
        )
    if isinstance(value, (dict, list)) and strict:
        _unsteady(type(value).__name__)
    if isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            _check_output(item, strict, depth + 1)
    elif not isinstance(value, _C.Tensor):
        raise RuntimeError(
            "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions; "
            f"got {type(value).__name__}"
        )


def _unsteady(kind):
    text = (
        f"Encountering a {kind} at the output of the tracer might cause the trace to be incorrect, this is only valid "
        "if the container structure does not change based on the module's inputs. Consider using a constant container "
        "instead (e.g. for `list`, use a `tuple` instead. for `dict`, use a `NamedTuple` instead). If you absolutely "
        "need this and know the side effects, pass strict=False to trace() to allow this behavior."
    )
    if kind == "dict":
        raise RuntimeError(text)
    warnings.warn(text, category=TracerWarning, stacklevel=6)


def _leaves(value):
    if isinstance(value, (dict, list, tuple)):
        items = value.values() if isinstance(value, dict) else value
        return [leaf for item in items for leaf in _leaves(item)]
    return [value]


def _compare(first, again, tolerance):
    ours, theirs = _leaves(first), _leaves(again)
    if len(ours) != len(theirs):
        raise TracingCheckError(f"{len(ours)} tensors in the first run, {len(theirs)} in the second", None)
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True), 1):
        try:
            assert_close(one.double(), other.double(), rtol=tolerance, atol=tolerance, equal_nan=True)
        except AssertionError as error:
            warnings.warn(
                f"Output nr {number}. of the traced function does not match the corresponding output of the Python "
                f"function. Detailed error:\n{error}",
                category=TracerWarning,
                stacklevel=5,
            )


def script_if_tracing(fn):
    """A function that calls `fn`, which torch would compile when it is called while it traces.

    >>> import adjoint as torch
    >>> torch.jit.script_if_tracing(lambda x: x + 1)(1)
    2
    """

    @functools.wraps(fn)
    def calls(*args, **kwargs):
        return fn(*args, **kwargs)

    calls.__original_fn = fn  # type: ignore[attr-defined]  # as torch keeps it
    calls.__script_if_tracing_wrapper = True  # type: ignore[attr-defined]
    return calls


_script_if_tracing = script_if_tracing


def _get_trace_graph(*args, **kwargs):
    raise NotImplementedError(
        "_get_trace_graph: nothing is recorded when a function is traced here; adjoint.inspect shows what it computes"
    )
