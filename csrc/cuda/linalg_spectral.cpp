// Singular values by Jacobi's method, eigenvalues of Hermitian matrices and of others: all by cuSOLVER.
#include <algorithm>
#include <vector>

#include "cuda/device/linalg_args.h"
#include "cuda/launch.h"
#include "cuda/linalg.h"
#include "cuda/linalg_batch.h"
#include "cuda/memory.h"
#include "cuda/through_cpu.h"
#include "cuda/walk.h"

namespace adjoint::cuda {
namespace {

/// Up to this order the library has routines for many matrices at once.
constexpr int64_t kSmallOrder = 32;

/// Which matrices have elements that are not finite; they are zero from then on.
class NonFinite {
 public:
  explicit NonFinite(const View& a) : marks_(static_cast<size_t>(batch_of(a)) * sizeof(int32_t), a.device) {
    FiniteArgs args{a.data, reinterpret_cast<int32_t*>(marks_.data()), rows_of(a) * cols_of(a)};
    launch(a.device, linalg_text("FiniteArgs", "set_aside_nonfinite", a.dtype, kMatrixThreads), args, batch_of(a),
           kMatrixThreads);
  }
  const int32_t* marks() const { return reinterpret_cast<const int32_t*>(marks_.data()); }

 private:
  Scratch marks_;
};

Scratch elements_for(const View& like, int elements) {
  return Scratch(static_cast<size_t>(std::max(elements, 1)) * static_cast<size_t>(itemsize(like.dtype)), like.device);
}

// ---- Singular values

/// All at once; the library gives all columns of U and V.
void svd_small(const View& a, const View& u, const View& s, const View& vh, const View& infos, bool wanted) {
  const auto m = static_cast<int>(rows_of(a)), n = static_cast<int>(cols_of(a));
  const auto count = static_cast<int>(batch_of(a));
  const Solver solver = solver_for(a.device, a.dtype);
  const Workspace left(a, m, m), right(a, n, n);
  const int job = wanted ? nv::kVectors : nv::kNoVectors;
  const View us = left.view(), vs = right.view();
  int elements = 0;
  solver.check(solver.of.gesvdj_batched_size(solver.handle, job, m, n, a.data, m, s.data, us.data, m, vs.data, n,
                                             &elements, solver.gesvdj, count),
               "asking for its memory");
  const Scratch work = elements_for(a, elements);
  solver.check(solver.of.gesvdj_batched(solver.handle, job, m, n, a.data, m, s.data, us.data, m, vs.data, n,
                                        work.data(), elements, infos.as<int32_t>(), solver.gesvdj, count),
               "finding singular values");
  if (!wanted) return;
  copy(cut(us, m, cols_of(u)).view(us.data, us.dtype, us.device), u);
  const Shaped first = cut(vs, n, rows_of(vh));
  copy_conjugate(swapped(first.view(vs.data, vs.dtype, vs.device)).view(vs.data, vs.dtype, vs.device), vh);
}

void svd_each(const View& a, const View& u, const View& s, const View& vh, const View& infos, bool wanted) {
  const auto m = static_cast<int>(rows_of(a)), n = static_cast<int>(cols_of(a)), k = std::min(m, n);
  const int economic = !wanted || (cols_of(u) == k && rows_of(vh) == k) ? 1 : 0;
  const int job = wanted ? nv::kVectors : nv::kNoVectors;
  const Solver solver = solver_for(a.device, a.dtype);
  // Where no vectors are wanted the library still has a place for those of one matrix.
  const Workspace vectors(a, n, wanted ? rows_of(vh) : 0);
  const Scratch unused(static_cast<size_t>(wanted ? 0 : std::max(m, n) * k * itemsize(a.dtype)), a.device);
  const View vs = vectors.view();
  const Columns matrices = Columns::of(a), lefts = Columns::of(wanted ? u : a), rights = Columns::of(vs);
  auto left = [&](int64_t i) { return wanted ? lefts.at(i) : unused.data(); };
  auto right = [&](int64_t i) { return wanted ? rights.at(i) : unused.data(); };
  int elements = 0;
  solver.check(solver.of.gesvdj_size(solver.handle, job, economic, m, n, a.data, m, s.data, left(0), m, right(0), n,
                                     &elements, solver.gesvdj),
               "asking for its memory");
  const Scratch work = elements_for(a, elements);
  for (int64_t i = 0; i < batch_of(a); ++i)
    solver.check(
        solver.of.gesvdj(solver.handle, job, economic, m, n, matrices.at(i), m, s.data + i * k * itemsize(s.dtype),
                         left(i), m, right(i), n, work.data(), elements, infos.as<int32_t>() + i, solver.gesvdj),
        "finding singular values");
  if (wanted) copy_conjugate(swapped(vs).view(vs.data, vs.dtype, vs.device), vh);
}

}  // namespace

void svd(const View& a, const View& u, const View& s, const View& vh, const View& infos, SvdVectors vectors) {
  if (!can_solve({&a})) return through_cpu.linalg.svd(a, u, s, vh, infos, vectors);
  const bool wanted = vectors != SvdVectors::None;
  const int64_t m = rows_of(a), n = cols_of(a), count = batch_of(a);
  if (a.numel() == 0) {
    clear(infos);
    for (const View* view : {&u, &vh})
      if (wanted && view->numel() != 0) fill_identity(*view);
    return;
  }
  const NonFinite nonfinite(a);
  const bool small = count > 1 && std::max(m, n) <= kSmallOrder;
  small ? svd_small(a, u, s, vh, infos, wanted) : svd_each(a, u, s, vh, infos, wanted);
  SpoilArgs args{nullptr, nullptr, nonfinite.marks(), infos.as<int32_t>(), 0, 0};
  launch(a.device, kernel_text("linalg.h", "SpoilArgs", "fail_marked", kDiagonalThreads), args, count,
         kDiagonalThreads);
}

// ---- Eigenvalues

void eigh(const View& a, const View& values, const View& infos, bool upper, bool with_vectors) {
  if (!can_solve({&a})) return through_cpu.linalg.eigh(a, values, infos, upper, with_vectors);
  const auto n = static_cast<int>(rows_of(a));
  const int64_t count = batch_of(a);
  clear(infos);
  if (a.numel() == 0) return;
  const NonFinite nonfinite(a);
  const Solver solver = solver_for(a.device, a.dtype);
  const int job = with_vectors ? nv::kVectors : nv::kNoVectors, uplo = upper ? nv::kUpper : nv::kLower;
  int elements = 0;
  if (count > 1 && n <= kSmallOrder) {
    solver.check(solver.of.syevj_batched_size(solver.handle, job, uplo, n, a.data, n, values.data, &elements,
                                              solver.syevj, static_cast<int>(count)),
                 "asking for its memory");
    const Scratch work = elements_for(a, elements);
    solver.check(solver.of.syevj_batched(solver.handle, job, uplo, n, a.data, n, values.data, work.data(), elements,
                                         infos.as<int32_t>(), solver.syevj, static_cast<int>(count)),
                 "finding eigenvalues");
  } else {
    const Columns matrices = Columns::of(a);
    solver.check(solver.of.syevd_size(solver.handle, job, uplo, n, a.data, n, values.data, &elements),
                 "asking for its memory");
    const Scratch work = elements_for(a, elements);
    for (int64_t i = 0; i < count; ++i)
      solver.check(
          solver.of.syevd(solver.handle, job, uplo, n, matrices.at(i), n, values.data + i * n * itemsize(values.dtype),
                          work.data(), elements, infos.as<int32_t>() + i),
          "finding eigenvalues");
  }
  // As torch has it: nan in, nan out.
  SpoilArgs args{values.data, a.data, nonfinite.marks(), infos.as<int32_t>(), n, int64_t{n} * n};
  launch(a.device, linalg_text("SpoilArgs", "spoil_marked", a.dtype, kMatrixThreads), args, count, kMatrixThreads);
}

void eig(const View& a, const View& values, const View& vectors, const View& infos, bool with_vectors) {
  if (!can_solve({&a}) || !has_general_eigenvalues())
    return through_cpu.linalg.eig(a, values, vectors, infos, with_vectors);
  clear(infos);
  if (a.numel() == 0) return;
  const int64_t n = rows_of(a);
  const Solver solver = solver_for(a.device, a.dtype);
  const int complex = real_type(a.dtype) == DType::Float64 ? nv::kComplex64 : nv::kComplex32;
  const int job = with_vectors ? nv::kVectors : nv::kNoVectors;
  // Vectors of real matrices come as real and imaginary parts.
  const bool in_parts = with_vectors && !solver.is_complex;
  const Workspace parts(a, n, in_parts ? n : 0);
  const View right = in_parts ? parts.view() : with_vectors ? vectors : a;
  const Columns matrices = Columns::of(a), rights = Columns::of(right);
  auto vectors_of = [&](int64_t i) { return with_vectors ? rights.at(i) : nullptr; };
  size_t there = 0, here = 0;
  solver.check(solver.common.geev_size(solver.handle, solver.options, nv::kNoVectors, job, n, solver.type, a.data, n,
                                       complex, values.data, solver.type, nullptr, n, solver.type, vectors_of(0), n,
                                       solver.type, &there, &here),
               "asking for its memory");
  const Scratch work(std::max<size_t>(there, 1), a.device);
  std::vector<char> host(std::max<size_t>(here, 1));
  for (int64_t i = 0; i < batch_of(a); ++i)
    solver.check(solver.common.geev(solver.handle, solver.options, nv::kNoVectors, job, n, solver.type, matrices.at(i),
                                    n, complex, values.data + i * n * itemsize(values.dtype), solver.type, nullptr, n,
                                    solver.type, vectors_of(i), n, solver.type, work.data(), there, host.data(), here,
                                    infos.as<int32_t>() + i),
                 "finding eigenvalues");
  if (!in_parts) return;
  PairArgs args{values.data, right.data, vectors.data, vectors.numel(), n};
  launch(a.device, linalg_text("PairArgs", "unpack_pairs", a.dtype, kThreads), args, blocks_for(args.numel));
}

}  // namespace adjoint::cuda
