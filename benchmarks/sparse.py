"""Sparse tensors beside torch: coalescing, and a large matrix times a dense one, forward and backward.

    python benchmarks/sparse.py            # 100,000 x 100,000 with 1,000,000 entries
    python benchmarks/sparse.py --small    # a hundredth of it

Both libraries run in turn, on the same numbers; the least of several times counts.
"""

import argparse
import time
import warnings

import numpy as np
import torch

import adjoint

WIDTH = 64


def least(call, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def programs(L, size, entries):
    """name -> a function that is timed."""
    rng = np.random.default_rng(0)
    places = L.tensor(rng.integers(0, size, (2, entries)))
    numbers = L.tensor(rng.standard_normal(entries), dtype=L.float32)
    matrix = L.sparse_coo_tensor(places, numbers, (size, size)).coalesce()
    dense = L.tensor(rng.standard_normal((size, WIDTH)), dtype=L.float32).requires_grad_()
    weight = matrix.clone().requires_grad_()

    def coalesce():
        L.sparse_coo_tensor(places, numbers, (size, size)).coalesce()

    def forward():
        with L.no_grad():
            matrix @ dense

    def backward():
        dense.grad = None
        (matrix @ dense).sum().backward()

    def both():
        dense.grad = weight.grad = None
        L.sparse.mm(weight, dense).sum().backward()

    found = {"coalesce": coalesce, "coo @ dense": forward, "coo @ dense, backward": backward, "sparse.mm, both": both}
    if hasattr(matrix, "to_sparse_csr"):
        rows = matrix.to_sparse_csr()

        def csr_forward():
            with L.no_grad():
                rows @ dense

        def csr_backward():
            dense.grad = None
            (rows @ dense).sum().backward()

        found |= {"csr @ dense": csr_forward, "csr @ dense, backward": csr_backward}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    size, entries = (1000, 10000) if given.small else (100_000, 1_000_000)
    ours, theirs = programs(adjoint, size, entries), programs(torch, size, entries)
    print(f"{'':28} {'adjoint ms':>12} {'torch ms':>12} {'torch / adjoint':>16}")
    for name in ours:
        if name in theirs:
            mine = least(ours[name], given.repeats) * 1e3
            try:
                its = least(theirs[name], given.repeats) * 1e3
                print(f"{name:28} {mine:12.2f} {its:12.2f} {its / mine:16.2f}")
            except RuntimeError as error:  # torch asks for all elements of the matrix
                print(f"{name:28} {mine:12.2f} {'-':>12} {str(error)[-60:]}")


if __name__ == "__main__":
    main()
