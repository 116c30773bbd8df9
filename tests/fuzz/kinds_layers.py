"""Kinds of arguments of layers and losses: images, filters, classes, words."""

from .kinds import FLOAT_DTYPES, KINDS, first_tensor, kind


@kind
def picture(draw):
    """A batch of images, or one of them."""
    shape = draw.pick([(1, 2, 4, 4), (2, 2, 5, 3), (2, 4, 4), (1, 1, 3, 3), (0, 2, 4, 4), (1, 4, 2, 6)])
    return first_tensor(draw, [shape], FLOAT_DTYPES)


@kind
def signal(draw):
    return first_tensor(draw, [(1, 2, 6), (2, 2, 5), (2, 6), (1, 1, 4), (0, 2, 5)], FLOAT_DTYPES)


@kind
def volume(draw):
    return first_tensor(draw, [(1, 2, 3, 4, 3), (2, 3, 3, 3), (1, 1, 4, 2, 2)], FLOAT_DTYPES)


def filters(draw, dimensions, swapped=False):
    shape = draw.shape or ()
    channels = shape[-dimensions - 1] if len(shape) > dimensions else 2
    sizes = (channels, draw.pick([1, 2])) if swapped else (draw.pick([2, 4]), draw.pick([channels, channels, 1]))
    if draw.strange():
        sizes = draw.pick([(0, 2), (2, 0), (3, 3)])
    return draw.tensor((*sizes, *[draw.integer(1, 3) for _ in range(dimensions)]), draw.main_dtype(FLOAT_DTYPES))


for dimensions in (1, 2, 3):
    KINDS[f"filter{dimensions}"] = lambda draw, d=dimensions: filters(draw, d)
    KINDS[f"swapped{dimensions}"] = lambda draw, d=dimensions: filters(draw, d, True)


@kind
def bias(draw):
    if draw.chance(0.4):
        return "None"
    return draw.tensor((draw.pick([2, 4, 2, 1]),), draw.main_dtype(FLOAT_DTYPES))


@kind
def channels(draw):
    """One value for each channel, or None."""
    if draw.chance(0.3):
        return "None"
    size = draw.shape[1] if draw.ndim > 1 else 2
    return draw.tensor((size + draw.strange(),), draw.main_dtype(FLOAT_DTYPES))


@kind
def last_sizes(draw):
    """The sizes of the last one or two dimensions."""
    return str(list((draw.shape or ())[-draw.integer(1, 2) :])) if not draw.strange() else draw.pick(["[]", "3", "[7]"])


@kind
def last_weight(draw):
    return "None" if draw.chance(0.4) else draw.tensor((draw.shape or ())[-1:], draw.main_dtype(FLOAT_DTYPES))


@kind
def step(draw):
    """A stride, kernel size or dilation: an int or a few of them."""
    low = 0 if draw.wild else 1
    if draw.strange():
        return draw.pick(["-1", "0", "()", "(1, 1, 1, 1)", "1.5"])
    few = draw.pick([1, 1, 2, 2, 3]) if draw.wild else draw.pick([1, 1, 1, 2])
    return str(draw.integer(low, 3)) if few == 1 else str(tuple(draw.integer(low, 3) for _ in range(few)))


@kind
def padding(draw):
    return draw.pick(["'same'", "'valid'", "-1", "'other'", "(0,)", "2"]) if draw.strange() else draw.pick(["0", "1"])


@kind
def target(draw):
    """Of the first tensor's sizes, between 0 and 1."""

    def value(dtype):
        return draw.pick(["0", "1", "0.5", "0.25"]) if "float" in dtype else draw.value(dtype)

    return draw.tensor(draw.other_shape() if draw.wild else draw.shape or (), draw.main_dtype(FLOAT_DTYPES), value)


@kind
def chances(draw):
    """A first tensor of probabilities."""
    values = ["0.5", "0.25", "1.0", "0.0"] + ["1.5", "-0.5"] * draw.strange()
    return first_tensor(draw, dtypes=FLOAT_DTYPES, value=lambda dtype: draw.pick(values))


@kind
def signs(draw):
    return draw.tensor(draw.other_shape() if draw.wild else draw.shape or (), draw.main_dtype(FLOAT_DTYPES),
                       lambda dtype: draw.pick(["1", "-1"] if dtype != "uint8" else ["1"]))  # fmt: skip


@kind
def classes(draw):
    """Class numbers for scores of sizes (N, C, ...)."""
    shape = draw.shape or ()
    amount = shape[1] if len(shape) > 1 else shape[0] if shape else 1
    wanted = (*shape[:1], *shape[2:]) if len(shape) > 1 else ()
    pick = lambda dtype: str(draw.pick([amount, -1, -100]) if draw.strange() else draw.integer(0, max(amount - 1, 0)))
    dtype = draw.pick(["int32", "float32", "uint8"]) if draw.chance(0.1) else "int64"
    return draw.tensor(draw.other_shape() if draw.strange() else wanted, dtype, pick if dtype == "int64" else None)


@kind
def words(draw):
    """Rows of a table of 4."""
    dtype = draw.pick(["float32", "uint8", "bool"]) if draw.chance(0.1) else draw.pick(["int64", "int64", "int32"])
    values = ["4", "-1", "9"] if draw.strange() else ["0", "1", "2", "3"]
    return draw.tensor(draw.pick([(2,), (2, 3), (), (0,), (1, 1)]), dtype, lambda dtype: draw.pick(values))


@kind
def offsets(draw):
    """Where bags begin; torch crashes when there are none of a wrong type."""
    return draw.pick(["torch.tensor([0])", "torch.tensor([0, 1])", "torch.tensor([0, 0, 1])", "torch.tensor([1])"])


@kind
def table(draw):
    return draw.tensor(
        draw.pick([(4, 3), (4, 3), (4, 1), (4,)] if draw.wild else [(4, 3)]), draw.main_dtype(FLOAT_DTYPES)
    )


@kind
def grid(draw):
    batches = draw.shape[0] if draw.ndim else 1
    return draw.tensor((batches, 2, 3, 2 + draw.strange()), draw.main_dtype(FLOAT_DTYPES))
