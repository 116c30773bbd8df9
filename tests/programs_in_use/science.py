"""Programs of science and statistics: differential equations, Gaussian processes, filters, clustering, graphs."""

import math


def neural_ode_rk4(torch):
    """A vector field integrated by Runge-Kutta inside the graph, and its gradient by the adjoint equation."""
    nn = torch.nn
    torch.manual_seed(0)

    class Field(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(2, 10), nn.Tanh(), nn.Linear(10, 2))
            self.calls = 0
            for m in self.net.modules():
                if isinstance(m, nn.Linear):
                    nn.init.normal_(m.weight, mean=0, std=0.1)
                    nn.init.constant_(m.bias, val=0)

        def forward(self, t, y):
            self.calls += 1
            return self.net(y**3)

    def odeint(f, y, ts):
        path = [y]
        for t0, t1 in zip(ts[:-1], ts[1:], strict=True):
            h = t1 - t0
            k1 = f(t0, y)
            k2 = f(t0 + h / 2, y + h * k1 / 2)
            k3 = f(t0 + h / 2, y + h * k2 / 2)
            k4 = f(t1, y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            path.append(y)
        return torch.stack(path)

    A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    ts = torch.linspace(0.0, 1.0, 6)
    with torch.no_grad():
        truth = odeint(lambda t, y: torch.mm(y**3, A), torch.tensor([[1.5, 0.0]]), ts)
    field = Field()
    optimizer = torch.optim.RMSprop(field.parameters(), lr=1e-2)
    losses = []
    for _ in range(6):
        optimizer.zero_grad()
        loss = torch.mean(torch.abs(odeint(field, truth[0], ts) - truth))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    parameters = tuple(field.parameters())
    state = odeint(field, truth[0], ts)[-1].detach()
    adjoint, total = 2 * state, [torch.zeros_like(p) for p in parameters]
    for h in reversed(ts.diff().tolist()):
        with torch.enable_grad():
            y = state.detach().requires_grad_(True)
            f = field(0.0, y)
            vjp = torch.autograd.grad(f, (y, *parameters), adjoint, allow_unused=True)
        state = state - h * f.detach()
        adjoint = adjoint + h * vjp[0]
        total = [t.add(g, alpha=h) for t, g in zip(total, vjp[1:], strict=True)]
    return losses, field.calls, adjoint, total


def physics_informed(torch):
    """A heat equation: first and second derivatives of the net by grad with create_graph; Adam."""
    nn, grad = torch.nn, torch.autograd.grad

    class Sine(nn.Module):
        def forward(self, x):
            return torch.sin(x)

        def extra_repr(self):
            return "period=2π"

    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(2, 10), Sine(), nn.Linear(10, 10), Sine(), nn.Linear(10, 1))
    print(net)
    nu = nn.Parameter(torch.tensor(0.5))
    x = torch.rand(20, 1, requires_grad=True)
    t = torch.rand(20, 1, requires_grad=True)
    xb = torch.linspace(0, 1, 8).view(-1, 1)
    u0 = torch.sin(math.pi * xb)

    def losses():
        u = net(torch.cat([x, t], dim=1))
        one = torch.ones_like(u)
        u_x, u_t = grad(u, (x, t), grad_outputs=one, create_graph=True)
        u_xx = grad(u_x, x, one, create_graph=True)[0]
        residual = u_t - nu * u_xx
        start = net(torch.cat([xb, torch.zeros_like(xb)], 1)) - u0
        edges = torch.cat([net(torch.cat([torch.full_like(t, e), t], 1)) for e in (0.0, 1.0)])
        return residual.pow(2).mean(), start.pow(2).mean(), edges.square().mean()

    parameters = [*net.parameters(), nu]
    optimizer = torch.optim.Adam(parameters, lr=5e-3)
    history = []
    for _ in range(4):
        optimizer.zero_grad()
        parts = losses()
        loss = sum(w * p for w, p in zip((1.0, 10.0, 10.0), parts, strict=True))
        loss.backward()
        optimizer.step()
        history.append([p.item() for p in parts])
    lbfgs = torch.optim.LBFGS(parameters, max_iter=3, line_search_fn="strong_wolfe", tolerance_grad=1e-9)

    def closure():
        lbfgs.zero_grad()
        loss = sum(losses())
        loss.backward()
        return loss

    history.append(lbfgs.step(closure).item())
    history.append(closure().item())
    return history, nu.item(), x.grad is not None


def hessian_vector_products(torch):
    """Newton with conjugate gradients on Hessian-vector products; the largest eigenvalue by power iteration."""
    torch.manual_seed(2)
    x = torch.randn(30, 3)
    y = (x @ torch.tensor([1.0, -2.0, 0.5]) + 0.3 * torch.randn(30) > 0).to(x.dtype)
    w = torch.zeros(3, requires_grad=True)

    def loss_fn(w):
        return torch.nn.functional.binary_cross_entropy_with_logits(x @ w, y) + 0.05 * w.dot(w)

    def hvp(w, v):
        (g,) = torch.autograd.grad(loss_fn(w), w, create_graph=True)
        return torch.autograd.grad(g, w, grad_outputs=v)[0]

    def conjugate_gradients(A, b, steps=5):
        s = torch.zeros_like(b)
        r = b.clone()
        p, rr = r.clone(), r @ r
        for _ in range(steps):
            if rr.sqrt() < 1e-12:
                break
            Ap = A(p)
            alpha = rr / (p @ Ap)
            s += alpha * p
            r -= alpha * Ap
            new = r @ r
            p = r + new / rr * p
            rr = new
        return s

    losses = []
    for _ in range(3):
        loss = loss_fn(w)
        (g,) = torch.autograd.grad(loss, w)
        direction = conjugate_gradients(lambda v: hvp(w, v), g, steps=2)
        with torch.no_grad():
            w -= direction
        losses.append(loss.item())
    v = torch.ones(3) / math.sqrt(3)
    for _ in range(30):
        v = hvp(w, v)
        v /= v.norm()
    top = v.dot(hvp(w, v))
    (g,) = torch.autograd.grad(loss_fn(w), w, create_graph=True)
    hessian = torch.stack([torch.autograd.grad(gi, w, retain_graph=True)[0] for gi in g])
    eigenvalues = torch.linalg.eigvalsh(hessian)
    close = torch.isclose(top, eigenvalues[-1], rtol=1e-2).item()
    return losses, w, hessian, eigenvalues, close


def gaussian_process(torch):
    """Hyperparameters by the marginal likelihood through a Cholesky factor; prediction by triangular solves."""
    torch.manual_seed(3)
    x = torch.linspace(0, 5, 12).unsqueeze(-1)
    y = torch.sin(x).squeeze() + 0.1 * torch.randn(12)
    raw = {name: torch.zeros((), requires_grad=True) for name in ("length", "scale", "noise")}

    def kernel(a, b):
        length, scale = raw["length"].exp(), torch.nn.functional.softplus(raw["scale"])
        return scale * torch.exp(-0.5 * (a - b.T).pow(2) / length**2)

    def negative_log_likelihood():
        K = kernel(x, x) + (raw["noise"].exp() * 0.1 + 1e-5) * torch.eye(len(x))
        L = torch.linalg.cholesky(K)
        alpha = torch.cholesky_solve(y.unsqueeze(1), L).squeeze(1)
        value = 0.5 * y @ alpha + L.diagonal().log().sum() + 0.5 * len(x) * math.log(2 * math.pi)
        return value, L, alpha

    optimizer = torch.optim.Rprop(raw.values(), lr=0.05)
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        loss, _, _ = negative_log_likelihood()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        _, L, alpha = negative_log_likelihood()
        xs = torch.linspace(-1, 6, 7)[:, None]
        Ks = kernel(x, xs)
        mean = Ks.t() @ alpha
        v = torch.linalg.solve_triangular(L, Ks, upper=False)
        covariance = kernel(xs, xs) - v.mT @ v
        jitter = 1e-4 * torch.eye(7)
        samples = mean[:, None] + torch.linalg.cholesky(covariance + jitter) @ torch.randn(7, 2)
    leave_one_out = y - alpha / torch.cholesky_inverse(L).diag()
    return losses, mean, covariance.diagonal().clamp(min=0).sqrt(), samples, leave_one_out


def kalman_filter_learned(torch):
    """A Kalman filter whose noise levels are fitted by gradient ascent on the likelihood through the recursion."""
    torch.manual_seed(4)
    dt = 0.5
    F = torch.tensor([[1.0, dt], [0.0, 1.0]])
    H = torch.tensor([[1.0, 0.0]])
    position = torch.cumsum(torch.cumsum(0.1 * torch.randn(15), 0), 0)
    z = position + 0.5 * torch.randn(15)
    log_q = torch.tensor(-1.0, requires_grad=True)
    log_r = torch.tensor(0.0, requires_grad=True)

    def run():
        mean, P = torch.zeros(2), torch.eye(2) * 10
        Q = log_q.exp() * torch.tensor([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
        R = log_r.exp().reshape(1, 1)
        total, means = 0.0, []
        for observation in z:
            mean, P = F @ mean, F @ P @ F.T + Q
            S = H @ P @ H.T + R
            K = torch.linalg.solve(S, H @ P).T
            innovation = observation - H.mv(mean)
            mean = mean + (K @ innovation[:, None])[:, 0]
            A = torch.eye(2) - K @ H
            P = A @ P @ A.T + K @ R @ K.T
            total = total - 0.5 * (innovation**2 / S.view(-1) + torch.logdet(S) + math.log(2 * math.pi)).sum()
            means += [mean]
        return total, torch.vstack(means), P

    optimizer = torch.optim.Adam([log_q, log_r], lr=0.1, maximize=True)
    values = []
    for _ in range(5):
        optimizer.zero_grad()
        value, means, P = run()
        value.backward()
        optimizer.step()
        values.append(float(value.detach()))
    return values, means, P, torch.linalg.matrix_norm(P, ord=2), (log_q, log_r)


def clustering_em(torch):
    """k-means++ and Lloyd's steps, then EM of a Gaussian mixture, in tensors only: scatter, index_add_, einsum."""
    torch.manual_seed(5)
    centres = torch.tensor([[0.0, 0.0], [4.0, 4.0], [0.0, 5.0]])
    x = torch.cat([c + torch.randn(15, 2) for c in centres])
    x = x[torch.randperm(len(x))]
    k = 3
    chosen = [int(torch.randint(len(x), (1,)))]
    while len(chosen) < k:
        d = torch.cdist(x, x[chosen]).pow(2).min(dim=1)[0]
        chosen.append(torch.multinomial(d / d.sum(), 1).item())
    mu = x[chosen].clone()
    for _ in range(20):
        assign = ((x[:, None, :] - mu[None]) ** 2).sum(-1).argmin(-1)
        total = torch.zeros_like(mu).index_add_(0, assign, x)
        count = torch.zeros(k).scatter_add_(0, assign, torch.ones(len(x))).clamp_(min=1)
        new = total / count[:, None]
        if torch.equal(new, mu):
            break
        mu = new
    weight = torch.bincount(assign, minlength=k) / len(x)
    cov = torch.eye(2).repeat(k, 1, 1)
    likelihoods = []
    for _ in range(6):
        L = torch.linalg.cholesky(cov)
        diff = (x[:, None] - mu).permute(1, 2, 0)
        maha = torch.linalg.solve_triangular(L, diff, upper=False).square().sum(1).T
        log_det = 2 * L.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        log_p = weight.log() - 0.5 * (maha + log_det + 2 * math.log(2 * math.pi))
        log_norm = log_p.logsumexp(1, keepdim=True)
        r = (log_p - log_norm).exp()
        n = r.sum(0)
        weight, mu = n / len(x), (r.T @ x) / n[:, None]
        diff = x[:, None] - mu
        cov = torch.einsum("nk,nki,nkj->kij", r, diff, diff) / n[:, None, None] + 1e-6 * torch.eye(2)
        likelihoods.append(log_norm.sum().item())
    order = mu[:, 0].argsort()
    pca = torch.linalg.svd(x - x.mean(0), full_matrices=False)
    return likelihoods, weight[order], mu[order], cov[order], pca.S, torch.cov(x.T), torch.corrcoef(x.T), new


def graph_network(torch):
    """Message passing on an edge list: index_add_, scatter_reduce, degree normalisation, dropout of edges."""
    nn, F = torch.nn, torch.nn.functional

    class GCNConv(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.lin = nn.Linear(i, o, bias=False)
            self.bias = nn.Parameter(torch.empty(o))
            self.reset_parameters()

        def reset_parameters(self):
            nn.init.xavier_uniform_(self.lin.weight)
            nn.init.zeros_(self.bias)

        def forward(self, x, edge_index):
            loops = torch.arange(x.size(0)).repeat(2, 1)
            row, col = torch.cat([edge_index, loops], dim=1)
            deg = torch.zeros(x.size(0)).index_add_(0, col, torch.ones(col.numel()))
            norm = deg.rsqrt()[row] * deg.rsqrt()[col]
            x = self.lin(x)
            out = torch.zeros_like(x)
            out.index_add_(0, col, norm.view(-1, 1) * x.index_select(0, row))
            return out + self.bias

    class GATConv(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.lin, self.att = nn.Linear(i, o), nn.Parameter(torch.randn(2 * o) * 0.3)

        def forward(self, x, edge_index):
            h = self.lin(x)
            src, dst = edge_index
            e = F.leaky_relu((torch.cat([h[src], h[dst]], -1) * self.att).sum(-1), 0.2)
            top = torch.full((len(x),), -1e9).scatter_reduce(0, dst, e, reduce="amax")
            a = (e - top[dst]).exp()
            a = a / torch.zeros(len(x)).scatter_add(0, dst, a)[dst].clamp_min(1e-12)
            mean = torch.zeros_like(h).scatter_reduce_(
                0, dst[:, None].expand(-1, h.size(1)), h[src], "mean", include_self=False
            )
            return torch.zeros_like(h).index_add(0, dst, a.unsqueeze(-1) * h[src]) + 0.1 * mean

    torch.manual_seed(6)
    n = 10
    adjacency = (torch.rand(n, n) < 0.3).triu(1)
    edges = adjacency.nonzero().t()
    edges = torch.cat([edges, edges.flip(0)], dim=1)
    x, y = torch.eye(n), torch.arange(n) % 3
    train = torch.zeros(n, dtype=torch.bool)
    train[::2] = True
    convs = nn.ModuleList([GCNConv(n, 8), GATConv(8, 8)])
    head = nn.Linear(8, 3)
    optimizer = torch.optim.Adam(
        [dict(params=convs.parameters(), weight_decay=5e-4), dict(params=head.parameters())], lr=0.02
    )
    losses = []
    for epoch in range(6):
        keep = edges[:, torch.rand(edges.size(1)) > 0.2] if epoch % 2 else edges
        h = x
        for conv in convs:
            h = F.elu(conv(h, keep))
        out = F.log_softmax(head(h), dim=1)
        loss = F.nll_loss(out[train], y[train])
        link = (h[edges[0]] * h[edges[1]]).sum(-1)
        loss = loss + 0.1 * F.binary_cross_entropy_with_logits(link, torch.ones_like(link))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, out.argmax(1), adjacency.sum(), convs[1].att.grad


def matrix_factorisation(torch):
    """Ratings from embeddings with biases, sparse-looking batches by masks, alternating least squares beside SGD."""
    nn = torch.nn

    class MF(nn.Module):
        def __init__(self, users, items, k=3):
            super().__init__()
            self.P, self.Q = nn.Embedding(users, k), nn.Embedding(items, k, max_norm=2.0)
            self.bu, self.bi = nn.Embedding(users, 1), nn.Embedding(items, 1)
            self.mu = nn.Parameter(torch.tensor(0.0))
            for e in (self.bu, self.bi):
                e.weight.data.zero_()

        def forward(self, u, i):
            return (self.P(u) * self.Q(i)).sum(1) + self.bu(u).squeeze(-1) + self.bi(i).squeeze(-1) + self.mu

    torch.manual_seed(7)
    truth = torch.randn(6, 2) @ torch.randn(2, 5)
    u, i = torch.nonzero(torch.rand(6, 5) < 0.7, as_tuple=True)
    ratings = truth[u, i]
    model = MF(6, 5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=1e-3)
    losses = []
    for _ in range(5):
        order = torch.randperm(len(u))
        for batch in order.chunk(3):
            loss = nn.functional.mse_loss(model(u[batch], i[batch]), ratings[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    A, B = torch.randn(6, 2), torch.randn(5, 2)
    seen = torch.zeros(6, 5).index_put_((u, i), torch.tensor(1.0))
    for _ in range(3):
        for rows, other, target, mask in ((A, B, truth, seen), (B, A, truth.T, seen.T)):
            for r in range(len(rows)):
                W = torch.diag(mask[r])
                rows[r] = torch.linalg.solve(other.T @ W @ other + 0.1 * torch.eye(2), other.T @ W @ target[r])
    ranking = (A @ B.T).masked_fill(seen.bool(), float("-inf")).argsort(dim=1, descending=True)
    residual = ((A @ B.T - truth) * seen).norm() / seen.sum().sqrt()
    return losses, residual, ranking[:, 0], model.Q.weight.norm(dim=1)


def complex_optimisation(torch):
    """Phase retrieval: a complex leaf, FFTs in the loss, Wirtinger gradients with SGD and Adam; view_as_real."""
    torch.manual_seed(8)
    signal = torch.randn(8, dtype=torch.complex64 if torch.get_default_dtype() == torch.float32 else torch.complex128)
    mask = torch.exp(2j * math.pi * torch.rand(4, 8))
    measured = torch.fft.fft(mask * signal, norm="ortho").abs()
    z = (signal + 0.3 * torch.randn_like(signal)).requires_grad_()
    losses = []
    optimizer = torch.optim.Adam([z], lr=0.05)
    for step in range(8):
        if step == 4:
            optimizer = torch.optim.SGD([z], lr=0.1, momentum=0.9)
        loss = (torch.fft.fft(mask * z, norm="ortho").abs() - measured).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    phase = torch.angle((z.conj() * signal).sum())
    aligned = z.detach() * torch.polar(torch.ones_like(phase), phase)
    gate = torch.nn.Linear(4, 2, dtype=signal.dtype)
    out = torch.view_as_real(gate(z[:4])).pow(2).sum()
    out.backward()
    return losses, aligned, gate.weight.grad, torch.view_as_real(z), z.grad.imag.norm()


def soft_sorting(torch):
    """Relaxed sorting and top-k: softmax over distances, Gumbel-softmax samples, Sinkhorn in the log domain."""
    torch.manual_seed(9)
    F = torch.nn.functional

    def soft_sort(s, tau=0.5):
        ordered = s.sort(descending=True, dim=1)[0]
        return F.softmax(-(ordered.unsqueeze(2) - s.unsqueeze(1)).abs() / tau, dim=-1)

    def sinkhorn(log_alpha, rounds=10):
        for _ in range(rounds):
            log_alpha = log_alpha - torch.logsumexp(log_alpha, dim=-1, keepdim=True)
            log_alpha = log_alpha - torch.logsumexp(log_alpha, dim=-2, keepdim=True)
        return log_alpha.exp()

    score = torch.nn.Sequential(
        torch.nn.Linear(3, 8), torch.nn.SELU(), torch.nn.AlphaDropout(0.0), torch.nn.Linear(8, 1)
    )
    x = torch.randn(6, 5, 3)
    goal = (x @ torch.tensor([1.0, 2.0, -1.0])).argsort(dim=1, descending=True)
    optimizer = torch.optim.ASGD(score.parameters(), lr=0.1, t0=3)
    losses = []
    for _ in range(6):
        s = score(x).squeeze(-1)
        p = soft_sort(s)
        loss = F.nll_loss(p.clamp_min(1e-9).log().flatten(0, 1), goal.flatten())
        t = sinkhorn(s.unsqueeze(1) * torch.linspace(1, -1, 5).view(1, 5, 1))
        loss = loss + 0.1 * F.nll_loss(t.clamp_min(1e-9).log().reshape(-1, 5), goal.reshape(-1))
        gumbel = F.gumbel_softmax(s, tau=1.0, hard=True)
        loss = loss - 0.01 * (gumbel * s).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    median = s.median(dim=1)
    quantile = s.quantile(torch.tensor([0.25, 0.75], dtype=s.dtype), dim=1)
    return losses, gumbel, median.values, quantile, torch.searchsorted(s.sort(1)[0], s), s.kthvalue(2).indices
