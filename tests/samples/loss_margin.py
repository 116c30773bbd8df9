"""Samples of margin losses and losses by number: what torch's operator database leaves out."""

from . import I, Sample, T

_REDUCTIONS = ("mean", "sum", "none")
_SIGNS = T(values=[1.0, -1.0, 1.0], grad=False)
_LABELS = I(values=[[3, 0, -1, 1], [1, 2, 3, 0]])

SAMPLES = {
    "nn.functional.soft_margin_loss": [
        Sample(T(2, 3), T(values=[[1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]], grad=False), reduction=r) for r in _REDUCTIONS
    ],
    "nn.functional.multi_margin_loss": [
        # At the margin the slope is 0.
        Sample(T(values=[[1.0, 0.0, 2.0]]), I(values=[0])).options(gradcheck=False, node=False),
        Sample(T(values=[0.5, 0.0, 1.0]), I(values=2), reduction="none", p=2).options(gradcheck=False, node=False),
        Sample(T(3, 4), I(3, high=4), 2, 0.5, T(4, low=0.2, high=1.0, grad=False)).options(node=False, gradgrad=False),
    ],
    "nn.functional.multilabel_margin_loss": [
        *(Sample(T(2, 4), _LABELS, reduction=r).options(node=False, gradgrad=False) for r in _REDUCTIONS),
        Sample(T(4), I(values=[3, 0, -1, 1]), reduction="none").options(node=False, gradgrad=False),
        Sample(T(values=[0.0, 1.0]), I(values=[1, -1])).options(node=False, gradgrad=False, gradcheck=False),
    ],
    "hinge_embedding_loss": [Sample(T(3), _SIGNS), Sample(T(3), _SIGNS, 0.5, 2), Sample(T(3), _SIGNS, reduction=0)],
    "margin_ranking_loss": [Sample(T(3), T(3), _SIGNS), Sample(T(3), T(3), _SIGNS, 0.5, 0)],
    "cosine_embedding_loss": [
        Sample(T(3, 4), T(3, 4), _SIGNS).options(node=False),
        Sample(T(3, 4), T(3, 4), _SIGNS, 0.5, 2).options(node=False),
    ],
    "triplet_margin_loss": [
        Sample(T(3, 4), T(3, 4), T(3, 4)),
        Sample(T(3, 4), T(3, 4), T(3, 4), 0.5, 3.0, 1e-6, True, 0),
    ],
    "poisson_nll_loss": [Sample(T(3), T(3, low=0.5, high=3.0), True, True, 1e-8, 1).options(node=False)],
    "kl_div": [Sample(T(2, 3), T(2, 3, low=0.1, high=0.9), log_target=False, reduction=r) for r in (0, 1, 2)],
    "binary_cross_entropy_with_logits": [
        Sample(T(2, 3), T(2, 3, low=0.1, high=0.9), None, T(3, low=0.1, high=0.9, grad=False), 2)
    ],
}

ERRORS = {
    "nn.functional.multi_margin_loss": [
        Sample(T(3, 5), I(values=[0, 1])),
        Sample(T(3, 5), I(values=[0, 1, 5])),
        Sample(T(3, 5), I(values=[0, 1, -1])),
        Sample(T(3, 5), I(values=[0, 1, 2]), p=3),
        Sample(T(2, 3, 4), I(values=[0, 1])),
    ],
    "nn.functional.multilabel_margin_loss": [
        Sample(T(3, 5), I(3, 4)),
        Sample(T(1, 2), I(values=[[2, 0]])),
        Sample(T(1, 2), I(values=[[-2, 0]])),
        Sample(T(2, 2, 5), I(2, 2, 5)),
    ],
    "nn.functional.margin_ranking_loss": [Sample(T(3), T(3, 1), T(3))],
    "nn.functional.triplet_margin_loss": [Sample(T(3, 5), T(3, 5), T(5)), Sample(T(5), T(5), T(5), margin=-1.0)],
    "nn.functional.gaussian_nll_loss": [Sample(T(3, 5), T(3, 5), T(values=[-1.0, 1.0, 1.0]))],
}
