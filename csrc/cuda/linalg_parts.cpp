// Parts of factors, determinants from them, and answers to the host: what needs no library.
#include <memory>

#include "cuda/device/linalg_args.h"
#include "cuda/launch.h"
#include "cuda/linalg.h"
#include "cuda/linalg_batch.h"
#include "cuda/memory.h"
#include "cuda/structure.h"
#include "kernels/backend.h"

namespace adjoint::cuda {

// ---- Triangles and row swaps

void upper_triangle(const View& in, const View& out) {
  triu(cut(in, rows_of(out), cols_of(out)).view(in.data, in.dtype, in.device), 0, out);
}

void unit_lower_triangle(const View& in, const View& out) {
  tril(cut(in, rows_of(out), cols_of(out)).view(in.data, in.dtype, in.device), -1, out);
  fill_diagonal(out);
}

void permutation(const View& pivots, const View& out) {
  clear(out);
  PermutationArgs args{pivots.as<const int32_t>(), out.data, batch_of(out), rows_of(out),
                       pivots.sizes[pivots.ndim - 1]};
  launch(out.device, linalg_text("PermutationArgs", "permutation", out.dtype, kThreads), args,
         blocks_for(args.count * args.rows));
}

// ---- Determinants

void det(const View& lu, const View& pivots, const View& out) {
  const int64_t n = rows_of(lu);
  DiagonalArgs args{lu.data, pivots.as<int32_t>(), out.data, nullptr, n, n * n, n + 1};
  launch(lu.device, linalg_text("DiagonalArgs", "det", lu.dtype, kDiagonalThreads), args, batch_of(lu),
         kDiagonalThreads);
}

void slogdet(const View& lu, const View& pivots, const View& signs, const View& logs) {
  const int64_t n = rows_of(lu);
  DiagonalArgs args{lu.data, pivots.as<int32_t>(), signs.data, logs.data, n, n * n, n + 1};
  launch(lu.device, linalg_text("DiagonalArgs", "slogdet", lu.dtype, kDiagonalThreads), args, batch_of(lu),
         kDiagonalThreads);
}

// ---- Answers to the host

namespace {

/// Packed numbers, one or n for each matrix, in the program's memory: few enough to be looked at there.
class Fetched {
 public:
  explicit Fetched(const View& view)
      : memory_(std::make_unique_for_overwrite<char[]>(static_cast<size_t>(view.numel() * itemsize(view.dtype)))),
        view_{memory_.get(), view.dtype, view.ndim, view.sizes, view.strides} {
    to_host(view, view_);
  }
  const View& operator*() const { return view_; }

 private:
  std::unique_ptr<char[]> memory_;
  View view_;
};

const kernels::Linalg& on_host() { return on(DeviceType::Cpu).linalg; }

}  // namespace

LinalgFailure first_failure(const View& infos) { return on_host().first_failure(*Fetched(infos)); }
PivotFault lu_pivot_fault(const View& pivots, int64_t rows) { return on_host().lu_pivot_fault(*Fetched(pivots), rows); }
PivotFault ldl_pivot_fault(const View& pivots, int64_t rows) {
  return on_host().ldl_pivot_fault(*Fetched(pivots), rows);
}

bool has_nonfinite(const View& in) {
  if (in.numel() == 0) return false;
  Scratch mark(sizeof(int32_t), in.device);
  const View number{mark.data(), DType::Int32, 0, nullptr, nullptr, in.device};
  clear(number);
  FiniteArgs args{in.data, number.as<int32_t>(), in.numel()};
  launch(in.device, linalg_text("FiniteArgs", "find_nonfinite", in.dtype, kThreads), args, blocks_for(args.size));
  return read(number).to<int64_t>() != 0;
}

// ---- The table

void set_linalg(kernels::Linalg& table) {
  table = {.cholesky = cholesky,
           .lu_factor = lu_factor,
           .ldl_factor = ldl_factor,
           .geqrf = geqrf,
           .orgqr = orgqr,
           .ormqr = ormqr,
           .upper_triangle = upper_triangle,
           .unit_lower_triangle = unit_lower_triangle,
           .permutation = permutation,
           .first_failure = first_failure,
           .lu_pivot_fault = lu_pivot_fault,
           .ldl_pivot_fault = ldl_pivot_fault,
           .has_nonfinite = has_nonfinite,
           .lu_solve = lu_solve,
           .triangular_solve = triangular_solve,
           .cholesky_solve = cholesky_solve,
           .ldl_solve = ldl_solve,
           .inverse = inverse,
           .cholesky_inverse = cholesky_inverse,
           .det = det,
           .slogdet = slogdet,
           .lstsq = lstsq,
           .svd = svd,
           .eigh = eigh,
           .eig = eig,
           .matrix_exp = matrix_exp};
}

}  // namespace adjoint::cuda
