"""Products of matrices of 8-bit floats, each with its scale: torch._scaled_mm."""

from . import _C
from .ops.checks import takes_tensors

_op = _C.op_object
_FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
# Scales for a whole matrix, and for each of its rows (columns, of the second); PyTorch has others on other devices.
_OF_ALL, _OF_ROWS = 0, 1


def _is_float8(tensor):
    return str(tensor.dtype).removeprefix("torch.") in _FLOAT8


def _check(mat1, mat2, scale_a, scale_b, bias):
    rows, columns = (*mat1.shape[:1], 1)[0], (1, *mat2.shape)[-1]
    single = scale_a.numel() == 1 and scale_b.numel() == 1
    by_rows = tuple(scale_a.shape) == (rows, 1) and tuple(scale_b.shape) == (1, columns)
    floats = scale_a.dtype == scale_b.dtype == _C.float32
    if not (_is_float8(mat1) and _is_float8(mat2) and floats and (single or by_rows)):
        raise ValueError(
            "Invalid scaling configuration.\n"
            "- For TensorWise scaling, a and b should be float8, scales should be float and singletons.\n"
            "- For RowWise scaling, a and b should be float8, scales should be float, scale_a should be "
            f"({rows}, 1) and scale_b should be (1, {columns}), and both should be contiguous.\n"
            f"Got a of {mat1.dtype}, b of {mat2.dtype}, scale_a of {scale_a.dtype} and sizes {list(scale_a.shape)}, "
            f"scale_b of {scale_b.dtype} and sizes {list(scale_b.shape)}"
        )
    for name, matrix in (("mat1", mat1), ("mat2", mat2)):
        if matrix.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix")
    if mat1.shape[1] != mat2.shape[0]:
        sizes = [f"{matrix.shape[0]}x{matrix.shape[1]}" for matrix in (mat1, mat2)]
        raise RuntimeError(f"mat_a and mat_b shapes cannot be multiplied ({' and '.join(sizes)})")
    if bias is not None and bias.numel() != columns:
        raise RuntimeError(f"Bias must be size {columns} but got {bias.numel()}")


@takes_tensors("input", "mat2", "scale_a", "scale_b")
def _scaled_mm(
    input, mat2, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None, use_fast_accum=False, *, out=None
):
    """(scale_a input) @ (scale_b mat2) + bias of matrices of 8-bit floats, with a scale for each or for each row.

    The product is summed in float32 and is of the type of `input` unless told. `scale_result` and `use_fast_accum` mean
    something on other devices.
    """
    _check(input, mat2, scale_a, scale_b, bias)
    product = _op("mm")(input.to(_C.float32), mat2.to(_C.float32)) * (scale_a.reshape(-1, 1) * scale_b.reshape(1, -1))
    if bias is not None:
        product = product + bias.to(_C.float32)
    result = product.to(input.dtype if out_dtype is None else out_dtype)
    return result if out is None else out.resize_(result.shape).copy_(result)


def _scaled_mm_v2(
    input, mat2, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b, bias, out_dtype, contraction_dim=(),
    use_fast_accum=False, *, out=None,
):  # fmt: skip
    """_scaled_mm() with lists of scales and what each is of: 0 for a whole matrix, 1 for rows."""
    recipes = [int(getattr(kind, "value", kind)) for kind in (*recipe_a, *recipe_b)]
    if recipes not in ([_OF_ALL] * 2, [_OF_ROWS] * 2):
        raise ValueError(
            "Invalid scaling configuration. Expected one scale of a whole matrix (0), or of rows (1), for both; got "
            f"{list(recipe_a)} and {list(recipe_b)}"
        )
    return _scaled_mm(input, mat2, scale_a[0], scale_b[0], bias, None, out_dtype, use_fast_accum, out=out)
