// Cholesky, LU, LDL and QR factorisations.
#include <cmath>

#include "ops/linalg.h"
#include "ops/linalg_batch.h"
#include "ops/linalg_blocked.h"
#include "ops/linalg_small.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

/// potrf's info, where not every LAPACK sees that a matrix with nan has no factor.
template <class T>
int32_t checked_info(Int info, const T* factor, int64_t n, int64_t ld) {
  for (int64_t i = 0; info == 0 && i < n; ++i)
    if (std::isnan(std::real(factor[i * (ld + 1)]))) info = i + 1;
  return static_cast<int32_t>(info);
}

TensorPair factor_cholesky(const char* op, Tensor* A, bool upper) {
  check_square(op, A);
  int64_t n = rows_of(A);
  TensorPtr result = column_major_copy(A), infos = batch_numbers(batch_sizes(A), DType::Int32);
  with_lapack_type("cholesky_cpu", A->dtype, [&](auto tag) {
    using T = decltype(tag);
    auto& lapack = lapack::routines<T>();
    Columns factor = Columns::of(result);
    bool blocked = !upper && worth_blocks(n);
    int64_t scratch = blocked ? n * kFactorBlock * static_cast<int64_t>(sizeof(T)) : 0;
    auto factor_one = [&](int64_t i, char* memory) {
      T* a = factor.at<T>(i);
      Int failed = 0;
      bool small = kHasSmall<T> && n <= kSmall && !upper;
      if constexpr (kHasSmall<T>) {
        if (small) failed = factor_cholesky_small(n, a, factor.ld());
      }
      if (blocked) {
        failed = factor_cholesky_blocked(n, a, factor.ld(), reinterpret_cast<T*>(memory));
      } else if (!small && n) {
        failed = lapack.potrf(kColumnMajor, upper ? 'U' : 'L', n, a, factor.ld());
      }
      infos->as<int32_t>()[i] = checked_info(failed, a, n, factor.ld());
      clear_triangle(a, n, n, factor.ld(), upper);
    };
    for_each_matrix(infos->numel(), cubed(n) / 3, scratch, factor_one, blocked);
  });
  return {std::move(result), std::move(infos)};
}

void check_cholesky(const char* op, const Tensor* infos) {
  int64_t place = first_failure(infos);
  if (place < 0) return;
  fail_linalg(std::string(op) + ": " + batch_element(infos, place) +
              "The factorization could not be completed because the input is not positive-definite (the leading minor "
              "of order " +
              std::to_string(infos->as<int32_t>()[place]) + " is not positive-definite).");
}

void check_lu_input(const char* op, const Tensor* A, bool pivot) {
  if (A->ndim() < 2)
    fail(op, ": Expected tensor with 2 or more dimensions. Got size: ", to_string(A->sizes()), " instead");
  if (!pivot) fail("linalg.lu_factor: LU without pivoting is not implemented on the CPU");
}

TensorTriple factor_lu(Tensor* A) {
  int64_t m = rows_of(A), n = cols_of(A), k = std::min(m, n);
  Sizes batch = batch_sizes(A);
  TensorPtr LU = column_major_copy(A), pivots = batch_vectors(batch, k, DType::Int32);
  TensorPtr infos = batch_numbers(batch, DType::Int32);
  with_lapack_type("lu_cpu", A->dtype, [&](auto tag) {
    using T = decltype(tag);
    Columns factors = Columns::of(LU);
    bool blocked = worth_blocks(k);
    double flops = 2.0 / 3 * static_cast<double>(k) * static_cast<double>(k) * static_cast<double>(std::max(m, n));
    auto factor_one = [&](int64_t i, char* memory) {
      Int* wide = Scratch(memory).take<Int>(k);
      T* a = factors.at<T>(i);
      Int failed =
          blocked ? factor_lu_blocked(m, n, a, factors.ld(), wide) : factor_lu_matrix(m, n, a, factors.ld(), wide);
      infos->as<int32_t>()[i] = static_cast<int32_t>(failed);
      std::copy(wide, wide + k, pivots->as<int32_t>() + i * k);
    };
    for_each_matrix(infos->numel(), flops, k * 8, factor_one, blocked);
  });
  return {std::move(LU), std::move(pivots), std::move(infos)};
}

/// Row-major 0-1 matrices from row swaps.
TensorPtr permutation(Sizes batch, const Tensor* pivots, int64_t m, DType dtype) {
  int64_t k = pivots->size(pivots->ndim() - 1);
  std::vector<int64_t> sizes(batch.begin(), batch.end());
  sizes.insert(sizes.end(), {m, m});
  TensorPtr result = empty(sizes, dtype);
  dispatch(dtype, [&](auto tag) {
    using T = decltype(tag);
    std::vector<int64_t> order(m);
    for (int64_t i = 0; i < product(batch); ++i) {
      const int32_t* swaps = pivots->as<int32_t>() + i * k;
      for (int64_t j = 0; j < m; ++j) order[j] = j;
      for (int64_t j = 0; j < k; ++j) std::swap(order[j], order[swaps[j] - 1]);
      T* p = result->as<T>() + i * m * m;
      std::fill(p, p + m * m, convert<T>(0.0));
      for (int64_t j = 0; j < m; ++j) p[order[j] * m + j] = convert<T>(1.0);
    }
  });
  return result;
}

/// The unit lower factor (m by k) and the upper factor (k by n), row by row.
TensorPair unpack_factors(const Tensor* LU) {
  int64_t m = rows_of(LU), n = cols_of(LU), k = std::min(m, n);
  Sizes batch = batch_sizes(LU);
  std::vector<int64_t> sizes(batch.begin(), batch.end());
  sizes.insert(sizes.end(), {m, k});
  TensorPtr lower = empty(sizes, LU->dtype);
  sizes[sizes.size() - 2] = k;
  sizes[sizes.size() - 1] = n;
  TensorPtr upper = empty(sizes, LU->dtype);
  with_lapack_type("lu_unpack", LU->dtype, [&](auto tag) {
    using T = decltype(tag);
    int last = LU->ndim() - 1;
    int64_t row = LU->stride(last - 1), col = LU->stride(last);
    Columns matrices = Columns::of(TensorPtr::borrow(const_cast<Tensor*>(LU)));
    for_each_matrix(product(batch), static_cast<double>(m * n), 0, [&](int64_t b, char*) {
      const T* source = matrices.at<T>(b);
      T *l = lower->as<T>() + b * m * k, *u = upper->as<T>() + b * k * n;
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < k; ++j) *l++ = j < i ? source[i * row + j * col] : T(i == j ? 1 : 0);
      for (int64_t i = 0; i < k; ++i)
        for (int64_t j = 0; j < n; ++j) *u++ = j >= i ? source[i * row + j * col] : T(0);
    });
  });
  return {std::move(lower), std::move(upper)};
}

TensorPtr nothing(DType dtype) {
  const int64_t none = 0;
  return empty(Sizes(&none, 1), dtype);
}

}  // namespace

// ---- Cholesky

TensorPair linalg_cholesky_ex(Tensor* A, bool upper, bool check_errors) {
  check_square("linalg.cholesky", A);
  check_float("linalg.cholesky", A);
  TensorPair result = factor_cholesky("linalg.cholesky", A, upper);
  if (check_errors) check_cholesky("linalg.cholesky", result.second.get());
  return result;
}

TensorPtr cholesky(Tensor* input, bool upper) {
  if (input->numel() == 0) return empty(input->sizes(), input->dtype);
  TensorPair result = factor_cholesky("cholesky", input, upper);
  check_cholesky("cholesky", result.second.get());
  return std::move(result.first);
}

// ---- LU

TensorTriple linalg_lu_factor_ex(Tensor* A, bool pivot, bool check_errors) {
  check_lu_input("torch.lu_factor", A, pivot);
  TensorTriple result = factor_lu(A);
  Tensor* infos = std::get<2>(result).get();
  int64_t place = check_errors ? first_failure(infos) : -1;
  if (place >= 0) {
    int32_t at = infos->as<int32_t>()[place];
    fail("torch.linalg.lu_factor: ", batch_element(infos, place), "U[", at, ",", at,
         "] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the "
         "factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)");
  }
  return result;
}

TensorTriple lu_unpack(Tensor* LU_data, Tensor* LU_pivots, bool unpack_data, bool unpack_pivots) {
  if (LU_data->ndim() < 2)
    fail("torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: ", to_string(LU_data->sizes()),
         " instead");
  TensorPtr P = nothing(LU_data->dtype), L = nothing(LU_data->dtype), U = nothing(LU_data->dtype);
  if (unpack_pivots) {
    if (LU_pivots->dtype != DType::Int32)
      fail(
          "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
          "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor");
    int64_t m = rows_of(LU_data);
    Sizes batch = batch_sizes(LU_data);
    bool fits = LU_pivots->ndim() == LU_data->ndim() - 1;
    for (size_t d = 0; fits && d < batch.size(); ++d) fits = LU_pivots->size(static_cast<int>(d)) == batch[d];
    if (!fits)
      fail("torch.lu_unpack: LU_pivots of shape ", to_string(LU_pivots->sizes()), " do not belong to LU_data of shape ",
           to_string(LU_data->sizes()));
    TensorPtr swaps = contiguous(LU_pivots);
    bool valid = LU_pivots->size(LU_pivots->ndim() - 1) == std::min(m, cols_of(LU_data));
    for (int64_t i = 0; valid && i < swaps->numel(); ++i)
      valid = swaps->as<int32_t>()[i] >= 1 && swaps->as<int32_t>()[i] <= m;
    if (!valid)
      fail(
          "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
          "Did you properly pass the result of lu_factor?");
    P = permutation(batch, swaps.get(), m, LU_data->dtype);
  }
  if (unpack_data) {
    TensorPair factors = unpack_factors(LU_data);
    L = std::move(factors.first);
    U = std::move(factors.second);
  }
  return {std::move(P), std::move(L), std::move(U)};
}

TensorTriple linalg_lu(Tensor* A, bool pivot) {
  check_lu_input("linalg.lu", A, pivot);
  auto [LU, pivots, infos] = factor_lu(A);
  return lu_unpack(LU.get(), pivots.get(), true, true);
}

// ---- LDL

TensorTriple linalg_ldl_factor_ex(Tensor* A, bool hermitian, bool check_errors) {
  const char* op = "torch.linalg.ldl_factor_ex";
  check_square(op, A);
  check_float(op, A);
  int64_t n = rows_of(A);
  Sizes batch = batch_sizes(A);
  TensorPtr LD = column_major_copy(A), pivots = batch_vectors(batch, n, DType::Int32);
  TensorPtr infos = batch_numbers(batch, DType::Int32);
  with_lapack_type("ldl_factor_kernel_cpu", A->dtype, [&](auto tag) {
    using T = decltype(tag);
    auto& lapack = lapack::routines<T>();
    auto factorize = is_complex_v<T> && hermitian ? lapack.hetrf : lapack.sytrf;
    Columns factors = Columns::of(LD);
    T answer(1);
    if (n) factorize(kColumnMajor, 'L', n, LD->as<T>(), factors.ld(), nullptr, &answer, -1);
    Int lwork = work_size(answer);
    Scratch measure(nullptr);
    measure.take<Int>(n);
    measure.take<T>(lwork);
    for_each_matrix(infos->numel(), cubed(n) / 3, measure.used(), [&](int64_t i, char* memory) {
      Scratch scratch(memory);
      Int* wide = scratch.take<Int>(n);
      T* a = factors.at<T>(i);
      infos->as<int32_t>()[i] = n ? static_cast<int32_t>(factorize(kColumnMajor, 'L', n, a, factors.ld(), wide,
                                                                   scratch.take<T>(lwork), lwork))
                                  : 0;
      std::copy(wide, wide + n, pivots->as<int32_t>() + i * n);
      clear_triangle(a, n, n, factors.ld(), false);
    });
  });
  int64_t place = check_errors ? first_failure(infos.get()) : -1;
  if (place >= 0)
    fail_linalg("torch.linalg.ldl_factor_ex: " + batch_element(infos.get(), place) +
                "The factor D has a zero on its diagonal: the input matrix is singular.");
  return {std::move(LD), std::move(pivots), std::move(infos)};
}

// ---- QR

/// Reflectors and R in place of the matrices; the factors of the reflectors in `tau`.
static void reflect(const char* kernel, const TensorPtr& matrices, const TensorPtr& tau, int64_t cols) {
  int64_t m = rows_of(matrices.get()), n = cols, k = std::min(m, n);
  if (k == 0) return;
  with_lapack_type(kernel, matrices->dtype, [&](auto tag) {
    using T = decltype(tag);
    auto& lapack = lapack::routines<T>();
    Columns a = Columns::of(matrices);
    T answer(1);
    lapack.geqrf(kColumnMajor, m, n, matrices->as<T>(), a.ld(), nullptr, &answer, -1);
    Int lwork = work_size(answer);
    for_each_matrix(product(batch_sizes(matrices.get())), 2.0 * static_cast<double>(m * n) * static_cast<double>(k),
                    lwork * static_cast<int64_t>(sizeof(T)), [&](int64_t i, char* memory) {
                      lapack.geqrf(kColumnMajor, m, n, a.at<T>(i), a.ld(), tau->as<T>() + i * k,
                                   Scratch(memory).take<T>(lwork), lwork);
                    });
  });
}

/// The product of `k` reflectors in place of them; the matrices' columns beyond get the columns that follow.
static void multiply_reflectors(const char* kernel, const TensorPtr& matrices, const Columns& tau, int64_t k) {
  int64_t m = rows_of(matrices.get()), n = cols_of(matrices.get());
  if (m == 0 || n == 0) return;
  with_lapack_type(kernel, matrices->dtype, [&](auto tag) {
    using T = decltype(tag);
    auto& lapack = lapack::routines<T>();
    Columns a = Columns::of(matrices);
    T answer(1);
    lapack.orgqr(kColumnMajor, m, n, k, matrices->as<T>(), a.ld(), nullptr, &answer, -1);
    Int lwork = work_size(answer);
    for_each_matrix(product(batch_sizes(matrices.get())), 2.0 * static_cast<double>(m * n) * static_cast<double>(k),
                    lwork * static_cast<int64_t>(sizeof(T)), [&](int64_t i, char* memory) {
                      lapack.orgqr(kColumnMajor, m, n, k, a.at<T>(i), a.ld(), tau.at<T>(i),
                                   Scratch(memory).take<T>(lwork), lwork);
                    });
  });
}

TensorPair geqrf(Tensor* input) {
  if (input->ndim() < 2) fail("torch.geqrf: input must have at least 2 dimensions.");
  int64_t k = std::min(rows_of(input), cols_of(input));
  with_lapack_type("geqrf_cpu", input->dtype, [](auto) {});
  TensorPtr a = column_major_copy(input), tau = batch_vectors(batch_sizes(input), k, input->dtype);
  reflect("geqrf_cpu", a, tau, cols_of(input));
  return {std::move(a), std::move(tau)};
}

TensorPair linalg_qr(Tensor* A, const std::string& mode) {
  check_matrix_dims("linalg.qr", A);
  check_float("linalg.qr", A);
  if (mode != "reduced" && mode != "complete" && mode != "r")
    fail("qr received unrecognized mode '", mode, "' but expected one of 'reduced' (default), 'r', or 'complete'");
  with_lapack_type("geqrf_cpu", A->dtype, [](auto) {});
  int64_t m = rows_of(A), n = cols_of(A), k = std::min(m, n);
  bool complete = mode == "complete";
  int64_t q_cols = complete ? m : k, r_rows = complete ? m : k;
  Sizes batch = batch_sizes(A);
  // The reflectors are left where Q will be, which may be wider than A, or narrower.
  TensorPtr work = column_major(batch, m, std::max(n, q_cols), A->dtype);
  TensorPtr tau = batch_vectors(batch, k, A->dtype);
  TensorPtr R = column_major(batch, r_rows, n, A->dtype);
  TensorPtr Q = mode == "r" ? nothing(A->dtype) : column_major(batch, m, q_cols, A->dtype);
  with_lapack_type("geqrf_cpu", A->dtype, [&](auto tag) {
    using T = decltype(tag);
    Columns reflectors = Columns::of(work), r = Columns::of(R), q_columns = Columns::of(mode == "r" ? R : Q);
    int64_t sizes[kMaxDims];
    std::copy(A->sizes().begin(), A->sizes().end(), sizes);
    cpu::copy(A->view(), {work->data, work->dtype, A->ndim(), sizes, work->shape->strides()});
    reflect("geqrf_cpu", work, tau, n);
    for_each_matrix(product(batch), static_cast<double>(m * n), 0, [&](int64_t i, char*) {
      const T* source = reflectors.at<T>(i);
      T* target = r.at<T>(i);
      for (int64_t j = 0; j < n; ++j)
        for (int64_t row = 0; row < r_rows; ++row)
          target[j * r.ld() + row] = row <= j ? source[j * reflectors.ld() + row] : T(0);
      if (mode == "r") return;
      T* q = q_columns.at<T>(i);
      for (int64_t j = 0; j < std::min(q_cols, n); ++j)
        std::copy(source + j * reflectors.ld(), source + j * reflectors.ld() + m, q + j * q_columns.ld());
    });
  });
  if (mode != "r") multiply_reflectors("orgqr_cpu", Q, Columns::vectors_of(tau), k);
  return {std::move(Q), std::move(R)};
}

static void check_tau(const char* op, const Tensor* input, const Tensor* tau) {
  if (input->ndim() < 2) fail(op, ": input must have at least 2 dimensions.");
  if (tau->ndim() != input->ndim() - 1)
    fail(op, ": Expected tau to have one dimension less than input, but got tau.ndim equal to ", tau->ndim(),
         " and input.ndim is equal to ", input->ndim());
  for (int d = 0; d < input->ndim() - 2; ++d)
    if (tau->size(d) != input->size(d))
      fail(op, ": Expected batch dimensions of tau to be equal to input.shape[:-2], but got ",
           to_string(tau->sizes().first(tau->ndim() - 1)));
  if (tau->dtype != input->dtype)
    fail(op, ": tau dtype ", info(tau->dtype).legacy_name, " does not match input dtype ",
         info(input->dtype).legacy_name);
}

TensorPtr householder_product(const std::vector<Tensor*>& tensors) {
  const char* op = "torch.linalg.householder_product";
  if (tensors.size() != 2) fail(op, ": expected the two tensors input and tau");
  Tensor *input = tensors[0], *tau = tensors[1];
  if (input->ndim() >= 2 && rows_of(input) < cols_of(input))
    fail(op, ": input.shape[-2] must be greater than or equal to input.shape[-1]");
  if (input->ndim() >= 2 && tau->ndim() == 0)
    fail(ErrorKind::Index, "Dimension specified as -1 but tensor has no dimensions");
  if (input->ndim() >= 2 && cols_of(input) < tau->size(tau->ndim() - 1))
    fail(op, ": input.shape[-1] must be greater than or equal to tau.shape[-1]");
  check_tau(op, input, tau);
  with_lapack_type("orgqr_cpu", input->dtype, [](auto) {});
  TensorPtr result = column_major_copy(input);
  multiply_reflectors("orgqr_cpu", result, Columns::vectors(tau), tau->size(tau->ndim() - 1));
  return result;
}

TensorPtr ormqr(Tensor* input, Tensor* tau, Tensor* other, bool left, bool transpose) {
  const char* op = "torch.ormqr";
  if (input->ndim() < 2) fail(op, ": input must have at least 2 dimensions.");
  if (other->ndim() < 2) fail(op, ": other must have at least 2 dimensions.");
  int64_t m = rows_of(other), n = cols_of(other), size = left ? m : n;
  const char* side = left ? "other.shape[-2]" : "other.shape[-1]";
  if (tau->ndim() < 1 || size < tau->size(tau->ndim() - 1))
    fail(op, ": ", side, " must be greater than or equal to tau.shape[-1]");
  if (size != rows_of(input)) fail(op, ": ", side, " must be equal to input.shape[-2]");
  int64_t k = tau->size(tau->ndim() - 1);
  if (k > cols_of(input)) fail(op, ": tau.shape[-1] must be equal to min(other.shape[-2], input.shape[-1])");
  check_tau(op, input, tau);
  if (other->ndim() != input->ndim())
    fail(op, ": Expected other to have the same number of dimensions as input, but got other.ndim equal to ",
         other->ndim(), " and input.ndim is equal to ", input->ndim());
  for (int d = 0; d < input->ndim() - 2; ++d)
    if (other->size(d) != input->size(d))
      fail(op, ": Expected batch dimensions of other to be equal to input.shape[:-2], but got ",
           to_string(batch_sizes(other)));
  if (other->dtype != input->dtype)
    fail(op, ": Expected input and other to have the same dtype, but input has dtype ", info(input->dtype).legacy_name,
         " and other has dtype ", info(other->dtype).legacy_name);
  TensorPtr result;
  with_lapack_type("ormqr_cpu", input->dtype, [&](auto tag) {
    using T = decltype(tag);
    result = column_major_copy(other);
    if (m == 0 || n == 0 || k == 0) return;
    auto& lapack = lapack::routines<T>();
    Columns a = Columns::readable(input), factors = Columns::vectors(tau), c = Columns::of(result);
    char from = left ? 'L' : 'R', trans = !transpose ? 'N' : is_complex_v<T> ? 'C' : 'T';
    T answer(1);
    lapack.ormqr(kColumnMajor, from, trans, m, n, k, nullptr, a.ld(), nullptr, nullptr, c.ld(), &answer, -1);
    Int lwork = work_size(answer);
    for_each_matrix(product(batch_sizes(input)), 4.0 * static_cast<double>(m * n) * static_cast<double>(k),
                    lwork * static_cast<int64_t>(sizeof(T)), [&](int64_t i, char* memory) {
                      lapack.ormqr(kColumnMajor, from, trans, m, n, k, a.at<T>(i), a.ld(), factors.at<T>(i), c.at<T>(i),
                                   c.ld(), Scratch(memory).take<T>(lwork), lwork);
                    });
  });
  return result;
}

}  // namespace adjoint::ops
