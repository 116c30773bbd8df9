"""Gradients: backward(), grad() and the modes that say what is recorded."""

import warnings

from .. import _C, _running
from .._C import Node as Node
from . import _engine
from . import anomaly_mode as anomaly_mode
from . import function as function
from . import graph as graph
from ._engine import is_multithreading_enabled as is_multithreading_enabled
from .anomaly_mode import detect_anomaly as detect_anomaly
from .anomaly_mode import set_detect_anomaly as set_detect_anomaly
from .function import Function as Function
from .grad_mode import _force_original_view_tracking as _force_original_view_tracking
from .grad_mode import enable_grad as enable_grad
from .grad_mode import enforce_grad_layout_policy as enforce_grad_layout_policy
from .grad_mode import inference_mode as inference_mode
from .grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from .grad_mode import is_view_replay_enabled as is_view_replay_enabled
from .grad_mode import no_grad as no_grad
from .grad_mode import set_grad_enabled as set_grad_enabled
from .grad_mode import set_multithreading_enabled as set_multithreading_enabled
from .gradcheck import GradcheckError as GradcheckError
from .gradcheck import gradcheck as gradcheck
from .gradcheck import gradgradcheck as gradgradcheck
from .variable import Variable as Variable

SavedTensor = _C._SavedTensor
_has_torch_function = _C._has_torch_function
_get_sequence_nr = _C._get_sequence_nr
_engine.install()


_ALONE = (_C.Tensor, graph.GradientEdge)


def _as_tuple(value):
    if isinstance(value, _ALONE):
        return (value,)
    if type(value) is tuple:
        return value
    if value is None:
        raise TypeError("'NoneType' object is not iterable; expected a Tensor, or a sequence of Tensors")
    alone = hasattr(value, "__torch_function__")
    return (value,) if alone else tuple(value)


def _gradients_for(outputs, gradients):
    """One gradient (or None) for each output."""
    if gradients is None:
        return (None,) * len(outputs)
    gradients = _as_tuple(gradients)
    for gradient in gradients:
        if gradient is not None and not isinstance(gradient, _C.Tensor):
            raise TypeError(
                f"gradients can be either Tensors or None, but got {type(gradient).__name__}; wrap numbers in "
                "torch.tensor()"
            )
    # As in torch, more than enough is not refused.
    if len(gradients) < len(outputs):
        raise RuntimeError(
            f"got {len(outputs)} tensors and {len(gradients)} gradients; give one for each tensor, or None"
        )
    return gradients[: len(outputs)]


def _batched_gradients(outputs, gradients, *how):
    """The gradients of each member of a batch at once, for gradients whose first dimension is the batch."""
    for i, (output, gradient) in enumerate(zip(outputs, gradients, strict=True)):
        if gradient is None and output.numel() != 1:
            raise RuntimeError(
                f"grad can be implicitly created only for scalar outputs; output[{i}] has a shape of {output.shape}"
            )
        if gradient is None:
            raise ValueError(
                "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, but that input is a Tensor of "
                "dimensionality 0 so expected in_dim to satisfy -0 <= in_dim < 0: is_grads_batched=True needs a batch "
                f"of gradients for every output, grad_output[{i}] is None"
            )
        if gradient.dim() == 0 or gradient.shape[1:] != output.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: grad_output[{i}] has a shape of {gradient.shape} and "
                f"output[{i}] has a shape of {output.shape}."
            )
    sizes = [len(gradient) for gradient in gradients]
    if len(set(sizes)) != 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    level = _C._open_batch(sizes[0], "error")
    try:
        batched = tuple(_C._batch(gradient, level) for gradient in gradients)
        results = _C.run_backward(outputs, batched, *how)
        return tuple(None if result is None else _C._unbatch(result, level) for result in results)
    finally:
        _C._close_level(level)


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Accumulates the gradients of `tensors` in the .grad of the leaves (or of `inputs` only).

    - grad_tensors: the gradients of something with respect to the tensors; not needed for single numbers.
    - retain_graph: keeps what was saved, so that backward can run again; as create_graph unless said.
    - create_graph: records the computation, so that its results can be differentiated.
    - grad_variables: the old name of grad_tensors.

    >>> import adjoint as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.backward(x * x, torch.ones(2))
    >>> x.grad
    tensor([2., 4.])
    """
    _running.refuse_inside(
        "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
        "functorch.vjp instead or call backward() outside of functorch transforms: torch.func has them here."
    )
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. "
                "Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    tensors = _as_tuple(tensors)
    if _has_torch_function(tensors):
        from ..overrides import handle_torch_function

        options = {"grad_tensors": grad_tensors, "retain_graph": retain_graph, "create_graph": create_graph}
        return handle_torch_function(backward, tensors, tensors, **options, inputs=inputs)
    if inputs is not None:
        inputs = _as_tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty. Leave it out to reach every leaf.")
    retain = create_graph if retain_graph is None else retain_graph
    _C.run_backward(tensors, _gradients_for(tensors, grad_tensors), retain, create_graph, inputs, True, True)


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    """The gradients of the sum of `outputs` with respect to `inputs`, as a tuple; .grad is left alone.

    With `is_grads_batched`, each of `grad_outputs` is a batch of gradients, and so are the results.

    - retain_graph: keeps what was saved, so that backward can run again; as create_graph unless said.
    - create_graph: records the computation, so that its results can be differentiated.
    - only_inputs: must be True, as in torch.
    - allow_unused: gives None for an input that was not used, instead of an error.
    - materialize_grads: gives zeros for it; implies allow_unused.

    >>> import adjoint as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> torch.autograd.grad(x ** 3, x)
    (tensor(12.),)
    >>> torch.autograd.grad(x ** 3, x, torch.tensor([1.0, 2.0]), is_grads_batched=True)
    (tensor([12., 24.]),)
    """
    outputs, inputs = _as_tuple(outputs), _as_tuple(inputs)
    if _has_torch_function(outputs) or _has_torch_function(inputs):
        from ..overrides import handle_torch_function

        if allow_unused is None:
            allow_unused = bool(materialize_grads)
        options = {"grad_outputs": grad_outputs, "retain_graph": retain_graph, "create_graph": create_graph}
        options |= {"only_inputs": only_inputs, "allow_unused": allow_unused, "is_grads_batched": is_grads_batched}
        options |= {"materialize_grads": materialize_grads}
        return handle_torch_function(grad, (*outputs, *inputs), outputs, inputs, **options)
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty. Name the tensors to differentiate by.")
    retain = create_graph if retain_graph is None else retain_graph
    gradients = _gradients_for(outputs, grad_outputs)
    how = (create_graph, inputs, False, allow_unused)
    if is_grads_batched:
        results = _batched_gradients(outputs, gradients, retain, *how)
    else:
        results = _C.run_backward(outputs, gradients, retain, *how)
    if not create_graph:
        results = _without_history(results)
    if materialize_grads:
        if any(g is None and isinstance(x, graph.GradientEdge) for x, g in zip(inputs, results, strict=True)):
            raise RuntimeError(
                "materialize_grads cannot be used when the given input is a GradientEdge; pass the tensor itself"
            )
        results = tuple(
            _C.zeros_like(x, requires_grad=bool(create_graph)) if result is None else result
            for x, result in zip(inputs, results, strict=True)
        )
    return results


def _without_history(gradients):
    """Gradients whose tangents, where they have any, have no history."""
    return tuple(g if g is None or not _C._has_tangents(g) else _C._bare_tangents(g) for g in gradients)


def _unused_allowed(outputs, inputs, grad_outputs, retain_graph=None, create_graph=False):
    """grad() for transforms: None for inputs that are not reached, and tangents keep their history in any case."""
    retain = create_graph if retain_graph is None else retain_graph
    gradients = _gradients_for(outputs, grad_outputs)
    return _C.run_backward(tuple(outputs), gradients, retain, create_graph, tuple(inputs), False, True)


_OF_PROFILERS = (
    *("DeviceType", "ProfilerActivity", "_profiler_enabled", "_record_function_with_args_enter"),
    *("_record_function_with_args_exit", "kineto_available"),
)


def __getattr__(name):
    import importlib

    if name in ("forward_ad", "functional", "profiler", "profiler_util"):  # imported when first used
        return importlib.import_module(f".{name}", __name__)
    if name in _OF_PROFILERS:
        return getattr(importlib.import_module(".profiler", __name__), name)
    from .._install import MissingName

    raise MissingName(__name__, name)
