"""Rule: the update of an optimizer as one Python function, and what the parameters of the function mean.

A rule is written for one parameter and one step:

    @rule
    def sgd(param, grad, momentum_buffer, *, first, lr, momentum, ..., with_momentum=False):
        ...
        return param - lr * grad, momentum_buffer

- before a slash: entries of the parameter's state that are 0-d tensors, such as `step`; item(step) is its number;
- `param`, `grad`, and entries of the state that are tensors of the parameter's shape;
- after the star: numbers of the parameter group, by their name there or by PARTS; `first`: whether this is the
  parameter's first step;
- with a default: flags. Python conditions on them decide which tensors of the state are used at all.

It returns the new values of all its tensors but `grad`, in their order. adjoint.codegen makes of it a native loop for
each choice of the flags; what the loops do not take runs through the same function, tensor by tensor.
"""

# Numbers that a group keeps in tuples: (key, index).
PARTS = {
    "beta1": ("betas", 0),
    "beta2": ("betas", 1),
    "eta_minus": ("etas", 0),
    "eta_plus": ("etas", 1),
    "step_size_min": ("step_sizes", 0),
    "step_size_max": ("step_sizes", 1),
}


class Rule:
    """An update rule with its parameters sorted by meaning."""

    def __init__(self, function):
        code = function.__code__
        names = code.co_varnames
        self.function = function
        self.name = function.__name__
        self.kept = names[: code.co_posonlyargcount]
        self.arrays = names[code.co_posonlyargcount : code.co_argcount]
        keywords = names[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        self.flags = tuple(function.__kwdefaults__ or ())
        self.wants_first = "first" in keywords
        self.numbers = tuple(name for name in keywords if name not in (*self.flags, "first"))
        if self.arrays[:2] != ("param", "grad"):
            raise TypeError(f"{self.name}: a rule begins with param and grad; its tensors are {self.arrays}")

    def kernel(self, flags):
        """The name of the native loop for a choice of flags."""
        return ".".join([self.name, *(name for name in self.flags if flags[name])])

    def group_numbers(self, group):
        """The values of the rule's numbers in a parameter group, in their order."""
        found = []
        for name in self.numbers:
            part = PARTS.get(name)
            if part is None:
                found.append(group[name])
                continue
            pair, number = group[part[0]], part[1]
            if (type(pair) is not tuple or len(pair) <= number) and not _has_part(pair, number):
                raise ValueError(
                    f"{self.name}: expected {part[0]!r} of the parameter group to have more than {part[1]} numbers; "
                    f"got {group[part[0]]!r}"
                )
            found.append(pair[number])
        return found


def _has_part(pair, number):
    """Whether an option that is several numbers has this one."""
    return hasattr(pair, "__len__") and not isinstance(pair, dict | set | frozenset) and len(pair) > number
