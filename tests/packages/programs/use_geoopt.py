"""Points in the Poincaré ball, on the sphere and on the Stiefel manifold, by Riemannian gradient descent and Adam."""

import geoopt
import torch
from report import report, train

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
ball, sphere, stiefel = geoopt.PoincareBall(c=1.0), geoopt.Sphere(), geoopt.Stiefel()
points = {
    "ball": geoopt.ManifoldParameter(ball.random(5, 2, std=0.3), manifold=ball),
    "sphere": geoopt.ManifoldParameter(sphere.random(5, 3), manifold=sphere),
    "stiefel": geoopt.ManifoldParameter(stiefel.random(4, 2), manifold=stiefel),
}
aim, matrix = ball.random(5, 2, std=0.3), torch.randn(4, 4)


def loss():
    far = (
        ball.dist(points["ball"], aim).square().mean()
        + sphere.dist(points["sphere"], points["sphere"].roll(1, 0)).sum()
    )
    return far + torch.trace(points["stiefel"].T @ (matrix + matrix.T) @ points["stiefel"])


train(points, loss, geoopt.optim.RiemannianAdam(points.values(), lr=1e-2))
report(moved=ball.mobius_add(points["ball"], aim), carried=ball.transp(aim, points["ball"], torch.ones(5, 2)))
