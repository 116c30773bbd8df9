"""Samples of losses of sequences, bags of embeddings and attention: what torch's operator database leaves out."""

from . import B, I, Sample, T

_TARGETS = I(values=[[1, 2], [2, 2]])
_LENGTHS = I(values=[5, 4])
_COUNTS = I(values=[2, 1])
_INDICES = I(values=[1, 2, 3, 4, 5])
_OFFSETS = I(values=[0, 2, 2])
_ONCE = {"gradgrad": False, "node": False}


def _ctc(*args, **options):
    # Torch's gradient is that of scores that sum to one: finite differences of the scores disagree.
    return Sample(*args, **options).options(gradcheck=False, **_ONCE)


SAMPLES = {
    "embedding_renorm_": [
        Sample(T(4, 3, grad=False), I(values=[0, 2, 2]), 0.5, 2.0).options(layouts=False, edits=False),
        Sample(T(4, 3, grad=False), I(values=[[1], [3]]), 1.0, 1.0).options(layouts=False, edits=False),
    ],
    "nn.functional.ctc_loss": [
        *(_ctc(T(5, 2, 4), _TARGETS, _LENGTHS, _COUNTS, reduction=r) for r in ("mean", "sum", "none")),
        # Torch reads labels in a row as if they lay next to each other.
        _ctc(T(5, 2, 4), I(values=[1, 2, 3]), _LENGTHS, _COUNTS, 0).options(layouts=False),
        _ctc(T(5, 2, 4), _TARGETS, (5, 4), (2, 1), blank=3),
        _ctc(T(5, 4), I(values=[1, 2]), (5,), (2,), reduction="none"),
        # Too short for the labels: infinite, or nothing.
        _ctc(T(5, 2, 4), _TARGETS, I(values=[1, 4]), _COUNTS, reduction="none", zero_infinity=True),
        _ctc(T(5, 2, 4, grad=False), _TARGETS, I(values=[1, 0]), I(values=[2, 0]), reduction="none"),
    ],
    "ctc_loss": [_ctc(T(5, 2, 4), _TARGETS, _LENGTHS, _COUNTS, 0, 2, False)],
    "nn.functional.embedding_bag": [
        *(Sample(_INDICES, T(6, 3), _OFFSETS, mode=m).options(**_ONCE) for m in ("sum", "mean", "max")),
        *(Sample(_INDICES, T(6, 3), _OFFSETS, mode=m, padding_idx=2).options(**_ONCE) for m in ("sum", "mean", "max")),
        Sample(I(values=[[1, 2], [2, 1]]), T(6, 3), mode="mean", scale_grad_by_freq=True).options(
            gradcheck=False, **_ONCE
        ),
        Sample(_INDICES, T(6, 3), I(values=[0, 2, 5]), mode="sum", include_last_offset=True).options(**_ONCE),
        Sample(_INDICES, T(6, 3), _OFFSETS, mode="sum", per_sample_weights=T(5)).options(**_ONCE),
    ],
    "nn.functional.scaled_dot_product_attention": [
        # Where a query may look nowhere, the result is zero.
        Sample(T(2, 3), T(2, 3), T(2, 3), B(values=[[True, True], [False, False]])).options(node=False),
    ],
    "norm_except_dim": [Sample(T(3, 4, 2)), Sample(T(3, 4, 2), 2, 1), Sample(T(3, 4), 1, -1).options(node=False)],
    "bilinear": [Sample(T(2, 3), T(2, 4), T(5, 3, 4), T(5)).options(node=False)],
    "nn.functional.gumbel_softmax": [
        Sample(T(2, 3), tau=0.5).options(seed=True, node=False),
        Sample(T(2, 3), hard=True, dim=0).options(seed=True, node=False),
    ],
}

ERRORS = {
    "nn.functional.ctc_loss": [
        Sample(T(5, 2, 4), _TARGETS, I(values=[6, 4]), _COUNTS),
        Sample(T(5, 2, 4), _TARGETS, I(values=[5, -1]), _COUNTS),
        Sample(T(5, 2, 4), _TARGETS, _LENGTHS, I(values=[3, 1])),
        Sample(T(5, 2, 4), _TARGETS, _LENGTHS, I(values=[-1, 1])),
        Sample(T(5, 2, 4), I(values=[1, 2, 3, 1]), _LENGTHS, _COUNTS),
        Sample(T(5, 2, 4), _TARGETS, _LENGTHS, _COUNTS, blank=4),
    ],
    "nn.functional.embedding_bag": [
        Sample(_INDICES, T(6, 3)),
        Sample(I(1, 5), T(6, 3), _OFFSETS),
        Sample(_INDICES, T(6, 3), I(values=[1, 2])),
        Sample(_INDICES, T(6, 3), I(values=[0, 6])),
        Sample(I(values=[7]), T(6, 3), I(values=[0])),
        Sample(I(values=[-1]), T(6, 3), I(values=[0])),
        Sample(_INDICES, T(6, 3), _OFFSETS, mode="sum", padding_idx=6),
        Sample(_INDICES, T(6, 3), _OFFSETS, mode="bad"),
    ],
    "nn.functional.scaled_dot_product_attention": [
        Sample(T(4, 8), T(5, 8), T(5, 7), T(4, 5), is_causal=True),
        Sample(T(8), T(5, 8), T(5, 7)),
        Sample(T(4, 8), T(5, 8), T(5, 7), dropout_p=1.5),
    ],
}
