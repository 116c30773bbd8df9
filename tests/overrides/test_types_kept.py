"""Tensors of a subclass that says nothing of `__torch_function__`: what keeps its type, against torch."""

import copy
import io
import pickle
import weakref

import numpy as np

import adjoint

from ..compare import LIBRARIES, SUMS, programs

# Training is products, whose rounding depends on the machine; torch warns of old methods of NumPy, which it has.
program, test_program = programs(bound=SUMS, warned=None)

# Pickle finds classes by their names: one for each library.
CLASSES = {L: type(f"Kept{place}", (L.Tensor,), {"__module__": __name__}) for place, L in enumerate(LIBRARIES)}
globals().update({kind.__name__: kind for kind in CLASSES.values()})


def kept(L, *values, grad=False):
    return L.tensor(values or (1.0, 2.0, 3.0)).as_subclass(CLASSES[L]).requires_grad_(grad)


def kinds(*values):
    """The classes of values, those of lists one by one; which library's subclass it is does not matter."""
    return [kinds(*v) if isinstance(v, list | tuple) else type(v).__name__.rstrip("01") for v in values]


@program
def arithmetic_and_functions(L):
    x, p, F = kept(L), L.ones(3), L.nn.functional
    values = [x + 1, 1 + x, x + p, p + x, x - p, 2 / x, x**2, 2**x, x @ p, p @ x, -x, abs(x), x == p, x > 1, ~(x > 1)]
    values += [x.exp(), L.exp(x), F.relu(x), F.softmax(x, 0), L.where(x > 1, p, x), L.cat([p, x]), L.stack((x, p))]
    values += [F.linear(p, x[None]), F.mse_loss(p, x), x.sum(), x.mean(), x.norm(), L.linalg.norm(x), L.fft.fft(x)]
    return kinds(*values)


@program
def views_and_indices(L):
    x = kept(L)
    m = L.ones(2, 3).as_subclass(type(x))
    values = [x[0], x[1:], x[None], x[...], x[x > 1], x[[0, 1]], x[L.tensor([0])], L.ones(3)[x > 1], x.view(3, 1)]
    values += [m.T, m.mT, m.t(), x.data, x.detach(), x.clone(), x.expand(2, 3), m.unbind(), m.split(1), list(m)]
    values += [L.split(m, 1), m.chunk(2), m.real, x.reshape(-1), x.contiguous(), x.squeeze(), m.diagonal()]
    return kinds(*values), kinds(x[1:]._base), x[1:]._base is x


@program
def several_results(L):
    m = L.rand(3, 3).as_subclass(CLASSES[L])
    values = [m.max(0), m.sort(), m.topk(1), L.linalg.qr(m), m.min(1).values, L.meshgrid(m[0], m[1], indexing="ij")]
    return kinds(*values), [type(v).__name__.rstrip("01") for v in values]


@program
def what_is_no_tensor(L):
    x = kept(L)
    values = [x.shape, x.size(0), x.dim(), x.dtype, x.device, x.tolist(), x[0].item(), x.numpy(), x.is_leaf, len(x)]
    return kinds(*values), kinds(
        x.numel(), x.stride(), x.data_ptr() > 0, x.requires_grad, x.grad, x.grad_fn, x.itemsize
    )


@program
def in_place_and_out(L):
    x, p, out = kept(L), L.ones(3), L.empty(3)
    values = [x.add_(1), x.mul_(p), x.zero_(), x.copy_(p), L.add(x, 1, out=out), L.add(p, 1, out=x), x.fill_(2)]
    same = [x.add_(1) is x, L.add(p, 1, out=x) is x]
    y = x
    y += 1
    x[0] = 5
    p[0] = x[1]
    return kinds(*values, y, p), same, y is x, x.tolist(), p.tolist()


@program
def casts(L):
    x = kept(L)
    values = [x.double(), x.to(L.int64), x.float(), x.cpu(), x.to(L.ones(1)), x.type(L.float64), x.half(), x.to("cpu")]
    return kinds(*values), x.float() is x


@program
def new_ones(L):
    x = kept(L)
    values = [L.zeros_like(x), L.ones_like(x), L.rand_like(x), L.empty_like(x), L.full_like(x, 2), x.new_zeros(2)]
    values += [x.new_tensor([1.0]), x.new_ones(1), x.new_full((1,), 2.0), x.new_empty(1), L.as_tensor(x)]
    return kinds(*values)


@program
def backward_pass(L):
    x = kept(L, grad=True)
    seen = []
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: seen.append(kinds(g)))
    x.register_hook(lambda g: seen.append(kinds(g)))
    (y * y).sum().backward()
    return kinds(x.grad, y.grad, y), seen, x.grad.tolist(), y.grad_fn.name(), x.is_leaf


@program
def gradients_of_gradients(L):
    x = kept(L, grad=True)
    (g,) = L.autograd.grad((x**3).sum(), x, create_graph=True)
    (h,) = L.autograd.grad(g.sum(), x)
    return kinds(g, h), h.tolist()


@program
def assigned_gradients(L):
    x, p = kept(L, grad=True), L.ones(3, requires_grad=True)
    x.grad, p.grad = L.ones(3), kept(L)
    return kinds(x.grad, p.grad)


@program
def copies(L):
    x = kept(L)
    x.note = "kept"
    leaf = kept(L, grad=True)
    leaf.sum().backward()
    shallow, of_leaf = copy.copy(x), copy.copy(leaf)
    facts = [shallow.note, shallow.data_ptr() == x.data_ptr(), of_leaf.requires_grad]
    return kinds(shallow, of_leaf, of_leaf.grad), facts


def test_deep_copies():
    """torch refuses them unless the class has a `new_empty` of its own."""
    x, leaf = kept(adjoint), kept(adjoint, grad=True)
    x.note = "kept"
    leaf.sum().backward()
    one, other, grown = copy.deepcopy([x, x, leaf])
    assert kinds(one, grown, grown.grad) == ["Kept", "Kept", "Tensor"]
    assert one is other
    assert (one.note, one.tolist(), one.data_ptr() == x.data_ptr()) == ("kept", x.tolist(), False)
    assert grown.requires_grad
    parameter = copy.deepcopy(adjoint.nn.Parameter(x))
    assert kinds(parameter) == ["Kept"]
    assert isinstance(parameter, adjoint.nn.Parameter)


@program
def pickles_and_files(L):
    x = kept(L)
    x.note = "kept"
    again = pickle.loads(pickle.dumps(x))
    file = io.BytesIO()
    L.save({"x": x, "view": x[1:]}, file)
    file.seek(0)
    loaded = L.load(file, weights_only=False)
    shared = loaded["x"].untyped_storage().data_ptr() == loaded["view"].untyped_storage().data_ptr()
    return kinds(again, *loaded.values()), again.note, loaded["x"].note, again.tolist(), shared


@program
def a_parameter_of_a_subclass(L):
    x = kept(L)
    p = L.nn.Parameter(x)
    frozen = L.nn.Parameter(x, requires_grad=False)
    facts = [isinstance(q, L.nn.Parameter) for q in (p, frozen, x, p * 2, p.detach())]
    return kinds(p, frozen, p * 2, p.data), facts, p.requires_grad, frozen.requires_grad, p.is_leaf


@program
def a_subclass_of_parameter(L):
    class Weight(L.nn.Parameter):
        pass

    w = Weight(L.ones(2))
    return (
        type(w).__name__,
        type(w * 2).__name__,
        type(w.detach()).__name__,
        isinstance(w, L.nn.Parameter),
        w.requires_grad,
    )


@program
def training(L):
    L.manual_seed(0)
    net = L.nn.Sequential(L.nn.Linear(3, 4), L.nn.Tanh(), L.nn.Linear(4, 1))
    net[0].weight = L.nn.Parameter(net[0].weight.detach().as_subclass(CLASSES[L]))
    optimizer = L.optim.Adam(net.parameters(), lr=0.1)
    x = L.linspace(0, 1, 12).reshape(4, 3).as_subclass(CLASSES[L])
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    state = net.state_dict()
    state_of_first = optimizer.state[net[0].weight]
    return losses, kinds(loss, *net.parameters(), *state.values(), net[0].weight.grad), kinds(*state_of_first.values())


@program
def state_dicts(L):
    net = L.nn.Linear(2, 2)
    net.register_buffer("kept", kept(L))
    net.load_state_dict({name: L.ones_like(value) for name, value in net.state_dict().items()})
    net.load_state_dict({name: value.as_subclass(CLASSES[L]) for name, value in net.state_dict().items()})
    net.double()
    return kinds(*net.state_dict().values(), *net.parameters(), net.kept), net.kept.tolist()


@program
def loaders(L):
    data = [(kept(L), 1), (kept(L), 2)]
    batch = next(iter(L.utils.data.DataLoader(data, batch_size=2)))
    rows = next(iter(L.utils.data.DataLoader(L.utils.data.TensorDataset(L.ones(4, 2).as_subclass(CLASSES[L])), 2)))
    return kinds(*batch), kinds(*rows), batch[0].shape, L.utils.data.default_collate([kept(L), kept(L)]).shape


@program
def numpy_beside(L):
    x = kept(L)
    values = [np.asarray(x), np.sin(x), np.add(x, 1), np.add(np.ones(3, np.float32), x), x + np.ones(3, np.float32)]
    values += [np.stack([x, x]), np.array(x, dtype=np.float64), np.multiply(x, x)]
    return kinds(*values), [np.asarray(v).tolist() for v in values], x.__array_priority__


@program
def printing(L):
    x = L.tensor([1.0, 2.0], requires_grad=True).as_subclass(type("Named", (L.Tensor,), {}))
    shown = [repr(x), str(x.detach()), f"{x.sum()}", repr(x.detach().double())]
    shown.append(L.Tensor.__repr__(x.detach(), tensor_contents="two numbers"))
    shown.append(L.Tensor.__repr__(L.ones(1, dtype=L.float64), tensor_contents="one"))
    return [text.replace("AliasBackward0", "?") for text in shown], repr([x.detach()])


@program
def methods_called_on_the_class(L):
    x = kept(L)
    values = [L.Tensor.add(x, 1), L.Tensor.exp(x), L.Tensor.__add__(x, 1), L.Tensor.T.__get__(x[None])]
    return kinds(*values, L.Tensor.shape.__get__(x)), kinds(type(x).add(x, x), type(x).relu(x))


@program
def attributes_and_references(L):
    x = kept(L)
    x.note = 1
    y = x + 1
    there = weakref.ref(x)
    facts = hasattr(y, "note"), hasattr(x[0], "note"), hasattr(x.detach(), "note"), there() is x
    del x
    return facts, there() is None


@program
def slots_and_constructors(L):
    class Slotted(L.Tensor):
        __slots__ = ("unit",)

        def __new__(cls, data, unit):
            self = L.Tensor._make_subclass(cls, L.as_tensor(data))
            self.unit = unit
            return self

    x = Slotted([1.0, 2.0], "m")
    y = x * 2
    return x.unit, type(y).__name__, hasattr(y, "unit"), y.tolist()


@program
def classes_that_watch_their_subclasses(L):
    made = []

    class Base(L.Tensor):
        def __init_subclass__(cls, /, tag=None, **options):
            super().__init_subclass__(**options)
            made.append((cls.__name__, tag))

    class Derived(Base, tag="d"):
        pass

    x = L.ones(2).as_subclass(Derived)
    return made, type(x + 1).__name__, type(x + L.ones(2).as_subclass(Base)).__name__


@program
def constructors_with_arguments(L):
    class Scaled(L.Tensor):
        @staticmethod
        def __new__(cls, data, scale, **options):
            return L.Tensor._make_subclass(cls, L.tensor(data), options.get("grad", False))

        def __init__(self, data, scale, **options):
            self.scale = scale

    x = Scaled([1.0], 3, grad=True)
    return x.scale, x.requires_grad, type(x * 2).__name__, type(Scaled([1.0], scale=2).clone()).__name__


@program
def the_class_itself_is_called(L):
    Named = type("Named", (L.Tensor,), {})
    return [(type(x).__name__, tuple(x.shape)) for x in (Named(2, 3), Named([1.0, 2.0]), Named(L.ones(2)), Named())]


@program
def conversions_back(L):
    x = kept(L)
    plain = x.as_subclass(L.Tensor)
    with L._C.DisableTorchFunctionSubclass():
        inside = x + 1
    return kinds(plain, plain + 1, inside), plain.data_ptr() == x.data_ptr(), isinstance(x, L.Tensor), L.is_tensor(x)
