"""Why a case of the sweep is slower than torch by more than the limit: patterns of case names, each with its reason.

The first pattern that fits "op | size | direction" counts; a slow case that none fits is printed as unexplained.
"""

import fnmatch

FFT = "transforms go through NumPy's pocketfft, one thread and less vectorised than MKL's"
RANGES = (
    "computed without branches: the formulas of all ranges for every element, one of which is chosen; "
    "torch computes the one that applies, and these numbers all lie in the same range"
)
OPS = "made of several ops, each a pass over memory, where torch has one kernel"
ROOT = "z / |z| by hypot, which neither overflows nor is vectorised here"
BASELINE = "sums of this type use the vectors of the baseline instruction set"
REASONS = {
    "fft.*": FFT,
    "stft | *": FFT,
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
    "linalg.multi_dot | small | *": "the order of the products is found in Python",
    "nn.functional.multi_margin_loss | *": OPS,
    "hann_window | *": OPS,
    "isin | *": OPS,
    "attention.causal | *": "all scores are computed and then masked; torch's fused kernel skips what is masked",
    "nn.functional.embedding_bag | * | forward": "indices and offsets are checked first, in passes of their own",
    "topk | *": "a row is copied as pairs of value and index first",
    "nn.functional.dropout2d | *": OPS,
}


def reason_of(name):
    """The reason for the case "op | size | direction", or None."""
    return next((why for pattern, why in REASONS.items() if fnmatch.fnmatch(name, pattern)), None)
