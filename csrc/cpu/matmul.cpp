// Matrix products: checks, choice of orientation, staging of operands that a kernel cannot take, and splitting.
#include "cpu/matmul.h"

#include <algorithm>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include "cpu/blas.h"
#include "cpu/copy.h"
#include "cpu/matmul_small.h"
#include "cpu/parallel.h"

namespace adjoint::cpu {
namespace {

/// Multiplications that are worth a thread's waking up.
constexpr int64_t kParallelWork = 1 << 19;
/// The same for a matrix times a vector, which memory bounds.
constexpr int64_t kParallelVectorWork = 1 << 17;

/// One side of a batch of products; strides in elements.
struct Matrices {
  char* data;
  int64_t batch, row, col;
};

struct Problem {
  DType dtype;
  int64_t batch, m, n, k;
  Matrices a, b, c;
  const Scalar& alpha;
  const Scalar& beta;

  bool reads_c() const { return beta.to<complex128>() != complex128(0); }
};

/// Temporary memory: on the stack when little is asked for.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::free(heap_); }

  char* reserve(int64_t bytes) {
    if (bytes <= static_cast<int64_t>(sizeof(near_))) return near_;
    heap_ = std::aligned_alloc(64, (static_cast<size_t>(bytes) + 63) / 64 * 64);
    if (!heap_) {
      fail(ErrorKind::Memory, "matmul: no memory for a packed copy of an operand; ", bytes,
           " bytes were needed; use smaller or contiguous tensors");
    }
    return static_cast<char*>(heap_);
  }

 private:
  alignas(64) char near_[2048];
  void* heap_ = nullptr;
};

void copy_matrices(const Matrices& from, DType from_type, const Matrices& to, DType to_type, int64_t batch,
                   int64_t rows, int64_t cols) {
  const int64_t sizes[3] = {batch, rows, cols};
  const int64_t from_strides[3] = {from.batch, from.row, from.col};
  const int64_t to_strides[3] = {to.batch, to.row, to.col};
  copy(View{from.data, from_type, 3, sizes, from_strides}, View{to.data, to_type, 3, sizes, to_strides});
}

/// A packed place for `operand`, of the type `to_type`. A matrix that all of the batch shares stays shared.
Matrices packed_like(const Matrices& operand, DType to_type, int64_t batch, int64_t rows, int64_t cols,
                     Scratch& scratch) {
  const bool shared = operand.batch == 0;
  char* data = scratch.reserve((shared ? 1 : batch) * rows * cols * itemsize(to_type));
  return {data, shared ? 0 : rows * cols, cols, 1};
}

Matrices pack(const Matrices& operand, DType from_type, DType to_type, int64_t batch, int64_t rows, int64_t cols,
              Scratch& scratch) {
  Matrices result = packed_like(operand, to_type, batch, rows, cols, scratch);
  copy_matrices(operand, from_type, result, to_type, result.batch == 0 ? 1 : batch, rows, cols);
  return result;
}

/// c = a @ b is c' = b' @ a'.
void transpose(Problem& p) {
  std::swap(p.a, p.b);
  std::swap(p.m, p.n);
  for (Matrices* operand : {&p.a, &p.b, &p.c}) std::swap(operand->row, operand->col);
}

template <class T>
Product<T> product_of(const Problem& p, int64_t index) {
  auto matrix = [index](const Matrices& x) { return reinterpret_cast<T*>(x.data) + index * x.batch; };
  return {p.m,
          p.n,
          p.k,
          {matrix(p.a), p.a.row, p.a.col},
          {matrix(p.b), p.b.row, p.b.col},
          {matrix(p.c), p.c.row, p.c.col},
          p.alpha.to<T>(),
          p.beta.to<T>()};
}

/// Runs run(product) for every product of the batch, over several threads when there is enough to do.
template <class T, class Run>
void for_each_product(const Problem& p, Run run) {
  if (p.batch == 1) return run(product_of<T>(p, 0));
  const int64_t work = p.m * p.n * std::max<int64_t>(p.k, 1);
  // A few large products are better split inside each of them.
  const bool few = p.batch < num_threads() && work >= 2 * kParallelWork;
  const int64_t grain = few ? p.batch : std::max<int64_t>(1, kParallelWork / work);
  const Product<T> first = product_of<T>(p, 0);
  parallel_for(p.batch, grain, [&p, &run, first](int64_t begin, int64_t end) {
    Product<T> product = first;
    for (int64_t i = begin; i < end; ++i) {
      product.a.data = first.a.data + i * p.a.batch;
      product.b.data = first.b.data + i * p.b.batch;
      product.c.data = first.c.data + i * p.c.batch;
      run(product);
    }
  });
}

template <class T>
Product<T> part_of(const Product<T>& p, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  Product<T> part = p;
  part.m = rows;
  part.n = columns;
  part.a.data = p.a.at(row, 0);
  part.b.data = p.b.at(0, column);
  part.c.data = p.c.at(row, column);
  return part;
}

/// Into how many blocks a product that BLAS computes is cut. It depends on the work alone, because BLAS rounds an
/// element in another way where the block around it has another size: a count that followed the number of threads would
/// change the bits with it. BLAS packs its operands anew for each block, which makes more of them slower on few
/// threads.
int64_t gemm_blocks(int64_t work) {
  constexpr int64_t large = int64_t{1} << 27, huge = int64_t{1} << 29;
  if (work < 2 * kParallelWork) return 1;
  return std::max({int64_t{2}, std::min<int64_t>(work / large, 8), work / huge});
}
/// The same for a matrix times a vector: nothing is packed.
int64_t gemv_blocks(int64_t work) { return std::clamp<int64_t>(work / kParallelVectorWork, 1, 16); }

/// Cuts c into a grid of about `wanted` blocks, and runs run(part) on them.
template <class T, class Run>
void run_in_blocks(const Product<T>& p, int64_t wanted, Run run) {
  if (wanted <= 1) return run(p);
  // Borders at whole vectors; the longer side is cut first, so that the blocks stay near square.
  constexpr int64_t unit = 16;
  int64_t down = 1;
  int64_t across = 1;
  while (down * across < wanted) {
    const bool cut_rows = p.m / down >= p.n / across;
    if ((cut_rows ? p.m / down : p.n / across) < 2 * unit) break;
    (cut_rows ? down : across) *= 2;
  }
  const int64_t rows = ((p.m + down - 1) / down + unit - 1) / unit * unit;
  const int64_t columns = ((p.n + across - 1) / across + unit - 1) / unit * unit;
  down = (p.m + rows - 1) / rows;
  across = (p.n + columns - 1) / columns;
  parallel_for(down * across, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / across * rows;
      const int64_t column = i % across * columns;
      run(part_of(p, row, std::min(rows, p.m - row), column, std::min(columns, p.n - column)));
    }
  });
}

// ---- By way of BLAS --------------------------------------------------------------------------------------------

const auto& routines(const blas::Library& library, float) { return library.f32; }
const auto& routines(const blas::Library& library, double) { return library.f64; }
const auto& routines(const blas::Library& library, complex64) { return library.c64; }
const auto& routines(const blas::Library& library, complex128) { return library.c128; }

template <class T>
auto factor(const T& value) {
  if constexpr (is_complex_v<T>) {
    return &value;
  } else {
    return value;
  }
}

/// BLAS takes matrices packed along rows or along columns. Strides that no element uses are put right on the way;
/// false when a copy is needed.
bool fits_blas(Matrices& x, int64_t rows, int64_t cols) {
  const int64_t row = rows == 1 ? cols : x.row;
  const int64_t col = cols == 1 ? rows : x.col;
  if ((cols == 1 || x.col == 1) && row >= cols) {
    x.row = row;
    x.col = 1;
    return true;
  }
  if ((rows == 1 || x.row == 1) && col >= rows) {
    x.row = 1;
    x.col = col;
    return true;
  }
  return false;
}

template <class T>
void blas_gemm(const blas::Library& library, const Product<T>& p) {
  auto trans = [](const auto& x) { return x.col == 1 ? blas::kNoTrans : blas::kTrans; };
  auto leading = [](const auto& x) { return x.col == 1 ? x.row : x.col; };
  routines(library, T{})
      .gemm(blas::kRowMajor, trans(p.a), trans(p.b), p.m, p.n, p.k, factor(p.alpha), p.a.data, leading(p.a), p.b.data,
            leading(p.b), factor(p.beta), p.c.data, std::max(p.c.row, p.n));
}

/// One row times a matrix, c = b' a'.
template <class T>
void blas_gemv(const blas::Library& library, const Product<T>& p) {
  const T one(1);
  const bool overwrite = p.beta == T(0);
  // Cleared here, because a zero factor need not clear a nan in every version of the library.
  if (overwrite) std::fill_n(p.c.data, p.n, T(0));
  const T& beta = overwrite ? one : p.beta;
  const bool by_rows = p.b.col == 1;
  routines(library, T{})
      .gemv(blas::kRowMajor, by_rows ? blas::kTrans : blas::kNoTrans, by_rows ? p.k : p.n, by_rows ? p.n : p.k,
            factor(p.alpha), p.b.data, by_rows ? p.b.row : p.b.col, p.a.data, p.a.col, factor(beta), p.c.data, 1);
}

template <class T>
void run_blas(const blas::Library& library, const Problem& p) {
  if (p.m == 1) {
    for_each_product<T>(p, [&library](const Product<T>& product) {
      run_in_blocks(product, gemv_blocks(product.n * product.k),
                    [&library](const Product<T>& part) { blas_gemv(library, part); });
    });
  } else {
    for_each_product<T>(p, [&library](const Product<T>& product) {
      run_in_blocks(product, gemm_blocks(product.m * product.n * product.k),
                    [&library](const Product<T>& part) { blas_gemm(library, part); });
    });
  }
}

// ---- Without BLAS ----------------------------------------------------------------------------------------------

/// sum + x * y; integers wrap, and a complex product is the plain formula.
template <class T>
inline T multiply_add(T sum, T x, T y) {
  if constexpr (is_complex_v<T>) {
    return T(sum.real() + (x.real() * y.real() - x.imag() * y.imag()),
             sum.imag() + (x.real() * y.imag() + x.imag() * y.real()));
  } else if constexpr (std::is_integral_v<T>) {
    using Wide = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    return static_cast<T>(static_cast<Wide>(sum) + static_cast<Wide>(x) * static_cast<Wide>(y));
  } else {
    return sum + x * y;
  }
}

/// out[j] += x * in[j]
template <class T>
inline void add_multiple(T* __restrict out, T x, const T* __restrict in, int64_t n) {
  if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, int32_t>)
    return chosen<IntegerLoops<T>>.add_multiple(out, x, in, n);
  for (int64_t j = 0; j < n; ++j) out[j] = multiply_add(out[j], x, in[j]);
}

/// Adds multiples of rows of b to rows of c, in blocks of b that stay in the cache. Needs rows of b and c packed.
template <class T>
void plain_gemm(const Product<T>& p) {
  for (int64_t i = 0; i < p.m; ++i) {
    T* row = p.c.at(i, 0);
    for (int64_t j = 0; j < p.n; ++j) row[j] = p.beta == T(0) ? T(0) : multiply_add(T(0), p.beta, row[j]);
  }
  constexpr int64_t depth = 64;
  constexpr int64_t width = 512;
  for (int64_t column = 0; column < p.n; column += width) {
    const int64_t count = std::min(width, p.n - column);
    for (int64_t start = 0; start < p.k; start += depth) {
      const int64_t stop = std::min(start + depth, p.k);
      for (int64_t i = 0; i < p.m; ++i) {
        T* out = p.c.at(i, column);
        for (int64_t l = start; l < stop; ++l) {
          const T x = multiply_add(T(0), p.alpha, *p.a.at(i, l));
          add_multiple(out, x, p.b.at(l, column), count);
        }
      }
    }
  }
}

template <class T>
void run_plain(Problem& p) {
  Scratch scratch;
  if (p.n > 1 && p.b.col != 1) p.b = pack(p.b, p.dtype, p.dtype, p.batch, p.k, p.n, scratch);
  for_each_product<T>(p, [](const Product<T>& product) {
    // Here an element has the same bits in any block: a block for each thread will do.
    const int64_t worthwhile = product.m * product.n * product.k / (kParallelWork / 8);
    run_in_blocks(product, std::min<int64_t>(worthwhile, num_threads()),
                  [](const Product<T>& part) { plain_gemm(part); });
  });
}

/// The small kernels on blocks that stay in the cache: for machines without BLAS.
template <class T>
void run_tiles(const Problem& p) {
  static constexpr int64_t side = 64;
  for_each_product<T>(p, [](const Product<T>& product) {
    run_in_blocks(product, product.m * product.n * product.k / kParallelWork, [](const Product<T>& part) {
      for (int64_t i = 0; i < part.m; i += side) {
        for (int64_t j = 0; j < part.n; j += side) {
          small_gemm(part_of(part, i, std::min(side, part.m - i), j, std::min(side, part.n - j)));
        }
      }
    });
  });
}

// ---- Choice ----------------------------------------------------------------------------------------------------

/// Up to here the own kernels are as fast as BLAS or faster, as measured.
bool is_small(const Problem& p) {
  const int64_t work = p.m * p.n * p.k;
  return work <= (1 << 13) || (work <= (1 << 18) && std::min(p.m, p.n) >= 8);
}

/// Up to here the own kernels, which pack nothing but what lies by columns, are faster than BLAS, as measured: many
/// rows times a matrix that is not too large for the caches.
template <class T>
bool is_near(const Problem& p) {
  constexpr int64_t kNear = 1 << 19, kLine = 64;
  return p.m >= 64 && p.n * static_cast<int64_t>(sizeof(T)) >= kLine && p.n * p.k <= kNear;
}

/// Cuts c into about `wanted` blocks of whole columns, and runs run(part) on them.
template <class T, class Run>
void run_in_columns(const Product<T>& p, int64_t wanted, Run run) {
  constexpr int64_t unit = 32;
  const int64_t columns = std::max(unit, (p.n / std::max<int64_t>(wanted, 1) + unit - 1) / unit * unit);
  parallel_for((p.n + columns - 1) / columns, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) run(part_of(p, 0, p.m, i * columns, std::min(columns, p.n - i * columns)));
  });
}

template <class T>
void run_near(const Problem& p) {
  for_each_product<T>(p, [](const Product<T>& product) {
    int64_t wanted = std::min<int64_t>(product.m * product.n * product.k / (2 * kParallelWork), 64);
    // Rows of a that are read for every few columns of b again.
    constexpr int64_t kRows = (1 << 18) / sizeof(T);
    wanted = std::max(wanted, product.m * product.k / kRows);
    auto run = [](const Product<T>& part) { small_gemm(part); };
    // What is packed for some columns is not packed again, unless there are so many rows that it does not matter.
    if (!packs(product) || product.m >= 16 * product.n) return run_in_blocks(product, wanted, run);
    run_in_columns(product, wanted, run);
  });
}

/// Apart from the small products, whose stack frame would grow.
template <class T>
[[gnu::noinline]] void run_large(Problem& p) {
  if constexpr (std::is_floating_point_v<T>) {
    if (p.m == 1 && p.n == 1) return for_each_product<T>(p, [](const Product<T>& product) { long_dot(product); });
    if (is_near<T>(p)) return run_near<T>(p);
  }
  if constexpr (std::is_floating_point_v<T> || is_complex_v<T>) {
    const blas::Library* library = p.k == 0 ? nullptr : blas::library();
    Scratch a_scratch, b_scratch;
    if (library) {
      if (!fits_blas(p.a, p.m, p.k)) p.a = pack(p.a, p.dtype, p.dtype, p.batch, p.m, p.k, a_scratch);
      if (!fits_blas(p.b, p.k, p.n)) p.b = pack(p.b, p.dtype, p.dtype, p.batch, p.k, p.n, b_scratch);
      return run_blas<T>(*library, p);
    }
  }
  if constexpr (std::is_floating_point_v<T>) {
    run_tiles<T>(p);
  } else {
    run_plain<T>(p);
  }
}

template <class T>
inline void run(Problem& p) {
  if constexpr (std::is_floating_point_v<T>) {
    if (is_small(p)) return for_each_product<T>(p, [](const Product<T>& product) { small_gemm(product); });
  }
  run_large<T>(p);
}

void solve(Problem& p);

/// Computes in other memory, of another type perhaps, and copies the result to where it belongs.
[[gnu::noinline]] void solve_elsewhere(Problem& p, DType type) {
  Scratch a_scratch, b_scratch, c_scratch;
  Problem there = p;
  there.dtype = type;
  if (type != p.dtype) {
    there.a = pack(p.a, p.dtype, type, p.batch, p.m, p.k, a_scratch);
    there.b = pack(p.b, p.dtype, type, p.batch, p.k, p.n, b_scratch);
  }
  there.c = packed_like(p.c, type, p.batch, p.m, p.n, c_scratch);
  if (p.reads_c()) copy_matrices(p.c, p.dtype, there.c, type, p.batch, p.m, p.n);
  const Matrices result = there.c;
  const int64_t m = p.m;
  const int64_t n = p.n;
  solve(there);
  copy_matrices(result, type, p.c, p.dtype, p.batch, m, n);
}

void solve(Problem& p) {
  if (p.batch == 0 || p.m == 0 || p.n == 0) return;
  if (is_half(p.dtype)) return solve_elsewhere(p, DType::Float32);
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
  // After this the rows of c are packed, and a lone row or column is a row.
  if (p.m > 1 && (p.n == 1 || (p.c.col != 1 && p.c.row == 1))) transpose(p);
  if ((p.n > 1 && p.c.col != 1) || (p.m > 1 && p.c.row < p.n)) return solve_elsewhere(p, p.dtype);
  dispatch(p.dtype, [&p](auto tag) {
    using T = decltype(tag);
    if constexpr (!is_half_v<T> && !std::is_same_v<T, bool>) run<T>(p);
  });
}

// ---- Checks ----------------------------------------------------------------------------------------------------

void check_types(const char* op, const char* torch_name, const View& a, const View& b, const View& c) {
  if (a.dtype != b.dtype || a.dtype != c.dtype) {
    fail("expected m1 and m2 to have the same dtype, but got: ", info(a.dtype).name,
         " != ", info(a.dtype == b.dtype ? c.dtype : b.dtype).name, "; ", op,
         " does not promote; convert one with .to(dtype)");
  }
  if (a.dtype == DType::Bool) {
    fail(ErrorKind::NotImplemented, "\"", torch_name, "\" not implemented for 'Bool'; ", op,
         " needs numbers; convert with .to(torch.int64) or .float()");
  }
}

void check_dims(const char* op, int ndim, const View& a, const View& b, const View& c) {
  if (a.ndim == ndim && b.ndim == ndim && c.ndim == ndim) return;
  fail(op, ": expected ", ndim, "-D tensors; got ", a.ndim, "-D, ", b.ndim, "-D and an output of ", c.ndim,
       "-D; reshape them, or call matmul");
}

}  // namespace

void gemm(const View& a, const View& b, const View& c, const Scalar& alpha, const Scalar& beta) {
  check_dims("mm", 2, a, b, c);
  check_types("mm", "addmm_impl_cpu_", a, b, c);
  if (a.sizes[1] != b.sizes[0]) {
    fail("mat1 and mat2 shapes cannot be multiplied (", a.sizes[0], "x", a.sizes[1], " and ", b.sizes[0], "x",
         b.sizes[1], "); the columns of the first must equal the rows of the second; transpose one of them?");
  }
  if (c.sizes[0] != a.sizes[0] || c.sizes[1] != b.sizes[1]) {
    fail("mm: expected an output of ", a.sizes[0], "x", b.sizes[1], "; got ", c.sizes[0], "x", c.sizes[1],
         "; resize it");
  }
  Problem problem{a.dtype,
                  1,
                  a.sizes[0],
                  b.sizes[1],
                  a.sizes[1],
                  {a.data, 0, a.strides[0], a.strides[1]},
                  {b.data, 0, b.strides[0], b.strides[1]},
                  {c.data, 0, c.strides[0], c.strides[1]},
                  alpha,
                  beta};
  solve(problem);
}

void gemm_plus(const View& a, const View& b, const View& added, const View& c, const Scalar& alpha,
               const Scalar& beta) {
  copy(added, c);
  gemm(a, b, c, alpha, beta);
}

void bmm(const View& a, const View& b, const View& c, const Scalar& alpha, const Scalar& beta) {
  check_dims("bmm", 3, a, b, c);
  check_types("bmm", "bmm", a, b, c);
  if (a.sizes[0] != b.sizes[0] || a.sizes[2] != b.sizes[1]) {
    fail("Expected size for first two dimensions of batch2 tensor to be: [", a.sizes[0], ", ", a.sizes[2],
         "] but got: [", b.sizes[0], ", ", b.sizes[1], "]; bmm needs equal batches and matching inner sizes");
  }
  if (c.sizes[0] != a.sizes[0] || c.sizes[1] != a.sizes[1] || c.sizes[2] != b.sizes[2]) {
    fail("bmm: expected an output of [", a.sizes[0], ", ", a.sizes[1], ", ", b.sizes[2], "]; got [", c.sizes[0], ", ",
         c.sizes[1], ", ", c.sizes[2], "]; resize it");
  }
  Problem problem{a.dtype,
                  a.sizes[0],
                  a.sizes[1],
                  b.sizes[2],
                  a.sizes[2],
                  {a.data, a.strides[0], a.strides[1], a.strides[2]},
                  {b.data, b.strides[0], b.strides[1], b.strides[2]},
                  {c.data, c.strides[0], c.strides[1], c.strides[2]},
                  alpha,
                  beta};
  solve(problem);
}

void sum_bmm(const View& a, const View& b, const View& c, const Scalar& alpha, const Scalar& beta) {
  const auto entry = [](const View& batch, int64_t i, const int64_t* sizes) {
    return View{batch.data, batch.dtype, 2, sizes, batch.strides + 1}.shifted(i * batch.strides[0]);
  };
  // Without products, what remains is beta * c: a product over no columns.
  const int64_t none_left[2] = {a.sizes[1], 0}, none_right[2] = {0, b.sizes[2]};
  gemm(entry(a, 0, none_left), entry(b, 0, none_right), c, alpha, beta);
  for (int64_t i = 0; i < a.sizes[0]; ++i)
    gemm(entry(a, i, a.sizes + 1), entry(b, i, b.sizes + 1), c, alpha, Scalar::of(int64_t{1}));
}

void conjugate(const View& values) {
  dispatch(values.dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (is_complex_v<T>) {
      for (int64_t i = 0, n = values.numel(); i < n; ++i) values.as<T>()[i] = std::conj(values.as<T>()[i]);
    }
  });
}

}  // namespace adjoint::cpu
