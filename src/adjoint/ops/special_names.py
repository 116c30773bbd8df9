"""The functions of torch.special that the package also has under another name, or at the top."""

from . import language
from .language import _publish

NAMES = {
    "digamma": "digamma",
    "psi": "digamma",
    "gammaln": "lgamma",
    "gammainc": "igamma",
    "gammaincc": "igammac",
    "multigammaln": "mvlgamma",
    "polygamma": "polygamma",
    "erf": "erf",
    "erfc": "erfc",
    "erfinv": "erfinv",
    "exp2": "exp2",
    "expm1": "expm1",
    "expit": "sigmoid",
    "i0": "i0",
    "log1p": "log1p",
    "log_softmax": "log_softmax",
    "logit": "logit",
    "logsumexp": "logsumexp",
    "round": "round",
    "sinc": "sinc",
    "softmax": "softmax",
    "xlogy": "xlogy",
}

for _name, _target in NAMES.items():
    _publish(_name, getattr(language, _target), "special", False, True, ())
