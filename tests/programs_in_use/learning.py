"""Programs that learn to act or to learn: reinforcement learning, meta-learning, metric learning, implicit layers."""

import copy
import math
import random
from collections import deque, namedtuple

import numpy as np


def dqn_target_network(torch):
    """Q-learning on a line: replay memory, a target network copied and softly updated, no_grad targets, Huber loss."""
    nn, F = torch.nn, torch.nn.functional
    Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    n = 6
    eye = torch.eye(n)

    def step(state, action):
        state = min(n - 1, max(0, state + (1 if action else -1)))
        return state, float(state == n - 1), state == n - 1

    policy = nn.Sequential(nn.Linear(n, 16), nn.ReLU(), nn.Linear(16, 2))
    target = nn.Sequential(nn.Linear(n, 16), nn.ReLU(), nn.Linear(16, 2))
    print(target.load_state_dict(policy.state_dict()))
    target.eval()
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-2, amsgrad=True)
    memory = deque(maxlen=200)
    losses, returns = [], []
    for episode in range(5):
        state, total, done = 0, 0.0, False
        for _ in range(12):
            if random.random() > 0.9 * 0.7**episode:
                with torch.no_grad():
                    action = policy(eye[state][None]).max(1).indices.view(1, 1)
            else:
                action = torch.tensor([[random.randrange(2)]], dtype=torch.long)
            following, reward, done = step(state, action.item())
            memory.append(
                Transition(eye[[state]], action, None if done else eye[following].unsqueeze(0), torch.tensor([reward]))
            )
            state, total = following, total + reward
            if len(memory) >= 8:
                batch = Transition(*zip(*random.sample(list(memory), 8), strict=True))
                mask = torch.tensor(tuple(s is not None for s in batch.next_state), dtype=torch.bool)
                alive = torch.cat([s for s in batch.next_state if s is not None])
                q = policy(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
                following_value = torch.zeros(8)
                with torch.no_grad():
                    following_value[mask] = target(alive).max(1).values
                expected = following_value * 0.9 + torch.cat(batch.reward)
                loss = F.smooth_l1_loss(q, expected.unsqueeze(1))
                optimizer.zero_grad()
                loss.backward()
                for p in policy.parameters():
                    p.grad.data.clamp_(-1, 1)
                optimizer.step()
                losses.append(loss.item())
                state_t, state_p = target.state_dict(), policy.state_dict()
                for key in state_p:
                    state_t[key] = state_p[key] * 0.05 + state_t[key] * 0.95
                target.load_state_dict(state_t)
            if done:
                break
        returns.append(total)
    for t, p in zip(target.parameters(), policy.parameters(), strict=True):
        t.data.mul_(0.5).add_(p.data, alpha=0.5)
    return losses, returns, target(eye), [p.requires_grad for p in target.parameters()]


def actor_critic_by_hand(torch):
    """REINFORCE with a baseline: multinomial actions, log-probabilities gathered by hand, entropy."""
    nn, F = torch.nn, torch.nn.functional
    eps = np.finfo(np.float32).eps.item()

    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.affine1 = nn.Linear(3, 8)
            self.action_head = nn.Linear(8, 3)
            self.value_head = nn.Linear(8, 1)
            self.saved, self.rewards = [], []

        def forward(self, x):
            x = F.relu(self.affine1(x))
            return F.softmax(self.action_head(x), dim=-1), self.value_head(x)

    torch.manual_seed(1)
    model = Policy()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)
    running, history = 10, []
    generator = torch.Generator().manual_seed(7)
    for episode in range(5):
        state, total = torch.rand(3, generator=generator), 0
        for _ in range(10):
            probs, value = model(state)
            action = torch.multinomial(probs, 1, generator=generator)
            log_prob = probs.gather(0, action).log().squeeze()
            entropy = -(probs * probs.clamp_min(1e-8).log()).sum()
            model.saved.append((log_prob, value, entropy))
            reward = 1.0 if action.item() == int(state.argmax()) else -0.1
            model.rewards.append(reward)
            total += reward
            state = (state.roll(1) + 0.1 * torch.randn(3, generator=generator)).detach()
        R, returns = 0, []
        for r in model.rewards[::-1]:
            R = r + 0.9 * R
            returns.insert(0, R)
        returns = torch.tensor(returns)
        returns = (returns - returns.mean()) / (returns.std() + eps)
        policy_losses, value_losses = [], []
        for (log_prob, value, entropy), R in zip(model.saved, returns, strict=True):
            advantage = R - value.item()
            policy_losses.append(-log_prob * advantage - 0.01 * entropy)
            value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))
        optimizer.zero_grad()
        loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
        loss.backward()
        optimizer.step()
        del model.rewards[:], model.saved[:]
        running = 0.05 * total + 0.95 * running
        history.append(loss.item())
        print(f"Episode {episode}\tLast reward: {total:.2f}\tAverage reward: {running:.2f}")
    return history, running, model(torch.eye(3))[0]


def policy_optimisation(torch):
    """PPO with advantages by a backward scan, ratios clipped, minibatches; a squashed Gaussian actor as in SAC."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(7)

    class Agent(nn.Module):
        def __init__(self):
            super().__init__()
            self.critic = nn.Sequential(self.layer(nn.Linear(3, 8)), nn.Tanh(), self.layer(nn.Linear(8, 1), std=1.0))
            self.actor_mean = nn.Sequential(
                self.layer(nn.Linear(3, 8)), nn.Tanh(), self.layer(nn.Linear(8, 2), std=0.01)
            )
            self.actor_logstd = nn.Parameter(torch.zeros(1, 2))

        @staticmethod
        def layer(layer, std=2**0.5, bias_const=0.0):
            torch.nn.init.orthogonal_(layer.weight, std)
            torch.nn.init.constant_(layer.bias, bias_const)
            return layer

        def log_prob(self, x, action):
            mean = self.actor_mean(x)
            log_std = self.actor_logstd.expand_as(mean)
            z = (action - mean) / log_std.exp()
            return (-0.5 * z.pow(2) - log_std - 0.5 * math.log(2 * math.pi)).sum(1), (log_std + 1.4189).sum(1)

    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-2, eps=1e-5)
    T = 16
    obs, actions = torch.zeros(T, 3), torch.zeros((T, 2))
    rewards, dones, values, logprobs = (torch.zeros(T) for _ in range(4))
    state = torch.randn(3)
    for t in range(T):
        obs[t] = state
        with torch.no_grad():
            mean = agent.actor_mean(state[None])
            action = torch.normal(mean, agent.actor_logstd.exp().expand_as(mean))
            logprobs[t], _ = agent.log_prob(state[None], action)
            values[t] = agent.critic(state).squeeze()
        actions[t] = action
        rewards[t] = -(action - state[:2]).abs().sum()
        dones[t] = t % 5 == 4
        state = torch.randn(3) if dones[t] else 0.9 * state + 0.1 * torch.randn(3)
    advantages, last = torch.zeros_like(rewards), 0
    for t in reversed(range(T)):
        following = values[t + 1] if t + 1 < T else agent.critic(state).detach()[0]
        delta = rewards[t] + 0.99 * following * (1 - dones[t]) - values[t]
        advantages[t] = last = delta + 0.99 * 0.95 * (1 - dones[t]) * last
    returns = advantages + values
    history = []
    for _ in range(2):
        for index in torch.randperm(T).split(8):
            new, entropy = agent.log_prob(obs[index], actions[index])
            log_ratio = new - logprobs[index]
            ratio = log_ratio.exp()
            with torch.no_grad():
                kl = ((ratio - 1) - log_ratio).mean()
                clipped = ((ratio - 1.0).abs() > 0.2).float().mean().item()
            a = advantages[index]
            a = (a - a.mean()) / (a.std() + 1e-8)
            policy = torch.max(-a * ratio, -a * torch.clamp(ratio, 1 - 0.2, 1 + 0.2)).mean()
            value = agent.critic(obs[index]).view(-1)
            bounded = values[index] + (value - values[index]).clamp(-0.2, 0.2)
            critic = 0.5 * torch.max((value - returns[index]) ** 2, (bounded - returns[index]) ** 2).mean()
            loss = policy - 0.01 * entropy.mean() + 0.5 * critic
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
            history.append((loss.item(), kl.item(), clipped))
    explained = 1 - (returns - values).var() / returns.var()
    raw = agent.actor_mean(obs) + torch.randn(T, 2)
    squashed = torch.tanh(raw)
    correction = (2 * (math.log(2) - raw - F.softplus(-2 * raw))).sum(1)
    (g,) = torch.autograd.grad((squashed.sum(1) - correction).mean(), agent.actor_mean[2].weight)
    return history, explained, advantages, g


def maml_functional_call(torch):
    """Sine tasks: the inner step differentiated, parameters as a dict given to functional_call."""
    nn = torch.nn
    call = torch.func.functional_call
    torch.manual_seed(2)
    model = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(5):
        outer = 0.0
        for _ in range(2):
            amplitude, phase = torch.empty(1).uniform_(0.1, 5.0), torch.rand(1) * 3.14
            xs, xq = torch.rand(2, 6, 1).mul(10).sub(5).unbind(0)
            ys, yq = amplitude * torch.sin(xs + phase), amplitude * torch.sin(xq + phase)
            fast = dict(model.named_parameters())
            for _ in range(2):
                inner = nn.functional.mse_loss(call(model, fast, (xs,)), ys)
                grads = torch.autograd.grad(inner, tuple(fast.values()), create_graph=True)
                fast = {name: p - 0.05 * g for (name, p), g in zip(fast.items(), grads, strict=True)}
            outer = outer + nn.functional.mse_loss(call(model, fast, (xq,)), yq)
        optimizer.zero_grad()
        outer.backward()
        optimizer.step()
        losses.append(outer.item())
    return losses, [p.grad.norm().item() for p in model.parameters()]


def maml_fast_weights_and_reptile(torch):
    """Fast weights as a list with a functional forward and a learned inner rate; then Reptile with deepcopy."""
    F = torch.nn.functional
    torch.manual_seed(3)
    theta = [torch.randn(8, 2) * 0.5, torch.zeros(8), torch.randn(2, 8) * 0.5, torch.zeros(2)]
    theta = [t.requires_grad_() for t in theta]
    log_lr = torch.full((len(theta),), -2.0, requires_grad=True)

    def forward(x, w):
        return F.linear(F.elu(F.linear(x, w[0], w[1])), w[2], w[3])

    def task():
        w = torch.randn(2)
        x = torch.randn(16, 2)
        y = (x @ w > 0).long()
        return x[:8], y[:8], x[8:], y[8:]

    optimizer = torch.optim.SGD(
        [{"params": theta}, {"params": [log_lr], "lr": 0.1}], lr=0.05, momentum=0.5, dampening=0.1
    )
    losses, accuracies = [], []
    for _ in range(5):
        meta = []
        for _ in range(3):
            xs, ys, xq, yq = task()
            grads = torch.autograd.grad(F.cross_entropy(forward(xs, theta), ys), theta, create_graph=True)
            fast = list(map(lambda p: p[1] - p[2].exp() * p[0], zip(grads, theta, log_lr, strict=True)))
            out = forward(xq, fast)
            meta.append(F.cross_entropy(out, yq))
            accuracies.append(torch.eq(out.argmax(dim=1), yq).sum().item())
        loss = sum(meta) / len(meta)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([*theta, log_lr], 5, norm_type=float("inf"))
        optimizer.step()
        losses.append(loss.item())
    model = torch.nn.Linear(2, 2)
    for _ in range(3):
        clone = copy.deepcopy(model)
        inner = torch.optim.SGD(clone.parameters(), lr=0.1)
        xs, ys, _, _ = task()
        for _ in range(3):
            inner.zero_grad()
            F.cross_entropy(clone(xs), ys).backward()
            inner.step()
        with torch.no_grad():
            for p, q in zip(model.parameters(), clone.parameters(), strict=True):
                p.add_(q - p, alpha=0.3)
    return losses, accuracies, log_lr, model.state_dict()


def metric_learning(torch):
    """Siamese nets: contrastive by hand, triplets with hard negatives, InfoNCE, cosine losses."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(4)

    class Embedder(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(5, 10), nn.LayerNorm(10), nn.ReLU(), nn.Linear(10, 4))

        def forward(self, x):
            return F.normalize(self.body(x), p=2, dim=1)

    def contrastive(a, b, same, margin=1.0):
        d = F.pairwise_distance(a, b, keepdim=True)
        return torch.mean((1 - same) * d.pow(2) + same * torch.clamp(margin - d, min=0.0).pow(2))

    def info_nce(a, b, temperature=0.2):
        z = torch.cat([a, b])
        sim = F.cosine_similarity(z.unsqueeze(1), z.unsqueeze(0), dim=-1) / temperature
        sim.masked_fill_(torch.eye(len(z), dtype=torch.bool), float("-inf"))
        n = len(a)
        return F.cross_entropy(sim, torch.cat([torch.arange(n, 2 * n), torch.arange(n)]))

    labels = torch.arange(12) % 3
    centres = torch.randn(3, 5) * 2
    x = centres[labels] + 0.3 * torch.randn(12, 5)
    model = Embedder()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    triplet = nn.TripletMarginLoss(margin=0.5, swap=True)
    losses = []
    for _ in range(6):
        z = model(x)
        distance = torch.cdist(z, z)
        same = labels[:, None] == labels[None, :]
        positive = distance.masked_fill(~same, -1).argmax(1)
        negative = distance.masked_fill(same, float("inf")).argmin(1)
        hard = triplet(z, z[positive], z[negative])
        other = torch.randperm(12)
        pair = contrastive(z, z[other], (labels != labels[other]).to(z.dtype).unsqueeze(1))
        cosine = F.cosine_embedding_loss(z, z[other], torch.where(labels == labels[other], 1, -1), margin=0.1)
        nce = info_nce(z, model(x + 0.05 * torch.randn_like(x)))
        loss = hard + pair + cosine + 0.5 * nce
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append([v.item() for v in (hard, pair, cosine, nce)])
    with torch.no_grad():
        z = model(x)
        mean = torch.stack([z[labels == c].mean(0) for c in labels.unique()])
        guess = torch.cdist(z, mean).argmin(dim=-1)
    return losses, (guess == labels).sum(), torch.pdist(mean)


def implicit_layer(torch):
    """A fixed point found without a tape; its gradient by a custom Function solving a linear system."""
    nn = torch.nn
    torch.manual_seed(5)

    class FixedPoint(torch.autograd.Function):
        @staticmethod
        def forward(ctx, W, b, x):
            z = torch.zeros_like(x)
            for _ in range(60):
                z = torch.tanh(z @ W.t() + x + b)
            ctx.save_for_backward(W, z)
            ctx.mark_non_differentiable()
            return z

        @staticmethod
        def backward(ctx, g):
            W, z = ctx.saved_tensors
            d = 1 - z * z
            eye = torch.eye(W.size(0), dtype=W.dtype)
            u = torch.linalg.solve(eye - (d.unsqueeze(-1) * W).transpose(1, 2), g.unsqueeze(-1)).squeeze(-1) * d
            grad_w = u.t().mm(z) if ctx.needs_input_grad[0] else None
            return grad_w, u.sum(0), u if ctx.needs_input_grad[2] else None

    W = nn.Parameter(torch.randn(4, 4) * 0.2)
    b = nn.Parameter(torch.zeros(4))
    head = nn.Linear(4, 1)
    x = torch.randn(10, 4)
    y = x.prod(dim=1, keepdim=True).tanh()
    optimizer = torch.optim.Adadelta([W, b, *head.parameters()], lr=1.0)
    losses = []
    for _ in range(6):
        loss = (head(FixedPoint.apply(W, b, x)) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    z = torch.zeros_like(x)
    for _ in range(60):
        z = torch.tanh(z @ W.T + x + b)
    explicit = torch.autograd.grad((head(z) - y).square().mean(), [W, b])
    implicit = torch.autograd.grad((head(FixedPoint.apply(W, b, x)) - y).square().mean(), [W, b])
    return losses, implicit, [torch.allclose(p, q, atol=1e-5) for p, q in zip(explicit, implicit, strict=True)]
