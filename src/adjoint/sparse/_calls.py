"""Which function takes a call with sparse arguments: the tables that csrc/op/sparse.cpp reads, and who fills them.

See Note [Handlers] there. Each function gets the arguments of the op, all of them, in their order. In-place forms that
have no entry in CHANGES compute the call and give its result to the target.
"""

from .. import _C

CALLS: dict = {}  # op or composite -> function made of recorded ops
RULED: dict = {}  # op -> function that only computes; the op's own rules are its derivative
CHANGES: dict = {}  # op -> function(name, *arguments) that changes the first argument

_BACKENDS = {
    "torch.sparse_coo": "SparseCPU",
    "torch.sparse_csr": "SparseCsrCPU",
    "torch.sparse_csc": "SparseCsrCPU",
    "torch.sparse_bsr": "SparseCsrCPU",
    "torch.sparse_bsc": "SparseCsrCPU",
}


def handles(*names, table=CALLS):
    """Enters a function into a table, under these names."""

    def enter(function):
        for name in names:
            if name in table:
                raise ValueError(f"sparse: {name} has two handlers")
            table[name] = function
        return function

    return enter


def layout_in(args):
    """The layout of the first sparse argument."""
    for arg in args:
        for item in arg if isinstance(arg, list | tuple) else (arg,):
            if isinstance(item, _C.Tensor) and item.layout is not _C.strided:
                return item.layout
    return next((arg for arg in args if isinstance(arg, _C.layout)), _C.sparse_coo)


def refusal(shown, args):
    """The error of what is not there for a layout."""
    layout = layout_in(args)
    return NotImplementedError(
        f"Could not run 'aten::{shown}' with arguments from the '{_BACKENDS[str(layout)]}' backend. This could be "
        "because the operator doesn't exist for this backend: it is not there for tensors of the layout "
        f"{layout}. Make them dense with to_dense() first."
    )


def _unhandled(name, shown, args):
    """The same, in torch's words for functions of each element of compressed tensors."""
    from ..ops.language import TABLE

    layout = layout_in(args)
    if layout is _C.sparse_coo or TABLE[name].kind != "elementwise":
        return refusal(shown, args)
    kind = str(layout)[-3:].capitalize()
    return RuntimeError(f"unsupported tensor layout: Sparse{kind}: {shown}() is not there for it; use to_dense() first")


def call(name, shown, args):
    """The result of an op."""
    handler = RULED.get(name) or CALLS.get(name)
    if handler is None:
        raise _unhandled(name, shown, args)
    try:
        result = handler(*args)
    except AttributeError as error:  # an argument is not what it should be
        kinds = ", ".join(type(arg).__name__ for arg in args)
        raise TypeError(f"{shown}() received an invalid combination of arguments - got ({kinds}): {error}") from error
    if result is NotImplemented:
        raise _unhandled(name, shown, args)
    return result


def change(name, shown, args):
    """Changes the first argument of an op in place."""
    if name in CHANGES:
        result = CHANGES[name](shown, *args)
        if result is NotImplemented:
            raise refusal(shown, args)
        return
    if name not in RULED and name not in CALLS:
        raise _unhandled(name, shown, args)
    assign(args[0], _C._call_bound(name, args), shown)


def assign(target, result, shown):
    """Lets a tensor become a result, as a change in place."""
    if target.shape != result.shape:
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(result.shape)}"
        )
    if not _C.can_cast(result.dtype, target.dtype):
        raise RuntimeError(
            f"result type {_name(result.dtype)} can't be cast to the desired output type {_name(target.dtype)}"
        )
    if target.layout is _C.strided:
        target.copy_(result.to_dense())
    else:
        _C._sparse_assign(target, result.to(target.dtype), shown)


def _name(dtype):
    from ..ops.conversion import TYPE_NAMES

    return next(name for name, known in TYPE_NAMES.items() if known == dtype).removesuffix("Tensor")


def item(tensor):
    """The only element, as a number."""
    if tensor.numel() != 1:
        raise RuntimeError(f"a Tensor with {tensor.numel()} elements cannot be converted to Scalar")
    return tensor.detach().to_dense().item()


def get_item(tensor, key):
    """tensor[key]."""
    from ._indexing import get_item as found

    return found(tensor, key)


def reduced(tensor):
    """What pickle asks for."""
    from ._saving import reduced as found

    return found(tensor)


from . import _handlers as _handlers  # noqa: E402 - they fill the tables above
