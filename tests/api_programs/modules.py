"""Programs for torch.nn: modules and their methods, initialisation and utilities."""

import copy

from .operators import seeded, signal
from .tensor import block, leaf, row, square


def layer(name, make_input, *args, call=lambda module, x: module(x), **kwargs):
    """A module made and called under one seed: its result, its state, and the gradient of its input."""

    def program(L):
        L.manual_seed(0)
        module = getattr(L.nn, name)(*args, **kwargs)
        x = make_input(L).requires_grad_()
        result = call(module, x)
        total = (result if isinstance(result, L.Tensor) else result[0]).sum()
        total.backward()
        with L.no_grad():  # the nodes of layers may go by other names
            L.manual_seed(0)
            result = call(module, x)
        return result, x.grad, dict(module.state_dict()), repr(module)

    program.reads = name
    return program


def loss(name, target, make_input=leaf):
    """A loss and the gradient of its input."""

    def program(L):
        x = make_input(L).detach().requires_grad_()
        value = getattr(L.nn, name)()(x, target(L))
        value.backward()
        return value, x.grad

    program.reads = name
    return program


def image(dims):
    return lambda L: signal(L, 2, 6, dims)


def net(L):
    L.manual_seed(1)
    return L.nn.Sequential(L.nn.Linear(2, 3), L.nn.BatchNorm1d(3), L.nn.ReLU(), L.nn.Linear(3, 1))


def own_module(L):
    class Net(L.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = L.nn.Linear(2, 2)
            self.scale = L.nn.Parameter(L.ones(2))
            self.register_buffer("count", L.zeros(1))
            self.register_parameter("none", None)
            self.add_module("last", L.nn.Linear(2, 1))

        def forward(self, x):
            return self.last(self.first(x) * self.scale)

    L.manual_seed(2)
    return Net()


def of_module(use):
    """What `use` gives for a module of one's own, called and differentiated before."""

    def program(L):
        module = own_module(L)
        module(square(L)).sum().backward()
        return use(L, module)

    program.reads = use.__code__
    return program


def hooks(L):
    seen = []
    module = net(L)
    handle = module[0].register_forward_hook(lambda m, args, out: seen.append((type(m).__name__, out.shape)))
    full = module.register_full_backward_hook(lambda m, gin, gout: seen.append([g.shape for g in gout]))
    module(square(L)).sum().backward()
    handle.remove()
    full.remove()
    module(square(L)).sum().backward()
    return [list(map(str, item)) for item in seen]


def load(L):
    module, other = own_module(L), own_module(L)
    state = {name: value + 1 for name, value in module.state_dict().items()}
    keys = other.load_state_dict(state)
    return dict(other.state_dict()), repr(keys), list(state)


def lists(L):
    layers = L.nn.ModuleList([L.nn.ReLU()])
    layers.append(L.nn.Tanh())
    named = L.nn.ModuleDict({"a": L.nn.Identity()})
    named["b"] = L.nn.Linear(1, 1)
    return repr(layers), len(layers), repr(named), list(named), "b" in named


def sequence_input(L):
    return (L.arange(12.0).reshape(3, 2, 2) % 5) / 5


def initialised(name, *args, **kwargs):
    def program(L):
        L.manual_seed(4)
        return getattr(L.nn.init, name)(L.empty(4, 4), *args, **kwargs)

    program.reads = name
    return program


def clip(L):
    x = leaf(L)
    (x * x * 10).sum().backward()
    return L.nn.utils.clip_grad_norm_([x], 1.0), x.grad


def transformer(L):
    L.manual_seed(0)
    model = L.nn.Transformer(4, 2, 1, 1, 8, dropout=0.0, batch_first=True)
    x = block(L)[:, :2] / 10
    return model(x, x), sorted(model.state_dict())


def parallel(L):
    L.manual_seed(0)
    model = L.nn.parallel.DataParallel(L.nn.Linear(2, 1))
    return model(square(L)), list(model.state_dict()), repr(model), model.device_ids


def base_loss(L):
    class Distance(L.nn.modules.loss._Loss):
        def forward(self, a, b):
            return (a - b).abs().sum() if self.reduction == "sum" else (a - b).abs().mean()

    return Distance()(row(L), L.zeros(3)), Distance(reduction="sum").reduction


def recurrent_base(L):
    return issubclass(L.nn.LSTM, L.nn.RNNBase), L.nn.RNNBase("GRU", 2, 3).all_weights[0][0].shape


def forwards(L):
    """Modules whose forward() is called by name, as subclasses do."""
    L.manual_seed(0)
    conv, pool = L.nn.Conv2d(2, 3, 3), L.nn.MaxPool2d(2)
    return (
        L.nn.Conv2d.forward(conv, signal(L, dims=2)),
        L.nn.MaxPool2d.forward(pool, signal(L, dims=2)),
        L.nn.ReLU.forward(L.nn.ReLU(), row(L)),
        L.nn.Linear.forward(L.nn.Linear(2, 1), square(L)),
        L.nn.Sequential.forward(L.nn.Sequential(L.nn.Tanh()), row(L)),
    )


PROGRAMS = {
    "nn": lambda L: repr(L.nn.Sequential(L.nn.Linear(1, 2))),
    "nn.functional": lambda L: L.nn.functional.relu(row(L)),
    "nn.init": lambda L: L.nn.init.zeros_(row(L)),
    "nn.utils": clip,
    "nn.utils.clip_grad_norm_": clip,
    "nn.utils.rnn.pad_sequence": lambda L: L.nn.utils.rnn.pad_sequence([row(L), row(L)[:1]], batch_first=True),
    "nn.parallel.DataParallel": parallel,
    "nn.Parameter": lambda L: (L.nn.Parameter(row(L)), repr(L.nn.Parameter(row(L), requires_grad=False))),
    "nn.Module": lambda L: (own_module(L)(square(L)), repr(own_module(L))),
    "nn.Module.add_module": of_module(lambda L, m: (m.add_module("more", L.nn.ReLU()), repr(m))),
    "nn.Module.apply": of_module(
        lambda L, m: (m.apply(lambda one: setattr(one, "seen", True)) is m, m.first.seen and m.seen)
    ),
    "nn.Module.buffers": of_module(lambda L, m: list(m.buffers())),
    "nn.Module.children": of_module(lambda L, m: [repr(child) for child in m.children()]),
    "nn.Module.double": of_module(lambda L, m: [str(p.dtype) for p in m.double().parameters()]),
    "nn.Module.eval": of_module(lambda L, m: (m.eval() is m, m.training, m.first.training)),
    "nn.Module.load_state_dict": load,
    "nn.Module.modules": of_module(lambda L, m: [type(one).__name__ for one in m.modules()]),
    "nn.Module.named_children": of_module(lambda L, m: [name for name, _ in m.named_children()]),
    "nn.Module.named_modules": of_module(lambda L, m: [name for name, _ in m.named_modules(prefix="x")]),
    "nn.Module.named_parameters": of_module(lambda L, m: dict(m.named_parameters())),
    "nn.Module.parameters": of_module(lambda L, m: (list(m.parameters()), [p.grad for p in m.parameters()])),
    "nn.Module.register_buffer": of_module(
        lambda L, m: (m.register_buffer("more", L.ones(1), persistent=False), m.more, list(m.state_dict()))
    ),
    "nn.Module.register_forward_hook": hooks,
    "nn.Module.register_full_backward_hook": hooks,
    "nn.Module.register_parameter": of_module(
        lambda L, m: (m.register_parameter("more", L.nn.Parameter(L.ones(1))), list(m.state_dict()))
    ),
    "nn.Module.state_dict": of_module(lambda L, m: dict(m.state_dict())),
    "nn.Module.to": of_module(lambda L, m: (m.to(L.float64) is m, m.to("cpu").scale, copy.deepcopy(m).to("cpu").scale)),
    "nn.Module.train": of_module(lambda L, m: (m.eval().train() is m, m.training, m.train(False).first.training)),
    "nn.Module.zero_grad": of_module(lambda L, m: (m.zero_grad(), [p.grad for p in m.parameters()])),
    "nn.ModuleDict": lists,
    "nn.ModuleList": lists,
    "nn.ModuleList.append": lists,
    "nn.Conv2d.forward": forwards,
    "nn.Linear.forward": forwards,
    "nn.MaxPool2d.forward": forwards,
    "nn.ReLU.forward": forwards,
    "nn.Sequential.forward": forwards,
    "nn.Sequential": lambda L: (net(L)(square(L)), repr(net(L)), len(net(L)), repr(net(L)[1:3])),
    "nn.RNNBase": recurrent_base,
    "nn.modules.loss._Loss": base_loss,
    "nn.modules.utils._pair": lambda L: (L.nn.modules.utils._pair(3), L.nn.modules.utils._pair((1, 2))),
    "nn.modules.utils._single": lambda L: L.nn.modules.utils._single(3),
    "nn.modules.utils._triple": lambda L: L.nn.modules.utils._triple(3),
    "nn.AdaptiveAvgPool1d": layer("AdaptiveAvgPool1d", image(1), 4),
    "nn.AdaptiveAvgPool2d": layer("AdaptiveAvgPool2d", image(2), (2, 3)),
    "nn.AdaptiveAvgPool3d": layer("AdaptiveAvgPool3d", image(3), 1),
    "nn.AvgPool1d": layer("AvgPool1d", image(1), 2),
    "nn.AvgPool2d": layer("AvgPool2d", image(2), 3, stride=2),
    "nn.AvgPool3d": layer("AvgPool3d", image(3), 2),
    "nn.BCELoss": loss("BCELoss", lambda L: L.tensor([0.0, 1.0]), lambda L: leaf(L).sigmoid()),
    "nn.BCEWithLogitsLoss": loss("BCEWithLogitsLoss", lambda L: L.tensor([0.0, 1.0])),
    "nn.BatchNorm1d": layer("BatchNorm1d", lambda L: square(L), 2),
    "nn.BatchNorm2d": layer("BatchNorm2d", image(2), 2),
    "nn.BatchNorm3d": layer("BatchNorm3d", image(3), 2),
    "nn.Conv1d": layer("Conv1d", image(1), 2, 3, 3),
    "nn.Conv2d": layer("Conv2d", image(2), 2, 4, 3, stride=2, padding=1, groups=2),
    "nn.Conv3d": layer("Conv3d", image(3), 2, 2, 2, bias=False),
    "nn.ConvTranspose1d": layer("ConvTranspose1d", image(1), 2, 3, 2),
    "nn.ConvTranspose2d": layer("ConvTranspose2d", image(2), 2, 1, 3, stride=2, output_padding=1),
    "nn.ConvTranspose3d": layer("ConvTranspose3d", image(3), 2, 1, 2),
    "nn.CrossEntropyLoss": loss("CrossEntropyLoss", lambda L: L.tensor([1, 0]), square),
    "nn.Dropout": layer("Dropout", lambda L: L.ones(30), 0.3),
    "nn.Dropout2d": layer("Dropout2d", image(2)),
    "nn.ELU": layer("ELU", row),
    "nn.Embedding": lambda L: seeded(L, lambda: L.nn.Embedding(5, 3, padding_idx=0)(L.tensor([[0, 4]]))),
    "nn.Flatten": layer("Flatten", image(2)),
    "nn.GELU": layer("GELU", row),
    "nn.GRU": layer("GRU", sequence_input, 2, 3),
    "nn.GroupNorm": layer("GroupNorm", image(1), 2, 2),
    "nn.Identity": layer("Identity", row),
    "nn.InstanceNorm2d": layer("InstanceNorm2d", image(2), 2),
    "nn.LSTM": layer("LSTM", sequence_input, 2, 3, num_layers=2, bidirectional=True),
    "nn.LSTMCell": layer("LSTMCell", square, 2, 3),
    "nn.LayerNorm": layer("LayerNorm", block, 4),
    "nn.LeakyReLU": layer("LeakyReLU", row, 0.2),
    "nn.Linear": layer("Linear", square, 2, 3),
    "nn.LogSigmoid": layer("LogSigmoid", row),
    "nn.MSELoss": loss("MSELoss", lambda L: L.zeros(2)),
    "nn.MaxPool1d": layer("MaxPool1d", image(1), 2),
    "nn.MaxPool2d": layer("MaxPool2d", image(2), 2),
    "nn.MaxPool3d": layer("MaxPool3d", image(3), 2),
    "nn.MultiheadAttention": layer(
        "MultiheadAttention", block, 4, 2, batch_first=True, call=lambda module, x: module(x, x, x)
    ),
    "nn.NLLLoss": loss("NLLLoss", lambda L: L.tensor([1, 0]), square),
    "nn.PixelShuffle": layer("PixelShuffle", lambda L: signal(L, 4, 3, 2), 2),
    "nn.RNN": layer("RNN", sequence_input, 2, 3, nonlinearity="relu"),
    "nn.ReLU": layer("ReLU", row),
    "nn.ReflectionPad2d": layer("ReflectionPad2d", image(2), 2),
    "nn.SELU": layer("SELU", row),
    "nn.SiLU": layer("SiLU", row),
    "nn.Sigmoid": layer("Sigmoid", row),
    "nn.Softmax": layer("Softmax", square, dim=1),
    "nn.Softplus": layer("Softplus", row),
    "nn.Tanh": layer("Tanh", row),
    "nn.Transformer": transformer,
    "nn.ZeroPad2d": layer("ZeroPad2d", image(2), (1, 2, 0, 1)),
    "nn.init.calculate_gain": lambda L: [L.nn.init.calculate_gain(n) for n in ("relu", "tanh", "linear")],
    "nn.init.constant_": initialised("constant_", 0.3),
    "nn.init.dirac_": lambda L: L.nn.init.dirac_(L.empty(3, 2, 3)),
    "nn.init.kaiming_normal_": initialised("kaiming_normal_", nonlinearity="relu"),
    "nn.init.normal_": initialised("normal_", mean=1.0, std=0.1),
    "nn.init.ones_": initialised("ones_"),
    "nn.init.orthogonal_": initialised("orthogonal_"),
    "nn.init.uniform_": initialised("uniform_", -0.1, 0.1),
    "nn.init.xavier_normal_": initialised("xavier_normal_", gain=2.0),
    "nn.init.xavier_uniform_": initialised("xavier_uniform_"),
    "nn.init.zeros_": initialised("zeros_"),
}
