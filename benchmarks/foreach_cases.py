"""Ops on lists of tensors, written once against a module called `torch` that is either library."""

from cases import Case

COUNT, SIZE = 1000, 32


def tensors(torch):
    return [torch.rand(SIZE) + 0.5 for _ in range(COUNT)]


def each(name, *kinds):
    """A call of torch._foreach_<name> of a list with others, or with numbers."""

    def case(torch):
        function = getattr(torch, f"_foreach_{name}")
        given = {"tensors": tensors(torch), "numbers": [0.999] * COUNT}
        first, rest = tensors(torch), [given.get(kind, kind) for kind in kinds]
        return lambda: function(first, *rest)

    return case


def recorded(torch):
    """A sum of products with gradients."""
    first, second = ([x.requires_grad_() for x in tensors(torch)] for _ in range(2))
    return lambda: sum(torch._foreach_norm(torch._foreach_mul(first, second))).backward()


def small(name, title, make, aim=""):
    return Case(name, "small", title, make, aim)


CASES = [
    small("add_list", "`_foreach_add_(tensors, tensors)`", each("add_", "tensors"), "5"),
    small("add_number", "`_foreach_add_(tensors, 0.001)`", each("add_", 0.001), "5"),
    small("mul_numbers", "`_foreach_mul_(tensors, numbers)`", each("mul_", "numbers"), "5"),
    small("add_new", "`_foreach_add(tensors, tensors)`", each("add", "tensors"), "5"),
    small(
        "addcmul",
        "`_foreach_addcmul_(tensors, tensors, tensors, 0.001)`",
        each("addcmul_", "tensors", "tensors", 0.001),
    ),
    small("lerp", "`_foreach_lerp_(tensors, tensors, 0.1)`", each("lerp_", "tensors", 0.1)),
    small("sqrt", "`_foreach_sqrt(tensors)`", each("sqrt")),
    small("exp", "`_foreach_exp(tensors)`", each("exp")),
    small("norm", "`_foreach_norm(tensors)`", each("norm")),
    small("max", "`_foreach_max(tensors)`", each("max")),
    small("copy", "`_foreach_copy_(tensors, tensors)`", each("copy_", "tensors")),
    small("zero", "`_foreach_zero_(tensors)`", each("zero_")),
    small("recorded", "`_foreach_norm(_foreach_mul(tensors, tensors))`, with gradients", recorded),
]
