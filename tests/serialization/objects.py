"""What the tests save: the same objects made in either library, and a description of them to compare."""

import io
import struct
import zipfile
from collections import Counter, OrderedDict

import torch

import adjoint

DTYPES = [
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
    "complex64",
    "complex128",
]


def described(value):
    """Plain data that says all about a value, tensors with their layout; equal for equal objects of both libraries."""
    kind = type(value).__name__
    if isinstance(value, adjoint.Tensor | torch.Tensor):
        data = "meta" if value.device.type == "meta" else value.detach().tolist()
        kind = "Parameter" if kind == "Parameter" else "Tensor"
        place = (tuple(value.shape), value.stride(), value.storage_offset(), value.requires_grad, value.is_leaf)
        attributes = {name: described(item) for name, item in value.__dict__.items() if name != "_is_buffer"}
        return (kind, str(value.dtype), repr(data), *place, attributes)
    if isinstance(value, dict):
        extra = described(vars(value)) if vars_of(value) else None
        return (kind, [(described(key), described(item)) for key, item in value.items()], extra)
    if isinstance(value, list | tuple):
        return (kind, [described(item) for item in value])
    return (kind, repr(value))


def vars_of(value):
    return getattr(value, "__dict__", None)


def saved(library, obj, **options):
    """The bytes of a file."""
    file = io.BytesIO()
    library.save(obj, file, **options)
    return file.getvalue()


def loaded(library, data, **options):
    return library.load(io.BytesIO(data), **options)


def tensors(L):
    """Layouts, sharing, gradients, attributes."""
    x = L.arange(24.0).reshape(4, 6)
    shared = L.arange(10)
    grad = L.ones(2, dtype=L.float64, requires_grad=True)
    parameter = L.nn.Parameter(x[:2])
    marked = L.nn.Parameter(L.zeros(1), requires_grad=False)
    marked.note = "kept"
    plain = L.ones(1)
    plain.tag = [1, 2]
    return {
        "dtypes": {name: L.tensor([0, 1, 1, 0]).to(getattr(L, name)) for name in DTYPES},
        "transposed": x.t(),
        "slices": [x[1:3, ::2], x[:, 5], x[3, 3]],
        "expanded": L.ones(1, 3).expand(4, 3),
        "empty": [L.empty(0), L.empty(0, 3), L.zeros(2, 0, dtype=L.int64)],
        "scalar": L.tensor(7),
        "channels_last": L.arange(24.0).reshape(1, 2, 3, 4).contiguous(memory_format=L.channels_last),
        "shared": (shared, shared[2:5], shared),
        "grad": grad,
        "computed": grad * 2,
        "parameter": parameter,
        "marked": marked,
        "attributes": plain,
        "buffer": L.nn.Buffer(L.ones(2)),
        "meta": L.empty(2, 3, device="meta"),
    }


def values(L):
    """Numbers, text, containers, and what describes tensors."""
    again = ["same"]
    return [
        (None, True, False, 0, 255, 256, 65535, 65536, -1, 2**31, -(2**31), 2**63, -(2**200), 2**2000),
        [0.0, -0.0, 1.5, float("inf"), 1e-320, 3j, complex(-0.0, float("inf"))],
        {"": "text", "é\U0001f600": "\ud800", 1: 2, None: 3, (1, "a", (2.5,)): 4, 1.5: 5, b"k": 6, L.float32: 7},
        [b"", b"ab\xff\0", bytearray(b"xyz"), bytearray()],
        [set(), {3}, (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [], {}],
        OrderedDict([("b", 1), ("a", again)]),
        Counter("abca"),
        [again, again],
        [L.Size([2, 3]), L.Size([]), L.float16, L.bool, L.device("cpu"), L.device("cpu", 0), L.strided],
        {f"key{i}": [i] for i in range(300)},
    ]


def checkpoint(L):
    """What training loops save: the state of a model and of an optimizer."""
    model = L.nn.Sequential(L.nn.Linear(3, 4), L.nn.Linear(4, 2))
    for parameter in model.parameters():
        parameter.data.copy_(L.arange(float(parameter.numel())).reshape(parameter.shape))
    state = {i: {"step": L.tensor(3.0), "exp_avg": p.detach() * 0.1} for i, p in enumerate(model.parameters())}
    groups = [{"lr": 1e-3, "betas": (0.9, 0.999), "params": list(range(4)), "fused": None, "amsgrad": False}]
    return {
        "model": model.state_dict(),
        "optimizer": {"state": state, "param_groups": groups},
        "epoch": 3,
        "best": 0.25,
    }


OBJECTS = {"tensors": tensors, "values": values, "checkpoint": checkpoint}


def archive(pickle_bytes, records=(), root="archive", compress=zipfile.ZIP_STORED):
    """A zip file around a pickle of one's own."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compress) as target:
        target.writestr(f"{root}/data.pkl", pickle_bytes)
        for name, data in {"version": b"3\n", "byteorder": b"little", **dict(records)}.items():
            target.writestr(f"{root}/{name}", data)
    return file.getvalue()


def tensor_pickle(count=6, offset=0, size=(6,), stride=(1,), key="0", location="cpu", storage="FloatStorage"):
    """The pickle of one tensor, whatever its numbers are."""

    def number(value):
        return b"\x8a\x08" + struct.pack("<q", value)

    def text(value):
        return b"X" + struct.pack("<I", len(value)) + value.encode()

    def sizes(values):
        return b"(" + b"".join(map(number, values)) + b"t"

    identifier = b"(" + text("storage") + b"ctorch\n" + storage.encode() + b"\n" + text(key) + text(location)
    identifier += number(count) + b"tQ"
    arguments = b"(" + identifier + number(offset) + sizes(size) + sizes(stride) + b"\x89ccollections\nOrderedDict\n)Rt"
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n" + arguments + b"R."
