// Cholesky, LU, LDL and QR factorisations by cuSOLVER, and by cuBLAS for many small matrices.
#include <algorithm>

#include "cuda/linalg.h"
#include "cuda/linalg_batch.h"
#include "cuda/memory.h"
#include "cuda/structure.h"
#include "cuda/through_cpu.h"

namespace adjoint::cuda {
namespace {

/// Many small matrices are done by one launch; of larger ones each fills the device.
bool is_small_batch(int64_t count, int64_t n) { return count > 1 && n <= 256; }

/// Zeros above (or below) the diagonal.
void clear_triangle(const View& a, bool below) { below ? triu(a, 0, a) : tril(a, 0, a); }

}  // namespace

// ---- Cholesky

void cholesky(const View& a, const View& infos, bool upper) {
  if (!can_solve({&a})) return through_cpu.linalg.cholesky(a, infos, upper);
  clear(infos);
  if (a.numel() == 0) return;
  const auto n = static_cast<int>(rows_of(a));
  const int64_t count = batch_of(a);
  const int uplo = upper ? cusolver::kUpper : cusolver::kLower;
  const Solver solver = solver_for(a.device, a.dtype);
  Columns factors = Columns::of(a);
  if (is_small_batch(count, n)) {
    solver.check(solver.of.potrf_batched(solver.handle, uplo, n, factors.addresses(), n, infos.as<int32_t>(),
                                         static_cast<int>(count)),
                 "factoring matrices");
  } else {
    int elements = 0;
    solver.check(solver.of.potrf_size(solver.handle, uplo, n, factors.at(0), n, &elements), "asking for its memory");
    const Scratch work = elements_for(a, elements);
    for (int64_t i = 0; i < count; ++i)
      solver.check(
          solver.of.potrf(solver.handle, uplo, n, factors.at(i), n, work.data(), elements, infos.as<int32_t>() + i),
          "factoring a matrix");
  }
  note_nan_diagonal(a, infos);  // which the library may not see
  clear_triangle(a, upper);
}

// ---- LU

void lu_factor(const View& a, const View& pivots, const View& infos) {
  if (!can_solve({&a})) return through_cpu.linalg.lu_factor(a, pivots, infos);
  clear(infos);
  if (a.numel() == 0) return;
  const auto m = static_cast<int>(rows_of(a)), n = static_cast<int>(cols_of(a));
  const int64_t count = batch_of(a);
  const Solver solver = solver_for(a.device, a.dtype);
  Columns factors = Columns::of(a);
  if (m == n && is_small_batch(count, n)) {
    solver.check(solver.of.getrf_batched(solver.blas, n, factors.addresses(), n, pivots.as<int32_t>(),
                                         infos.as<int32_t>(), static_cast<int>(count)),
                 "factoring matrices");
    return;
  }
  int elements = 0;
  solver.check(solver.of.getrf_size(solver.handle, m, n, factors.at(0), m, &elements), "asking for its memory");
  const Scratch work = elements_for(a, elements);
  for (int64_t i = 0; i < count; ++i)
    solver.check(solver.of.getrf(solver.handle, m, n, factors.at(i), m, work.data(),
                                 pivots.as<int32_t>() + i * std::min(m, n), infos.as<int32_t>() + i),
                 "factoring a matrix");
}

// ---- LDL

/// Versions of cuSOLVER that are common have none for Hermitian matrices.
void ldl_factor(const View& a, const View& pivots, const View& infos, bool hermitian) {
  if (!can_solve({&a}) || (hermitian && is_complex(a.dtype)))
    return through_cpu.linalg.ldl_factor(a, pivots, infos, hermitian);
  clear(infos);
  if (a.numel() == 0) return;
  const auto n = static_cast<int>(rows_of(a));
  const Solver solver = solver_for(a.device, a.dtype);
  Columns factors = Columns::of(a);
  int elements = 0;
  solver.check(solver.of.sytrf_size(solver.handle, n, factors.at(0), n, &elements), "asking for its memory");
  const Scratch work = elements_for(a, elements);
  for (int64_t i = 0; i < batch_of(a); ++i)
    solver.check(solver.of.sytrf(solver.handle, cusolver::kLower, n, factors.at(i), n, pivots.as<int32_t>() + i * n,
                                 work.data(), elements, infos.as<int32_t>() + i),
                 "factoring a matrix");
  clear_triangle(a, false);
}

// ---- QR

void geqrf(const View& a, const View& tau) {
  if (!can_solve({&a})) return through_cpu.linalg.geqrf(a, tau);
  if (a.numel() == 0) return;
  const auto m = static_cast<int>(rows_of(a)), n = static_cast<int>(cols_of(a));
  const int64_t count = batch_of(a);
  const Solver solver = solver_for(a.device, a.dtype);
  Columns matrices = Columns::of(a), factors = Columns::vectors(tau);
  if (is_small_batch(count, std::max(m, n))) {
    int wrong = 0;  // the place of an argument
    solver.check(solver.of.geqrf_batched(solver.blas, m, n, matrices.addresses(), m, factors.addresses(), &wrong,
                                         static_cast<int>(count)),
                 "factoring matrices");
    return;
  }
  int elements = 0;
  solver.check(solver.of.geqrf_size(solver.handle, m, n, matrices.at(0), m, &elements), "asking for its memory");
  const Scratch work = elements_for(a, elements), info(sizeof(int32_t), a.device);
  for (int64_t i = 0; i < count; ++i)
    solver.check(solver.of.geqrf(solver.handle, m, n, matrices.at(i), m, factors.at(i), work.data(), elements,
                                 reinterpret_cast<int*>(info.data())),
                 "factoring a matrix");
}

void orgqr(const View& a, const View& tau) {
  if (!can_solve({&a})) return through_cpu.linalg.orgqr(a, tau);
  if (a.numel() == 0) return;
  const auto m = static_cast<int>(rows_of(a)), n = static_cast<int>(cols_of(a));
  const auto k = static_cast<int>(tau.sizes[tau.ndim - 1]);
  if (k == 0) return fill_identity(a);
  const Solver solver = solver_for(a.device, a.dtype);
  const Columns matrices = Columns::of(a), factors = Columns::vectors(tau);
  int elements = 0;
  solver.check(solver.of.orgqr_size(solver.handle, m, n, k, matrices.at(0), m, factors.at(0), &elements),
               "asking for its memory");
  const Scratch work = elements_for(a, elements), info(sizeof(int32_t), a.device);
  for (int64_t i = 0; i < batch_of(a); ++i)
    solver.check(solver.of.orgqr(solver.handle, m, n, k, matrices.at(i), m, factors.at(i), work.data(), elements,
                                 reinterpret_cast<int*>(info.data())),
                 "multiplying reflectors");
}

void ormqr(const View& a, const View& tau, const View& c, bool left, bool transpose) {
  if (!can_solve({&a, &c})) return through_cpu.linalg.ormqr(a, tau, c, left, transpose);
  const auto m = static_cast<int>(rows_of(c)), n = static_cast<int>(cols_of(c));
  const auto k = static_cast<int>(tau.sizes[tau.ndim - 1]);
  if (c.numel() == 0 || k == 0) return;
  const Solver solver = solver_for(c.device, c.dtype);
  const Columns reflectors = Columns::readable(a), factors = Columns::vectors(tau), targets = Columns::of(c);
  const int side = left ? cusolver::kLeft : cusolver::kRight;
  const int turned = !transpose ? cublas::kPlain : solver.is_complex ? cusolver::kAdjoint : cublas::kTransposed;
  int elements = 0;
  solver.check(solver.of.ormqr_size(solver.handle, side, turned, m, n, k, reflectors.at(0), reflectors.ld(),
                                    factors.at(0), targets.at(0), targets.ld(), &elements),
               "asking for its memory");
  const Scratch work = elements_for(c, elements), info(sizeof(int32_t), c.device);
  for (int64_t i = 0; i < batch_of(c); ++i)
    solver.check(
        solver.of.ormqr(solver.handle, side, turned, m, n, k, reflectors.at(i), reflectors.ld(), factors.at(i),
                        targets.at(i), targets.ld(), work.data(), elements, reinterpret_cast<int*>(info.data())),
        "multiplying by reflectors");
}

}  // namespace adjoint::cuda
