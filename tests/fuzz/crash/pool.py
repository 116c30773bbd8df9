"""What calls are fed with, as source text: tensors of every type, rank and layout, and values that make no sense."""

DTYPES = ["float32", "float64", "float16", "bfloat16", "complex64", "complex128"]
DTYPES += ["int64", "int32", "int16", "int8", "uint8", "bool"]
FLOATS = ["float32", "float64", "float32", "float64", "float16", "bfloat16", "complex64", "complex128"]

SHAPES = [(), (1,), (3,), (4,), (2, 3), (3, 3), (2, 3, 4), (1, 2, 4, 4), (2, 2, 3, 3, 3), (5, 2), (17,), (3, 1)]
ODD_SHAPES = [(0,), (2, 0), (0, 3), (0, 0, 0), (1, 1, 1, 1), (1,) * 9, (1,) * 70, (2,) * 12, (300,), (67, 5), (3, 0, 2)]

INTEGERS = ["0", "1", "-1", "2", "3", "-2", "5", "-7", "64"]
HUGE = [
    "2**31 - 1",
    "2**31",
    "-2**31 - 1",
    "2**40",
    "2**53 + 1",
    "2**62",
    "2**63 - 1",
    "-2**63",
    "2**63",
    "2**64",
    "10**30",
]
NUMBERS = [
    "0.5",
    "-1.5",
    "1e308",
    "1e-45",
    "float('nan')",
    "float('inf')",
    "-float('inf')",
    "1j",
    "-0.0",
    "2.0",
    "True",
]
WORDS = [
    "''",
    "'sum'",
    "'mean'",
    "'none'",
    "'cpu'",
    "'meta'",
    "'cuda:9'",
    "'\\0'",
    "'\\ud800'",
    "'floor'",
    "b'x'",
    "'x' * 300",
]
CONTAINERS = [
    "()",
    "[]",
    "{}",
    "[[]]",
    "(0,)",
    "(0, 0)",
    "(1, 0)",
    "[-1]",
    "(2, 3)",
    "[2**40, 2**40]",
    "(2**62, 4)",
    "(-1, -1)",
]
CONTAINERS += [
    "[None]",
    "[[0], [1, 2]]",
    "[1.5]",
    "['a', 'b']",
    "(0, 1, 2, 3, 4, 5, 6)",
    "{'a': 1}",
    "set()",
    "range(3)",
]
CONTAINERS += [
    "[0] * 100",
    "[True, False]",
    "iter([1, 2])",
    "(x for x in (1, 2))",
    "[[[[[[[[1.0]]]]]]]]",
    "[float('nan')]",
]
# Deeper than the interpreter's stack, and one that contains itself.
CONTAINERS += ["functools.reduce(lambda a, _: [a], range(5000), 1.0)", "(lambda a: a.append(a) or a)([])"]
NAMES = [
    "None",
    "...",
    "NotImplemented",
    "slice(None)",
    "slice(0, None, 0)",
    "slice(None, None, -1)",
    "int",
    "object()",
    "print",
]
NAMES += [
    "torch.float32",
    "torch.int64",
    "torch.bool",
    "torch.complex64",
    "torch.device('meta')",
    "torch.Tensor",
    "torch",
]
NAMES += [
    "torch.strided",
    "torch.channels_last",
    "torch.preserve_format",
    "torch.Generator()",
    "torch.Size([2])",
    "torch.add",
]
ARRAYS = [
    "np.ones((2, 3))",
    "np.int64(2)",
    "np.float32(0.5)",
    "np.array('a')",
    "np.array([None])",
    "np.zeros(0)",
    "np.bool_(1)",
]
ARRAYS += [
    "np.ones(3)[::-1]",
    "np.ones((2, 3), '>f4')",
    "np.ones(2, 'u2')",
    "np.frombuffer(b'12345678')",
    "memoryview(b'12')",
]
ARRAYS += [
    "np.zeros(2, [('a', 'f4')])",
    "np.datetime64('2000')",
    "np.broadcast_to(1.0, (2**22,))",
    "array.array('d', [1])",
]


def odd(**methods):
    """An object whose special methods do what they should not."""
    items = ", ".join(f"'__{name}__': lambda *_: {text}" for name, text in methods.items())
    return f"type('Odd', (), {{{items}}})()"


ODD = [odd(index="2**62"), odd(index="1"), odd(index="'a'"), odd(index="1 // 0"), odd(float="float('nan')")]
ODD += [
    odd(float="None"),
    odd(len="2**62", getitem="range(3)[_[1]]"),
    odd(len="-1"),
    odd(len="3", getitem="[1.5][_[1]]"),
    odd(bool="None"),
]
ODD += [odd(iter="iter(int, 1)") + " and [0]", odd(eq="1 // 0", hash="0"), odd(array="'a'"), odd(dlpack="None")]
ODD += [
    "type('Odd', (int,), {'__index__': lambda s: 5})(2)",
    "type('Odd', (str,), {})('sum')",
    "type('Odd', (list,), {})()",
]
ODD += [
    "type('Odd', (), {'__torch_function__': classmethod(lambda *_: 1)})()",
    "type('Odd', (), {'requires_grad': 1})()",
]
ODD += [
    "type('Odd', (), {'__array_interface__': {'shape': (9,), 'typestr': '<f4', 'data': (0, False), 'version': 3}})()"
]

VALUES = [INTEGERS, HUGE, NUMBERS, WORDS, CONTAINERS, NAMES, ARRAYS, ODD]
WEIGHTS = [5, 4, 4, 2, 5, 4, 2, 2]

# Keywords that many calls know, and one that none does.
KEYWORDS = [
    "out",
    "dim",
    "keepdim",
    "dtype",
    "device",
    "requires_grad",
    "generator",
    "layout",
    "memory_format",
    "reduction",
]
KEYWORDS += [
    "alpha",
    "axis",
    "input",
    "self",
    "other",
    "size",
    "weight",
    "bias",
    "padding",
    "stride",
    "inplace",
    "bogus",
]


def value(random):
    """A value that is mostly not a tensor."""
    kind = random.randrange(12)
    if kind < 9:
        return random.choice(random.choices(VALUES, WEIGHTS)[0])
    if kind == 9:
        return tensors(random)
    return tensor(random)


def integer(random):
    return random.choice(HUGE if random.random() < 0.4 else INTEGERS)


def shape(random):
    return random.choice(ODD_SHAPES if random.random() < 0.2 else SHAPES)


def sizes(random):
    """Sizes to ask for; few of them can be had."""
    picked = [
        integer(random) if random.random() < 0.3 else str(random.randrange(5)) for _ in range(random.randrange(4))
    ]
    return f"[{', '.join(picked)}]"


def tensors(random):
    """A list of tensors, some of which require grad, or nearly one."""
    items = [tensor(random, shape=random.choice([(2, 3), (3,), (3, 3)])) for _ in range(random.randrange(4))]
    if random.random() < 0.3:
        items.append(random.choice([*INTEGERS, "None", "[]", "'a'"]))
    return f"[{', '.join(items)}]" if random.random() < 0.8 else f"({', '.join(items)}{',' * bool(items)})"


def tensor(random, shape=None, dtype=None):
    """A tensor: its numbers, then its layout, then what it is to autograd."""
    shape = random.choice(ODD_SHAPES if random.random() < 0.2 else SHAPES) if shape is None else shape
    dtype = dtype or random.choice(DTYPES if random.random() < 0.5 else FLOATS)
    return state(random, layout(random, numbers(random, shape, dtype), len(shape)), dtype)


def numbers(random, shape, dtype):
    if random.random() < 0.15:
        fill = random.choice(["float('nan')", "float('inf')", "1e30", "0.0", "-1.0"])
        if "int" in dtype or dtype == "bool":
            fill = random.choice({"int64": ["-2**63", "2**63 - 1", "2**40", "-1"]}.get(dtype, ["0", "1"]))
        return f"torch.full({shape}, {fill}, dtype=torch.{dtype})"
    count = 1
    for size in shape:
        count *= size
    first = random.choice(["", "", "1, ", "-2, "]) if dtype not in ("uint8", "bool") else ""
    step = f"torch.arange({first}{count + int((first or '0')[:2].strip(', '))})"
    return f"{step}.reshape({shape}).to(torch.{dtype})"


def layout(random, text, ndim):
    """A view of a tensor, mostly the tensor itself."""
    if random.random() < 0.6:
        return text
    views = [
        ".unsqueeze(0)",
        "[None].expand(2, *[-1] * " + str(ndim) + ")",
        ".detach()",
    ]
    if ndim:
        views += [
            "[1:]",
            "[..., ::2]",
            "[:1].expand(3, *[-1] * " + str(ndim - 1) + ")",
            ".unfold(0, 1, 1)",
            ".squeeze()",
        ]
        views += [
            ".flip(0)",
            ".as_strided((2, 2), (0, 0))",
            ".as_strided((2, 2), (1, 1))",
            "[0]",
            "[-1:]",
            ".T[:]" if ndim == 2 else "[:0]",
        ]
    if ndim > 1:
        views += [
            ".transpose(0, 1)",
            ".transpose(-1, 0)[..., 1:]",
            ".mT",
            ".diagonal()",
            ".flatten()",
            ".movedim(0, -1)",
        ]
    return text + random.choice(views)


def state(random, text, dtype):
    """What the tensor is to autograd, and where it lives."""
    choice = random.random()
    if choice < 0.5:
        return text
    if choice < 0.55:
        return f"{text}.to('meta')"
    if choice < 0.58:
        return f"{text}.as_subclass(type('Sub', (torch.Tensor,), {{}}))"
    if choice < 0.60:
        return f"torch.inference_mode()(lambda: {text})()"
    if choice < 0.62:
        return f"{text}.to_sparse()" + random.choice(["", ".mul(2)", ".t()", "[0]", ".detach()._coalesced_(False)"])
    if "float" not in dtype and "complex" not in dtype:
        return text
    leaf = f"{text}.detach().requires_grad_()"
    forms = [
        leaf,
        leaf,
        leaf,
        f"{leaf}.clone()",
        f"{leaf}.view(-1)",
        f"{leaf}.unsqueeze(0)[0]",
        f"torch.nn.Parameter({text})",
    ]
    forms += [f"torch.no_grad()(lambda: {leaf}[...])()", f"{leaf}.detach()", f"{leaf}.expand_as({text})"]
    return random.choice(forms)
