"""Drawing indices by weight."""

from .batching import draws_differ, refuse_same_draws
from .checks import boolean, demanded
from .language import _sorted_places, composite, cumsum, empty_like, float64, log1p, rand, rand_like


def _exponentials(like, generator):
    """Exponential numbers; new ones where they differ from element to element of a vmap."""
    if draws_differ():
        return -log1p(-rand_like(like, generator=generator))
    return empty_like(like).exponential_(1, generator=generator)


@composite(out="exact", out_words="multinomial expects Long tensor out, got: {given}")
def multinomial(input, num_samples, replacement=False, *, generator=None):
    """Draws `num_samples` indices per row, each with the probability that its weight has in the row.

    >>> import adjoint as torch
    >>> torch.multinomial(torch.tensor([0.0, 3.0, 0.0]), 2, replacement=True)
    tensor([1, 1])
    """
    boolean("multinomial", replacement=replacement)
    weights = input.detach()
    refuse_same_draws(weights, "multinomial")
    if not weights.is_floating_point():
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {weights.dtype}")
    if weights.ndim not in (1, 2):
        raise RuntimeError(f"prob_dist must be 1 or 2 dim; got {weights.ndim}")
    if isinstance(num_samples, float):
        raise TypeError("multinomial(): argument 'num_samples' must be int, not float")
    if num_samples <= 0:
        raise RuntimeError(f"cannot sample n_sample <= 0 samples; got {num_samples}")
    if not replacement and num_samples > weights.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement; got "
            f"n_sample={num_samples} for {weights.shape[-1]} weights"
        )
    wrong = "probability tensor contains either `inf`, `nan` or element < 0"
    if weights.numel() and not demanded((weights >= 0) & (weights < float("inf")), wrong):
        raise RuntimeError(wrong)
    totals, wrong = weights.sum(-1, keepdim=True), "invalid multinomial distribution (sum of probabilities <= 0)"
    if weights.numel() and not demanded(totals != 0, wrong):
        raise RuntimeError(wrong)
    if not replacement or num_samples == 1:
        # The largest of weights divided by exponential numbers are a draw without replacement.
        scores = weights / _exponentials(weights, generator)
        return scores.topk(num_samples, -1).indices if num_samples > 1 else scores.argmax(-1, keepdim=True)
    return draw_rows(weights, num_samples, generator)


def draw_rows(weights, count, generator=None):
    """Indices drawn with replacement for each row of weights that are known to be good: where a number falls."""
    sums = cumsum(weights, -1)
    # The last bound is 1, whatever the sums are rounded to.
    bounds = (sums / sums.narrow(-1, -1, 1)).double()
    draws = rand((*weights.shape[:-1], count), dtype=float64, device=weights.device, generator=generator)
    return _sorted_places(bounds, draws, False, False)
