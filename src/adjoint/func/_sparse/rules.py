"""What the results of an op depend on, given what its arguments do: rules by kind of op, never with an element missing.

Most ops need none of their own. Elementwise ones unite what stands in one place, linear ones are asked for their matrix
(linear.py). Products (products.py) and what mixes elements along dimensions are named below. Of any other op, each
result depends on all that any argument does.
"""

from ... import _C
from . import rows as sets
from .calls import Call
from .linear import MOST_ENTRIES, linear
from .products import PRODUCTS, convolution, distances, product


def dependencies(declaration, op, arguments, tracked, outputs, inputs):
    """The rows of each output, given those of arguments by place."""
    this = Call(declaration, op, arguments, tracked, outputs, inputs)
    constant = not declaration.gradient or declaration.name in WITHOUT_GRADIENT or not this.moving()
    moves = [not constant and (y.is_floating_point() or y.is_complex()) for y in outputs]
    found = _found(this) if any(moves) else outputs
    return [
        rows if it_moves else sets.empty(y.numel(), inputs)
        for y, rows, it_moves in zip(outputs, found, moves, strict=True)
    ]


def _found(this):
    by_kind = elementwise if this.declaration.kind == "elementwise" else linear
    found = RULES.get(this.declaration.name, by_kind)(this)
    return anything(this) if found is None else found


# ---- Rules: functions of a Call that give the rows of each output, or None where they do not apply


def anything(this):
    """Each element of each output depends on all that any argument depends on."""
    whole = sets.united([sets.repeated(rows, 1) for _, rows in this.moving()])
    entries = whole.nnz * sum(y.numel() for y in this.outputs)
    if entries > MOST_ENTRIES:
        raise RuntimeError(
            f"sparsity: each result of {this.declaration.shown or this.declaration.name}() counts as depending on all "
            f"of its arguments, which makes {entries} entries; give pattern=, or use jacrev or jacfwd"
        )
    return [sets.repeated(whole, y.numel()) for y in this.outputs]


def elementwise(this):
    """Each element depends on those in its place."""
    found = []
    for output in this.outputs:
        target = tuple(output.shape)
        found.append(sets.united([sets.broadcast(rows, tuple(x.shape), target) for x, rows in this.moving()]))
    return found


def along_dim(this):
    """Each element depends on its whole line along the argument `dim`, or on all there are without one."""
    rank, dims = this.first.dim(), this.arguments.get("dim")
    dims = range(rank) if dims is None or dims == () else dims if isinstance(dims, tuple | list) else (dims,)
    return _along(this, {d % max(rank, 1) for d in dims})


def along_normalized(this):
    """The same of the last dimensions, those of `normalized_shape`."""
    rank, mixed = this.first.dim(), len(this.arguments["normalized_shape"])
    return _along(this, set(range(rank - mixed, rank)))


def chosen_along_dim(this):
    """What indices choose along a dimension: any of it, if they depend on the input."""
    return linear(this) or along_dim(this)


def put_back(this):
    """The transpose of choosing elements along a dimension, which may have been reduced away: they may be any."""
    shape, target = list(this.shape("input")), tuple(this.outputs[0].shape)
    if len(shape) == len(target):
        return chosen_along_dim(this)
    shape.insert(this.arguments["dim"] % len(target), 1)
    return linear(this) or [sets.broadcast(this.tracked["input"], tuple(shape), target)]


def index_put(this):
    """Where a mask that depends on the input chooses what becomes one value, each element may."""
    if "indices" not in this.tracked:
        return linear(this)
    indices = this.arguments["indices"]
    masked = len(indices) == 1 and indices[0].dtype == _C.bool and tuple(indices[0].shape) == this.shape("input")
    return elementwise(this) if masked and this.arguments["values"].numel() == 1 else None


def matrices(this):
    """Each element depends on the whole of the matrices in its place of the batch."""
    batch = tuple(this.moving()[0][0].shape[:-2])
    everywhere = [*(x for x, _ in this.moving()), *this.outputs]
    if not batch or any(tuple(x.shape[: len(batch)]) != batch for x in everywhere):
        return None
    found = []
    for output in this.outputs:
        target = tuple(output.shape)
        one = (*batch, *(1,) * (len(target) - len(batch)))
        parts = []
        for x, rows in this.moving():
            mixed = sets.along(rows, tuple(x.shape), set(range(len(batch), x.dim())), batch)
            parts.append(sets.broadcast(mixed, one, target))
        found.append(sets.united(parts))
    return found


def _along(this, dims):
    shape = tuple(this.first.shape)
    if not all(_broadcasts(tuple(x.shape), shape) for x, _ in this.moving()):
        return None
    rows = sets.united([sets.broadcast(rows, tuple(x.shape), shape) for x, rows in this.moving()])
    kept = tuple(size for d, size in enumerate(shape) if d not in dims)
    targets = [tuple(output.shape) for output in this.outputs]
    if not all(target == kept or _keeps(shape, dims, target) for target in targets):
        return None
    return [sets.along(rows, shape, dims, target) for target in targets]


def _broadcasts(shape, target):
    pairs = zip(reversed(shape), reversed(target), strict=False)
    return len(shape) <= len(target) and all(size in (1, wanted) for size, wanted in pairs)


def _keeps(shape, dims, target):
    """Whether a result has the dimensions of its argument, but for the sizes of those that are mixed."""
    return len(target) == len(shape) and all(d in dims or target[d] == size for d, size in enumerate(shape))


# ---- Which op has which

WITHOUT_GRADIENT = {"bernoulli", "binomial", "normal", "poisson"}
ELEMENTWISE = """
    clone complex_parts copy fill frexp masked_fill mvlgamma nextafter overwrite polar to_device to_dtype where
"""
ALONG_DIM = """
    _fft_c2c _fft_c2r _fft_r2c _log_softmax _log_softmax_backward_data _logsumexp _softmax _softmax_backward_data
    amax amin aminmax cummax cummin cumprod cumsum glu kthvalue linalg_cross linear_recurrence logcumsumexp max_all
    max_dim mean_all mean_dim median_all median_dim min_all min_dim mode nanmedian_all nanmedian_dim nansum prod_all
    prod_dim reverse_cumsum sort std_dim std_mean_dim sum_all sum_dim topk var_dim var_mean_dim vector_norm
"""
MATRICES = """
    _linalg_det _linalg_eig _linalg_eigh _linalg_lu_solve _linalg_pinv _linalg_slogdet _linalg_solve_ex
    _linalg_solve_triangular _linalg_svd cholesky cholesky_inverse cholesky_solve linalg_cholesky_ex linalg_inv_ex
    linalg_lu linalg_lu_factor_ex linalg_matrix_exp linalg_qr lu_unpack
"""
RULES = {
    **dict.fromkeys(ELEMENTWISE.split(), elementwise),
    **dict.fromkeys(ALONG_DIM.split(), along_dim),
    **dict.fromkeys(["_gather_backward", "gather", "pick"], chosen_along_dim),
    **dict.fromkeys(["_layer_norm", "_rms_norm", "layer_norm_input_grad"], along_normalized),
    **dict.fromkeys(MATRICES.split(), matrices),
    **dict.fromkeys(["_cdist", "_euclidean_dist"], distances),
    **dict.fromkeys(PRODUCTS, product),
    "convolution": convolution,
    "index_put": index_put,
    "put_back": put_back,
}
