# Gradients of tensors.

def backward(
    tensors: _Tensor | _Sequence[_Tensor],
    grad_tensors: _Tensor | _Sequence[_Tensor | None] | None = None,
    retain_graph: _bool | None = None,
    create_graph: _bool = False,
    grad_variables: _Tensor | _Sequence[_Tensor | None] | None = None,
    inputs: _Tensor | _Sequence[_Tensor] | None = None,
) -> None: ...
@_overload
def grad(
    outputs: _Tensor | _Sequence[_Tensor],
    inputs: _Tensor | _Iterable[_Tensor],
    grad_outputs: _Tensor | _Sequence[_Tensor | None] | None = None,
    retain_graph: _bool | None = None,
    create_graph: _bool = False,
    only_inputs: _bool = True,
    allow_unused: _Literal[False] | None = None,
    is_grads_batched: _bool = False,
    materialize_grads: _bool = False,
) -> _tuple[_Tensor, ...]: ...
@_overload
def grad(
    outputs: _Tensor | _Sequence[_Tensor],
    inputs: _Tensor | _Iterable[_Tensor],
    grad_outputs: _Tensor | _Sequence[_Tensor | None] | None = None,
    retain_graph: _bool | None = None,
    create_graph: _bool = False,
    only_inputs: _bool = True,
    *,
    allow_unused: _bool,
    is_grads_batched: _bool = False,
    materialize_grads: _bool = False,
) -> _tuple[_Tensor | None, ...]: ...
