// Matrix products: cuBLAS where it can, own kernels for small ones and for integers; operands of cuBLAS that lie in
// other ways are packed first.
#include "cuda/matmul.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "cuda/allocator.h"
#include "cuda/cublas.h"
#include "cuda/cublaslt.h"
#include "cuda/device/matmul_args.h"
#include "cuda/elementwise.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/through_cpu.h"
#include "cuda/walk.h"

namespace adjoint::cuda {
namespace {

struct Problem {
  Device device;
  DType dtype;
  int64_t batch, m, n, k;
  Matrices a, b, c;
  Scalar alpha, beta;

  bool reads_c() const { return beta.to<complex128>() != complex128(0); }
};

/// The type that sums are kept in; integers wrap, and so the least of them will do.
const char* product_type(DType dtype) {
  if (is_half(dtype)) return "float";
  if (!is_integral(dtype)) return device_type(dtype);
  return dtype == DType::Int64 ? "uint64_t" : "uint32_t";
}

/// A number in the type of the sums, as its bytes.
void put_number(char* bytes, const Scalar& number, DType dtype) {
  auto put = [&](auto value) { std::memcpy(bytes, &value, sizeof(value)); };
  switch (dtype) {
    case DType::Float16:
    case DType::BFloat16:
    case DType::Float32: return put(number.to<float>());
    case DType::Float64: return put(number.to<double>());
    case DType::Complex64: return put(number.to<complex64>());
    case DType::Complex128: return put(number.to<complex128>());
    default: return put(number.to<int64_t>());  // its lower half comes first
  }
}

void copy_matrices(const Problem& p, const Matrices& from, const Matrices& to, int64_t batch, int64_t rows,
                   int64_t cols) {
  const int64_t sizes[3] = {batch, rows, cols};
  const int64_t from_strides[3] = {from.batch, from.row, from.col}, to_strides[3] = {to.batch, to.row, to.col};
  copy(View{from.data, p.dtype, 3, sizes, from_strides, p.device},
       View{to.data, p.dtype, 3, sizes, to_strides, p.device});
}

/// A packed place for matrices. One that all of the batch shares stays shared.
Matrices packed_like(const Problem& p, const Matrices& x, int64_t rows, int64_t cols, std::optional<Scratch>& scratch) {
  const bool shared = x.batch == 0;
  scratch.emplace(static_cast<size_t>((shared ? 1 : p.batch) * rows * cols * itemsize(p.dtype)), p.device);
  return {scratch->data(), shared ? 0 : rows * cols, cols, 1};
}

// ---- By way of cuBLAS

void queue(Device device, const BlasProduct& product) {
  if (product.batch == 1 && has_cublaslt(product.dtype) && cublaslt_product(device, product)) return;
  cublas_product(device, product);
}

/// Whether rows lie one after the other, as cuBLAS wants columns to.
bool lies_by_rows(const Matrices& x, int64_t rows, int64_t cols) {
  return (cols == 1 || x.col == 1) && (rows == 1 || x.row >= cols);
}

/// A matrix as cuBLAS takes its transpose; packed where it lies in no such way.
BlasMatrix blas_matrix(const Problem& p, Matrices x, int64_t rows, int64_t cols, std::optional<Scratch>& scratch) {
  const bool by_rows = lies_by_rows(x, rows, cols), by_cols = lies_by_rows({x.data, x.batch, x.col, x.row}, cols, rows);
  if ((by_rows || by_cols) && x.batch >= 0) {
    if (by_rows) return {x.data, false, rows == 1 ? cols : x.row, x.batch};
    return {x.data, true, cols == 1 ? rows : x.col, x.batch};
  }
  const Matrices packed = packed_like(p, x, rows, cols, scratch);
  copy_matrices(p, x, packed, packed.batch == 0 ? 1 : p.batch, rows, cols);
  return {packed.data, false, cols, packed.batch};
}

/// c = a @ b is c' = b' @ a'.
void transpose(Problem& p) {
  std::swap(p.a, p.b);
  std::swap(p.m, p.n);
  for (Matrices* operand : {&p.a, &p.b, &p.c}) std::swap(operand->row, operand->col);
}

/// run(product) for one as cuBLAS takes it. Needs the rows of c to lie one after the other: what lies by rows is, by
/// columns, the transpose.
template <class Run>
auto with_cublas(const Problem& p, Run run) {
  std::optional<Scratch> a_scratch, b_scratch;
  alignas(16) char alpha[16], beta[16];
  put_number(alpha, p.alpha, p.dtype);
  put_number(beta, p.beta, p.dtype);
  BlasProduct product{p.dtype, p.batch, p.n, p.m, p.k, {}, {}, {}, alpha, beta};
  product.a = blas_matrix(p, p.b, p.k, p.n, b_scratch);
  product.b = blas_matrix(p, p.a, p.m, p.k, a_scratch);
  product.c = {p.c.data, false, p.m == 1 ? p.n : p.c.row, p.c.batch};
  return run(product);
}

// Note [Rows of vectors]. Tensor cores are fed by copies of 16 bytes. Where rows are not of whole vectors, such as
// those of 50257 halves, cuBLAS has kernels that take seven times as long (13.3 ms instead of 1.8 for 16384 x 768 x
// 50257 on an H200). A product of sizes that are rounded up, of copies that have zeros there, costs less than it saves
// where it is large enough.

bool uses_tensor_cores(DType dtype) { return is_half(dtype) || (dtype == DType::Float32 && allows_tf32()); }

/// A matrix of a product: where it lies, its sizes, and those that are rounded up.
struct Side {
  Matrices at;
  int64_t rows, cols, whole_rows, whole_cols;

  bool by_rows() const { return at.col == 1; }
  bool lies_in_vectors(DType dtype) const {
    const int64_t step = by_rows() ? at.row : at.col;
    return rows == whole_rows && cols == whole_cols && step * itemsize(dtype) % 16 == 0 &&
           reinterpret_cast<uintptr_t>(at.data) % 16 == 0;
  }
};

/// a, b and c. The sizes along which one of them lies are those that count.
struct Sides {
  Side a, b, c;

  explicit Sides(const Problem& p) {
    const int64_t vector = 16 / itemsize(p.dtype);
    auto whole = [&](int64_t size, bool counts) { return counts ? (size + vector - 1) / vector * vector : size; };
    const bool a_rows = p.a.col == 1, b_rows = p.b.col == 1, c_rows = p.c.col == 1;
    const int64_t m = whole(p.m, !a_rows || !c_rows), n = whole(p.n, b_rows || c_rows),
                  k = whole(p.k, a_rows || !b_rows);
    a = {p.a, p.m, p.k, m, k};
    b = {p.b, p.k, p.n, k, n};
    c = {p.c, p.m, p.n, m, n};
  }
};

/// Whether copies in rows of vectors are worth their time.
bool wants_vectors(const Problem& p) {
  constexpr int64_t kLeastWork = int64_t{1} << 30, kWorkOfCopies = 100;
  const int64_t work = p.m * p.n * p.k;
  // A single column may lie in any way.
  if (p.batch != 1 || p.c.col != 1 || !uses_tensor_cores(p.dtype) || work < kLeastWork) return false;
  const Sides sides(p);
  int64_t copied = 0;
  for (const Side* side : {&sides.a, &sides.b, &sides.c})
    if (!side->lies_in_vectors(p.dtype)) copied += side->rows * side->cols;
  return copied > 0 && work / copied > kWorkOfCopies;
}

/// A place for a matrix of the rounded sizes that lies the same way around.
Matrices in_vectors(const Problem& p, const Side& side, std::optional<Scratch>& scratch) {
  scratch.emplace(static_cast<size_t>(side.whole_rows * side.whole_cols * itemsize(p.dtype)), p.device);
  return {scratch->data(), 0, side.by_rows() ? side.whole_cols : 1, side.by_rows() ? 1 : side.whole_rows};
}

/// Zeros in the part of a matrix from one row and one column on.
void clear_from(const Problem& p, const Matrices& x, int64_t row, int64_t col, int64_t rows, int64_t cols) {
  const int64_t sizes[2] = {rows - row, cols - col}, strides[2] = {x.row, x.col};
  if (sizes[0] == 0 || sizes[1] == 0) return;
  alignas(16) constexpr char zero[16] = {};
  fill(View{x.data + (row * x.row + col * x.col) * itemsize(p.dtype), p.dtype, 2, sizes, strides, p.device}, zero);
}

void run_in_vectors(Problem p) {
  std::optional<Scratch> scratch[3];
  const Sides sides(p);
  auto copied = [&](const Side& side, std::optional<Scratch>& memory) {
    if (side.lies_in_vectors(p.dtype)) return side.at;
    const Matrices copy = in_vectors(p, side, memory);
    copy_matrices(p, side.at, copy, 1, side.rows, side.cols);
    return copy;
  };
  p.a = copied(sides.a, scratch[0]);
  p.b = copied(sides.b, scratch[1]);
  // What sums go through is zero there; what else is there goes into what nobody reads.
  if (scratch[0]) clear_from(p, p.a, 0, p.k, sides.a.rows, sides.a.whole_cols);
  if (scratch[1]) clear_from(p, p.b, p.k, 0, sides.b.whole_rows, sides.b.cols);
  if (!sides.c.lies_in_vectors(p.dtype)) {
    p.c = in_vectors(p, sides.c, scratch[2]);
    if (p.reads_c()) copy_matrices(p, sides.c.at, p.c, 1, p.m, p.n);
  }
  p.m = sides.a.whole_rows;
  p.k = sides.a.whole_cols;
  p.n = sides.b.whole_cols;
  with_cublas(p, [&](const BlasProduct& product) { queue(p.device, product); });
  if (scratch[2]) copy_matrices(p, p.c, sides.c.at, 1, sides.c.rows, sides.c.cols);
}

void run_cublas(const Problem& p) {
  if (wants_vectors(p)) return run_in_vectors(p);
  with_cublas(p, [&](const BlasProduct& product) { queue(p.device, product); });
}

bool is_one(const Scalar& factor) { return factor.to<complex128>() == complex128(1); }

/// The product and what is added to each row, as layers have a bias, and relu where asked for, in one launch, where
/// that can be.
bool run_biased(const Problem& p, const View& added, bool relu = false) {
  if (p.m == 0 || p.n == 0 || p.k == 0 || !is_one(p.alpha) || !is_one(p.beta) || !has_cublaslt(p.dtype)) return false;
  if (!lies_by_rows(p.c, p.m, p.n) || wants_vectors(p) || (p.m > 1 && added.strides[0] != 0) ||
      (p.n > 1 && added.strides[1] != 1))
    return false;
  return with_cublas(p,
                     [&](const BlasProduct& product) { return cublaslt_product(p.device, product, added.data, relu); });
}

/// Computes c in other memory.
void run_elsewhere(Problem& p) {
  std::optional<Scratch> scratch;
  const Matrices result = p.c;
  p.c = packed_like(p, Matrices{nullptr, 1, 0, 0}, p.m, p.n, scratch);
  if (p.reads_c()) copy_matrices(p, result, p.c, p.batch, p.m, p.n);
  run_cublas(p);
  copy_matrices(p, p.c, result, p.batch, p.m, p.n);
}

// ---- By the own kernel

std::string text_of(const char* args, const char* function, DType dtype) {
  const std::string call = std::string(function) + "<" + product_type(dtype) + ", " + device_type(dtype) + ">";
  return kernel_text("matmul.h", args, call);
}

/// Whether a thread for each sum is done before cuBLAS would have begun.
bool is_small(const Problem& p) {
  constexpr int64_t kMostSums = int64_t{1} << 16, kLongest = 128, kMostWork = int64_t{1} << 20;
  const int64_t sums = p.batch * p.m * p.n;
  return p.k > 0 && p.k <= kLongest && sums <= kMostSums && sums * p.k <= kMostWork && !is_integral(p.dtype);
}

void run_small(const Problem& p, const Matrices& added) {
  auto number = [](int64_t size) { return static_cast<uint32_t>(size); };
  SmallProductArgs args{number(p.batch), number(p.m), number(p.n), number(p.k), p.a, p.b, p.c,
                        added,           {},          {},          p.reads_c()};
  put_number(args.alpha.bytes, p.alpha, p.dtype);
  put_number(args.beta.bytes, p.beta, p.dtype);
  launch(p.device, text_of("SmallProductArgs", "small_product", p.dtype), args, blocks_for(p.batch * p.m * p.n));
}

void run_own(const Problem& p) {
  constexpr int64_t kSide = 64, kMostRows = 65535;
  ProductArgs args{p.batch, p.m, p.n, p.k, p.a, p.b, p.c, {}, {}, p.reads_c()};
  put_number(args.alpha.bytes, p.alpha, p.dtype);
  put_number(args.beta.bytes, p.beta, p.dtype);
  const int64_t tiles = ((p.m + kSide - 1) / kSide) * ((p.n + kSide - 1) / kSide);
  launch(p.device, text_of("ProductArgs", "product", p.dtype), args, tiles, kThreads, std::min(p.batch, kMostRows));
}

void solve(Problem p) {
  if (p.batch == 0 || p.m == 0 || p.n == 0) return;
  if (is_small(p)) return run_small(p, p.c);
  // Many matrices times one matrix are one tall matrix times it.
  if (p.batch > 1 && p.b.batch == 0) {
    if (p.m == 1) {
      p.a.row = p.a.batch;
      p.c.row = p.c.batch;
    }
    if (p.a.batch == p.m * p.a.row && p.c.batch == p.m * p.c.row) {
      p.m *= p.batch;
      p.batch = 1;
    }
  }
  if (p.k == 0 || is_integral(p.dtype) || !has_cublas()) return run_own(p);
  if (!lies_by_rows(p.c, p.m, p.n)) transpose(p);
  if (!lies_by_rows(p.c, p.m, p.n) || p.c.batch < 0) return run_elsewhere(p);
  run_cublas(p);
}

// ---- Checks

void check_types(const char* op, const char* torch_name, const View& a, const View& b, const View& c) {
  if (a.dtype != b.dtype || a.dtype != c.dtype)
    fail("expected m1 and m2 to have the same dtype, but got: ", info(a.dtype).name,
         " != ", info(a.dtype == b.dtype ? c.dtype : b.dtype).name, "; ", op,
         " does not promote; convert one with .to(dtype)");
  if (a.dtype == DType::Bool)
    fail(ErrorKind::NotImplemented, "\"", torch_name, "\" not implemented for 'Bool'; ", op,
         " needs numbers; convert with .to(torch.int64) or .float()");
}

void check_dims(const char* op, int ndim, const View& a, const View& b, const View& c) {
  if (a.ndim == ndim && b.ndim == ndim && c.ndim == ndim) return;
  fail(op, ": expected ", ndim, "-D tensors; got ", a.ndim, "-D, ", b.ndim, "-D and an output of ", c.ndim,
       "-D; reshape them, or call matmul");
}

Matrices matrix_of(const View& view) { return {view.data, 0, view.strides[0], view.strides[1]}; }
Matrices batch_of(const View& view) { return {view.data, view.strides[0], view.strides[1], view.strides[2]}; }

/// A product of two matrices, whose sizes and types fit.
Problem problem_of(const View& a, const View& b, const View& c, const Scalar& alpha, const Scalar& beta) {
  check_dims("mm", 2, a, b, c);
  check_types("mm", "addmm_cuda", a, b, c);
  if (a.sizes[1] != b.sizes[0])
    fail("mat1 and mat2 shapes cannot be multiplied (", a.sizes[0], "x", a.sizes[1], " and ", b.sizes[0], "x",
         b.sizes[1], "); the columns of the first must equal the rows of the second; transpose one of them?");
  if (c.sizes[0] != a.sizes[0] || c.sizes[1] != b.sizes[1])
    fail("mm: expected an output of ", a.sizes[0], "x", b.sizes[1], "; got ", c.sizes[0], "x", c.sizes[1],
         "; resize it");
  return {c.device,     a.dtype,      1,     a.sizes[0], b.sizes[1], a.sizes[1], matrix_of(a),
          matrix_of(b), matrix_of(c), alpha, beta};
}

}  // namespace

void gemm(const View& a, const View& b, const View& c, const Scalar& alpha, const Scalar& beta) {
  if (is_stored(a.dtype)) return through_cpu.matmul.gemm(a, b, c, alpha, beta);
  solve(problem_of(a, b, c, alpha, beta));
}

void gemm_plus(const View& a, const View& b, const View& added, const View& c, const Scalar& alpha,
               const Scalar& beta) {
  if (is_stored(a.dtype)) return through_cpu.matmul.gemm_plus(a, b, added, c, alpha, beta);
  const Problem p = problem_of(a, b, c, alpha, beta);
  if (is_small(p)) return run_small(p, matrix_of(added));
  if (run_biased(p, added)) return;
  copy(added, c);
  solve(p);
}

bool gemm_plus_relu(const View& a, const View& b, const View& added, const View& c) {
  const Scalar one = Scalar::of(int64_t{1});
  return !is_stored(a.dtype) && run_biased(problem_of(a, b, c, one, one), added, true);
}

void bmm(const View& a, const View& b, const View& c, const Scalar& alpha, const Scalar& beta) {
  if (is_stored(a.dtype)) return through_cpu.matmul.bmm(a, b, c, alpha, beta);
  check_dims("bmm", 3, a, b, c);
  check_types("bmm", "baddbmm_cuda", a, b, c);
  if (a.sizes[0] != b.sizes[0] || a.sizes[2] != b.sizes[1])
    fail("Expected size for first two dimensions of batch2 tensor to be: [", a.sizes[0], ", ", a.sizes[2],
         "] but got: [", b.sizes[0], ", ", b.sizes[1], "]; bmm needs equal batches and matching inner sizes");
  if (c.sizes[0] != a.sizes[0] || c.sizes[1] != a.sizes[1] || c.sizes[2] != b.sizes[2])
    fail("bmm: expected an output of [", a.sizes[0], ", ", a.sizes[1], ", ", b.sizes[2], "]; got [", c.sizes[0], ", ",
         c.sizes[1], ", ", c.sizes[2], "]; resize it");
  solve({c.device, a.dtype, a.sizes[0], a.sizes[1], b.sizes[2], a.sizes[2], batch_of(a), batch_of(b), batch_of(c),
         alpha, beta});
}

/// One product: the matrices of a stand side by side in it, those of b below each other.
void sum_bmm(const View& a, const View& b, const View& c, const Scalar& alpha, const Scalar& beta) {
  if (is_stored(a.dtype)) return through_cpu.matmul.sum_bmm(a, b, c, alpha, beta);
  check_types("addbmm", "addmm_cuda", a, b, c);
  const int64_t batch = a.sizes[0], m = a.sizes[1], k = a.sizes[2], n = b.sizes[2];
  Problem p{c.device, a.dtype, 1, m, n, batch * k, batch_of(a), batch_of(b), matrix_of(c), alpha, beta};
  std::optional<Scratch> a_scratch, b_scratch;
  const auto size = static_cast<size_t>(itemsize(a.dtype));
  if (batch > 1 && p.a.batch != k * p.a.col) {
    a_scratch.emplace(static_cast<size_t>(m * batch * k) * size, p.device);
    const Matrices side_by_side{a_scratch->data(), k, batch * k, 1};
    copy_matrices(p, p.a, side_by_side, batch, m, k);
    p.a = side_by_side;
  }
  if (batch > 1 && p.b.batch != k * p.b.row) {
    b_scratch.emplace(static_cast<size_t>(n * batch * k) * size, p.device);
    const Matrices below{b_scratch->data(), k * n, n, 1};
    copy_matrices(p, p.b, below, batch, k, n);
    p.b = below;
  }
  p.a.batch = p.b.batch = 0;
  solve(p);
}

void conjugate(const View& values) {
  static const Kernel* kernel = on(DeviceType::Cpu).elementwise.kernel("conj_physical");
  elementwise(*kernel, values.dtype, values, &values, nullptr);
}

}  // namespace adjoint::cuda
