"""Programs as tutorials and older repositories write them: their imports, their calls, their printed lines."""

import collections
import contextlib
import copy
import importlib
import io
import math
import pathlib
import random
import tempfile
import typing
import warnings
from functools import partial

import numpy as np


def module(torch, name):
    """A module of the library by the path that programs import it from."""
    return importlib.import_module(f"{torch.__name__}.{name}")


def named(torch, value):
    """What a program prints of a class or an object, with the library's name as PyTorch's and without addresses."""
    return str(value).replace(torch.__name__, "torch").split(" at 0x")[0]


def paths_of_imports(torch):
    """What programs import by path, the device they choose, and the names under which classes are printed."""
    nn, optim = torch.nn, torch.optim
    clones = module(torch, "nn.modules.transformer")._get_clones(nn.Linear(2, 2), 2)
    indent = module(torch, "nn.modules.module")._addindent("a\nb", 2)
    einsum = module(torch, "functional").einsum
    attention, x = nn.MultiheadAttention(4, 2), torch.ones(3)
    size = module(torch, "nn.common_types")._size_2_t
    device = torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"
    sampler = module(torch, "utils.data.distributed").DistributedSampler(range(10), num_replicas=3, rank=1, seed=3)
    sampler.set_epoch(2)
    optimizer = optim.SGD(clones.parameters(), lr=0.1)
    schedulers = [
        optim.lr_scheduler.StepLR(optimizer, 1),
        optim.lr_scheduler.CosineAnnealingLR(optimizer, 3),
        optim.lr_scheduler.OneCycleLR(optim.Adam(clones.parameters()), 0.1, total_steps=4),
    ]
    print(clones, indent, device, list(sampler), [named(torch, scheduler) for scheduler in schedulers])
    kinds = [nn.MultiheadAttention, type(attention.out_proj), optim.Muon, optim.Adafactor, type(sampler)]
    print([named(torch, kind) for kind in kinds], named(torch, torch.ones(1, requires_grad=True).register_hook(abs)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(nn.Container(act=nn.ReLU()), nn.Linear(1, 1).compile())
    others = [torch.xpu.is_available(), torch.mps.is_available(), torch.accelerator.device_count()]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "linear-0000.pth"
        torch.save(nn.Linear(2, 1).state_dict(), path)
        downloads = pathlib.Path(folder) / "a"
        with contextlib.redirect_stdout(io.StringIO()) as said:
            state = torch.hub.load_state_dict_from_url(path.as_uri(), model_dir=downloads, progress=False)
        print(said.getvalue().split(":")[0], list(state), [p.name for p in downloads.iterdir()])
        keep = module(torch, "serialization").default_restore_location
        found = torch.load(path, map_location=lambda storage, location: keep(storage, "cpu"))
    others += [torch.OutOfMemoryError is torch.cuda.OutOfMemoryError, isinstance(3, typing.get_args(size)[0])]
    return others, list(found), einsum("i,i", x, x)


def batches_of_own_types(torch):
    """Functions that collate the types of a program, through default_collate and for one loader only."""
    collate = module(torch, "utils.data._utils.collate")
    Box = collections.namedtuple("Box", "corner size")

    class Graph:
        def __init__(self, nodes):
            self.nodes = nodes

    def join(batch, *, collate_fn_map=None):
        ids = torch.cat([torch.full((len(graph.nodes),), i) for i, graph in enumerate(batch)])
        return torch.cat([graph.nodes for graph in batch]), ids

    samples = [
        {"graph": Graph(torch.arange(float(n))), "box": Box(np.zeros(2), (n, float(n))), "name": f"g{n}"}
        for n in (1, 3, 2)
    ]
    samples = [collections.defaultdict(list, sample) for sample in samples]
    collate.default_collate_fn_map[Graph] = join
    try:
        batch = next(iter(torch.utils.data.DataLoader(samples, batch_size=3)))
    finally:
        del collate.default_collate_fn_map[Graph]
    own = collate.collate(samples, collate_fn_map={Graph: join, (np.ndarray, tuple, str): lambda b, **_: len(b)})
    message = ""
    try:
        collate.default_collate(samples)
    except TypeError as error:
        message = str(error)[:70]
    return dict(batch), type(batch).__name__, type(batch["box"]).__name__, dict(own), message


def shapes_on_the_meta_device(torch):
    """A model laid out without memory, asked for its shapes, and filled from a checkpoint."""
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2))
            self.head = nn.Linear(36, 5)

        def forward(self, x):
            x = self.features(x)
            return self.head(nn.functional.dropout(x.flatten(1), 0.5, self.training))

    torch.manual_seed(0)
    trained = Net().eval()
    with torch.device("meta"):
        net = Net().eval()
    x = torch.empty(2, 3, 8, 8, device="meta")
    seen = [(type(m).__name__, list(m(x).shape)) for m in (net.features[:1], net.features, net)]
    y = x[:, 0].transpose(1, 2).softmax(-1).mean(0, keepdim=True)
    joined = torch.cat([y, y], 1).view(-1).topk(3).values
    for call in (lambda: x.tolist(), lambda: x.cpu(), lambda: x.nonzero(), lambda: net.to("cpu")):
        try:
            call()
        except NotImplementedError:
            seen.append("no data")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        net.load_state_dict(trained.state_dict())
    seen.append((len(caught), str(caught[0].message)[:90], net.head.weight.is_meta))
    net.load_state_dict(trained.state_dict(), assign=True)
    z = torch.randn(2, 3, 8, 8)
    empty = copy.deepcopy(trained).to("meta")
    print(y, joined, empty.head.weight, x + 1, x.max(1).indices.dtype)
    again = empty.to_empty(device="cpu")
    again.load_state_dict(trained.state_dict())
    shapes = [list(m(torch.empty(3, 5, 8, device="meta"))[0].shape) for m in (nn.LSTM(8, 4).to("meta"),)]
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, device="meta")
    shapes.append(list(layer(torch.empty(3, 5, 8, device="meta")).shape))
    return seen, shapes, net(z), again(z)


def optimizer_of_an_old_repository(torch):
    """RMSprop and Adam as written before 2020: numbers first in add_, addcmul_ and addcdiv_, grads through .data."""
    nn = torch.nn
    torch.manual_seed(1)

    class OldAdam(torch.optim.Optimizer):
        def __init__(self, params, lr=1e-2, betas=(0.9, 0.999), eps=1e-8, weight_decay=0):
            super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

        def step(self, closure=None):
            loss = None if closure is None else closure()
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    grad, state = p.grad.data, self.state[p]
                    if len(state) == 0:
                        state["step"] = 0
                        state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(p.data), torch.zeros_like(p.data)
                    state["step"] += 1
                    if group["weight_decay"] != 0:
                        grad = grad.add(group["weight_decay"], p.data)
                    beta1, beta2 = group["betas"]
                    state["exp_avg"].mul_(beta1).add_(1 - beta1, grad)
                    state["exp_avg_sq"].mul_(beta2).addcmul_(1 - beta2, grad, grad)
                    size = group["lr"] * math.sqrt(1 - beta2 ** state["step"]) / (1 - beta1 ** state["step"])
                    p.data.addcdiv_(-size, state["exp_avg"], state["exp_avg_sq"].sqrt().add_(group["eps"]))
            return loss

    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = OldAdam(model.parameters(), weight_decay=1e-2)
    x = torch.randn(16, 3)
    losses = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(5):
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            model.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        a, b = torch.eye(2), torch.ones(2, 2)
        products = [torch.addmm(2, a, 3, b, b), a.addmm(2, b, b), a.clone().addmm_(2, 3, b, b)]
        products += [torch.addmv(0.5, a[0], b, b[0]), a.sub(2, b), torch.addcmul(a, 0.5, b, b)]
    y = torch.ones(2, 3, 4, 4).to(memory_format=torch.channels_last)
    order = [y.is_contiguous(), y.is_contiguous(memory_format=torch.channels_last), (y + 1).stride()]
    return losses, products, order


def rows_of_a_jacobian(torch):
    """The Jacobian of a network from a batch of gradients, and a Poisson regression on drawn counts."""
    nn = torch.nn
    torch.manual_seed(2)
    net = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 4))
    x = torch.randn(3, requires_grad=True)
    y = net(x)
    (rows,) = torch.autograd.grad(y, x, torch.eye(4), is_grads_batched=True, create_graph=True)
    penalty = (rows @ rows.T - torch.eye(4)).pow(2).sum()
    weights = torch.autograd.grad(penalty, list(net.parameters()), allow_unused=True)
    whole = torch.autograd.functional.jacobian(net, x)
    inputs = torch.rand(200, 2, dtype=torch.float64)
    rates = torch.exp(1 + 2 * inputs[:, :1] - inputs[:, 1:])
    counts = torch.poisson(rates)
    small, large = torch.poisson(torch.full((6,), 0.7)), torch.poisson(torch.full((6,), 80.0))
    model = nn.Linear(2, 1).double()
    optimizer = torch.optim.Rprop(model.parameters(), lr=0.05)
    losses = []
    for _ in range(15):
        optimizer.zero_grad()
        loss = nn.functional.poisson_nll_loss(model(inputs), counts, log_input=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return rows, whole, penalty, [w is None or w.norm() for w in weights], counts.sum(), small, large, losses


def vision_transformer(torch):
    """Patches, stochastic depth, layer scale, mixup with soft targets, warm-up then cosine, a moving average."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(3)

    class DropPath(nn.Module):
        def __init__(self, drop_prob=0.0):
            super().__init__()
            self.drop_prob = drop_prob

        def forward(self, x):
            if self.drop_prob == 0.0 or not self.training:
                return x
            keep = 1 - self.drop_prob
            return x * x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(keep).div_(keep)

        def extra_repr(self):
            return f"drop_prob={round(self.drop_prob, 3):0.3f}"

    class Attention(nn.Module):
        def __init__(self, dim, heads):
            super().__init__()
            self.heads, self.scale = heads, (dim // heads) ** -0.5
            self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

        def forward(self, x):
            B, N, C = x.shape
            q, k, v = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
            weights = ((q * self.scale) @ k.transpose(-2, -1)).softmax(dim=-1)
            return self.proj((weights @ v).transpose(1, 2).reshape(B, N, C))

    class Block(nn.Module):
        def __init__(self, dim, rate, norm):
            super().__init__()
            self.norm1, self.attn, self.gamma = norm(dim), Attention(dim, 2), nn.Parameter(0.1 * torch.ones(dim))
            self.drop_path = DropPath(rate) if rate > 0.0 else nn.Identity()
            self.norm2, self.mlp = norm(dim), nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

        def forward(self, x):
            x = x + self.drop_path(self.gamma * self.attn(self.norm1(x)))
            return x + self.drop_path(self.mlp(self.norm2(x)))

    class ViT(nn.Module):
        def __init__(self, dim=16, depth=2):
            super().__init__()
            self.embed = nn.Conv2d(3, dim, kernel_size=4, stride=4)
            self.cls, self.pos = nn.Parameter(torch.zeros(1, 1, dim)), nn.Parameter(torch.randn(1, 5, dim) * 0.02)
            rates = [x.item() for x in torch.linspace(0, 0.3, depth)]
            self.blocks = nn.Sequential(*[Block(dim, rate, partial(nn.LayerNorm, eps=1e-6)) for rate in rates])
            self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, 4)
            nn.init.trunc_normal_(self.cls, std=1e-2)

        def forward(self, x):
            x = self.embed(x).flatten(2).transpose(1, 2)
            x = torch.cat((self.cls.expand(x.shape[0], -1, -1), x), dim=1) + self.pos
            return self.head(self.norm(self.blocks(x))[:, 0])

    model = ViT()
    print(model)
    ema = copy.deepcopy(model).eval()
    plain = [p for p in model.parameters() if p.ndim <= 1]
    decayed = [p for p in model.parameters() if p.ndim > 1]
    groups = [{"params": plain, "weight_decay": 0.0}, {"params": decayed, "weight_decay": 0.05}]
    optimizer = torch.optim.AdamW(groups, lr=1e-2)
    warmup = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=2)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)
    scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, cosine], [2])
    x, y = torch.randn(8, 3, 8, 8), torch.arange(8) % 4
    soft = torch.full((8, 4), 0.1 / 4).scatter_(1, y.view(-1, 1), 0.9 + 0.1 / 4)
    losses = []
    for _ in range(6):
        mixed, target = 0.3 * x + 0.7 * x.flip(0), 0.3 * soft + 0.7 * soft.flip(0)
        loss = torch.sum(-target * F.log_softmax(model(mixed), dim=-1), dim=-1).mean()
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        with torch.no_grad():
            for mean, value in zip(ema.state_dict().values(), model.state_dict().values(), strict=True):
                mean.copy_(0.9 * mean + 0.1 * value)
        losses.append((loss.item(), norm.item(), scheduler.get_last_lr()))
    model.eval()
    places = model.pos[:, 1:].reshape(1, 2, 2, 16).permute(0, 3, 1, 2)
    larger = F.interpolate(places, size=(3, 3), mode="bicubic", align_corners=False)
    best = model(x).topk(2, 1, True, True)[1].t()
    correct = best.eq(y.view(1, -1).expand_as(best))
    return losses, [correct[:k].reshape(-1).float().sum(0) for k in (1, 2)], ema(x), larger


def soft_actor_critic(torch):
    """Two critics and their slow copies, a squashed Gaussian by hand, a temperature that is learned."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(4)
    random.seed(4)

    def mlp(sizes, activation, last=nn.Identity):
        layers = []
        for j in range(len(sizes) - 1):
            layers += [nn.Linear(sizes[j], sizes[j + 1]), (activation if j < len(sizes) - 2 else last)()]
        return nn.Sequential(*layers)

    class Actor(nn.Module):
        def __init__(self):
            super().__init__()
            self.net, self.mu, self.log_std = mlp([3, 16, 16], nn.ReLU, nn.ReLU), nn.Linear(16, 2), nn.Linear(16, 2)

        def forward(self, obs):
            hidden = self.net(obs)
            mu, log_std = self.mu(hidden), torch.clamp(self.log_std(hidden), -20, 2)
            action = mu + log_std.exp() * torch.randn_like(mu)
            logp = (-0.5 * ((action - mu) / log_std.exp()) ** 2 - log_std - 0.5 * np.log(2 * np.pi)).sum(axis=-1)
            logp -= (2 * (np.log(2) - action - F.softplus(-2 * action))).sum(axis=1)
            return torch.tanh(action), logp

    actor, critics = Actor(), nn.ModuleList(mlp([5, 16, 1], nn.ReLU) for _ in range(2))
    slow = copy.deepcopy(critics).requires_grad_(False)
    log_alpha = torch.zeros(1, requires_grad=True)
    optimizers = [
        torch.optim.Adam(p, lr=lr) for p, lr in ((actor.parameters(), 3e-3), (critics.parameters(), 3e-3))
    ] + [torch.optim.Adam([log_alpha], lr=1e-2)]

    def values(pair, obs, action):
        return torch.min(*(torch.squeeze(critic(torch.cat([obs, action], dim=-1)), -1) for critic in pair))

    memory = collections.deque(maxlen=100)
    obs = np.zeros(3)
    curve = []
    for t in range(40):
        with torch.no_grad():
            action = actor(torch.as_tensor(obs, dtype=torch.get_default_dtype())[None])[0][0].numpy()
        following = 0.9 * obs + 0.1 * np.concatenate([action, [action.sum()]])
        memory.append((obs, action, -float((following**2).sum()), following, float(t % 20 == 19)))
        obs = following
        if t < 20 or t % 4:
            continue
        sample = zip(*random.sample(memory, 16), strict=True)
        o, a, r, o2, done = (torch.as_tensor(np.array(part), dtype=torch.get_default_dtype()) for part in sample)
        alpha = log_alpha.exp().detach()
        with torch.no_grad():
            a2, logp2 = actor(o2)
            backup = r + 0.99 * (1 - done) * (values(slow, o2, a2) - alpha * logp2)
        loss_q = sum(F.mse_loss(critic(torch.cat([o, a], -1)).squeeze(-1), backup) for critic in critics)
        optimizers[1].zero_grad()
        loss_q.backward()
        optimizers[1].step()
        critics.requires_grad_(False)
        action, logp = actor(o)
        loss_pi = (alpha * logp - values(critics, o, action)).mean()
        optimizers[0].zero_grad()
        loss_pi.backward()
        optimizers[0].step()
        critics.requires_grad_(True)
        loss_alpha = -(log_alpha * (logp + 2).detach()).mean()
        optimizers[2].zero_grad()
        loss_alpha.backward()
        optimizers[2].step()
        with torch.no_grad():
            for p, kept in zip(critics.parameters(), slow.parameters(), strict=True):
                kept.data.mul_(0.995)
                kept.data.add_((1 - 0.995) * p.data)
        curve.append((loss_q.item(), loss_pi.item(), log_alpha.item()))
    buffer = io.BytesIO()
    torch.save({"actor": actor.state_dict(), "log_alpha": log_alpha}, buffer)
    buffer.seek(0)
    return curve, torch.load(buffer)["log_alpha"]
