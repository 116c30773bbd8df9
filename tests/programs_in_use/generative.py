"""Programs that generate: adversarial nets, variational autoencoders, flows, mixtures, diffusion, codebooks."""

import math


def points(torch, count=32):
    """Points on a noisy ring."""
    angle = torch.rand(count) * 2 * math.pi
    return torch.stack((angle.cos(), angle.sin()), dim=1) + 0.05 * torch.randn(count, 2)


def gan_toggling_requires_grad(torch):
    """Two optimizers; the discriminator is frozen while the generator learns; labels are filled in place."""
    nn = torch.nn
    torch.manual_seed(0)

    def block(i, o, normalize=True):
        layers = [nn.Linear(i, o)]
        if normalize:
            layers.append(nn.BatchNorm1d(o, 0.8))
        layers.append(nn.LeakyReLU(0.2, inplace=True))
        return layers

    G = nn.Sequential(*block(4, 16, normalize=False), *block(16, 16), nn.Linear(16, 2), nn.Tanh())
    D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1), nn.Sigmoid())
    criterion = nn.BCELoss()
    opt_g = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.999))
    fixed = torch.randn(4, 4)
    label = torch.empty(16)
    history = []
    for step in range(8):
        real = points(torch, 16)
        for p in D.parameters():
            p.requires_grad_(True)
        D.zero_grad()
        label.fill_(0.9)
        loss_real = criterion(D(real).view(-1), label)
        loss_real.backward()
        fake = G(torch.randn(16, 4))
        label.zero_()
        loss_fake = criterion(D(fake.detach()).view(-1), label)
        loss_fake.backward()
        opt_d.step()
        for p in D.parameters():
            p.requires_grad_(False)
        G.zero_grad()
        label.fill_(1)
        output = D(fake).view(-1)
        loss_g = criterion(output, label)
        loss_g.backward()
        opt_g.step()
        history.append((loss_real.item(), loss_fake.item(), loss_g.item(), output.mean().item()))
        if step % 4 == 0:
            print(
                "[%d] D %.4f G %.4f D(G(z)) %.4f"
                % (step, (loss_real + loss_fake).item(), loss_g.item(), output.mean().item())
            )
    G.eval()
    return history, G(fixed).detach()


def wgan_gradient_penalty(torch):
    """A critic with a gradient penalty, which needs the gradient of a gradient."""
    nn, autograd = torch.nn, torch.autograd
    torch.manual_seed(1)
    G = nn.Sequential(nn.Linear(3, 12), nn.ReLU(True), nn.Linear(12, 2))
    D = nn.Sequential(nn.Linear(2, 12), nn.LayerNorm(12), nn.SiLU(), nn.Linear(12, 1))
    opt_g = torch.optim.RMSprop(G.parameters(), lr=5e-3)
    opt_d = torch.optim.Adam(D.parameters(), lr=5e-3, betas=(0.0, 0.9))

    def penalty(real, fake):
        alpha = torch.rand(real.size(0), 1).expand_as(real)
        between = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
        score = D(between)
        gradients = autograd.grad(
            outputs=score,
            inputs=between,
            grad_outputs=torch.ones(score.size()),
            create_graph=True,
            retain_graph=True,
            only_inputs=True,
        )[0]
        return ((gradients.view(gradients.size(0), -1).norm(2, dim=1) - 1) ** 2).mean()

    history = []
    for step in range(9):
        real = points(torch, 12)
        with torch.no_grad():
            fake = G(torch.randn(12, 3))
        gp = penalty(real, fake)
        loss_d = D(fake).mean() - D(real).mean() + 10 * gp
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
        history += [loss_d.item(), gp.item()]
        if step % 3 == 2:
            opt_g.zero_grad()
            loss_g = -D(G(torch.randn(12, 3))).mean()
            loss_g.backward()
            opt_g.step()
            history.append(loss_g.item())
    return history, [p.grad for p in G.parameters()]


def vae_reparametrised(torch):
    """Encoder, decoder, KL and reconstruction with annealing; samples and interpolation; SWA at the end."""
    nn, F = torch.nn, torch.nn.functional

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1 = nn.Linear(16, 12)
            self.fc21, self.fc22 = nn.Linear(12, 2), nn.Linear(12, 2)
            self.decoder = nn.Sequential(nn.Linear(2, 12), nn.ReLU(), nn.Linear(12, 16), nn.Sigmoid())

        def encode(self, x):
            h = F.relu(self.fc1(x))
            return self.fc21(h), self.fc22(h)

        def reparameterize(self, mu, logvar):
            if not self.training:
                return mu
            std = torch.exp(0.5 * logvar)
            return mu + torch.randn_like(std) * std

        def forward(self, x):
            mu, logvar = self.encode(x.view(-1, 16))
            return self.decoder(self.reparameterize(mu, logvar)), mu, logvar

    torch.manual_seed(2)
    x = (torch.rand(20, 1, 4, 4) < torch.linspace(0.1, 0.9, 16).view(1, 1, 4, 4)).to(torch.get_default_dtype())
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    averaged = torch.optim.swa_utils.AveragedModel(model)
    losses = []
    for epoch in range(8):
        recon, mu, logvar = model(x)
        bce = F.binary_cross_entropy(recon, x.view(-1, 16), reduction="sum")
        kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        loss = bce + min(1.0, epoch / 4) * kld
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch >= 4:
            averaged.update_parameters(model)
        losses.append(loss.item() / len(x))
    model.eval()
    with torch.no_grad():
        samples = model.decoder(torch.randn(3, 2)).view(3, 1, 4, 4)
        a, b = model.encode(x.view(-1, 16))[0][:2]
        between = model.decoder(torch.stack([torch.lerp(a, b, w) for w in torch.linspace(0, 1, 5)]))
        smooth = averaged.eval()(x)[0]
    return losses, samples, between, smooth, int(averaged.n_averaged)


def normalising_flow(torch):
    """Affine couplings with a mask buffer, an LU-parametrised linear map and slogdet, exact likelihood, inversion."""
    nn = torch.nn

    class Coupling(nn.Module):
        def __init__(self, mask):
            super().__init__()
            self.register_buffer("mask", mask)
            self.s = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 3), nn.Tanh())
            self.t = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 3))

        def forward(self, x):
            m = self.mask
            s, t = self.s(x * m) * (1 - m), self.t(x * m) * (1 - m)
            return m * x + (1 - m) * (x * s.exp() + t), s.sum(dim=1)

        def inverse(self, y):
            m = self.mask
            s, t = self.s(y * m) * (1 - m), self.t(y * m) * (1 - m)
            return m * y + (1 - m) * ((y - t) * torch.exp(-s))

    class LULinear(nn.Module):
        def __init__(self, n):
            super().__init__()
            q, _ = torch.linalg.qr(torch.randn(n, n))
            p, lower, upper = torch.linalg.lu(q)
            self.register_buffer("p", p)
            self.lower = nn.Parameter(lower.tril(-1))
            self.upper = nn.Parameter(upper)

        def weight(self):
            eye = torch.eye(len(self.p))
            return self.p @ (torch.tril(self.lower, -1) + eye) @ torch.triu(self.upper)

        def forward(self, x):
            w = self.weight()
            return x @ w.T, torch.slogdet(w).logabsdet.expand(len(x))

        def inverse(self, y):
            return torch.linalg.solve(self.weight(), y.T).T

    torch.manual_seed(3)
    mask = torch.tensor([1.0, 0.0, 1.0])
    flow = nn.ModuleList([Coupling(mask), LULinear(3), Coupling(1 - mask), LULinear(3)])
    x = torch.randn(24, 3)
    x[:, 1] += x[:, 0] ** 2
    optimizer = torch.optim.Adam(flow.parameters(), lr=5e-3)
    sched = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.95)
    losses = []
    for _ in range(8):
        z, logdet = x, 0
        for layer in flow:
            z, ld = layer(z)
            logdet = logdet + ld
        loss = -(-0.5 * (z**2 + math.log(2 * math.pi)).sum(-1) + logdet).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sched.step()
        losses.append(loss.item())
    with torch.no_grad():
        y = z = torch.randn(4, 3)
        for layer in reversed(flow):
            y = layer.inverse(y)
        back = y
        for layer in flow:
            back, _ = layer(back)
        closed = torch.allclose(back, z, atol=1e-4)
    return losses, y, closed, list(flow.state_dict())


def mixture_density_network(torch):
    """Inverse problem: mixture weights, means and scales from one net, log-sum-exp likelihood."""
    nn = torch.nn
    torch.manual_seed(4)

    class MDN(nn.Module):
        def __init__(self, hidden=12, k=3):
            super().__init__()
            self.z = nn.Sequential(nn.Linear(1, hidden), nn.Tanh())
            self.pi, self.mu, self.sigma = (nn.Linear(hidden, k) for _ in range(3))

        def forward(self, x):
            h = self.z(x)
            return torch.log_softmax(self.pi(h), -1), self.mu(h), torch.exp(self.sigma(h))

    y = torch.linspace(-1, 1, 30).unsqueeze(1)
    x = y + 0.3 * torch.sin(2 * math.pi * y) + 0.05 * torch.randn(30, 1)
    model = MDN()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
    losses = []
    for _ in range(12):
        log_pi, mu, sigma = model(x)
        log_p = -0.5 * ((y.expand_as(mu) - mu) / sigma) ** 2 - sigma.log() - 0.5 * math.log(2 * math.pi)
        loss = -torch.logsumexp(log_pi + log_p, dim=1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        log_pi, mu, sigma = model(x[::5])
        k = torch.multinomial(log_pi.exp(), 1).view(-1)
        rows = torch.arange(len(k))
        samples = torch.normal(mu, sigma)[rows, k]
    return losses, samples, k


def vq_vae_straight_through(torch):
    """A codebook: nearest vectors by cdist, straight-through gradients, commitment loss, codebook usage by bincount."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(5)

    class Quantizer(nn.Module):
        def __init__(self, n, d, beta=0.25):
            super().__init__()
            self.embedding = nn.Embedding(n, d)
            self.embedding.weight.data.uniform_(-1 / n, 1 / n)
            self.beta = beta

        def forward(self, z):
            z = z.permute(0, 2, 3, 1).contiguous()
            flat = z.view(-1, z.shape[-1])
            index = torch.argmin(torch.cdist(flat, self.embedding.weight), dim=1)
            one_hot = torch.zeros(len(index), self.embedding.num_embeddings).scatter_(1, index.unsqueeze(1), 1)
            q = (one_hot @ self.embedding.weight).view(z.shape)
            loss = self.beta * F.mse_loss(q.detach(), z) + F.mse_loss(q, z.detach())
            q = z + (q - z).detach()
            usage = one_hot.mean(0)
            perplexity = torch.exp(-torch.sum(usage * torch.log(usage + 1e-10)))
            return q.permute(0, 3, 1, 2), loss, perplexity, index

    class Round(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, levels):
            ctx.save_for_backward(x)
            return torch.round(x * levels) / levels

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * (x.abs() <= 1).to(g.dtype), None

    encoder = nn.Sequential(nn.Conv2d(1, 4, 4, 2, 1), nn.ReLU(), nn.Conv2d(4, 3, 1))
    decoder = nn.Sequential(nn.ConvTranspose2d(3, 4, 4, 2, 1), nn.ReLU(), nn.Conv2d(4, 1, 3, padding=1))
    quantizer = Quantizer(6, 3)
    x = torch.rand(4, 1, 8, 8)
    params = [*encoder.parameters(), *decoder.parameters(), *quantizer.parameters()]
    optimizer = torch.optim.Adam(params, lr=1e-2)
    history = []
    for _ in range(6):
        q, vq, perplexity, index = quantizer(encoder(x))
        out = Round.apply(decoder(q), 16)
        loss = F.smooth_l1_loss(out, x, beta=0.5) + vq
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append((loss.item(), perplexity.item()))
    return history, torch.bincount(index, minlength=6), index.view(4, 4, 4), Round.apply(x, 2)


def diffusion(torch):
    """Noise prediction with sinusoidal time embeddings, a cosine schedule by cumprod, ancestral sampling."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(6)
    T = 10
    t = torch.linspace(0, T, T + 1)
    bar = torch.cos((t / T + 0.008) / 1.008 * math.pi / 2) ** 2
    betas = torch.clip(1 - bar[1:] / bar[:-1], 0, 0.999)
    alphas = 1.0 - betas
    alpha_bar = torch.cumprod(alphas, dim=0)
    previous = F.pad(alpha_bar[:-1], (1, 0), value=1.0)

    class Denoiser(nn.Module):
        def __init__(self, d=8):
            super().__init__()
            self.d = d
            self.time = nn.Sequential(nn.Linear(d, d), nn.Mish())
            self.layers = nn.ModuleList([nn.Linear(2 + d, 16), nn.Linear(16 + d, 16)])
            self.last = nn.Linear(16, 2)

        def forward(self, x, t):
            freq = torch.exp(-math.log(100) * torch.arange(self.d // 2, dtype=x.dtype) / (self.d // 2))
            args = t[:, None].to(x.dtype) * freq[None]
            e = self.time(torch.cat([args.sin(), args.cos()], dim=-1))
            for layer in self.layers:
                x = F.silu(layer(torch.hstack([x, e])))
            return self.last(x)

    def extract(a, t, shape):
        return a.gather(-1, t).reshape(t.shape[0], *((1,) * (len(shape) - 1)))

    model = Denoiser()
    data = points(torch, 24)
    optimizer = torch.optim.RAdam(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-2, total_steps=8)
    losses = []
    for _ in range(8):
        t = torch.randint(0, T, (len(data),))
        noise = torch.randn_like(data)
        noisy = extract(alpha_bar, t, data.shape).sqrt() * data + (1 - extract(alpha_bar, t, data.shape)).sqrt() * noise
        loss = F.mse_loss(model(noisy, t), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())

    @torch.no_grad()
    def sample(n):
        x = torch.randn(n, 2)
        for i in reversed(range(T)):
            t = torch.full((n,), i, dtype=torch.long)
            mean = (x - betas[i] / torch.sqrt(1 - alpha_bar[i]) * model(x, t)) / alphas[i].sqrt()
            variance = betas[i] * (1.0 - previous[i]) / (1.0 - alpha_bar[i])
            x = mean + (variance.sqrt() * torch.randn_like(x) if i > 0 else 0)
        return x.clamp(-3, 3)

    return losses, sample(4), alpha_bar, schedule.get_last_lr()
