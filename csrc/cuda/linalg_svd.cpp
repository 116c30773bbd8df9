// Singular values by Jacobi's method, and by the QR method where that does not come to an end: both by cuSOLVER.
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

/// What is asked for, and where it goes.
struct Wanted {
  const View &a, &u, &s, &vh, &infos;
  bool vectors;
  int m, n, k;

  void* values(int64_t i) const { return s.data + i * k * itemsize(s.dtype); }
  int32_t* info(int64_t i) const { return infos.as<int32_t>() + i; }
  int job() const { return vectors ? cusolver::kVectors : cusolver::kNoVectors; }
};

/// All at once; the library gives all columns of U and V.
void svd_small(const Wanted& to, const Solver& solver) {
  const int m = to.m, n = to.n, count = static_cast<int>(batch_of(to.a));
  const Workspace left(to.a, m, m), right(to.a, n, n);
  const View us = left.view(), vs = right.view();
  int elements = 0;
  solver.check(solver.of.gesvdj_batched_size(solver.handle, to.job(), m, n, to.a.data, m, to.s.data, us.data, m,
                                             vs.data, n, &elements, solver.singular, count),
               "asking for its memory");
  const Scratch work = elements_for(to.a, elements);
  solver.check(solver.of.gesvdj_batched(solver.handle, to.job(), m, n, to.a.data, m, to.s.data, us.data, m, vs.data, n,
                                        work.data(), elements, to.info(0), solver.singular, count),
               "finding singular values");
  if (!to.vectors) return;
  copy(cut(us, m, cols_of(to.u)).view(us.data, us.dtype, us.device), to.u);
  const Shaped first = cut(vs, n, rows_of(to.vh));
  copy_conjugate(swapped(first.view(vs.data, vs.dtype, vs.device)).view(vs.data, vs.dtype, vs.device), to.vh);
}

void svd_each(const Wanted& to, const Solver& solver) {
  const int m = to.m, n = to.n, k = to.k;
  const int economic = !to.vectors || (cols_of(to.u) == k && rows_of(to.vh) == k) ? 1 : 0;
  const Workspace vectors(to.a, n, to.vectors ? rows_of(to.vh) : 0);
  // Where no vectors are wanted the library still has a place for those of one matrix.
  const Scratch unused = elements_for(to.a, to.vectors ? 0 : int64_t{std::max(m, n)} * k);
  const View vs = vectors.view();
  const Columns matrices = Columns::of(to.a), lefts = Columns::of(to.vectors ? to.u : to.a), rights = Columns::of(vs);
  auto left = [&](int64_t i) { return to.vectors ? lefts.at(i) : unused.data(); };
  auto right = [&](int64_t i) { return to.vectors ? rights.at(i) : unused.data(); };
  int elements = 0;
  solver.check(solver.of.gesvdj_size(solver.handle, to.job(), economic, m, n, to.a.data, m, to.s.data, left(0), m,
                                     right(0), n, &elements, solver.singular),
               "asking for its memory");
  const Scratch work = elements_for(to.a, elements);
  for (int64_t i = 0; i < batch_of(to.a); ++i)
    solver.check(solver.of.gesvdj(solver.handle, to.job(), economic, m, n, matrices.at(i), m, to.values(i), left(i), m,
                                  right(i), n, work.data(), elements, to.info(i), solver.singular),
                 "finding singular values");
  if (to.vectors) copy_conjugate(swapped(vs).view(vs.data, vs.dtype, vs.device), to.vh);
}

/// The matrices as they were, each with no more columns than rows: the QR method takes no others.
class Tall {
 public:
  explicit Tall(const View& a)
      : turned_(rows_of(a) < cols_of(a)),
        memory_(a, std::max(rows_of(a), cols_of(a)), std::min(rows_of(a), cols_of(a))) {
    turned_ ? copy_conjugate(swapped(a).view(a.data, a.dtype, a.device), memory_.view()) : copy(a, memory_.view());
  }
  bool turned() const { return turned_; }
  View view() const { return memory_.view(); }

 private:
  bool turned_;
  Workspace memory_;
};

/// Which matrices Jacobi's method has given up. The program waits for that; the op would, right after.
std::vector<int64_t> given_up(const View& infos) {
  const int64_t count = infos.numel(), stride = 1;
  std::vector<int32_t> codes(static_cast<size_t>(count));
  to_host({infos.data, DType::Int32, 1, &count, &stride, infos.device},
          {reinterpret_cast<char*>(codes.data()), DType::Int32, 1, &count, &stride});
  std::vector<int64_t> places;
  for (int64_t i = 0; i < count; ++i)
    if (codes[static_cast<size_t>(i)] > 0) places.push_back(i);
  return places;
}

/// A = U S V^H, or of the adjoint of A, which has U and V in each other's place.
void svd_by_qr(const Wanted& to, const Tall& tall, int64_t i, const Solver& solver) {
  const int rows = std::max(to.m, to.n), k = to.k;
  const View matrices = tall.view();
  const int64_t columns = !to.vectors ? 0 : tall.turned() ? rows_of(to.vh) : cols_of(to.u);
  const Scratch left = elements_for(to.a, rows * std::max<int64_t>(columns, 1)),
                right = elements_for(to.a, int64_t{k} * k), rest = elements_for(to.s, k);
  const signed char job = !to.vectors ? 'N' : columns == k ? 'S' : 'A';
  int elements = 0;
  solver.check(solver.of.gesvd_size(solver.handle, rows, k, &elements), "asking for its memory");
  const Scratch work = elements_for(to.a, elements);
  solver.check(solver.of.gesvd(solver.handle, job, job, rows, k, Columns::of(matrices).at(i), rows, to.values(i),
                               left.data(), rows, right.data(), k, work.data(), elements, rest.data(), to.info(i)),
               "finding singular values");
  if (!to.vectors) return;
  auto put = [&](char* from, int64_t height, int64_t width, const View& target) {
    const int64_t there[2] = {rows_of(target), cols_of(target)}, there_strides[2] = {1, rows_of(target)};
    const int64_t here_strides[2] = {tall.turned() ? height : 1, tall.turned() ? 1 : height};
    const int64_t here[2] = {tall.turned() ? width : height, tall.turned() ? height : width};
    const View source{from, target.dtype, 2, here, here_strides, target.device};
    const View place{
        static_cast<char*>(Columns::of(target).at(i)), target.dtype, 2, there, there_strides, target.device};
    tall.turned() ? copy_conjugate(source, place) : copy(source, place);
  };
  put(left.data(), rows, columns, tall.turned() ? to.vh : to.u);
  put(right.data(), k, k, tall.turned() ? to.u : to.vh);
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
  const Tall kept(a);
  const Solver solver = solver_for(a.device, a.dtype);
  const Wanted to{
      a, u, s, vh, infos, wanted, static_cast<int>(m), static_cast<int>(n), static_cast<int>(std::min(m, n))};
  const bool small = count > 1 && std::max(m, n) <= kSmallSpectrum;
  small ? svd_small(to, solver) : svd_each(to, solver);
  for (int64_t i : given_up(infos)) svd_by_qr(to, kept, i, solver);
  SpoilArgs args{nullptr, nullptr, nonfinite.marks(), infos.as<int32_t>(), 0, 0};
  launch(a.device, kernel_text("linalg.h", "SpoilArgs", "fail_marked", kDiagonalThreads), args, count,
         kDiagonalThreads);
}

}  // namespace adjoint::cuda
