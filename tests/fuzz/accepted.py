"""Differences that are accepted, each with its reason: a pattern of the call, a pattern of the difference.

The lists are read from the top; an entry is as narrow as its reason. What is not listed is a fault of this library.
"""

import re

# ---- Refused by torch, answered here

ANSWERED = [
    (
        "",
        r"^torch: NotImplementedError: .*not implemented for '",
        "torch has no kernel for the type; here the op is defined for it (half types: float32, rounded once)",
    ),
    (
        r"\.(sum|nansum|prod|mean|nanmean|max|min|median|nanmedian|std|var|std_mean|var_mean)\(.*keepdims?=False",
        r"^torch: TypeError: \w+\(\) (missing 1 required|received an invalid)",
        "keepdim=False is the default, with dim= or without",
    ),
    (r"\.(std|var)\(.*out=", r"^torch: TypeError: \w+\(\) received an invalid", "unbiased= and out= without dim="),
    (
        r"\.(where|remainder)\(.*out=",
        r"^torch: TypeError: .*(must be Tensor|invalid)",
        "numbers take part with out= too",
    ),
    (
        r"torch\.flip\(",
        r"^torch: TypeError: .*must be tuple of ints, not (int|numpy\.int64|Tensor)",
        "as the method does",
    ),
    (
        r"(fold|pool\w*|split|interpolate|upsample)\(.*(np\.int64|torch\.tensor)",
        r"^torch: TypeError: (iteration over a 0-d|object of type|split_with_sizes)",
        "NumPy's integers and tensors of one integer are sizes in functions that torch has in Python, too",
    ),
    (
        r"(batch_norm|poisson_nll_loss|pixel_shuffle)\(",
        r"^torch: TypeError: .*must be (float|int|Tensor), not",
        "arguments that a call does not use, and those of calls without elements",
    ),
    (
        r"((squeeze\w*|softmax)\((x0, )?|dim=|dx=)None",
        r"^torch: TypeError: .*(invalid combination|NoneType)",
        "None is the default",
    ),
    (r"kaiser", r"^torch: TypeError: \w+\(\) received an invalid", "beta= without periodic=; lengths that are no ints"),
    (
        r"(fftfreq|embedding|trapezoid|gradient|diff|hsplit|var|std|outer|multigammaln|mvlgamma|atleast_\dd|\.max|\.min)\(",
        r"^torch: TypeError: .*(must be (float|int|Tensor), not|invalid combination)",
        "numbers, lists and arrays for what torch asks for: here what the formula takes",
    ),
    (r"pool\w*\(", r"^torch: TypeError: len\(\) of a 0-d tensor", "tensors of one integer are sizes"),
    (r"\.to\(.*non_blocking=", r"^torch: TypeError: to\(\) received", "non_blocking= means nothing on a CPU"),
    (r"is_contiguous\(", r"^torch: TypeError: .*unexpected keyword", "keywords that mean nothing"),
    (
        r"axis=",
        r"^torch: TypeError: .*unexpected keyword argument 'axis'",
        "dim= and axis= together, where out= is taken",
    ),
    (r"fold\(", r"^torch: RuntimeError: It is expected", "a list of one size counts for all dimensions"),
    (r"matrix_rank\(.*tol=\[", r"^torch: TypeError", "a list of tolerances"),
    (r"pad\(.*j", r"^torch: TypeError: pad\(\): argument 'value'", "complex tensors are padded with complex numbers"),
    (r"\.type\(torch\.tensor", r"^torch: TypeError: dtype must be", "a tensor stands for its type"),
    (
        "",
        r"^torch: RuntimeError: .*(does not support automatic differentiation for outputs with|Autograd not)",
        "complex gradients are defined here; integers made of what requires grad just do not require it",
    ),
    (
        "",
        r"^gradient: torch: (RuntimeError|NotImplementedError)",
        "torch's backward fails on what its forward took; here both work",
    ),
    (
        r"out=",
        r"^torch: RuntimeError: (.*dtype|output with shape|The size of tensor|result type|.*expects a floating)",
        "where torch's out= must have one type or size by the overload, here it is cast and resized like others",
    ),
    (
        "",
        r"INTERNAL ASSERT|concrete integers|view size is not compatible|scalar\.isIntegral|setStorage",
        "torch's bugs",
    ),
    (r"fft\.", r"^torch: RuntimeError: (MKL FFT error|Invalid number of data points)", "rows of nothing; size -1"),
    (r"logsumexp\(", "^torch: RuntimeError: output with shape", "torch fails on dim=(), which is all dimensions"),
    (
        r"x0 = torch\.(empty|zeros)\(",
        r"^torch: (Runtime|Index)Error",
        "torch refuses some ops on tensors without elements",
    ),
    (
        r"_loss\(",
        r"^torch: RuntimeError: (result type|mean|output with|value cannot|The function|Expected floating)",
        "losses of mixed types and sizes, and weights that require grad",
    ),
    (r"pad\w*\(", "^torch: RuntimeError: narrow", "padding that takes away more than there is"),
    (
        r"to\(|asarray|arange|lp_pool|broadcast_shapes|addbmm|take_along|lstsq|var\(|\.type\(|normal\(|trapezoid|with_logits|nll_loss|pad\(|addmm",
        r"^torch: (RuntimeError|ValueError)",
        "single checks that torch makes for one of many forms of the call",
    ),
]

# ---- Answered by torch, refused here

REFUSED = [
    (
        "",
        r"adjoint: RuntimeError: Trying to resize storage that is not resizable",
        "memory that other tensors see is never resized under them",
    ),
    (
        r"^(?!.*out=).*(empty|zeros\(\(|\[1:\])",
        r"adjoint: (NotImplementedError|RuntimeError|TypeError|IndexError)",
        "with no element torch returns before it looks at types, sizes and values; here the checks do not "
        "depend on how many elements there are",
    ),
    ("", r"^torch: tensor\(\[\].*adjoint: \w+Error", "the same, where the result is empty"),
    (
        r"logical_\w+_\(",
        r"leaf Variable that requires grad|^requires_grad: ",
        "torch writes truth values over a leaf that requires grad; here it is refused like every other in-place op",
    ),
    (
        r"out=",
        r"adjoint: RuntimeError: (.*don't support automatic differentiation|Expected out tensor|.*can't be cast)",
        "out= of what requires grad, or of another type, is refused alike in all forms of a function",
    ),
    ("", r"more than one element of the written-to tensor", "writing to expanded tensors is refused, equal values too"),
    (
        r"\.to\((1j|1\.5|True|float\('nan'\)|np\.float64\(0\.5\))",
        r"adjoint: TypeError: to\(\) received an invalid argument",
        "a number does not stand for its type",
    ),
    (
        r"(max|min|logsumexp|cond|matrix_rank)\(",
        r"adjoint: (IndexError|RuntimeError)",
        "extremes of nothing, with out=",
    ),
    (r"normal\(.*out=", "adjoint: NotImplementedError", "torch draws integers' normal numbers where out= is of floats"),
    (
        r"solve_triangular\(",
        "adjoint: RuntimeError: .*same dtype",
        "torch mixes real and complex",
    ),
    (r"diff\(.*n=0|diff\(x0, 0", "adjoint: IndexError", "differences of order 0 along a dimension that is not there"),
    (r"cum(sum|prod)_\(|trapezoid|soft_margin", "adjoint: RuntimeError", "truth values"),
    (r"index_put_?\(", "adjoint: IndexError: a mask without", "masks without dimensions belong between brackets"),
    (r"addbmm_\(", "adjoint: RuntimeError", "torch makes the target of an in-place op larger"),
    (r"scaled_dot_product", "adjoint: RuntimeError", "keys and values of other sizes, with nothing in them"),
    (
        r"complex",
        r"adjoint: NotImplementedError|adjoint: RuntimeError: Expected both inputs to be Half",
        "pooling and order of complex numbers; there is no complex type of half precision",
    ),
    (
        r"bool",
        "adjoint: NotImplementedError|adjoint: RuntimeError: value cannot",
        "arithmetic and extremes of truth values",
    ),
    (
        r"constant_pad_nd|pad\(.*\[\]|batch_norm|scatter|\.to\(|_window\(|conv|dropout|adaptive|linspace|instance_norm",
        r"adjoint: (RuntimeError|ValueError|TypeError)",
        "values that are not used, types and sizes that are not checked",
    ),
]

# ---- Other results

RESULTS = [
    (
        r"(nan|inf)'\)|100\.0",
        r"^(gradient: )?value: .*(nan|inf)",
        "where infinities meet, nan or infinity depends on the order of the sums, and on the formula of the derivative",
    ),
    (r"(nan|inf)'\).*(int|bool)", "^(gradient: )?value", "what integer nan and infinity become is left open by C"),
    (r"hardshrink|relu6|acosh|logit", "^gradient: value", "derivatives at nan, outside the domain and at -0"),
    (r"polar\(", "^gradient: value", "at negative absolute values torch's derivative has the opposite sign"),
    (r"uint8", "^gradient: value", "torch negates uint8 operands in backward, which wraps"),
    (r"pixel_unshuffle\(", r"^shape: \(0,", "torch leaves batches of nothing as they are"),
    (r"histogram|linalg\.lu\(|triangular_solve|trapezoid", "^requires_grad", "what torch marks without a derivative"),
    (r"requires_grad.*out=", "^requires_grad", "out= does not change whether what is written to requires grad"),
    (
        r"(ge|gt|le|lt|eq|ne|greater|less|not_equal)_\(",
        "^requires_grad",
        "comparisons have no gradient, in place either",
    ),
    (r"special\.\w+_polynomial", "^value", "torch leaves results unwritten at nan"),
    (r"(norm|dist\w*)\(.*nan|lp_pool", "^value", "norms of order nan, and of order 1e-5, which no float holds"),
    (r"multinomial\(", "^value", "the order of elements of weight zero"),
    (r"inv_ex\(|matrix_exp", "value", "inverses that do not exist; torch's overflow in half precision"),
    (r"layer_norm|cumprod|(var|std)\w*\(", "^gradient: value", "x - mean(x) of single elements; complex to real"),
    (r"\*\*|pow", r"^value: \(?nan", "torch's complex 0 to the power of -0"),
    (r"float16", "complex32", "there is no complex type of half precision"),
    (r"_loss\(|rms_norm|with_logits", "^(dtype|value|structure)", "which of mixed types a loss has, and its precision"),
    (r"normal\(.*out=", "^shape", "torch does not resize out= of normal() to no dimension"),
    (r"fft\.", "^shape", "torch does not resize out= of ihfftn(); sizes of -1"),
    (r"nanmedian\(.*|median\(", "^value", "torch's median of expanded tensors"),
    (r"multigammaln|mvlgamma|lp_pool", "^gradient: value: -?inf", "the sign of an infinite derivative at a pole"),
    (
        r"addr|addmv|block_diag",
        "^(dtype|shape)",
        "operands that do not count: beta=0, no elements",
    ),
    (
        r"normalize\(|grid_sample|cosine_similarity|batch_norm",
        "^value",
        "norms of order 1e-5; infinite grids; rounding",
    ),
    (r"isin\(.*assume_unique=True", "^value", "elements said to be unique that are not"),
    (r"normal\(|cosine_similarity", "^dtype", "which of two float types counts"),
    (r"rrelu\(|dist\(|\*\*|addcdiv", "value", "bools as bounds, norms of order 1e-5, derivatives at -0 and of x / 0"),
    (r"unique\(", "^(shape|value)", "nan among the elements"),
]

ACCEPTED = ANSWERED + REFUSED + RESULTS


def accepted(line, reason):
    """Whether a difference is one of those."""
    return any(re.search(call, line) and re.search(what, reason) for call, what, _ in ACCEPTED)
