"""Samples of the losses."""

from . import I, Sample, T

_REDUCTIONS = ("mean", "sum", "none")
_FLOATS = ("float64", "float32", "bfloat16")
_CLASSES = I(5, high=4)
_IGNORING = I(values=[0, 3, -100, 1, 2])
_WEIGHT = T(4, low=0.2, high=1.0, grad=False)


def _probability(*shape, **options):
    return T(*shape, low=0.1, high=0.9, **options)


def _pairs(**options):
    return [
        Sample(T(2, 3), T(2, 3), reduction="mean", **options).options(dtypes=_FLOATS),
        Sample(T(2, 3), T(2, 3), reduction="sum", **options),
        Sample(T(2, 3), T(2, 3), reduction="none", **options),
        Sample(T(), T(), **options),
        Sample(T(2, 3), T(2, 3, grad=False), **options),
        Sample(T(0, 3), T(0, 3), reduction="sum", **options),
    ]


# Names of nodes below: torch divides by a number inside where Python's `/` makes another node.
SAMPLES = {
    "nn.functional.mse_loss": [
        *_pairs(),
        Sample(T(2, 3), T(2, 3), weight=_probability(2, 3, grad=False)),
        Sample(T(2, 3), T(2, 3), reduction="none", weight=_probability(2, 3, grad=False)),
    ],
    "nn.functional.l1_loss": [*_pairs(), Sample(T(2, 3), T(2, 3), weight=_probability(2, 3, grad=False))],
    "nn.functional.smooth_l1_loss": [*_pairs(), *_pairs(beta=0.5), Sample(T(2, 3), T(2, 3), beta=0.0)],
    "nn.functional.huber_loss": [
        *_pairs(),
        *_pairs(delta=0.5),
        Sample(T(2, 3), T(2, 3), weight=_probability(2, 3, grad=False)),
    ],
    "nn.functional.binary_cross_entropy": [
        *(Sample(_probability(2, 3), _probability(2, 3), reduction=r) for r in _REDUCTIONS),
        Sample(_probability(2, 3), _probability(2, 3), weight=_probability(3, grad=False)),
        Sample(_probability(2, 3), T(values=[[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]], grad=False)).options(
            dtypes=_FLOATS[:2]
        ),
        Sample(T(values=[0.0, 1.0, 1.0]), T(values=[0.0, 0.0, 1.0], grad=False)).options(
            gradcheck=False, gradgrad=False
        ),
    ],
    "nn.functional.binary_cross_entropy_with_logits": [
        *(Sample(T(2, 3), _probability(2, 3), reduction=r) for r in _REDUCTIONS),
        Sample(T(2, 3), _probability(2, 3, grad=False), _probability(3, grad=False)).options(dtypes=_FLOATS),
        Sample(T(2, 3), _probability(2, 3), pos_weight=_probability(3, grad=False)),
        Sample(T(values=[-200.0, 200.0, 0.0]), T(values=[1.0, 0.0, 0.3], grad=False)).options(gradcheck=False),
    ],
    "nn.functional.kl_div": [
        *(
            Sample(T(2, 3, high=0.0), _probability(2, 3), reduction=r, log_target=log_target)
            for r in (*_REDUCTIONS, "batchmean")
            for log_target in (False, True)
        ),
        Sample(T(3, high=0.0), T(values=[0.0, 1.0, 0.0], grad=False), reduction="sum"),
    ],
    "nn.functional.nll_loss": [
        *(Sample(T(5, 4), _CLASSES, reduction=r) for r in _REDUCTIONS),
        *(Sample(T(5, 4), _IGNORING, _WEIGHT, reduction=r) for r in _REDUCTIONS),
        Sample(T(5, 4), _CLASSES, ignore_index=2),
        Sample(T(4), I(values=2)),
        Sample(T(2, 4, 3, 2), I(2, 3, 2, high=4), _WEIGHT).options(dtypes=_FLOATS),
        Sample(T(2, 4, 3, 2), I(2, 3, 2, high=4), reduction="none"),
        Sample(T(2, 4, 3), I(2, 3, high=4), reduction="none").options(node=False),
    ],
    "nn.functional.cross_entropy": [
        *(Sample(T(5, 4), _CLASSES, reduction=r) for r in _REDUCTIONS),
        *(Sample(T(5, 4), _IGNORING, _WEIGHT, reduction=r) for r in _REDUCTIONS),
        *(Sample(T(5, 4), _IGNORING, _WEIGHT, reduction=r, label_smoothing=0.2) for r in _REDUCTIONS),
        *(Sample(T(5, 4), _probability(5, 4), reduction=r).options(node=False) for r in _REDUCTIONS),
        Sample(T(5, 4), _probability(5, 4), _WEIGHT, label_smoothing=0.2).options(node=False),
        Sample(T(4), I(values=2)).options(dtypes=_FLOATS),
        Sample(T(4), I(values=2), reduction="none").options(node=False),
        Sample(T(4), _probability(4)).options(node=False),
        Sample(T(2, 4, 3), I(2, 3, high=4)),
        Sample(T(2, 4, 3), I(2, 3, high=4), _WEIGHT, label_smoothing=0.1),
        Sample(T(2, 4, 3), _probability(2, 4, 3)).options(node=False),
        Sample(T(2, 4, 3, 2), I(2, 3, 2, high=4), reduction="sum"),
        Sample(T(values=[[1000.0, 0.0], [-1000.0, 0.0]]), I(values=[1, 0])).options(gradcheck=False),
        Sample(T(5, 4), I(values=[-100] * 5)).options(gradcheck=False, gradgrad=False),
    ],
}

ERRORS = {
    "nn.functional.mse_loss": [Sample(T(2), T(2), reduction="bad")],
    "nn.functional.smooth_l1_loss": [Sample(T(2), T(2), beta=-1.0)],
    "nn.functional.huber_loss": [Sample(T(2), T(2), delta=0.0)],
    "nn.functional.binary_cross_entropy": [Sample(T(2, low=2.0, high=3.0), T(2)), Sample(_probability(2), T(3))],
    "nn.functional.binary_cross_entropy_with_logits": [Sample(T(2), T(3))],
    "nn.functional.nll_loss": [
        Sample(T(5, 4), I(values=[0, 1, 2, 3, 4])),
        Sample(T(5, 4), I(3)),
        Sample(T(5, 4), I(5, 4)),
        Sample(T(5, 4), _CLASSES, T(3)),
        Sample(T(2, 4, 3), I(2, 5, high=4)),
        Sample(T(), I(values=0)),
        Sample(T(5, 4), _CLASSES, reduction="bad"),
    ],
    "nn.functional.cross_entropy": [
        Sample(T(5, 4), I(values=[0, 1, 2, 3, 4])),
        Sample(T(5, 4), I(3)),
        Sample(T(5, 4), _CLASSES, label_smoothing=2.0),
    ],
}
