// Eigenvalues of Hermitian matrices, and of others, by cuSOLVER.
#include <algorithm>
#include <vector>

#include "cuda/device/linalg_args.h"
#include "cuda/launch.h"
#include "cuda/linalg.h"
#include "cuda/linalg_batch.h"
#include "cuda/memory.h"
#include "cuda/through_cpu.h"

namespace adjoint::cuda {

void eigh(const View& a, const View& values, const View& infos, bool upper, bool with_vectors) {
  if (!can_solve({&a})) return through_cpu.linalg.eigh(a, values, infos, upper, with_vectors);
  const auto n = static_cast<int>(rows_of(a));
  const int64_t count = batch_of(a);
  clear(infos);
  if (a.numel() == 0) return;
  const NonFinite nonfinite(a);
  const Solver solver = solver_for(a.device, a.dtype);
  const int job = with_vectors ? cusolver::kVectors : cusolver::kNoVectors,
            uplo = upper ? cusolver::kUpper : cusolver::kLower;
  int elements = 0;
  if (count > 1 && n <= kSmallSpectrum) {
    solver.check(solver.of.syevj_batched_size(solver.handle, job, uplo, n, a.data, n, values.data, &elements,
                                              solver.eigen, static_cast<int>(count)),
                 "asking for its memory");
    const Scratch work = elements_for(a, elements);
    solver.check(solver.of.syevj_batched(solver.handle, job, uplo, n, a.data, n, values.data, work.data(), elements,
                                         infos.as<int32_t>(), solver.eigen, static_cast<int>(count)),
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
  const int complex = real_type(a.dtype) == DType::Float64 ? cublas::kComplex64 : cublas::kComplex32;
  const int job = with_vectors ? cusolver::kVectors : cusolver::kNoVectors;
  // Vectors of real matrices come as real and imaginary parts.
  const bool in_parts = with_vectors && !solver.is_complex;
  const Workspace parts(a, n, in_parts ? n : 0);
  const View right = in_parts ? parts.view() : with_vectors ? vectors : a;
  const Columns matrices = Columns::of(a), rights = Columns::of(right);
  auto vectors_of = [&](int64_t i) { return with_vectors ? rights.at(i) : nullptr; };
  size_t there = 0, here = 0;
  solver.check(solver.common.geev_size(solver.handle, solver.parameters, cusolver::kNoVectors, job, n, solver.type,
                                       a.data, n, complex, values.data, solver.type, nullptr, n, solver.type,
                                       vectors_of(0), n, solver.type, &there, &here),
               "asking for its memory");
  const Scratch work(std::max<size_t>(there, 1), a.device);
  std::vector<char> host(std::max<size_t>(here, 1));
  for (int64_t i = 0; i < batch_of(a); ++i) {
    solver.check(solver.common.geev(solver.handle, solver.parameters, cusolver::kNoVectors, job, n, solver.type,
                                    matrices.at(i), n, complex, values.data + i * n * itemsize(values.dtype),
                                    solver.type, nullptr, n, solver.type, vectors_of(i), n, solver.type, work.data(),
                                    there, host.data(), here, infos.as<int32_t>() + i),
                 "finding eigenvalues");
    if (here > 0) synchronize(a.device.index, current_stream(a.device));  // the next one uses the same memory here
  }
  if (!in_parts) return;
  PairArgs args{values.data, right.data, vectors.data, vectors.numel(), n};
  launch(a.device, linalg_text("PairArgs", "unpack_pairs", a.dtype, kThreads), args, blocks_for(args.numel));
}

}  // namespace adjoint::cuda
