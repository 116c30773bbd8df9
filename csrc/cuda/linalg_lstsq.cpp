// Least squares of matrices that have full rank: reflectors, then a triangle.
#include <algorithm>

#include "cuda/device/linalg_args.h"
#include "cuda/launch.h"
#include "cuda/linalg.h"
#include "cuda/linalg_batch.h"
#include "cuda/linalg_triangle.h"
#include "cuda/memory.h"
#include "cuda/through_cpu.h"

namespace adjoint::cuda {
namespace {

constexpr char kZero[16] = {};

/// The first rows of each right-hand side, from one on.
View rows_from(const View& x, const Shaped& shape, int64_t first) {
  return shape.view(x.data + first * itemsize(x.dtype), x.dtype, x.device);
}

/// A = Q R, with rows to spare: R X = Q^H B.
void solve_tall(const View& a, const View& x, const View& infos) {
  const int64_t n = cols_of(a);
  const Workspace tau(a, n, 1);
  geqrf(a, tau.vectors());
  note_zero_diagonal(a, infos);
  ormqr(a, tau.vectors(), x, true, true);
  const Shaped above = cut(x, n, cols_of(x)), square = cut(a, n, n);
  Columns triangles = Columns::of(square.view(a.data, a.dtype, a.device));
  solve_triangles(rows_from(x, above, 0), triangles, cusolver::kUpper, cublas::kPlain, true, false);
}

/// A^H = Q R: the least solution is X = Q R^-H B.
void solve_wide(const View& a, const View& x, const View& infos) {
  const int64_t m = rows_of(a), n = cols_of(a);
  const Workspace adjoint(a, n, m), tau(a, m, 1);
  copy_conjugate(swapped(a).view(a.data, a.dtype, a.device), adjoint.view());
  geqrf(adjoint.view(), tau.vectors());
  note_zero_diagonal(adjoint.view(), infos);
  const Shaped above = cut(x, m, cols_of(x)), below = cut(x, n - m, cols_of(x));
  const View reflectors = adjoint.view();
  const Shaped square = cut(reflectors, m, m);
  Columns triangles = Columns::of(square.view(reflectors.data, reflectors.dtype, reflectors.device));
  const int turned = is_complex(x.dtype) ? cusolver::kAdjoint : cublas::kTransposed;
  solve_triangles(rows_from(x, above, 0), triangles, cusolver::kUpper, turned, true, false);
  fill(rows_from(x, below, m), kZero);
  ormqr(reflectors, tau.vectors(), x, true, false);
}

}  // namespace

bool lstsq(LstsqDriver driver, const View& a, const View& x, const View& residuals, const View& ranks,
           const View& values, const View& infos, double rcond) {
  if (driver != LstsqDriver::Gels || !can_solve({&a, &x}))
    return through_cpu.linalg.lstsq(driver, a, x, residuals, ranks, values, infos, rcond);
  const int64_t m = rows_of(a), n = cols_of(a), sides = cols_of(x);
  clear(infos);
  if (a.numel() == 0 || x.numel() == 0) {
    fill(rows_from(x, cut(x, n, sides), 0), kZero);
  } else {
    m >= n ? solve_tall(a, x, infos) : solve_wide(a, x, infos);
  }
  if (m > n) {
    ResidualArgs args{x.data, residuals.data, n, rows_of(x)};
    launch(x.device, linalg_text("ResidualArgs", "residuals", x.dtype, kDiagonalThreads), args, batch_of(x) * sides,
           kDiagonalThreads);
  }
  return false;
}

}  // namespace adjoint::cuda
