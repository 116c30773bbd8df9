"""Finds a pendulum's length and friction from its observed motion, by gradient descent through the simulation.

Every step of the simulation is a handful of operations on single numbers: the framework's overhead is the run time.
"""

import math

import adjoint as torch

STEPS, DT = 150, 0.02


def simulate(length, friction):
    """The angles of a pendulum that starts at rest at 60 degrees, one for each time step."""
    angle, speed = math.pi / 3, 0.0
    angles = []
    for _ in range(STEPS):
        speed = speed - DT * (9.81 / length * torch.sin(torch.as_tensor(angle)) + friction * speed)
        angle = angle + DT * speed
        angles.append(angle)
    return torch.stack(angles)


def main():
    with torch.no_grad():
        observed = simulate(torch.tensor(1.3), torch.tensor(0.25))

    length = torch.tensor(0.8, requires_grad=True)
    friction = torch.tensor(0.0, requires_grad=True)
    parameters = (length, friction)
    means, squares = [0.0, 0.0], [0.0, 0.0]
    for step in range(1, 301):
        loss = ((simulate(length, friction) - observed) ** 2).mean()
        loss.backward()
        with torch.no_grad():  # Adam
            for i, p in enumerate(parameters):
                g = p.grad.item()
                means[i] += 0.1 * (g - means[i])
                squares[i] += 0.01 * (g * g - squares[i])
                p -= 0.02 * (means[i] / (1 - 0.9**step)) / (math.sqrt(squares[i] / (1 - 0.99**step)) + 1e-12)
                p.grad = None
        if step % 60 == 0:
            print(
                f"step {step:3}: loss {loss.item():.2e}, length {length.item():.4f}, friction {friction.item():.4f}",
                flush=True,
            )
    print("the observed motion was made with length 1.3, friction 0.25")


if __name__ == "__main__":
    main()
