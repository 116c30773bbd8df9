"""Differences that are accepted, each with its reason: a pattern of the call, a pattern of the difference.

An entry is as narrow as its reason. What is not listed is a fault of this library.
"""

import re

# Calls with a tensor without elements, or a result without any.
NOTHING = r"(empty\(|zeros\(\()(\d, )*0|\[1:\]"

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
    (
        r"(std|var)\w*\(.*(out=|keepdim)",
        r"^torch: TypeError: \w+\(\) received an invalid",
        "unbiased= with out= or keepdim= and without dim=",
    ),
    (
        r"\.(where|remainder|bitwise_\w+)\(.*out=",
        r"^torch: TypeError: .*(must be Tensor|invalid)",
        "numbers take part with out= too",
    ),
    (
        r"torch\.flip\(",
        r"^torch: TypeError: .*must be tuple of ints, not (int|numpy\.int64|Tensor)",
        "as the method does",
    ),
    (
        r"as_strided_?\(|tile\(",
        r"^torch: TypeError: .*must be tuple of ints, not (int|numpy\.int64|Tensor)",
        "one number stands for a list of one",
    ),
    (
        r"(fold|pool\w*|split|interpolate|upsample)\(.*(np\.int64|torch\.tensor)",
        r"^torch: TypeError: (iteration over a 0-d|object of type|len\(\) of a 0-d|split_with_sizes)",
        "NumPy's integers and tensors of one integer are sizes in functions that torch has in Python, too",
    ),
    (
        r"(batch_norm|instance_norm|poisson_nll_loss|pixel_shuffle|interpolate)\(",
        r"^torch: TypeError: .*(must be (float|int|Tensor), not|invalid combination)",
        "arguments that a call does not use, and those of calls without elements",
    ),
    (
        r"((squeeze\w*|softmax)\((x0, )?|dim=|dx=)None",
        r"^torch: TypeError: .*(invalid combination|NoneType)",
        "None is the default",
    ),
    (r"kaiser_window\(", r"^torch: TypeError: \w+\(\) received an invalid", "beta= without periodic="),
    (
        r"(fftfreq|trapezoid|gradient|var|std|outer|multigammaln|mvlgamma|atleast_\dd|\.max|\.min|matrix_rank)\(",
        r"^torch: TypeError: .*(must be (float|int|Tensor), not|invalid combination)",
        "numbers, lists and arrays for what torch asks for: here what the formula takes",
    ),
    (
        r"(vecdot|quantile)\(",
        r"^torch: TypeError: .*(must be int, not|invalid combination)",
        "lists of dimensions, and bools",
    ),
    (r"\.to\(", r"^torch: TypeError: to\(\) received", "non_blocking= and copy= that are no bools"),
    (r"is_contiguous\(", r"^torch: TypeError: .*unexpected keyword", "keywords that mean nothing"),
    (
        r"axis=",
        r"^torch: TypeError: .*unexpected keyword argument 'axis'",
        "dim= and axis= together, where out= is taken",
    ),
    (r"np\.\w+\(.*\) // x", r"^torch: TypeError: unsupported operand", "arrays are divided by tensors, as multiplied"),
    (r"fold\(", r"^torch: RuntimeError: It is expected", "a list of one size counts for all dimensions"),
    (r"\.type\(torch\.tensor", r"^torch: TypeError: dtype must be", "a tensor stands for its type"),
    (
        "",
        r"^torch: RuntimeError: .*(does not support automatic differentiation for outputs with|Autograd not)",
        "complex gradients are defined here; integers made of what requires grad just do not require it",
    ),
    (
        "",
        r"^gradient: torch: (RuntimeError|NotImplementedError|IndexError)",
        "torch's backward fails on what its forward took; here both work",
    ),
    (
        r"out=",
        r"^torch: RuntimeError: (.*dtype|.*expects a floating|output with|The size of|result type|Expected object)",
        "where torch's out= must have one type or size by the overload, here it is cast and resized like others",
    ),
    (
        "",
        r"INTERNAL ASSERT|concrete integers|scalar\.isIntegral|view size is not compatible|TensorAccessor expected"
        r"|Unsupported memory format|some elements of the input tensor and the written-to",
        "torch's bugs",
    ),
    (r"fft\.", r"^torch: RuntimeError: (MKL FFT error|Invalid number of data points)", "rows of nothing; size -1"),
    (r"logsumexp\(", "^torch: RuntimeError: output with shape", "torch fails on dim=(), which is all dimensions"),
    (NOTHING, r"^torch: (Runtime|Index)Error", "torch refuses some ops on tensors without elements"),
    (
        r"multi_margin_loss\(|_loss\(.*weight",
        r"^torch: RuntimeError: (The function|the derivative)",
        "weights that require grad",
    ),
    (
        r"conv_transpose\dd\(",
        r"^torch: RuntimeError: Given input size.*Output size is too small",
        "results without elements, which torch's kernel for float32 takes with several groups",
    ),
    (r"lp_pool", r"^torch: RuntimeError: value cannot be converted", "orders that half types do not hold"),
    (r"tensorinv\(", r"^torch: RuntimeError: ArrayRef: invalid slice", "all dimensions count as the first ones"),
    (r"(std|var)\w*\(", r"^torch: RuntimeError: std_var_all", "half types with out="),
    (r"cross_entropy\(", r"^torch: RuntimeError: Expected floating point", "integers as probabilities of one class"),
    (
        r"(\.to|asarray|\.type)\(",
        r"^torch: RuntimeError: Only Tensors of floating point",
        "integers made of what requires grad just do not require it",
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
        NOTHING,
        r"adjoint: (NotImplementedError|RuntimeError: .*(scalar type|dtype|float|precision|bool tensor|Long can't))",
        "with no element torch returns before it looks at types; here they are checked however many elements there are",
    ),
    (
        r"^(?!.*out=).*("
        + NOTHING
        + r").*(scaled_dot|conv|instance_norm|index_add|cum(max|min)|lu\(|uniform_|embedding\()",
        r"adjoint: \w+Error",
        "the same with sizes, dimensions and options that torch does not look at",
    ),
    (
        "",
        r"^torch: tensor\(\[\].*adjoint: (NotImplementedError|RuntimeError: (.*scalar type|Trying to create))",
        "the same, where the result has no element",
    ),
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
        r"adjoint: TypeError: to\(\)",
        "a number does not stand for its type",
    ),
    (r"\.(max|min)\(.*out=", r"adjoint: RuntimeError: (max|min)\(\): Expected red", "extremes of nothing, with out="),
    (r"solve_triangular\(", "adjoint: RuntimeError: .*same dtype", "torch mixes real and complex"),
    (r"diff\(.*n=0|diff\(x0, 0", "adjoint: IndexError", "differences of order 0 along a dimension that is not there"),
    (r"soft_margin|cum(sum|prod)_\(", "adjoint: RuntimeError: (Negation|result type)", "truth values"),
    (r"resize_\(|expand\(|out=", "adjoint: RuntimeError: Trying to create", "negative sizes beside a size of 0"),
    (r"tensorsolve\(", "adjoint: RuntimeError: Expected self", "systems without equations"),
    (r"circular", "adjoint: RuntimeError: pad: input size", "torch reads beyond the input where elements are cut off"),
    (
        r"index_put_?\(",
        "adjoint: IndexError: (a mask without|index: expected at least)",
        "masks without dimensions belong between brackets, and torch fails on most; no index at all",
    ),
    (r"addbmm_\(", "adjoint: RuntimeError: output with shape", "torch makes the target of an in-place op larger"),
    (r"addbmm\(.*out=", "adjoint: RuntimeError: .*same dtype", "torch casts the first operand to the type of out="),
    (
        r"complex",
        r"adjoint: NotImplementedError: .*(cummax|cummin|mode|pool)|adjoint: RuntimeError: .*(Half|pool\dd)",
        "order of complex numbers, of single ones too; there is no complex type of half precision",
    ),
    (
        r"bool",
        "adjoint: NotImplementedError",
        "arithmetic of single truth values, where torch returns them as they are",
    ),
    (r"instance_norm\(", "adjoint: RuntimeError: mixed dtype", "running statistics of other types"),
    (r"_window\(", "adjoint: RuntimeError: .*expects floating", "windows of one element of other types"),
    (r"linspace\(|logspace\(", "adjoint: (Runtime|NotImplemented)Error", "a single number, of other types too"),
    (r"linear\(|conv_transpose", "adjoint: RuntimeError: .*(same dtype|bias type)", "a bias of another type"),
    (
        r"adaptive_avg_pool\dd\(.*, 1\)",
        "adjoint: RuntimeError: .*Expected",
        "torch takes a mean of one window for a mean, of any number of dimensions",
    ),
    (r"normal_\(", "adjoint: TypeError: .*must be float", "complex tensors as means"),
    (
        r"(torch\.tensor\((1|True)\)|np\.\w+\(.*\))\)|broadcast_shapes\(.*None",
        "adjoint: TypeError",
        "odd spellings of a number, which torch takes in some functions and not in others",
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
    (
        r"(relu6|hardtanh|hardshrink|softshrink|elu|selu|celu|hardswish)\(",
        "^gradient: value",
        "the derivative at nan depends on how many elements there are in torch",
    ),
    (r"acosh|logit", "^gradient: value", "derivatives outside the domain and at -0"),
    (
        r"(eps=(0|-1\.0)|spacing=(\()?0|e=0)|normalize\(|cosine_similarity\(",
        r"^(gradient: )?value: .*(nan|inf)",
        "what 0 / 0 and x / 0 become of a formula: nan or infinity",
    ),
    (r"polar\(", "^gradient: value", "at negative absolute values torch's derivative has the opposite sign"),
    (r"index_add\(.*j", "^gradient: value", "torch's derivative lacks the conjugate of a complex alpha"),
    (r"ldexp\(", "^gradient: value", "torch's derivative of complex numbers takes 2 to a negative power for 0"),
    (r"uint8", "^gradient: value", "torch negates uint8 operands in backward, which wraps"),
    (r"dtype=torch\.b?float(16|32)\)$", "^gradient: value", "rounded to less precision on the way, in another order"),
    (r"quantile\(", "^gradient: value", "which of equal elements has the gradient"),
    (r"float16.*cosine_similarity", "^value", "torch takes the length of a vector in its own half type"),
    (r"float16.*gradient\(.*1e-5", "^value", "1e-5 in half precision"),
    (r"(float16.*|pairwise_)dist\w*\(", "^dtype", "half types that meet complex numbers"),
    (r"ldexp\(", "^value: nan", "torch's 0 times a power of 2 that is infinite"),
    (r"logspace\(.*int", "^value", "whole numbers of what lies beside one"),
    (r"(std|var)\w*\(.*\[1:\]|cov\(.*correction", "^value: .*(nan|inf)", "nothing over nothing"),
    (r"pixel_unshuffle\(", r"^shape: \(0,", "torch leaves batches of nothing as they are"),
    (r"histogram|linalg\.lu\(|triangular_solve", "^requires_grad", "what torch marks without a derivative"),
    (r"requires_grad.*out=", "^requires_grad", "out= does not change whether what is written to requires grad"),
    (
        r"(ge|gt|le|lt|eq|ne|greater|less|not_equal|masked_fill|fill)_\(|\] = ",
        "^requires_grad",
        "comparisons have no gradient, in place either, nor have integers that are written to",
    ),
    (r"special\.\w+_polynomial", "^value", "torch leaves results unwritten at nan"),
    (r"(norm|dist\w*)\(.*(nan|1e-5)|lp_pool", "value", "norms of order nan, and of order 1e-5, which no float holds"),
    (r"multinomial\(", "^value", "the order of elements of weight zero"),
    (r"inv_ex\(|matrix_exp", "value", "inverses that do not exist; torch's overflow in half precision"),
    (r"eigvals", "^value", "the order of eigenvalues that are as good as equal"),
    (r"layer_norm|cumprod|(var|std)\w*\(", "^gradient: value", "x - mean(x) of single elements; complex to real"),
    (r"\*\*|pow", r"value: \(?nan", "torch's complex 0 to the power of -0"),
    (r"soft_margin_loss", "^value", "torch's exponents of uint8 targets wrap"),
    (r"multi_margin_loss", "^dtype", "integer losses of nothing"),
    (r"rms_norm|with_logits|triplet", "^value", "precision of half types, and of distances of nearly nothing"),
    (
        r"normal\(.*out=",
        "^(shape|value)",
        "torch does not resize out= of normal(mean, number), and fills it in the order of its memory",
    ),
    (
        r"gumbel_softmax\(.*|x0 = .*permute.*gumbel",
        "^value",
        "numbers are drawn in the order of the elements, not of memory",
    ),
    (r"fft\.", "^shape", "torch does not resize out= of ihfftn(); sizes of -1"),
    (r"median\(", "^value", "torch's median of expanded tensors"),
    (r"nan'\).*mode\(", "^value", "torch's most frequent element among nan"),
    (r"float16.*div\w*\(.*trunc", "^gradient: value", "0 times infinity, where half types are divided by 0"),
    (
        r"max_pool\dd.*(padding|1, ).*return_ind",
        "^value",
        "where a window lies in the padding, torch's place is beyond the input",
    ),
    (r"multigammaln|mvlgamma|lp_pool", "^gradient: value", "the sign of an infinite derivative at a pole"),
    (r"addmv", r"^shape: \(\)", "torch leaves numbers as they are where the product has no element"),
    (r"trapezoid\(x0, (x=)?x1", "^shape", "places x of more dimensions than the samples"),
    (r"scaled_dot", "^shape", "keys and values of other sizes, with nothing in them"),
    (r"grid_sample|batch_norm", "^value", "infinite grids; rounding"),
    (r"isin\(.*assume_unique=True", "^value", "elements said to be unique that are not"),
    (r"rrelu\(|dist\(|addcdiv", "value", "bools as bounds, norms of order 1e-5, derivatives of x / 0"),
    (r"unique\(", "^(shape|value)", "nan among the elements"),
]

ACCEPTED = ANSWERED + REFUSED + RESULTS


def accepted(line, reason):
    """Whether a difference is one of those."""
    return any(re.search(call, line) and re.search(what, reason) for call, what, _ in ACCEPTED)
