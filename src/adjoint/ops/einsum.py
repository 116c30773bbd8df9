"""Einstein's notation.

Every operand gets a list of labels, one for each dimension: letters, and for the dimensions under an ellipsis the
numbers -1, -2, ... counted from the last. What is to be done with operands of these shapes is worked out once.
"""

from math import prod

from .language import Tensor, bmm, composite, mm, sum_dim

_plans = {}  # (equation, shapes) -> program
_MOST_PLANS = 1000


@composite(method=False)
def einsum(*args):
    """Sums of products in Einstein's notation: labels that the output lacks are summed over.

    >>> import adjoint as torch
    >>> torch.einsum("ij,jk->ik", torch.ones(2, 3), torch.ones(3, 4)).shape
    torch.Size([2, 4])
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    equation, operands = args[0], args[1:]
    if isinstance(equation, Tensor):
        equation, operands = _equation_of_lists(args)
    elif len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = operands[0]
    for i, operand in enumerate(operands):
        if not isinstance(operand, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 1, but got {type(operand).__name__}")
    key = equation, *[operand.shape for operand in operands]
    program = _plans.get(key)
    if program is None:
        program = _plan(equation, [tuple(operand.shape) for operand in operands])
        if len(_plans) == _MOST_PLANS:
            _plans.clear()
        _plans[key] = program
    values = list(operands)
    for function, places, arguments in program:
        values.append(function(*[values[place] for place in places], *arguments))
    return values[-1]


class _Planned:
    """A tensor to be: knows its shape, and notes in the program what is done to it."""

    __slots__ = ("place", "program", "shape")

    def __init__(self, program, place, shape):
        self.program, self.place, self.shape = program, place, shape

    def after(self, shape, function, *arguments, other=None):
        """The result of a function of this tensor (and another)."""
        places = (self.place,) if other is None else (self.place, other.place)
        self.program.append((function, places, arguments))
        # Results are numbered after the operands.
        return _Planned(self.program, self.program.first + len(self.program) - 1, tuple(shape))

    def permute(self, order):
        if list(order) == list(range(len(self.shape))):
            return self
        return self.after([self.shape[d] for d in order], Tensor.permute, tuple(order))

    def reshape(self, shape):
        return self if tuple(shape) == self.shape else self.after(shape, Tensor.reshape, tuple(shape))

    def expand(self, shape):
        return self if tuple(shape) == self.shape else self.after(shape, Tensor.expand, tuple(shape))

    def diagonal(self, first, second):
        kept = [size for d, size in enumerate(self.shape) if d not in (first, second)]
        return self.after([*kept, self.shape[first]], Tensor.diagonal, 0, first, second)

    def sum(self, dims):
        return self.after([size for d, size in enumerate(self.shape) if d not in dims], sum_dim, tuple(dims))


class _Program(list):
    """Steps (function, places of its tensors, further arguments); `first` is the number of operands."""


def _plan(equation, shapes):
    program = _Program()
    program.first = len(shapes)
    inputs, output = _parse_einsum(equation, [len(shape) for shape in shapes])
    _check_sizes(inputs, shapes)
    if output is None:
        output = _default_output(inputs)
    operands = [_Planned(program, i, shape) for i, shape in enumerate(shapes)]
    terms = [_without_repeats(operand, labels) for operand, labels in zip(operands, inputs, strict=True)]
    result, labels = terms[0]
    for i, (operand, others) in enumerate(terms[1:], 1):
        needed = set(output).union(*(later for _, later in terms[i + 1 :]))
        result, labels = _contract(result, labels, operand, others, needed)
    result, labels = _sum_out(result, labels, set(output))
    order = tuple(labels.index(label) for label in output)
    if not program:
        # Never the operand itself.
        result.after([result.shape[d] for d in order], Tensor.permute, order)
    else:
        result.permute(order)
    return program


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _equation_of_lists(args):
    """The call form einsum(tensor, labels, tensor, labels, ..., output labels) as an equation."""

    def letters(labels):
        for label in labels:
            if label is not ... and not 0 <= label < 52:
                raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
        return "".join("..." if label is ... else _LETTERS[label] for label in labels)

    equation = ",".join(letters(labels) for labels in args[1::2])
    if len(args) % 2:
        equation = ",".join(letters(labels) for labels in args[1:-1:2]) + "->" + letters(args[-1])
    return equation, args[0 : len(args) - len(args) % 2 : 2]


def _parse_einsum(equation, ndims):
    """The labels of each operand, and those of the output (None when the equation gives none)."""
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        word = "fewer" if len(ndims) < len(terms) else "more"
        raise RuntimeError(f"einsum(): {word} operands were provided than specified in the equation")
    inputs, place = [], 0
    for i, (term, ndim) in enumerate(zip(terms, ndims, strict=True)):
        letters, dots = _letters_of(term, place, f"operand {i}", "any ellipsis")
        hidden = ndim - len(letters)
        if hidden < 0 or (hidden and dots is None):
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(letters)}) "
                + ("does not match" if dots is None else "is more than")
                + f" the number of dimensions ({ndim}) for operand {i}"
                + (" and no ellipsis was given" if dots is None else "")
            )
        inputs.append(_with_ellipsis(letters, dots, hidden))
        place += len(term) + 1
    if not arrow:
        return inputs, None
    letters, dots = _letters_of(right, len(left) + 2, "output", "any ellipsis (...)")
    known = set().union(*inputs)
    for label in letters:
        if letters.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
        if label not in known:
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input operand"
            )
    hidden = sum(isinstance(label, int) for label in known)
    return inputs, _with_ellipsis(letters, dots, hidden)


def _letters_of(term, place, owner, ellipsis):
    """The letters of a term, and where among them the ellipsis stands (None: nowhere). `place` is the term's own."""
    letters, dots, i = [], None, 0
    while i < len(term):
        character = term[i]
        if character == ".":
            if dots is not None and owner != "output":
                raise RuntimeError(f"einsum(): found '.' for {owner} for which an ellipsis was already found")
            if term[i : i + 3] != "..." or dots is not None:
                raise RuntimeError(f"einsum(): found '.' for {owner} that is not part of {ellipsis}")
            dots = len(letters)
            i += 2
        elif character in _LETTERS:
            letters.append(character)
        elif character != " ":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {place + i} in the equation string, subscripts must be in "
                "[a-zA-Z]"
            )
        i += 1
    return letters, dots


def _with_ellipsis(letters, dots, hidden):
    """The letters with the labels of `hidden` dimensions where the ellipsis stood."""
    if dots is None:
        return letters
    return letters[:dots] + list(range(-hidden, 0)) + letters[dots:]


def _default_output(inputs):
    """The dimensions under ellipses, then the letters that occur once, in order."""
    labels = [label for labels in inputs for label in labels]
    hidden = sorted({label for label in labels if isinstance(label, int)})
    return hidden + sorted(label for label in labels if isinstance(label, str) and labels.count(label) == 1)


def _check_sizes(inputs, shapes):
    """A label has one size, but that a size of 1 broadcasts."""
    sizes = {}
    for i, (labels, shape) in enumerate(zip(inputs, shapes, strict=True)):
        own = {}
        for label, size in zip(labels, shape, strict=True):
            if own.setdefault(label, size) != size:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {i} but the sizes don't match, "
                    f"{size} != {own[label]}"
                )
            seen = sizes.get(label, 1)
            if size != seen and size != 1 and seen != 1:
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {size} for operand {i} which does not broadcast with "
                    f"previously seen size {seen}"
                )
            sizes[label] = seen if size == 1 else size


def _without_repeats(tensor, labels):
    """Takes the diagonal of dimensions that have one label."""
    labels = list(labels)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            tensor = tensor.diagonal(first, second)
            del labels[second], labels[first]
            labels.append(label)
    return tensor, labels


def _sum_out(tensor, labels, needed):
    """Sums over the dimensions whose label nobody needs."""
    dims = [d for d, label in enumerate(labels) if label not in needed]
    if not dims:
        return tensor, labels
    return tensor.sum(dims), [label for label in labels if label in needed]


def _contract(a, labels_a, b, labels_b, needed):
    """The product of two operands, summed over the labels that are no longer needed."""
    # A summed label that is not of full size in both is summed in each of them apart.
    apart = {label for label in labels_a if label in labels_b and label not in needed}
    apart = {label for label in apart if a.shape[labels_a.index(label)] != b.shape[labels_b.index(label)]}
    a, labels_a = _sum_out(a, labels_a, needed.union(labels_b) - apart)
    b, labels_b = _sum_out(b, labels_b, needed.union(labels_a) - apart)
    shared = [label for label in labels_a if label in labels_b and label in needed]
    summed = [label for label in labels_a if label in labels_b and label not in needed]
    only_a = [label for label in labels_a if label not in labels_b]
    only_b = [label for label in labels_b if label not in labels_a]
    labels = shared + only_a + only_b
    a = a.permute([labels_a.index(label) for label in shared + only_a + summed])
    b = b.permute([labels_b.index(label) for label in shared + summed + only_b])
    batch = [y if x == 1 else x for x, y in zip(a.shape[: len(shared)], b.shape[: len(shared)], strict=True)]
    rows, columns = a.shape[len(shared) :][: len(only_a)], b.shape[len(b.shape) - len(only_b) :]
    if not summed:
        a = a.reshape((*a.shape, *[1] * len(only_b)))
        b = b.reshape((*b.shape[: len(shared)], *[1] * len(only_a), *columns))
        return a.after((*batch, *rows, *columns), Tensor.mul, other=b), labels
    depth = prod(a.shape[len(shared) + len(rows) :])
    product, lead = (bmm, (prod(batch),)) if shared else (mm, ())
    a = a.expand((*batch, *a.shape[len(shared) :])).reshape((*lead, prod(rows), depth))
    b = b.expand((*batch, *b.shape[len(shared) :])).reshape((*lead, depth, prod(columns)))
    return a.after((*lead, prod(rows), prod(columns)), product, other=b).reshape((*batch, *rows, *columns)), labels
