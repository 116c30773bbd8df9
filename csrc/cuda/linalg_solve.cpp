// Systems of linear equations and inverses: LU factors by cuSOLVER, triangles by cuBLAS.
#include <algorithm>
#include <vector>

#include "cuda/device/linalg_args.h"
#include "cuda/launch.h"
#include "cuda/linalg.h"
#include "cuda/linalg_batch.h"
#include "cuda/linalg_triangle.h"
#include "cuda/matmul.h"
#include "cuda/memory.h"
#include "cuda/through_cpu.h"

namespace adjoint::cuda {

// ---- Triangles

void solve_triangles(const View& x, Columns& factors, int uplo, int turned, bool left, bool unit) {
  if (x.numel() == 0) return;
  const Solver solver = solver_for(x.device, x.dtype);
  const auto m = static_cast<int>(rows_of(x)), n = static_cast<int>(cols_of(x));
  const int64_t count = batch_of(x), order = left ? m : n;
  const int side = left ? cusolver::kLeft : cusolver::kRight,
            diagonal = unit ? cusolver::kUnitDiagonal : cusolver::kAnyDiagonal;
  Columns sides = Columns::of(x);
  // 1 in every type: a real one, or the real part of a complex one.
  const float narrow[2] = {1, 0};
  const double wide[2] = {1, 0};
  const bool is_wide = real_type(x.dtype) == DType::Float64;
  const void* one = is_wide ? static_cast<const void*>(wide) : narrow;
  if (count > 1 && order <= 512) {
    solver.check(solver.of.trsm_batched(solver.blas, side, uplo, turned, diagonal, m, n, one, factors.addresses(),
                                        factors.ld(), sides.addresses(), sides.ld(), static_cast<int>(count)),
                 "solving equations");
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    solver.check(solver.of.trsm(solver.blas, side, uplo, turned, diagonal, m, n, one, factors.at(i), factors.ld(),
                                sides.at(i), sides.ld()),
                 "solving equations");
}

void triangular_solve(const View& a, const View& x, bool upper, bool left, bool unit) {
  if (!can_solve({&a, &x})) return through_cpu.linalg.triangular_solve(a, x, upper, left, unit);
  // Row by row is column by column of the transpose: the upper triangle becomes the lower one.
  const bool flipped = a.strides[a.ndim - 1] == 1 && a.strides[a.ndim - 2] >= rows_of(a);
  const Shaped turned = swapped(a);
  Columns factors = Columns::readable(flipped ? turned.view(a.data, a.dtype, a.device) : a);
  solve_triangles(x, factors, upper != flipped ? cusolver::kUpper : cusolver::kLower,
                  flipped ? cublas::kTransposed : cublas::kPlain, left, unit);
}

/// A = L L^H, or U^H U.
void cholesky_solve(const View& factor, const View& x, bool upper) {
  if (!can_solve({&factor, &x})) return through_cpu.linalg.cholesky_solve(factor, x, upper);
  Columns factors = Columns::readable(factor);
  const int uplo = upper ? cusolver::kUpper : cusolver::kLower;
  const int adjoint = is_complex(x.dtype) ? cusolver::kAdjoint : cublas::kTransposed;
  solve_triangles(x, factors, uplo, upper ? adjoint : cublas::kPlain, true, false);
  solve_triangles(x, factors, uplo, upper ? cublas::kPlain : adjoint, true, false);
}

void cholesky_inverse(const View& a, const View& infos, bool upper) {
  if (!can_solve({&a})) return through_cpu.linalg.cholesky_inverse(a, infos, upper);
  clear(infos);
  if (a.numel() == 0) return;
  const int64_t n = rows_of(a);
  const Workspace factors(a, n, n);
  copy(a, factors.view());
  note_zero_diagonal(a, infos);
  fill_identity(a);
  cholesky_solve(factors.view(), a, upper);
  MirrorArgs args{a.data, a.numel(), n, upper};
  launch(a.device, linalg_text("MirrorArgs", "mirror", a.dtype, kThreads), args, blocks_for(args.numel));
}

// ---- By LU factors

void lu_solve(const View& lu, const View& pivots, const View& x, bool left, bool adjoint) {
  if (!can_solve({&lu, &x})) return through_cpu.linalg.lu_solve(lu, pivots, x, left, adjoint);
  if (x.numel() == 0) return;
  const Solver solver = solver_for(x.device, x.dtype);
  const auto n = static_cast<int>(rows_of(x)), sides = static_cast<int>(cols_of(x));
  const int64_t count = batch_of(x);
  Columns factors = Columns::readable(lu), targets = Columns::of(x);
  // From the right, the equation is transposed: A^T X^T = B^T.
  const int complex_adjoint = solver.is_complex ? cusolver::kAdjoint : cublas::kTransposed;
  const int turned =
      left ? (adjoint ? complex_adjoint : cublas::kPlain) : (adjoint ? cublas::kPlain : cublas::kTransposed);
  const bool conjugated = !left && adjoint && solver.is_complex;
  if (conjugated) conjugate(x);
  if (count > 1 && n <= 256) {
    const PackedVectors swaps(pivots, DType::Int32);
    int wrong = 0;  // the place of an argument
    solver.check(solver.of.getrs_batched(solver.blas, turned, n, sides, factors.addresses(), factors.ld(),
                                         swaps.view().as<int32_t>(), targets.addresses(), targets.ld(), &wrong,
                                         static_cast<int>(count)),
                 "solving equations");
  } else {
    const Columns swaps = Columns::vectors(pivots);
    const Scratch info(sizeof(int32_t), x.device);
    for (int64_t i = 0; i < count; ++i)
      solver.check(solver.of.getrs(solver.handle, turned, n, sides, factors.at(i), factors.ld(),
                                   static_cast<const int*>(swaps.at(i)), targets.at(i), targets.ld(),
                                   reinterpret_cast<int*>(info.data())),
                   "solving equations");
  }
  if (conjugated) conjugate(x);
}

void inverse(const View& a, const View& out, const View& infos) {
  if (!can_solve({&a})) return through_cpu.linalg.inverse(a, out, infos);
  clear(infos);
  if (a.numel() == 0) return;
  const int64_t n = rows_of(a);
  const Workspace factors(a, n, n), swaps(a, n, 1, DType::Int32);
  copy(a, factors.view());
  lu_factor(factors.view(), swaps.vectors(), infos);
  fill_identity(out);
  lu_solve(factors.view(), swaps.vectors(), out, true, false);
}

// ---- By LDL factors

/// Versions of cuSOLVER that are common have none for Hermitian matrices.
void ldl_solve(const View& factor, const View& pivots, const View& x, bool hermitian) {
  if (!can_solve({&factor, &x}) || (hermitian && is_complex(x.dtype)))
    return through_cpu.linalg.ldl_solve(factor, pivots, x, hermitian);
  if (x.numel() == 0) return;
  const Solver solver = solver_for(x.device, x.dtype);
  const int64_t n = rows_of(x), sides = cols_of(x);
  const Columns factors = Columns::readable(factor), targets = Columns::of(x);
  const PackedVectors packed(pivots, DType::Int64);  // the library counts in 64 bits
  const auto* swaps = packed.view().as<int64_t>();
  size_t there = 0, here = 0;
  solver.check(solver.common.sytrs_size(solver.handle, cusolver::kLower, n, sides, solver.type, factors.at(0),
                                        factors.ld(), swaps, solver.type, targets.at(0), targets.ld(), &there, &here),
               "asking for its memory");
  const Scratch work(std::max<size_t>(there, 1), x.device), info(sizeof(int32_t), x.device);
  std::vector<char> host(std::max<size_t>(here, 1));
  for (int64_t i = 0; i < batch_of(x); ++i) {
    solver.check(solver.common.sytrs(solver.handle, cusolver::kLower, n, sides, solver.type, factors.at(i),
                                     factors.ld(), swaps + i * n, solver.type, targets.at(i), targets.ld(), work.data(),
                                     there, host.data(), here, reinterpret_cast<int*>(info.data())),
                 "solving equations");
    if (here > 0) synchronize(x.device.index, current_stream(x.device));  // the next one uses the same memory here
  }
}

}  // namespace adjoint::cuda
