"""A neural ordinary differential equation learns the law of a motion from observed points, by the adjoint method.

The network is the right side of dy/dt = f(y). Backpropagation through the solver would keep every step of it; the
adjoint method keeps only the end, and integrates backwards in time: the state y together with its cotangent a, which
follows da/dt = -a ∂f/∂y, while the gradient of the parameters grows by a ∂f/∂θ. That is a custom autograd Function.
"""

from common import arguments, train

import adjoint as torch
from adjoint import nn, optim

DT = 0.05  # of one step of the solver
LENGTH = 20  # steps of a piece of motion to learn from
BATCH = 32
DECAY = 0.9985  # of the learning rate, with every step


def rk4(f, values, dt):
    """One step of the classical Runge-Kutta method for a list of tensors; `f(*values)` returns their derivatives."""

    def moved(slopes, by):
        return [value + by * slope for value, slope in zip(values, slopes, strict=True)]

    k1 = f(*values)
    k2 = f(*moved(k1, dt / 2))
    k3 = f(*moved(k2, dt / 2))
    k4 = f(*moved(k3, dt))
    return moved([(a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4, strict=True)], dt)


def solve(f, start, steps):
    """The states at the ends of all steps, stacked."""
    states = [start]
    for _ in range(steps):
        states += rk4(lambda y: [f(y)], [states[-1]], DT)
    return torch.stack(states[1:])


class AdjointSolve(torch.autograd.Function):
    """`solve`, whose memory does not grow with the number of steps except for the states that it returns."""

    @staticmethod
    def forward(ctx, start, f, steps, *parameters):
        states = solve(f, start, steps)
        ctx.f, ctx.parameters = f, parameters
        ctx.save_for_backward(states)
        return states

    @staticmethod
    def backward(ctx, g):
        (states,) = ctx.saved_tensors

        def derivatives(y, a, *_):
            with torch.enable_grad():
                y = y.detach().requires_grad_()
                slope = ctx.f(y)
                towards_y, *towards_parameters = torch.autograd.grad(slope, (y, *ctx.parameters), a)
            return [slope.detach(), -towards_y, *(-gradient for gradient in towards_parameters)]

        a = torch.zeros_like(g[0])
        gradients = [torch.zeros_like(p) for p in ctx.parameters]
        for state, observed in zip(states.flip(0), g.flip(0), strict=True):
            # What is observed of a state adds to its cotangent; then one step back in time.
            _, a, *gradients = rk4(derivatives, [state, a + observed, *gradients], -DT)
        return a, None, None, *gradients


def adjoint_solve(f, start, steps):
    return AdjointSolve.apply(start, f, steps, *f.parameters())


def true_law(y):
    """A spiral with a cubic law, the one to be found."""
    return y**3 @ torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])


class Law(nn.Module):
    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(nn.Linear(2, 48), nn.Softplus(), nn.Linear(48, 2))

    def forward(self, y):
        return self.network(y**3)


def largest_difference(f, start):
    """Of the adjoint method's gradients from those of backpropagation through the solver, relative to the largest."""
    gradients = []
    for method in (adjoint_solve, solve):
        loss = (method(f, start, LENGTH) ** 2).mean()
        gradients.append(torch.cat([g.flatten() for g in torch.autograd.grad(loss, f.parameters())]))
    return ((gradients[0] - gradients[1]).abs().max() / gradients[1].abs().max()).item()


def main():
    options = arguments(__doc__, steps=3000)
    torch.manual_seed(options.seed)
    start = torch.tensor([[2.0, 0.0]])
    motion = torch.cat([start[None], solve(true_law, start, 400)])[:, 0]  # (times, 2)
    law = Law()
    optimizer = optim.Adam(law.parameters(), lr=1e-2)
    schedule = optim.lr_scheduler.ExponentialLR(optimizer, DECAY)
    window = torch.arange(LENGTH + 1)

    def step():
        pieces = motion[torch.randint(len(motion) - LENGTH, (BATCH,)) + window[:, None]]  # (LENGTH + 1, BATCH, 2)
        loss = nn.functional.mse_loss(adjoint_solve(law, pieces[0], LENGTH), pieces[1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss.item()

    train(step, options, law=law, optimizer=optimizer, schedule=schedule)
    print(f"gradients differ from backpropagation's by {largest_difference(law, motion[:BATCH]):.1e} of the largest")
    with torch.no_grad():
        followed = solve(law, start, 400)[:, 0]
    missed = (followed - motion[1:]).norm(dim=1).mean()
    print(f"followed for 400 steps, the learned law is {missed:.3f} off the true motion on average, of a radius of 2")


if __name__ == "__main__":
    main()
