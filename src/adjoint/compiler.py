"""torch.compile, and what programs ask of a compiler that is not running: functions stay as they are.

docs/jit.md says what becomes of compiled code.
"""

import contextlib
import types

__all__ = [
    *("allow_in_graph", "assume_constant_result", "compile", "config", "cudagraph_mark_step_begin", "disable"),
    *("get_default_backend", "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends"),
    *("load_cache_artifacts", "load_compiled_function", "nested_compile_region", "reset", "save_cache_artifacts"),
    *("set_default_backend", "set_enable_guard_collectives", "set_stance", "substitute_in_graph", "wrap_numpy"),
]

config = types.SimpleNamespace(job_id=None, pgo_extra_read_key=None, cache_key_tag="", force_disable_caches=False)
MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
# Names that torch takes for backends, though none is asked to do anything.
_backends = dict.fromkeys(("cudagraphs", "inductor", "openxla", "tvm"))
_DEBUG = ("aot_eager", "aot_eager_decomp_partition", "aot_ts", "eager", "eager_noexcept", "ts")
_default_backend = "inductor"


def compile(
    model=None,
    *,
    fullgraph=False,
    dynamic=None,
    backend=None,
    mode=None,
    options=None,
    name=None,
    disable=False,
    recompile_limit=None,
    isolate_recompiles=False,
    shapes_spec=None,
):
    """The function or module itself, or a decorator that returns it: nothing is compiled, and the options say nothing.

    >>> import adjoint as torch
    >>> @torch.compile(mode="reduce-overhead")
    ... def square(x):
    ...     return x * x
    >>> square(torch.full((2,), 3.0))
    tensor([9., 9.])
    >>> layer = torch.nn.Linear(2, 1)
    >>> torch.compile(layer) is layer
    True
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    if backend is not None:
        lookup_backend(backend)
    if model is None:
        return _checked
    return _checked(model)


def _checked(model):
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    return model


def lookup_backend(compiler_fn):
    """The backend of a name, which is never called; an unknown one raises."""
    if isinstance(compiler_fn, str) and compiler_fn not in (*_backends, *_DEBUG):
        from ._dynamo.exc import InvalidBackend

        raise InvalidBackend(compiler_fn)
    return _backends.get(compiler_fn) if isinstance(compiler_fn, str) else compiler_fn


def register_backend(compiler_fn=None, name=None, tags=()):
    """Adds a name to those that are backends; it is never called."""
    if compiler_fn is None:
        return lambda function: register_backend(function, name, tags)
    if not callable(compiler_fn):
        raise AssertionError(f"register_backend expects a function; got {type(compiler_fn).__name__}")
    _backends[name or compiler_fn.__name__] = compiler_fn
    return compiler_fn


def list_backends(exclude_tags=("debug", "experimental")):
    """The names that `compile` takes for its backend; none is asked to do anything.

    >>> import adjoint as torch
    >>> torch.compiler.list_backends()
    ['cudagraphs', 'inductor', 'openxla', 'tvm']
    """
    return sorted([*_backends, *(() if "debug" in (exclude_tags or ()) else _DEBUG)])


def get_default_backend():
    """The backend of set_default_backend().

    >>> import adjoint as torch
    >>> torch.compiler.get_default_backend()
    'inductor'
    """
    return _default_backend


def set_default_backend(backend):
    """Keeps the backend that get_default_backend() names.

    >>> import adjoint as torch
    >>> torch.compiler.set_default_backend(None)
    """
    global _default_backend
    lookup_backend(backend)
    _default_backend = "inductor" if backend is None else backend


def is_compiling():
    """Whether the code that asks is being compiled: no.

    >>> import adjoint as torch
    >>> torch.compiler.is_compiling()
    False
    """
    return False


def is_dynamo_compiling():
    """Whether the code that asks is being traced: no.

    >>> import adjoint as torch
    >>> torch.compiler.is_dynamo_compiling()
    False
    """
    return False


def is_exporting():
    """Whether the code that asks is being exported: no.

    >>> import adjoint as torch
    >>> torch.compiler.is_exporting()
    False
    """
    return False


def allow_in_graph(fn):
    """The function or functions themselves: a compiler would take each for one op.

    >>> import adjoint as torch
    >>> torch.compiler.allow_in_graph(abs) is abs
    True
    """
    for one in fn if isinstance(fn, list | tuple) else (fn,):
        if not callable(one):
            raise AssertionError("allow_in_graph expects a callable; pass the function itself")
    return fn


def assume_constant_result(fn):
    """The function itself: a compiler would call it once.

    >>> import adjoint as torch
    >>> torch.compiler.assume_constant_result(abs) is abs
    True
    """
    return fn


def disable(fn=None, recursive=True, *, reason=None):
    """The function itself, or a decorator that returns it: a compiler would leave it alone.

    >>> import adjoint as torch
    >>> torch.compiler.disable(abs)(-1)
    1
    """
    return fn if fn is not None else lambda function: function


def nested_compile_region(fn=None, *, options=None, max_reuse_entries=8, reuse_hash_fn=None):
    """The function itself, or a decorator that returns it: a compiler would compile it once.

    >>> import adjoint as torch
    >>> torch.compiler.nested_compile_region(abs)(-1)
    1
    """
    return fn if fn is not None else lambda function: function


def substitute_in_graph(original_fn, *, can_constant_fold_through=False, skip_signature_check=False, **options):
    """A decorator that returns its function: a compiler would call it in the place of `original_fn`.

    >>> import adjoint as torch
    >>> torch.compiler.substitute_in_graph(abs)(max)(1, 2)
    2
    """
    return lambda function: function


def wrap_numpy(fn):
    """A function of tensors that calls one of NumPy arrays.

    >>> import adjoint as torch, numpy as np
    >>> torch.compiler.wrap_numpy(np.sin)(torch.zeros(2))
    tensor([0., 0.])
    """
    import functools

    import numpy as np

    from . import _C
    from .utils._pytree import tree_map

    @functools.wraps(fn)
    def wrapped(*args, **kwargs):
        args, kwargs = tree_map(lambda x: x.numpy() if isinstance(x, _C.Tensor) else x, (args, kwargs))
        return tree_map(lambda x: _C.from_numpy(x) if isinstance(x, np.ndarray) else x, fn(*args, **kwargs))

    return wrapped


def reset():
    """Does nothing: a compiler would forget what it has compiled.

    >>> import adjoint as torch
    >>> torch.compiler.reset()
    """


def cudagraph_mark_step_begin():
    """Does nothing: where a step of training begins, for recordings of a GPU's work.

    >>> import adjoint as torch
    >>> torch.compiler.cudagraph_mark_step_begin()
    """


class _Decorator(contextlib.ContextDecorator):
    """A context, and a decorator, that does nothing."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class set_stance(_Decorator):
    """What a compiler should do from here on, in a `with` or around a function: nothing is compiled.

    >>> import adjoint as torch
    >>> with torch.compiler.set_stance("force_eager"):
    ...     pass
    """

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        self.stance = stance


def set_enable_guard_collectives(enabled):
    """Does nothing: whether processes would agree on when to compile.

    >>> import adjoint as torch
    >>> torch.compiler.set_enable_guard_collectives(True)
    """


def save_cache_artifacts():
    """What a compiler would have kept: None.

    >>> import adjoint as torch
    >>> torch.compiler.save_cache_artifacts() is None
    True
    """
    return None


def load_cache_artifacts(serialized_artifacts):
    """Takes what a compiler has kept, and does nothing with it.

    >>> import adjoint as torch
    >>> torch.compiler.load_cache_artifacts(b"") is None
    True
    """
    return None


def load_compiled_function(file, *, f_globals=None, external_data=None):
    """Raises: compiled code cannot be run here."""
    raise NotImplementedError(
        "load_compiled_function: compiled code of PyTorch cannot be run here; call the function itself"
    )
