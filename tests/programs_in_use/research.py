"""Programs as research code has them: own optimizers and schedules, self-supervision, experts, energies, sampling."""

import copy
import math


def own_optimizers(torch):
    """Subclasses of Optimizer: sign descent with momentum, a two-step sharpness-aware wrapper, and Langevin noise."""
    nn = torch.nn

    class Lion(torch.optim.Optimizer):
        def __init__(self, params, lr=1e-2, betas=(0.9, 0.99), weight_decay=0.0):
            if lr < 0.0:
                raise ValueError(f"Invalid learning rate: {lr}")
            super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

        @torch.no_grad()
        def step(self, closure=None):
            loss = None
            if closure is not None:
                with torch.enable_grad():
                    loss = closure()
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    p.data.mul_(1 - group["lr"] * group["weight_decay"])
                    state = self.state[p]
                    if len(state) == 0:
                        state["exp_avg"] = torch.zeros_like(p)
                    beta1, beta2 = group["betas"]
                    update = state["exp_avg"].clone().mul_(beta1).add(p.grad, alpha=1 - beta1).sign_()
                    p.add_(update, alpha=-group["lr"])
                    state["exp_avg"].mul_(beta2).add_(p.grad, alpha=1 - beta2)
            return loss

    class SAM(torch.optim.Optimizer):
        def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
            super().__init__(params, dict(rho=rho, **kwargs))
            self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
            self.param_groups = self.base_optimizer.param_groups
            self.defaults.update(self.base_optimizer.defaults)

        @torch.no_grad()
        def first_step(self):
            norms = [p.grad.norm(p=2) for g in self.param_groups for p in g["params"] if p.grad is not None]
            norm = torch.norm(torch.stack(norms), p=2)
            for group in self.param_groups:
                for p in group["params"]:
                    self.state[p]["old"] = p.data.clone()
                    p.add_(p.grad * (group["rho"] / (norm + 1e-12)))
            self.zero_grad()

        @torch.no_grad()
        def step(self, closure=None):
            closure = torch.enable_grad()(closure)
            self.first_step()
            closure()
            for group in self.param_groups:
                for p in group["params"]:
                    p.data = self.state[p]["old"]
            self.base_optimizer.step()
            self.zero_grad()

    class SGLD(torch.optim.SGD):
        def step(self, closure=None):
            super().step(closure)
            for group in self.param_groups:
                for p in group["params"]:
                    p.data.add_(torch.randn_like(p) * math.sqrt(2 * group["lr"]) * 1e-2)

    class Warmup(torch.optim.lr_scheduler.LRScheduler):
        def __init__(self, optimizer, steps, last_epoch=-1):
            self.steps = steps
            super().__init__(optimizer, last_epoch)

        def get_lr(self):
            return [base * min(1.0, self._step_count / self.steps) for base in self.base_lrs]

    torch.manual_seed(0)
    x = torch.randn(16, 4)
    y = (x[:, :2].prod(1) > 0).long()
    start = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    results = []
    for make in (
        lambda ps: Lion(ps, lr=3e-3, weight_decay=0.1),
        lambda ps: SAM(ps, torch.optim.SGD, rho=0.1, lr=0.1, momentum=0.9),
        lambda ps: SGLD(ps, lr=0.05),
    ):
        model = copy.deepcopy(start)
        optimizer = make(model.parameters())
        schedule = Warmup(optimizer, 3)

        def closure():
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            return loss

        curve = []
        for _ in range(5):
            curve.append(closure().item())
            optimizer.step(closure)
            schedule.step()
        results.append((curve, schedule.get_last_lr(), len(optimizer.state), list(optimizer.state_dict()["state"])))
        print(type(optimizer).__name__, optimizer)
    return results


def momentum_contrast(torch):
    """MoCo: a key encoder that follows, a queue buffer with a pointer, written in place; SimSiam's stopped gradient."""
    nn, F = torch.nn, torch.nn.functional

    class MoCo(nn.Module):
        def __init__(self, make, dim=4, K=16, m=0.9, T=0.2):
            super().__init__()
            self.K, self.m, self.T = K, m, T
            self.encoder_q, self.encoder_k = make(), make()
            for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters(), strict=True):
                k.data.copy_(q.data)
                k.requires_grad = False
            self.register_buffer("queue", F.normalize(torch.randn(dim, K), dim=0))
            self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

        @torch.no_grad()
        def enqueue(self, keys):
            ptr = int(self.queue_ptr)
            self.queue[:, ptr : ptr + len(keys)] = keys.T
            self.queue_ptr[0] = (ptr + len(keys)) % self.K

        def forward(self, a, b):
            q = F.normalize(self.encoder_q(a), dim=1)
            with torch.no_grad():
                for one, other in zip(self.encoder_q.parameters(), self.encoder_k.parameters(), strict=True):
                    other.data = other.data * self.m + one.data * (1.0 - self.m)
                k = F.normalize(self.encoder_k(b), dim=1)
            positive = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
            negative = torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])
            logits = torch.cat([positive, negative], dim=1) / self.T
            self.enqueue(k)
            return logits, torch.zeros(logits.shape[0], dtype=torch.long)

    torch.manual_seed(1)
    model = MoCo(lambda: nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4)))
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.1, momentum=0.9, weight_decay=1e-4)
    x = torch.randn(8, 6)
    losses = []
    for _ in range(5):
        a, b = (x + 0.1 * torch.randn_like(x) for _ in range(2))
        loss = F.cross_entropy(*model(a, b))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    predictor = nn.Linear(4, 4)
    z1, z2 = model.encoder_q(x), model.encoder_q(x.roll(1, 0))
    simsiam = -sum(F.cosine_similarity(predictor(p), z.detach()).mean() for p, z in ((z1, z2), (z2, z1))) / 2
    c = (z1 - z1.mean(0)).T @ (z2 - z2.mean(0)) / len(x)
    barlow = (c.diagonal() - 1).pow(2).sum() + 0.01 * c.flatten()[:-1].view(3, 5)[:, 1:].pow(2).sum()
    (simsiam + barlow).backward()
    return losses, model.queue, model.queue_ptr, simsiam, barlow, predictor.weight.grad


def mixture_of_experts(torch):
    """Top-k routing with noise and a load-balance loss, experts run on their own tokens, rotary embeddings."""
    nn, F = torch.nn, torch.nn.functional

    class LoRALinear(nn.Linear):
        def __init__(self, i, o, r=2, alpha=4):
            super().__init__(i, o)
            self.weight.requires_grad_(False)
            self.lora_A = nn.Parameter(torch.empty(r, i))
            self.lora_B = nn.Parameter(torch.zeros(o, r))
            self.scaling = alpha / r
            nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))

        def forward(self, x):
            return F.linear(x, self.weight, self.bias) + (x @ self.lora_A.T @ self.lora_B.T) * self.scaling

        def extra_repr(self):
            return super().extra_repr() + f", r={self.lora_A.shape[0]}"

    def rotary(x):
        n, d = x.shape[-2:]
        freq = 1.0 / (100 ** (torch.arange(0, d, 2).to(x.dtype) / d))
        angle = torch.outer(torch.arange(n).to(x.dtype), freq)
        turn = torch.polar(torch.ones_like(angle), angle)
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * turn).flatten(-2)

    class MoE(nn.Module):
        def __init__(self, d=6, experts=4, k=2):
            super().__init__()
            self.k = k
            self.gate = nn.Linear(d, experts, bias=False)
            self.noise = nn.Parameter(torch.zeros(experts))
            self.experts = nn.ModuleList(
                [nn.Sequential(LoRALinear(d, 8), nn.GELU(), nn.Linear(8, d)) for _ in range(experts)]
            )

        def forward(self, x):
            flat = x.reshape(-1, x.size(-1))
            logits = self.gate(flat)
            if self.training:
                logits = logits + torch.randn_like(logits) * F.softplus(self.noise)
            weights, chosen = logits.topk(self.k, dim=-1)
            weights = weights.softmax(-1)
            out = torch.zeros_like(flat)
            for i, expert in enumerate(self.experts):
                rows, slot = torch.where(chosen == i)
                if rows.numel() == 0:
                    continue
                out.index_add_(0, rows, expert(flat[rows]) * weights[rows, slot, None])
            load = F.one_hot(chosen, len(self.experts)).sum(1).to(x.dtype).mean(0)
            balance = (load * logits.softmax(-1).mean(0)).sum() * len(self.experts)
            return out.view_as(x), balance

    torch.manual_seed(2)
    model = MoE()
    print(model)
    x = torch.randn(3, 5, 6)
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-2)
    losses = []
    for _ in range(5):
        out, balance = model(rotary(x))
        loss = F.mse_loss(out, x.cumsum(1)) + 0.01 * balance
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append((loss.item(), balance.item()))
    trainable = [n for n, p in model.named_parameters() if p.requires_grad]
    with torch.no_grad():
        for m in model.modules():
            if isinstance(m, LoRALinear):
                m.weight += m.lora_B @ m.lora_A * m.scaling
                m.lora_B.zero_()
    return losses, trainable, model.eval()(x)[0], rotary(x)[0]


def energy_and_langevin(torch):
    """An energy-based model trained on samples of Langevin dynamics; Hamiltonian Monte Carlo; Stein descent."""
    nn = torch.nn
    torch.manual_seed(3)
    energy = nn.Sequential(nn.Linear(2, 12), nn.SiLU(), nn.Linear(12, 1))

    def langevin(x, steps=5, step_size=0.1):
        x = x.clone().detach().requires_grad_(True)
        for p in energy.parameters():
            p.requires_grad = False
        for _ in range(steps):
            energy(x).sum().backward()
            x.data.add_(x.grad.data.clamp_(-1, 1), alpha=-step_size)
            x.data.add_(torch.randn_like(x) * 0.05)
            x.grad.detach_()
            x.grad.zero_()
        for p in energy.parameters():
            p.requires_grad = True
        return x.detach()

    data = torch.randn(16, 2) * 0.3 + torch.tensor([1.0, -1.0])
    optimizer = torch.optim.Adam(energy.parameters(), lr=1e-2)
    history = []
    for _ in range(4):
        fake = langevin(torch.rand(16, 2) * 4 - 2)
        plus, minus = energy(data).mean(), energy(fake).mean()
        loss = plus - minus + 0.1 * (plus**2 + minus**2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())

    def potential(q):
        return 0.5 * (q**2 @ torch.tensor([1.0, 4.0])).sum() + 0.1 * q.prod()

    def gradient(q):
        q = q.detach().requires_grad_()
        return torch.autograd.grad(potential(q), q)[0]

    q, accepted, chain = torch.zeros(2), 0, []
    for _ in range(8):
        p = torch.randn(2)
        q_new, p_new = q.clone(), p - 0.1 * gradient(q) / 2
        for i in range(5):
            q_new = q_new + 0.1 * p_new
            p_new = p_new - 0.1 * gradient(q_new) / (2 if i == 4 else 1)
        delta = potential(q) + p @ p / 2 - potential(q_new) - p_new.dot(p_new) / 2
        if torch.rand(()).log() < delta:
            q, accepted = q_new, accepted + 1
        chain.append(q)
    particles = torch.randn(6, 2)
    for _ in range(3):
        particles = particles.detach().requires_grad_()
        (score,) = torch.autograd.grad(-sum(potential(p) for p in particles), particles)
        squared = torch.cdist(particles, particles.detach()).pow(2)
        kernel = torch.exp(-squared / squared.detach().median().clamp(min=1e-3))
        (repulsion,) = torch.autograd.grad(kernel.sum(), particles)
        particles = particles.detach() + 0.1 * (kernel.detach() @ score - repulsion) / len(particles)
    return history, accepted, torch.stack(chain), particles


def restricted_boltzmann(torch):
    """Contrastive divergence without autograd: bernoulli by comparison, outer products, momentum by hand."""
    F = torch.nn.functional
    torch.manual_seed(4)
    v_data = (torch.rand(20, 6) < torch.tensor([0.9, 0.9, 0.1, 0.1, 0.5, 0.8])).to(torch.get_default_dtype())
    W = torch.nn.Parameter(torch.randn(4, 6) * 1e-2)
    bv, bh = torch.nn.Parameter(torch.zeros(6)), torch.nn.Parameter(torch.zeros(4))
    velocity = [torch.zeros_like(p) for p in (W, bv, bh)]

    def sample(p):
        return F.relu(torch.sign(p - torch.rand(p.size())))

    def free_energy(v):
        return -(v.mv(bv) + F.softplus(F.linear(v, W, bh)).sum(1)).mean()

    history = []
    with torch.no_grad():
        for _ in range(5):
            ph = torch.sigmoid(F.linear(v_data, W, bh))
            v = torch.sigmoid(F.linear(sample(ph), W.t(), bv))
            nh = torch.sigmoid(F.linear(sample(v), W, bh))
            grads = [(ph.t() @ v_data - nh.t() @ v) / 20, (v_data - v).mean(0), (ph - nh).mean(0)]
            for p, s, g in zip((W, bv, bh), velocity, grads, strict=True):
                s.mul_(0.5).add_(g)
                p += 0.1 * s
            history.append(F.mse_loss(v, v_data).item())
    loss = free_energy(v_data) - free_energy(sample(v).detach())
    loss.backward()
    history.append(loss.item())
    return history, W.grad, bh.grad


def conditional_random_field(torch):
    """Tag scores from a net, the partition by the forward algorithm, Viterbi paths with back-pointers."""
    nn = torch.nn

    class CRF(nn.Module):
        def __init__(self, tags):
            super().__init__()
            self.start, self.end = (nn.Parameter(torch.zeros(tags)) for _ in range(2))
            self.transitions = nn.Parameter(torch.empty(tags, tags))
            nn.init.uniform_(self.transitions, -0.1, 0.1)

        def score(self, e, y, mask):
            s = self.start[y[0]] + e[0].gather(1, y[0].unsqueeze(1)).squeeze(1)
            for t in range(1, len(e)):
                s = s + (self.transitions[y[t - 1], y[t]] + e[t, torch.arange(e.size(1)), y[t]]) * mask[t]
            last = mask.long().sum(0) - 1
            return s + self.end[y[last, torch.arange(e.size(1))]]

        def partition(self, e, mask):
            s = self.start + e[0]
            for t in range(1, len(e)):
                new = torch.logsumexp(s.unsqueeze(2) + self.transitions + e[t].unsqueeze(1), dim=1)
                s = torch.where(mask[t].unsqueeze(1).bool(), new, s)
            return torch.logsumexp(s + self.end, dim=1)

        @torch.no_grad()
        def decode(self, e, mask):
            s, history = self.start + e[0], []
            for t in range(1, len(e)):
                best, where = (s.unsqueeze(2) + self.transitions + e[t].unsqueeze(1)).max(dim=1)
                s = torch.where(mask[t, :, None].bool(), best, s)
                history.append(where)
            paths = []
            for b, n in enumerate(mask.sum(0).long().tolist()):
                tag = (s[b] + self.end).argmax().item()
                path = [tag]
                for where in reversed(history[: n - 1]):
                    tag = where[b][tag].item()
                    path.insert(0, tag)
                paths.append(path)
            return paths

    torch.manual_seed(5)
    x = torch.randn(6, 3, 4)
    lengths = torch.tensor([6, 4, 2])
    mask = (torch.arange(6).unsqueeze(1) < lengths).to(x.dtype)
    y = (x.sum(-1) > 0).long() + (x[..., 0] > 1)
    emit, crf = nn.Linear(4, 3), CRF(3)
    optimizer = torch.optim.Adam([*emit.parameters(), *crf.parameters()], lr=0.05)
    losses = []
    for _ in range(6):
        e = emit(x)
        loss = (crf.partition(e, mask) - crf.score(e, y, mask)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    (marginals,) = torch.autograd.grad(crf.partition(e.detach().requires_grad_(), mask).sum(), crf.start)
    return losses, crf.decode(emit(x), mask), crf.transitions, marginals


def word_vectors(torch):
    """Skip-gram with negative sampling by a weighted multinomial, nearest words; GloVe's weighted squares."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(6)
    text = list("abcabdacdbaefefabcef")
    words, counts = zip(*sorted({w: text.count(w) for w in text}.items()), strict=True)
    index = {w: i for i, w in enumerate(words)}
    ids = torch.tensor([index[w] for w in text])
    noise = torch.tensor(counts).to(torch.get_default_dtype()) ** 0.75
    pairs = [(i, j) for i in range(len(ids)) for j in range(max(0, i - 2), min(len(ids), i + 3)) if i != j]
    centre, context = ids[torch.tensor(pairs)].unbind(1)
    inputs, outputs = nn.Embedding(6, 4), nn.Embedding(6, 4)
    nn.init.uniform_(inputs.weight, -0.5 / 4, 0.5 / 4)
    nn.init.zeros_(outputs.weight)
    parameters = list(inputs.parameters()) + list(outputs.parameters())
    optimizer = torch.optim.Adagrad(parameters, lr=0.5, initial_accumulator_value=0.1)
    losses = []
    for _ in range(4):
        negative = torch.multinomial(noise, len(centre) * 3, replacement=True).view(-1, 3)
        v = inputs(centre)
        positive = F.logsigmoid((v * outputs(context)).sum(-1))
        drawn = F.logsigmoid(-torch.bmm(outputs(negative), v.unsqueeze(2)).squeeze(2)).sum(-1)
        loss = -(positive + drawn).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    vectors = F.normalize(inputs.weight.detach(), dim=-1)
    similar = (vectors @ vectors.T - 2 * torch.eye(6)).topk(2).indices
    cooccurrence = torch.zeros(6, 6).index_put_((centre, context), torch.ones(len(centre)), accumulate=True)
    seen = cooccurrence.nonzero(as_tuple=True)
    weight = (cooccurrence[seen] / 4).clamp(max=1).pow(0.75)
    glove = (weight * ((inputs(seen[0]) * outputs(seen[1])).sum(1) - cooccurrence[seen].log()) ** 2).sum()
    glove.backward()
    return losses, similar, cooccurrence, glove, inputs.weight.grad


def bayes_by_backprop(torch):
    """Weights with their own scales, a scale mixture prior, MC dropout at test time, Fisher information for EWC."""
    nn, F = torch.nn, torch.nn.functional

    class BayesLinear(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.mu = nn.Parameter(torch.empty(o, i).normal_(0, 0.1))
            self.rho = nn.Parameter(torch.full((o, i), -3.0))
            self.register_parameter("bias", None)
            self.kl = 0

        def forward(self, x):
            sigma = torch.log1p(self.rho.exp())
            w = self.mu + sigma * torch.randn_like(sigma)
            log_q = (-0.5 * ((w - self.mu) / sigma) ** 2 - sigma.log()).sum()
            narrow, wide = (-0.5 * (w / s) ** 2 - math.log(s) for s in (0.1, 1.0))
            self.kl = log_q - torch.logaddexp(narrow + math.log(0.5), wide + math.log(0.5)).sum()
            return F.linear(x, w, self.bias)

    torch.manual_seed(8)
    model = nn.Sequential(BayesLinear(2, 8), nn.ReLU(), nn.Dropout(p=0.5), BayesLinear(8, 2))
    x = torch.randn(12, 2)
    y = (x[:, 0] > 0).long()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    losses = []
    for _ in range(5):
        nll = F.cross_entropy(model(x), y, reduction="sum")
        loss = nll + sum(m.kl for m in model if hasattr(m, "kl")) / 12
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    for m in model.modules():
        if m.__class__.__name__.startswith("Dropout"):
            m.train()
    with torch.no_grad():
        draws = torch.stack([model(x).softmax(-1) for _ in range(10)])
    fisher = {n: torch.zeros_like(p) for n, p in model.named_parameters()}
    for xi, yi in zip(x, y, strict=True):
        model.zero_grad()
        F.nll_loss(model(xi[None]).log_softmax(1), yi[None]).backward()
        for n, p in model.named_parameters():
            fisher[n] += p.grad.detach() ** 2 / len(x)
    old = {n: p.clone().detach() for n, p in model.named_parameters()}
    model[0].mu.data += 0.1
    ewc = sum((fisher[n] * (p - old[n]) ** 2).sum() for n, p in model.named_parameters())
    return losses, draws.mean(0), draws.var(0), fisher["0.mu"], ewc


def federated_and_evolved(torch):
    """Averaging of state dicts over clients, evolution strategies on a parameter vector, k-fold, early stopping."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(9)
    x = torch.randn(24, 3)
    y = (x @ torch.tensor([[1.0], [2.0], [-1.0]])).squeeze(1)
    server = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Softsign(), nn.Linear(5, 1), nn.Flatten(0))
    history = []
    for _ in range(3):
        states = []
        for xs, ys in zip(x.tensor_split(3), y.tensor_split(3), strict=True):
            client = copy.deepcopy(server)
            optimizer = torch.optim.SGD(client.parameters(), lr=0.05)
            for _ in range(2):
                optimizer.zero_grad()
                F.mse_loss(client(xs), ys).backward()
                optimizer.step()
            states.append({k: v.clone() for k, v in client.state_dict().items()})
        mean = {k: torch.stack([s[k].to(torch.get_default_dtype()) for s in states]).mean(0) for k in states[0]}
        server.load_state_dict(mean)
        history.append(F.mse_loss(server(x), y).item())
    vector = nn.utils.parameters_to_vector(server.parameters())
    theta = vector.detach().clone()
    with torch.no_grad():
        for _ in range(3):
            noise = torch.randn(6, theta.numel())
            scores = torch.empty(6)
            for i, e in enumerate(noise):
                nn.utils.vector_to_parameters(theta + 0.1 * e, server.parameters())
                scores[i] = -F.mse_loss(server(x), y)
            ranks = scores.argsort().argsort().to(noise.dtype) / 5 - 0.5
            theta += 0.05 * (ranks @ noise)
    folds, best, patience = torch.randperm(24).chunk(4), math.inf, 0
    for k in range(4):
        train = torch.cat([f for i, f in enumerate(folds) if i != k])
        solution = torch.linalg.lstsq(x[train], y[train].unsqueeze(1)).solution
        error = (x[folds[k]] @ solution - y[folds[k], None]).abs().max().item()
        patience = 0 if error < best else patience + 1
        best = min(best, error)
        if patience > 1:
            break
    return history, theta, scores, best < 1e-4, vector.requires_grad
