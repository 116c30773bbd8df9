"""The cases of transforms_cases.py in JAX, compiled, for information. Stands for a library in worker.py."""

import itertools
import os

import jax
import jax.numpy as np

__version__ = jax.__version__


def get_num_threads():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def set_num_threads(count):
    """JAX has no say in it; the cases are those that run on all cores."""


def manual_seed(seed):
    """Keys are given below."""


def uniform(*shape, seed=0):
    return jax.random.uniform(jax.random.key(seed), shape)


def compiled(function, *arguments):
    """A call of a compiled function that waits for its result, as eager libraries do."""
    function = jax.jit(function)
    return lambda: jax.block_until_ready(function(*arguments))


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def weights(*widths):
    return [(uniform(a, b, seed=i) - 0.5, uniform(b, seed=i)) for i, (a, b) in enumerate(itertools.pairwise(widths))]


def mlp(layers, x):
    for weight, bias in layers[:-1]:
        x = np.tanh(x @ weight + bias)
    return x @ layers[-1][0] + layers[-1][1]


def hessian():
    return compiled(jax.hessian(rosenbrock), uniform(30))


def per_sample():
    layers = weights(784, 256, 256, 10)
    labels = jax.random.randint(jax.random.key(1), (64,), 0, 10)

    def loss(layers, image, label):
        return -jax.nn.log_softmax(mlp(layers, image))[label]

    return compiled(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0)), layers, uniform(64, 784), labels)


def vmap_20():
    def function(x):
        for _ in range(4):
            y = np.sin(x) * 0.5
            x = np.tanh(y + x)
        return (np.exp(x) / 3 + 0.1).sum()

    return compiled(jax.vmap(function), uniform(1000, 8))


def jvp_chain():
    def chain(x):
        for _ in range(50):
            x = np.sin(x)
            x = x * 1.01
        return x

    return compiled(lambda x, t: jax.jvp(chain, (x,), (t,)), uniform(8), uniform(8, seed=1))


def jacobian_batch():
    layers = weights(32, 64, 32)
    return compiled(jax.vmap(jax.jacrev(lambda x: mlp(layers, x))), uniform(100, 32))


def laplacian():
    layers = weights(3, 64, 64, 1)
    second = jax.hessian(lambda x: mlp(layers, x)[0])
    return compiled(jax.vmap(lambda x: np.trace(second(x))), uniform(1000, 3))


MAKERS = {
    "hessian_functional": hessian,
    "hessian_func": hessian,
    "per_sample": per_sample,
    "vmap_20": vmap_20,
    "jvp_chain": jvp_chain,
    "jacobian_batch": jacobian_batch,
    "laplacian": laplacian,
}
