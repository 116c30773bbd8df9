"""Programs for optimizers, autograd, data, files, mixed precision, devices, processes and the modules around them."""

import importlib
import io
import os

from ..compare import raised
from .modules import net
from .tensor import leaf, row, square


def module(path, *names):
    """A module, read for some of the names that programs find in it."""

    def program(L):
        found = L
        for part in path.split("."):
            found = getattr(found, part)
        return [callable(getattr(found, name)) for name in names]

    program.reads = path
    return program


def optimizer(name, **options):
    """Five steps of an optimizer on a small network."""

    def program(L):
        model = net(L).double()
        optimizer = getattr(L.optim, name)(model.parameters(), **options)

        def closure():
            optimizer.zero_grad()
            loss = (model(square(L).double()) ** 2).sum()
            loss.backward()
            return loss

        losses = [optimizer.step(closure).item() for _ in range(5)]
        return losses, repr(optimizer), sorted(optimizer.state_dict()["param_groups"][0])

    program.reads = name
    return program


def own_optimizer(L):
    class Plain(L.optim.Optimizer):
        def __init__(self, params, lr=0.1):
            super().__init__(params, {"lr": lr})

        def step(self, closure=None):
            with L.no_grad():
                for group in self.param_groups:
                    for p in group["params"]:
                        p.add_(p.grad, alpha=-group["lr"])

    x = leaf(L)
    (x * x).sum().backward()
    optimizer = Plain([x])
    optimizer.step()
    home = importlib.import_module(f"{L.__name__}.optim.optimizer")
    return x, repr(optimizer), home.Optimizer is L.optim.Optimizer


def schedule(make):
    """The learning rates that a scheduler sets."""

    def program(L):
        optimizer = L.optim.SGD([leaf(L)], lr=1.0)
        scheduler = make(L.optim.lr_scheduler, optimizer)
        rates = []
        for _ in range(6):
            optimizer.step()
            scheduler.step()
            rates.append(scheduler.get_last_lr()[0])
        return rates, isinstance(scheduler, L.optim.lr_scheduler.LRScheduler)

    program.reads = make.__code__
    return program


def own_function(L):
    class Cube(L.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            assert isinstance(ctx, L.autograd.function.FunctionCtx)
            ctx.save_for_backward(x)
            ctx.factor = factor
            return factor * x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * ctx.factor * x**2 * g, None

    x = leaf(L)
    y = Cube.apply(x, 2.0)
    y.sum().backward()
    return y.detach(), x.grad


def batches(L):
    class Squares(L.utils.data.Dataset):
        def __len__(self):
            return 5

        def __getitem__(self, index):
            return L.tensor(float(index**2)), index

    L.manual_seed(0)
    data = Squares()
    loader = L.utils.data.DataLoader(data, batch_size=2, shuffle=True)
    again = L.utils.data.dataloader.DataLoader(data, batch_size=2, drop_last=True)
    order = list(L.utils.data.RandomSampler(data))
    return list(loader), len(loader), list(again), order


def files(L):
    buffer = io.BytesIO()
    L.save({"x": row(L), "n": [1, "a"]}, buffer)
    buffer.seek(0)
    return L.load(buffer)


def scaler(L):
    L.manual_seed(0)
    model = L.nn.Linear(2, 1)
    optimizer = L.optim.SGD(model.parameters(), lr=0.01)
    scaler = L.GradScaler("cpu", init_scale=4.0)
    found = []
    for _ in range(2):
        with L.amp.autocast("cpu"):
            loss = model(square(L)).sum()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        found.append(model.weight.grad.clone())
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    return str(loss.dtype), found, scaler.get_scale(), model.weight


def handles(L):
    x = leaf(L)
    handle = x.register_hook(lambda g: g * 10)
    assert isinstance(handle, L.utils.hooks.RemovableHandle)
    (2 * x).sum().backward()
    handle.remove()
    (2 * x).sum().backward()
    return x.grad


def flags(L):
    cudnn = L.backends.cudnn
    before = cudnn.benchmark, cudnn.deterministic, cudnn.enabled, cudnn.is_available(), cudnn.version()
    # By the context alone: once its own test tools have been imported, torch refuses plain assignments.
    with cudnn.flags(enabled=False, benchmark=True, deterministic=True):
        inside = cudnn.benchmark, cudnn.deterministic, cudnn.enabled
    return before, inside, cudnn.benchmark, cudnn.deterministic


def matmul_flags(L):
    matmul = L.backends.cuda.matmul
    before = matmul.allow_tf32
    matmul.allow_tf32 = True
    after = matmul.allow_tf32
    matmul.allow_tf32 = before
    return before, after, L.backends.cuda.is_built()


def trees(L):
    pytree = L.utils._pytree
    tree = {"a": row(L), "b": [1, (square(L), None)]}
    leaves, spec = pytree.tree_flatten(tree)
    return (
        leaves,
        repr(spec),
        pytree.tree_unflatten(leaves, spec),
        pytree.tree_map(lambda x: x * 2 if isinstance(x, L.Tensor) else x, tree),
    )


def functional_call(L):
    model = L.nn.Linear(2, 1)
    return L.func.functional_call(model, {"weight": L.ones(1, 2), "bias": L.zeros(1)}, (square(L),))


def cuda(L):
    L.cuda.manual_seed_all(0)
    L.cuda.empty_cache()
    device = L.device("cuda" if L.cuda.is_available() else "cpu")
    return str(device), L.cuda.is_available(), L.cuda.device_count(), L.cuda.memory_allocated()


def without_torch_function(L):
    class Plain(L.Tensor):
        __torch_function__ = L._C._disabled_torch_function_impl

    return type(Plain([1.0]) + 1) is L.Tensor, Plain([1.0, 2.0]).sum()


def graphs(L):
    class Calls(L.fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return False

    net = L.nn.Sequential(L.nn.ReLU())
    graph = Calls().trace(net)
    gm = L.fx.GraphModule(net, graph)
    nodes = [node.name for node in graph.nodes if isinstance(node, L.fx.Node)]
    made = L.fx.Graph()
    made.output(made.call_function(L.relu, (made.placeholder("x"),)))
    return gm(L.tensor([-1.0, 1.0])), nodes, str(made), made.python_code("self").src


def scripted(L):
    """A function and a module, compiled where there is a compiler."""

    @L.jit.script
    def scaled(x, factor: float):
        return x * factor if factor > 0 else -x

    L.manual_seed(0)
    model = L.jit.script(L.nn.Linear(2, 1))
    x = square(L).requires_grad_()
    y = model(scaled(x, 2.0)) + scaled(x, -1.0).sum()
    y.sum().backward()
    return y.detach(), x.grad, sorted(model.state_dict()), isinstance(model, L.jit.ScriptModule)


def in_graph(L):
    @L._dynamo.allow_in_graph
    def opaque(x):
        return (x * x).sum()

    x = leaf(L)
    opaque(x).backward()
    return x.grad, opaque.__name__


def one_of_many(L):
    """A training script for any number of processes, run as the only one: no group is made, and none can be ended.

    That groups of several processes are refused is in tests/test_distributed_names.py.
    """
    many = int(os.environ.get("WORLD_SIZE", "1")) > 1
    if many:
        L.distributed.init_process_group("gloo")
    model = net(L)
    if many:
        model = L.nn.parallel.DistributedDataParallel(model)
    loss = model(square(L)).sum()
    loss.backward()
    wrapped = isinstance(model, L.nn.parallel.DistributedDataParallel)
    plain = model.module if wrapped else model
    ended = raised(L.distributed.destroy_process_group)
    unwrappable = raised(lambda: L.nn.parallel.DistributedDataParallel(model))
    return L.distributed.is_initialized(), loss.detach(), [p.grad for p in plain.parameters()], ended, unwrappable


PROGRAMS = {
    "_C._disabled_torch_function_impl": without_torch_function,
    "_dynamo.allow_in_graph": in_graph,
    "amp.autocast": scaler,
    "GradScaler.scale": scaler,
    "GradScaler.step": scaler,
    "GradScaler.unscale_": scaler,
    "GradScaler.update": scaler,
    "autograd": module("autograd", "grad", "backward", "Function"),
    "autograd.Function": own_function,
    "autograd.Function.apply": own_function,
    "autograd.function.FunctionCtx": own_function,
    "autograd.functional.vjp": lambda L: L.autograd.functional.vjp(lambda x: x**2, row(L), L.ones(3)),
    "autograd.grad": lambda L: (lambda x: L.autograd.grad((x**3).sum(), x, create_graph=True))(leaf(L)),
    "backends": module("backends.cudnn", "is_available"),
    "backends.cudnn": flags,
    "backends.cuda": matmul_flags,
    "backends.cuda.matmul": matmul_flags,
    "compiler": module("compiler", "is_compiling", "disable"),
    "compiler.allow_in_graph": lambda L: L.compiler.allow_in_graph(abs)(-2),
    "compiler.is_exporting": lambda L: L.compiler.is_exporting(),
    "cuda": cuda,
    "cuda.is_available": cuda,
    "cuda.amp": module("cuda.amp", "autocast", "GradScaler"),
    "cuda.amp.GradScaler": lambda L: L.cuda.amp.GradScaler().is_enabled(),
    "distributed.destroy_process_group": one_of_many,
    "distributed.init_process_group": one_of_many,
    "fft": module("fft", "fft", "ifft", "rfft"),
    "linalg": module("linalg", "solve", "svd", "norm"),
    "func.functional_call": functional_call,
    "func.grad_and_value": lambda L: L.func.grad_and_value(lambda x: (x**3).sum())(square(L)),
    "func.jacrev": lambda L: L.func.jacrev(lambda x: x.sum(0) ** 2)(square(L)),
    "func.stack_module_state": lambda L: L.func.stack_module_state([L.nn.LayerNorm(2), L.nn.LayerNorm(2)])[0],
    "func.vmap": lambda L: L.func.vmap(lambda x: x.sum() * x)(square(L)),
    "fx.Graph": graphs,
    "fx.GraphModule": graphs,
    "fx.Node": graphs,
    "fx.Tracer": graphs,
    "jit": module("jit", "script", "trace", "ignore"),
    "jit.script": scripted,
    "load": files,
    "save": files,
    "nn.parallel.DistributedDataParallel": one_of_many,
    "optim": module("optim", "SGD", "Adam"),
    "optim.ASGD": optimizer("ASGD"),
    "optim.Adadelta": optimizer("Adadelta"),
    "optim.Adagrad": optimizer("Adagrad", lr=0.05),
    "optim.Adam": optimizer("Adam", lr=0.01, betas=(0.8, 0.99)),
    "optim.AdamW": optimizer("AdamW", weight_decay=0.1),
    "optim.Adamax": optimizer("Adamax"),
    "optim.LBFGS": optimizer("LBFGS", max_iter=3),
    "optim.Optimizer": own_optimizer,
    "optim.optimizer.Optimizer": own_optimizer,
    "optim.RMSprop": optimizer("RMSprop", momentum=0.5),
    "optim.Rprop": optimizer("Rprop"),
    "optim.SGD": optimizer("SGD", lr=0.01, momentum=0.9, nesterov=True),
    "optim.lr_scheduler": module("optim.lr_scheduler", "StepLR", "LambdaLR"),
    "optim.lr_scheduler.CosineAnnealingLR": schedule(lambda s, optimizer: s.CosineAnnealingLR(optimizer, T_max=4)),
    "optim.lr_scheduler.LRScheduler.step": schedule(lambda s, optimizer: s.LambdaLR(optimizer, lambda n: 0.9**n)),
    "optim.lr_scheduler.StepLR": schedule(lambda s, optimizer: s.StepLR(optimizer, step_size=2, gamma=0.5)),
    "utils": module("utils.data", "DataLoader"),
    "utils.data": batches,
    "utils.data.DataLoader": batches,
    "utils.data.Dataset": batches,
    "utils.data.RandomSampler": batches,
    "utils.data.dataloader.DataLoader": batches,
    "utils._pytree.tree_flatten": trees,
    "utils._pytree.tree_map": trees,
    "utils._pytree.tree_unflatten": trees,
    "utils.hooks.RemovableHandle": handles,
}
