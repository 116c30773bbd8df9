"""Why a case of the sweep is slower than torch by more than the limit: patterns of case names, each with its reason.

The first pattern that fits "op | size | direction" counts; a slow case that none fits is printed as unexplained.
"""

import fnmatch

RANGES = (
    "computed without branches: the formulas of all ranges for every element, one of which is chosen; "
    "torch computes the one that applies, and these numbers all lie in the same range"
)
POLYNOMIAL = "a call and a recurrence for each element, one after the other"
OPS = "made of several ops, each a pass over memory, where torch has one kernel"
ROOT = "z / |z| by hypot, which neither overflows nor is vectorised here"
BASELINE = "sums of this type use the vectors of the baseline instruction set"
LAZY = "zeros are written here; torch takes pages that the system clears when they are first read"
HALF = "converted to float32 and back, sixteen numbers at a time, in passes over a buffer"
MEMORY = "limited by memory, whose speed varies from run to run: 0.67 and better when measured again alone"
MEMORY_BOUND = (
    *("amax.all", "prod.all", "sum.middle", "clamp", "mul.column", "index_add", "index_reduce"),
    *("nn.functional.group_norm", "nn.functional.max_pool1d", "nn.functional.fractional_max_pool2d"),
    "nn.functional.grid_sample",
)
REASONS = {
    "trace | * | backward": LAZY,
    "sort.int64 | *": "runs are merged; torch sorts integers by their digits",
    "complex | * | forward": "parts are interleaved one by one",
    "clamp_ | *": "two comparisons and two choices for each vector, which let NaN through",
    "kthvalue | *": "the row is copied as pairs of value and index first",
    "nn.functional.cosine_similarity | *": OPS,
    "mul.half | *": HALF,
    "exp.half | *": HALF,
    "special.chebyshev_polynomial_* | *": POLYNOMIAL,
    "special.laguerre_polynomial_* | *": POLYNOMIAL,
    "special.hermite_polynomial_* | *": POLYNOMIAL,
    "nansum.* | *": "a comparison and a choice for each vector before the sum, of the baseline instruction set",
    "grid_sample* | *": "corners of a cell are gathered one by one",
    "linalg.lstsq | *": "LAPACK's own driver by way of a copy in its layout; MKL's is faster",
    "linalg.multi_dot | *": "the order of the products is found in Python",
    "fft.irfft | *": "rows of 510 = 30 * 17 and 4094 = 46 * 89 values: primes above 7 have no loops of their own",
    "stft | *": OPS,
    "mm.bfloat16 | *": "torch uses the processor's bfloat16 products; here float32 copies are multiplied",
    "gelu.bfloat16 | *": "the error function is computed to float32 precision, for float32 as for bfloat16",
    "neg.bfloat16 | *": "by way of float32; torch flips the sign bit",
    "erfinv* | *": RANGES,
    "special.ndtri | *": RANGES,
    "ndtri.float64 | *": RANGES,
    "bessel_j0.float64 | *": RANGES,
    "special.trigamma | *": RANGES,
    "[cse]*lu.positive | *": RANGES,
    "sgn | *": "the gradient of a real sgn is zero, but computed by the formula of the complex one",
    "abs.complex64 | * | backward": ROOT,
    "angle.complex64 | * | backward": ROOT,
    "nn.functional.pdist | *": "pairs are taken one by one; across several pairs they could be vectorised",
    "sum.int64 | *": BASELINE,
    "sum.complex64 | *": BASELINE,
    "sum.bfloat16 | *": "the elements are converted to float32 in chunks before they are added",
    "mm.int64 | *": "rows of the second matrix are added to rows of the result, which do not stay in registers",
    "linalg.qr.batch | *": "LAPACK is called for each small matrix, and OpenBLAS's call costs more than MKL's",
    "kron | *": "a product of expanded views, whose rows are short",
    "linalg.vander | *": OPS,
    "nn.functional.multi_margin_loss | *": OPS,
    "hann_window | *": OPS,
    "isin | *": OPS,
    "attention.causal | *": "all scores are computed and then masked; torch's fused kernel skips what is masked",
    "nn.functional.embedding_bag | * | forward": "indices and offsets are checked first, in passes of their own",
    "topk | *": "a row is copied as pairs of value and index first",
    "nn.functional.dropout2d | *": OPS,
    "add | * | backward": "autograd.grad gives each input a gradient of its own; torch gives both the same memory",
    "addr | small | *": OPS,
    "put | *": "indices are checked block by block as it writes",
    "cross_entropy.images | *": "log_softmax takes 128 columns at a time, in three passes",
    "special.legendre_polynomial_* | *": POLYNOMIAL,
    "softmax.bfloat16 | *": "converted to float32 in a buffer and back",
    "renorm | 4 M | forward": "the squares of the norms are added in double precision",
    **dict.fromkeys((f"{op} | 4 M | *" for op in MEMORY_BOUND), MEMORY),
}


def reason_of(name):
    """The reason for the case "op | size | direction", or None."""
    return next((why for pattern, why in REASONS.items() if fnmatch.fnmatch(name, pattern)), None)
