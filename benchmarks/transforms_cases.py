"""Function transforms, written once against a module called `torch` that is either library."""

import itertools

from cases import Case


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def functional_hessian(torch):
    x = torch.rand(30)
    return lambda: torch.autograd.functional.hessian(rosenbrock, x)


def func_hessian(torch):
    x = torch.rand(30)
    hessian = torch.func.hessian(rosenbrock)
    return lambda: hessian(x)


def mlp(torch, *widths):
    """A multilayer perceptron with tanh between its layers."""
    layers = []
    for before, after in itertools.pairwise(widths):
        layers += [torch.nn.Linear(before, after), torch.nn.Tanh()]
    return torch.nn.Sequential(*layers[:-1])


def per_sample_gradients(torch):
    model = mlp(torch, 784, 256, 256, 10)
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    images, labels = torch.rand(64, 784), torch.randint(0, 10, (64,))

    def loss(parameters, image, label):
        scores = torch.func.functional_call(model, parameters, (image.unsqueeze(0),))
        return torch.nn.functional.cross_entropy(scores, label.unsqueeze(0))

    gradients = torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
    return lambda: gradients(parameters, images, labels)


def twenty_ops(torch):
    def function(x):
        for _ in range(4):
            y = x.sin() * 0.5
            x = (y + x).tanh()
        return (x.exp() / 3 + 0.1).sum()

    mapped = torch.vmap(function)
    rows = torch.rand(1000, 8)
    return lambda: mapped(rows)


def jvp_of_chain(torch):
    x, t = torch.rand(8), torch.rand(8)

    def chain(x):
        for _ in range(50):
            x = x.sin()
            x = x * 1.01
        return x

    return lambda: torch.func.jvp(chain, (x,), (t,))


def batched_jacobian(torch):
    model = mlp(torch, 32, 64, 32)
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    x = torch.rand(100, 32)
    jacobians = torch.vmap(torch.func.jacrev(lambda x: torch.func.functional_call(model, parameters, (x,))))
    return lambda: jacobians(x)


def laplacian(torch):
    model = mlp(torch, 3, 64, 64, 1)
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    points = torch.rand(1000, 3)

    def value(x):
        return torch.func.functional_call(model, parameters, (x,)).squeeze(-1)

    if hasattr(torch.func, "laplacian"):
        mapped = torch.vmap(lambda x: torch.func.laplacian(value, x))
    else:
        mapped = torch.vmap(lambda x: torch.func.hessian(value)(x).trace())
    return lambda: mapped(points)


def case(name, title, make, aim):
    return Case(name, "transforms", title, make, str(aim))


CASES = [
    case("hessian_functional", "Hessian of a 30-variable Rosenbrock, autograd.functional", functional_hessian, 15),
    case("hessian_func", "Hessian of a 30-variable Rosenbrock, func.hessian", func_hessian, 15),
    case("per_sample", "per-sample gradients of an MLP 784-256-256-10, batch 64", per_sample_gradients, 3),
    case("vmap_20", "vmap of a 20-op function over 1,000 rows of 8", twenty_ops, 10),
    case("jvp_chain", "jvp of a chain of 100 ops on 8 elements", jvp_of_chain, 15),
    case("jacobian_batch", "Jacobians of an MLP 32-64-32 for a batch of 100", batched_jacobian, 5),
    case("laplacian", "Laplacian of an MLP 3-64-64-1 at 1,000 points", laplacian, 3),
]
