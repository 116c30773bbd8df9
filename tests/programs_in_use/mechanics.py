"""Programs about how training is run: checkpoints, mixed precision, hooks, parametrisations."""

import io
import os
import pickle
import tempfile
from collections import OrderedDict, defaultdict


def resume_in_the_middle(torch):
    """A run stopped and resumed from a file gives the losses of the run that was not stopped, random numbers too."""
    nn = torch.nn

    def build():
        torch.manual_seed(2)
        model = nn.Sequential(
            OrderedDict([("fc1", nn.Linear(4, 8)), ("drop", nn.Dropout(0.3)), ("fc2", nn.Linear(8, 1))])
        )
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        return model, optimizer, torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[2, 4], gamma=0.1)

    def train(model, optimizer, scheduler, epochs):
        losses = []
        for _ in range(epochs):
            x = torch.randn(8, 4)
            loss = nn.functional.l1_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
        return losses

    whole = train(*build(), 6)
    model, optimizer, scheduler = build()
    first = train(model, optimizer, scheduler, 3)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint.pth.tar")
        torch.save(
            {
                "epoch": 3,
                "state_dict": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(),
                "rng": torch.get_rng_state(),
            },
            path,
        )
        model, optimizer, scheduler = build()
        torch.manual_seed(99)
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    print(model.load_state_dict(checkpoint["state_dict"]))
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler.load_state_dict(checkpoint["scheduler"])
    torch.set_rng_state(checkpoint["rng"])
    resumed = train(model, optimizer, scheduler, 6 - checkpoint["epoch"])
    buffer = io.BytesIO()
    torch.save(model, buffer, pickle_module=pickle)
    buffer.seek(0)
    again = torch.load(buffer, weights_only=False)
    partial = {"fc1." + k: v for k, v in nn.Linear(4, 8).state_dict().items()}
    print(again.load_state_dict(partial, strict=False))
    message = ""
    try:
        again.load_state_dict({"fc1.weight": torch.zeros(3, 3), "other": torch.zeros(1)})
    except RuntimeError as error:
        message = str(error)
    return (
        whole,
        first + resumed == whole,
        scheduler.get_last_lr(),
        message,
        sorted(checkpoint["optimizer"]["state"][0]),
    )


def mixed_precision(torch):
    """bfloat16 autocast on the CPU and a GradScaler, master weights kept whole; accumulation."""
    nn = torch.nn
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 3)).float()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**8, growth_interval=3)
    x, y = torch.randn(12, 6, dtype=torch.float32), torch.arange(12) % 3
    kinds, losses, scales = [], [], []
    for step in range(8):
        for xb, yb in zip(x.chunk(2), y.chunk(2), strict=True):
            with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
                hidden = model[0](xb)
                out = model(xb)
                loss = nn.functional.cross_entropy(out, yb) / 2
            kinds.append((hidden.dtype, out.dtype, loss.dtype))
            scaler.scale(loss).backward()
            losses.append(loss.item())
        if step == 4:
            model[0].bias.grad[0] = float("inf")
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        scales.append(scaler.get_scale())
    half = model.to(torch.bfloat16)(x.bfloat16())
    kinds = {tuple(str(k) for k in row) for row in kinds}
    return [round(v, 2) for v in losses], scales, sorted(kinds), str(half.dtype), scaler.state_dict()["_growth_tracker"]


def checkpointed_layers(torch):
    """Activations recomputed: checkpoint and checkpoint_sequential with dropout, the same gradients as without."""
    nn = torch.nn
    from_utils = torch.utils.checkpoint
    torch.manual_seed(4)

    class Residual(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.norm, self.up, self.down, self.drop = (
                nn.LayerNorm(d),
                nn.Linear(d, 2 * d),
                nn.Linear(2 * d, d),
                nn.Dropout(0.2),
            )

        def forward(self, x, scale=1.0):
            return x + scale * self.drop(self.down(torch.tanh(self.up(self.norm(x)))))

    class Net(nn.Module):
        def __init__(self, save):
            super().__init__()
            self.save = save
            self.blocks = nn.ModuleList(Residual(6) for _ in range(3))
            self.tail = nn.Sequential(nn.Linear(6, 6), nn.Sigmoid(), nn.Linear(6, 6), nn.Tanh())

        def forward(self, x):
            for i, block in enumerate(self.blocks):
                if self.save:
                    x = from_utils.checkpoint(block, x, scale=1.0 / (i + 1), use_reentrant=False)
                else:
                    x = block(x, scale=1.0 / (i + 1))
            return from_utils.checkpoint_sequential(self.tail, 2, x, use_reentrant=False) if self.save else self.tail(x)

    runs = []
    for save in (False, True):
        torch.manual_seed(5)
        net = Net(save)
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
        losses = []
        for _ in range(4):
            x = torch.randn(5, 6)
            loss = (net(x) - x.flip(1)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        runs.append(losses)
    return runs, torch.tensor(runs).std(0).max().item() < 1e-6


def constrained_weights(torch):
    """weight_norm, spectral_norm, an own parametrization kept symmetric, orthogonal; projection after steps."""
    nn = torch.nn
    P = nn.utils.parametrize
    torch.manual_seed(6)

    class Symmetric(nn.Module):
        def forward(self, X):
            return X.triu() + X.triu(1).transpose(-1, -2)

        def right_inverse(self, A):
            return A.triu()

    class Positive(nn.Module):
        def forward(self, X):
            return nn.functional.softplus(X)

    model = nn.Sequential(
        nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)),
        nn.Tanh(),
        nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4)),
        nn.Hardtanh(),
        nn.Linear(4, 4),
        nn.Linear(4, 1),
    )
    P.register_parametrization(model[4], "weight", Symmetric())
    P.register_parametrization(model[5], "weight", Positive())
    print(model)
    x = torch.randn(16, 4)
    y = x.norm(dim=1, keepdim=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    mask = torch.ones(4, 4)
    mask[0, 1] = mask[1, 0] = 0
    losses = []
    for _ in range(6):
        optimizer.zero_grad()
        with P.cached():
            loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            model[4].parametrizations.weight.original.mul_(mask)
            model[0].bias.clamp_(min=0)
            model[0].parametrizations.weight.original0.div_(model[0].parametrizations.weight.original0.norm()).mul_(2)
        losses.append(loss.item())
    names = list(model.state_dict())
    symmetric = torch.equal(model[4].weight, model[4].weight.T)
    P.remove_parametrizations(model[4], "weight", leave_parametrized=True)
    model.eval()
    return (
        losses,
        names,
        symmetric,
        torch.linalg.matrix_norm(model[2].weight, 2),
        model[4].weight,
        P.is_parametrized(model),
    )


def hooks_and_statistics(torch):
    """Activation and gradient statistics by hooks of modules and tensors; gradients scaled and noised."""
    nn = torch.nn
    torch.manual_seed(7)
    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
    stats = defaultdict(list)

    def watch(name):
        def hook(module, inputs, output):
            stats[name + ".mean"].append(output.mean().item())
            stats[name + ".dead"].append((output <= 0).float().mean().item())
            if output.requires_grad:
                output.register_hook(lambda g: stats[name + ".grad"].append(g.std().item()))

        return hook

    def backward(module, grad_input, grad_output):
        stats["backward"].append([None if g is None else tuple(g.shape) for g in (*grad_input, *grad_output)])

    handles = [m.register_forward_hook(watch(n)) for n, m in model.named_modules() if isinstance(m, nn.ReLU)]
    handles.append(model[2].register_full_backward_hook(backward))
    handles.append(model[0].register_forward_pre_hook(lambda m, a: (a[0] * 2,)))
    handles.append(model[4].register_forward_hook(lambda m, a, out: out - 0.5))
    handles.append(model[2].weight.register_hook(lambda g: g * 0.1))
    stepped = []
    for p in model.parameters():
        p.register_post_accumulate_grad_hook(lambda p: stepped.append(p.grad.numel()))
    x, y = torch.randn(10, 5), torch.arange(10) % 2
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    handles.append(optimizer.register_step_post_hook(lambda o, a, k: stats["steps"].append(len(o.param_groups))))
    losses, norms = [], []
    for step in range(4):
        if step == 2:
            for h in handles:
                h.remove()
        optimizer.zero_grad()
        out = model(x)
        out.retain_grad()
        loss = nn.functional.soft_margin_loss(out[:, 0], (2 * y - 1).to(out.dtype))
        loss.backward()
        total = torch.stack([p.grad.detach().norm(2) for p in model.parameters()]).norm(2)
        norms.append(total.item())
        for p in model.parameters():
            p.grad.add_(torch.randn_like(p.grad), alpha=1e-3)
        optimizer.step()
        losses.append((loss.item(), out.grad.abs().sum().item()))
    return losses, norms, dict(stats), stepped, [len(m._forward_hooks) for m in model]


def one_optimizer_per_parameter(torch):
    """Optimizers stepped inside backward by post-accumulate hooks; layer-wise rates; ReduceLROnPlateau."""
    nn, schedules = torch.nn, torch.optim.lr_scheduler
    torch.manual_seed(8)
    model = nn.Sequential(nn.Linear(3, 6), nn.CELU(), nn.Linear(6, 6), nn.GLU(), nn.Linear(3, 1))
    inside = {p: torch.optim.AdamW([p], lr=1e-2 * 0.8**i) for i, p in enumerate(model.parameters())}

    def step_now(p):
        inside[p].step()
        inside[p].zero_grad()

    handles = [p.register_post_accumulate_grad_hook(step_now) for p in model.parameters()]
    x = torch.randn(12, 3)
    y = x[:, :1] * x[:, 1:2]
    losses = []
    for _ in range(4):
        loss = nn.functional.huber_loss(model(x), y, delta=0.5)
        loss.backward()
        losses.append(loss.item())
    none = all(p.grad is None for p in model.parameters())
    for h in handles:
        h.remove()
    optimizer = torch.optim.SGD(
        [
            {"params": m.parameters(), "lr": 0.1 / (i + 1), "name": f"layer{i}"}
            for i, m in enumerate(model)
            if len(list(m.parameters()))
        ],
        lr=0.1,
    )
    plateau = schedules.ReduceLROnPlateau(optimizer, mode="min", factor=0.5, patience=1, threshold=0.5)
    chained = schedules.SequentialLR(
        optimizer,
        [
            schedules.LinearLR(optimizer, 0.1, total_iters=2),
            schedules.CosineAnnealingWarmRestarts(optimizer, T_0=3, T_mult=2),
        ],
        milestones=[2],
    )
    rates = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = (model(x) - y).pow(2).mean()
        loss.backward()
        optimizer.step()
        chained.step()
        plateau.step(loss.detach())
        rates.append([g["lr"] for g in optimizer.param_groups])
        losses.append(loss.item())
    print(optimizer)
    return losses, none, rates, [g["name"] for g in optimizer.param_groups], plateau.num_bad_epochs


def printed(torch):
    """What people print while they work: tensors of every kind, models, optimizers, summaries."""
    nn = torch.nn
    torch.manual_seed(9)
    x = torch.randn(3, 4)
    print(x, x.shape, x.size(0), x.dtype, x.device, x.requires_grad)
    print(x.sum(), x[1, 0].item(), x[0], x > 0, (x * 1000).int())
    print(
        torch.arange(3), torch.tensor([1e-8, 1.0]), torch.tensor([1e8, 1.0]), torch.tensor([float("nan"), float("inf")])
    )
    w = torch.ones(2, 2, requires_grad=True)
    y = w * 2 + 1
    print(w, y, y.grad_fn.name(), y.sum())
    print(nn.Parameter(torch.zeros(2)), torch.zeros(0), torch.zeros(2, 0), torch.tensor(True), torch.tensor([1 + 2j]))
    print(torch.linspace(0, 1, 2000))
    torch.set_printoptions(precision=2, sci_mode=False)
    print(x, f"{x[0, 0]:.3f}", f"{x[0, 0].item():>10.4f}|")
    torch.set_printoptions(profile="default")
    model = nn.ModuleDict(
        {
            "a": nn.LSTM(3, 4, 2, batch_first=True),
            "b": nn.MultiheadAttention(4, 2),
            "c": nn.ModuleList([nn.Dropout(0.1), nn.Embedding(3, 4)]),
        }
    )
    print(model, sum(p.numel() for p in model.parameters()))
    for name, p in model.named_parameters():
        print(f"{name:<30}{tuple(p.shape)!s:>12}", p.requires_grad)
    print(torch.optim.AdamW(model.parameters(), lr=3e-4))
    print(
        [tuple(b.shape) for b in nn.BatchNorm1d(2).buffers()], nn.CrossEntropyLoss(), nn.ParameterList([torch.zeros(2)])
    )
    print(
        nn.BatchNorm1d(2).state_dict(),
        list(model.children())[1],
        torch.Size([2, 3]),
        torch.float32,
        torch.device("cpu"),
    )
    print(x.to(torch.bfloat16), x.half(), x.tolist()[0][:1], x.max(dim=1), x.topk(2))
    print(
        x.view(2, 2, 3),
        x.unsqueeze(0).expand(2, -1, -1).shape,
        repr(x[0, 0]),
        str(w.grad),
        [x[0, 1]],
        {"loss": y.mean()},
    )
    return x
