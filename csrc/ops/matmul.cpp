#include "ops/matmul.h"

#include <algorithm>
#include <string>

#include "core/lock.h"
#include "kernels/backend.h"
#include "ops/advice.h"
#include "ops/memory.h"
#include "ops/numbers.h"

namespace adjoint::ops {
namespace {

const Scalar kOne = Scalar::of(int64_t{1});
const Scalar kZero = Scalar::of(int64_t{0});

const char* legacy(const Tensor* tensor) { return info(tensor->dtype).legacy_name; }

void check_numeric(const char* torch_name, DType dtype) {
  if (dtype == DType::Bool)
    fail(ErrorKind::NotImplemented, "\"", torch_name,
         "\" not implemented for 'Bool'; convert to numbers with .int() or .float()");
}

/// One operand as a batch of matrices over the tensor's memory, perhaps transposed. `batch` is 1 for a matrix.
struct Matrix {
  int64_t sizes[3];  ///< batch, rows, columns
  int64_t strides[3];
  const Tensor* tensor;

  static Matrix of(const Tensor* t) {
    if (t->ndim() == 3) return {{t->size(0), t->size(1), t->size(2)}, {t->stride(0), t->stride(1), t->stride(2)}, t};
    return {{1, t->size(0), t->size(1)}, {0, t->stride(0), t->stride(1)}, t};
  }
  static Matrix column(const Tensor* t) { return {{1, t->size(0), 1}, {0, t->stride(0), 1}, t}; }
  static Matrix row(const Tensor* t) { return column(t).transposed(); }
  static Matrix number(const Tensor* t) { return {{1, 1, 1}, {0, 1, 1}, t}; }

  Matrix transposed() const { return {{sizes[0], sizes[2], sizes[1]}, {strides[0], strides[2], strides[1]}, tensor}; }
  int64_t batch() const { return sizes[0]; }
  int64_t rows() const { return sizes[1]; }
  int64_t cols() const { return sizes[2]; }
  View matrix_view() const { return tensor->view(2, sizes + 1, strides + 1); }
  View batch_view() const { return tensor->view(3, sizes, strides); }
};

/// What a product costs, counted in elements of elementwise work.
int64_t work(const Matrix& a, const Matrix& c) {
  double products = static_cast<double>(a.batch()) * static_cast<double>(c.rows()) * static_cast<double>(c.cols()) *
                    static_cast<double>(a.cols());
  return static_cast<int64_t>(std::min(products / 16, 1e15));
}

void multiply(const Matrix& a, const Matrix& b, const Matrix& c, const Scalar& alpha = kOne,
              const Scalar& beta = kZero) {
  WithoutLock unlocked(work(a, c));
  const kernels::Matmul& matmul = on(c.tensor->device).matmul;
  if (c.batch() == 1) {
    matmul.gemm(a.matrix_view(), b.matrix_view(), c.matrix_view(), alpha, beta);
  } else {
    matmul.bmm(a.batch_view(), b.batch_view(), c.batch_view(), alpha, beta);
  }
}

/// The complex conjugate; a real tensor itself.
TensorPtr conjugate(Tensor* tensor) {
  if (!is_complex(tensor->dtype)) return TensorPtr::borrow(tensor);
  TensorPtr result = clone(tensor);
  result = contiguous(result.get());
  on(result->device).matmul.conjugate(result->view());
  return result;
}

void check_matrix(const char* name, const Tensor* tensor) {
  if (tensor->ndim() != 2)
    fail(name, " must be a matrix, got ", tensor->ndim(), "-D tensor of shape ", to_string(tensor->sizes()),
         "; matmul() takes vectors and batches, too");
}

void check_same_type(const Tensor* a, const Tensor* b) {
  if (a->dtype != b->dtype)
    fail("expected m1 and m2 to have the same dtype, but got: ", info(a->dtype).c_name, " != ", info(b->dtype).c_name,
         advice::one_type("the first", a->dtype, "the second", b->dtype));
}

/// `linear`: the second is the weight of a layer, which was transposed.
void check_inner(const Matrix& a, const Matrix& b, bool linear = false) {
  if (a.cols() != b.rows())
    fail("mat1 and mat2 shapes cannot be multiplied (", a.rows(), "x", a.cols(), " and ", b.rows(), "x", b.cols(), ")",
         linear ? advice::fitting_features(a.rows(), a.cols(), b.rows())
                : advice::fitting_matrices(a.rows(), a.cols(), b.rows(), b.cols()));
}

TensorPtr product(const Matrix& a, const Matrix& b, bool linear = false) {
  check_inner(a, b, linear);
  const int64_t sizes[2] = {a.rows(), b.cols()};
  TensorPtr result = empty(sizes, a.tensor->dtype, a.tensor->device);
  multiply(a, b, Matrix::of(result.get()));
  return result;
}

/// A product that may lie column by column, as the matrix does of which it is the gradient.
TensorPtr gradient_product(const Matrix& a, const Matrix& b, bool turned) {
  check_inner(a, b);
  if (!turned) return product(a, b);
  TensorPtr result = product(b.transposed(), a.transposed());
  const int64_t sizes[2] = {a.rows(), b.cols()}, strides[2] = {1, a.rows()};
  return alias(result.get(), make_shape(Sizes(sizes, 2), Sizes(strides, 2)));
}

void check_matrices(const Tensor* a, const Tensor* b) {
  check_matrix("self", a);
  check_matrix("mat2", b);
  check_same_type(a, b);
  check_numeric("addmm_impl_cpu_", a->dtype);
}

void check_batches(const char* first, const char* second, const Tensor* a, const Tensor* b) {
  if (a->ndim() != 3) fail(first, " must be a 3D tensor; got ", a->ndim(), "-D");
  if (b->ndim() != 3) fail(second, " must be a 3D tensor; got ", b->ndim(), "-D");
}

void check_batch_sizes(const Matrix& a, const Matrix& b) {
  if (a.batch() != b.batch() || a.cols() != b.rows())
    fail("Expected size for first two dimensions of batch2 tensor to be: [", a.batch(), ", ", a.cols(), "] but got: [",
         b.batch(), ", ", b.rows(), "].",
         a.batch() != b.batch() ? " The batches must be of one size."
         : a.cols() == b.cols() ? " Transpose the second (batch2.mT)?"
                                : " The columns of the first must be as many as the rows of the second.");
}

void check_bmm_types(const char* op, const Tensor* a, const Tensor* b) {
  check_numeric(op, a->dtype);
  if (a->dtype != b->dtype)
    fail("expected scalar type ", legacy(a), " but found ", legacy(b), "; convert one of them with .to(dtype)");
}

void check_bmm(const Tensor* a, const Tensor* b) {
  check_batches("batch1", "batch2", a, b);
  check_bmm_types("bmm", a, b);
}

TensorPtr batched_product(const Matrix& a, const Matrix& b) {
  check_batch_sizes(a, b);
  const int64_t sizes[3] = {a.batch(), a.rows(), b.cols()};
  TensorPtr result = empty(sizes, a.tensor->dtype, a.tensor->device);
  if (result->numel() > 0) multiply(a, b, Matrix::of(result.get()));
  return result;
}

TensorPtr matrix_times_vector(const Matrix& a, const Tensor* vec) {
  const int64_t rows = a.rows();
  TensorPtr result = empty(Sizes(&rows, 1), vec->dtype, vec->device);
  multiply(a, Matrix::column(vec), Matrix::column(result.get()));
  return result;
}

void check_mv_types(const Tensor* input, const Tensor* mat, const Tensor* vec) {
  if (input->dtype != mat->dtype || vec->dtype != mat->dtype)
    fail("addmv input tensors must have the same dtype, but got ", legacy(input), ", ", legacy(mat), ", and ",
         legacy(vec), "; convert them with .to(dtype)");
  check_numeric("addmv_impl_cpu", mat->dtype);
}

void check_mv(int input_dims, const Tensor* mat, const Tensor* vec) {
  if (mat->ndim() != 2 || vec->ndim() != 1)
    fail("vector + matrix @ vector expected, got ", input_dims, ", ", mat->ndim(), ", ", vec->ndim());
}

[[noreturn]] void fail_mv_sizes(int64_t input, const Matrix& mat, const Tensor* vec) {
  fail("size mismatch, got input (", input, "), mat (", mat.rows(), "x", mat.cols(), "), vec (", vec->size(0), ")",
       mat.rows() == vec->size(0) ? "; transpose the matrix (mat.T @ vec)?"
                                  : "; the vector needs an element for each column of the matrix");
}

TensorPtr dot_product(Tensor* a, Tensor* b) {
  if (a->ndim() != 1 || b->ndim() != 1)
    fail("1D tensors expected, but got ", a->ndim(), "D and ", b->ndim(), "D tensors; matmul() multiplies matrices");
  if (a->dtype != b->dtype)
    fail("dot : expected both vectors to have same dtype, but found ", legacy(a), " and ", legacy(b),
         "; convert one of them with .to(dtype)");
  if (a->numel() != b->numel())
    fail("inconsistent tensor size, expected tensor ", to_string(a->sizes()), " and src ", to_string(b->sizes()),
         " to have the same number of elements, but got ", a->numel(), " and ", b->numel(), " elements respectively");
  check_numeric("dot", a->dtype);
  TensorPtr result = empty(scalar_shape(), a->dtype, a->device);
  multiply(Matrix::row(a), Matrix::column(b), Matrix::number(result.get()));
  return result;
}

/// Throws unless the product's type holds alpha or beta; half types compute in float32.
void check_factor(DType dtype, const Scalar& factor) {
  check_fits(factor, dtype == DType::Float16 ? DType::Float32 : dtype);
}

bool is_zero(const Scalar& factor) { return factor.to<complex128>() == complex128(0); }

/// A fresh tensor of these sizes, to which `input` can be broadcast, and whose type holds the factors.
TensorPtr unset_sum(const Tensor* input, Sizes sizes, const Scalar& beta, const Scalar& alpha) {
  int lead = static_cast<int>(sizes.size()) - input->ndim();
  if (lead < 0)
    fail("expand(", to_string(sizes), "): the number of sizes provided (", sizes.size(),
         ") must be greater or equal to the number of dimensions in the tensor (", input->ndim(), ")");
  for (int d = 0; d < input->ndim(); ++d)
    if (input->size(d) != 1 && input->size(d) != sizes[d + lead])
      fail("The expanded size of the tensor (", sizes[d + lead], ") must match the existing size (", input->size(d),
           ") at non-singleton dimension ", d + lead, ".  Target sizes: ", to_string(sizes),
           ".  Tensor sizes: ", to_string(input->sizes()));
  TensorPtr result = empty(sizes, input->dtype, input->device);
  if (result->numel() == 0) return result;
  check_factor(input->dtype, beta);
  check_factor(input->dtype, alpha);
  return result;
}

/// The same, holding the broadcast `input`, unless `beta` says that it is not read.
TensorPtr accumulator(const Tensor* input, Sizes sizes, const Scalar& beta, const Scalar& alpha) {
  TensorPtr result = unset_sum(input, sizes, beta, alpha);
  if (result->numel() == 0 || is_zero(beta)) return result;
  int64_t strides[kMaxDims];
  broadcast_strides(input->shape, sizes, strides);
  on(input->device).memory.copy(input->view(static_cast<int>(sizes.size()), sizes.data(), strides), result->view());
  return result;
}

void relu_in_place(const View& values) {
  static const Kernel* relu = on(DeviceType::Cpu).elementwise.kernel("relu");
  on(values.device).elementwise.run(*relu, values.dtype, values, &values, nullptr);
}

/// alpha * a @ b + beta * input, which is broadcast, and perhaps relu of it; both factors are 1, then.
TensorPtr product_plus(const Tensor* input, const Matrix& a, const Matrix& b, const Scalar& beta, const Scalar& alpha,
                       bool relu = false) {
  const int64_t sizes[2] = {a.rows(), b.cols()};
  TensorPtr result = unset_sum(input, sizes, beta, alpha);
  if (result->numel() == 0) return result;
  const Matrix c = Matrix::of(result.get());
  if (is_zero(beta)) {
    multiply(a, b, c, alpha, beta);
    return result;
  }
  int64_t strides[kMaxDims];
  broadcast_strides(input->shape, sizes, strides);
  WithoutLock unlocked(work(a, c));
  const kernels::Matmul& matmul = on(result->device).matmul;
  const View left = a.matrix_view(), right = b.matrix_view(), added = input->view(2, sizes, strides);
  if (relu && matmul.gemm_plus_relu(left, right, added, c.matrix_view())) return result;
  matmul.gemm_plus(left, right, added, c.matrix_view(), alpha, beta);
  if (relu) relu_in_place(c.matrix_view());
  return result;
}

/// `linear`: the matrices are the input and the weight of a layer.
void check_addmm_types(const Tensor* input, const Tensor* mat1, const Tensor* mat2, bool linear = false) {
  if (input->dtype != mat2->dtype)
    fail("self and mat2 must have the same dtype, but got ", legacy(input), " and ", legacy(mat2),
         advice::one_type("self", input->dtype, "mat2", mat2->dtype));
  if (mat1->dtype != mat2->dtype)
    fail("mat1 and mat2 must have the same dtype, but got ", legacy(mat1), " and ", legacy(mat2),
         linear ? advice::one_type("the input", mat1->dtype, "the weight", mat2->dtype)
                : advice::one_type("mat1", mat1->dtype, "mat2", mat2->dtype));
  check_numeric("addmm_impl_cpu_", mat1->dtype);
}

TensorPtr added_product(Tensor* input, Tensor* mat1, Tensor* mat2, const Scalar& beta, const Scalar& alpha, bool relu) {
  check_matrix("mat1", mat1);
  check_matrix("mat2", mat2);
  check_addmm_types(input, mat1, mat2);
  Matrix a = Matrix::of(mat1), b = Matrix::of(mat2);
  check_inner(a, b);
  return product_plus(input, a, b, beta, alpha, relu);
}

}  // namespace

TensorPtr mm(Tensor* input, Tensor* mat2) {
  check_matrices(input, mat2);
  return product(Matrix::of(input), Matrix::of(mat2));
}
TensorPtr mm_nt(Tensor* input, Tensor* mat2, bool turned) {
  check_matrices(input, mat2);
  TensorPtr second = conjugate(mat2);
  return gradient_product(Matrix::of(input), Matrix::of(second.get()).transposed(), turned);
}
TensorPtr mm_tn(Tensor* input, Tensor* mat2, bool turned) {
  check_matrices(input, mat2);
  TensorPtr first = conjugate(input);
  return gradient_product(Matrix::of(first.get()).transposed(), Matrix::of(mat2), turned);
}

TensorPtr bmm(Tensor* input, Tensor* mat2) {
  check_bmm(input, mat2);
  return batched_product(Matrix::of(input), Matrix::of(mat2));
}
TensorPtr bmm_nt(Tensor* input, Tensor* mat2) {
  check_bmm(input, mat2);
  TensorPtr second = conjugate(mat2);
  return batched_product(Matrix::of(input), Matrix::of(second.get()).transposed());
}
TensorPtr bmm_tn(Tensor* input, Tensor* mat2) {
  check_bmm(input, mat2);
  TensorPtr first = conjugate(input);
  return batched_product(Matrix::of(first.get()).transposed(), Matrix::of(mat2));
}

TensorPtr mv(Tensor* input, Tensor* vec) {
  check_mv(1, input, vec);
  Matrix matrix = Matrix::of(input);
  if (matrix.cols() != vec->size(0)) fail_mv_sizes(matrix.rows(), matrix, vec);
  check_mv_types(vec, input, vec);
  return matrix_times_vector(matrix, vec);
}
TensorPtr mv_t(Tensor* input, Tensor* vec) {
  check_mv(1, input, vec);
  TensorPtr conjugated = conjugate(input);
  Matrix matrix = Matrix::of(conjugated.get()).transposed();
  if (matrix.cols() != vec->size(0)) fail_mv_sizes(matrix.rows(), matrix, vec);
  check_mv_types(vec, input, vec);
  return matrix_times_vector(matrix, vec);
}

TensorPtr dot(Tensor* input, Tensor* tensor) { return dot_product(input, tensor); }
TensorPtr vdot(Tensor* input, Tensor* other) {
  TensorPtr first = conjugate(input);
  return dot_product(first.get(), other);
}

TensorPtr addmm(Tensor* input, Tensor* mat1, Tensor* mat2, const Scalar& beta, const Scalar& alpha) {
  return added_product(input, mat1, mat2, beta, alpha, false);
}
TensorPtr addmm_relu(Tensor* input, Tensor* mat1, Tensor* mat2) {
  if (is_complex(mat1->dtype))
    fail(ErrorKind::NotImplemented, "clamp is not supported for complex types: they have no order (relu)");
  return added_product(input, mat1, mat2, kOne, kOne, true);
}

TensorPtr addmv(Tensor* input, Tensor* mat, Tensor* vec, const Scalar& beta, const Scalar& alpha) {
  check_mv(input->ndim(), mat, vec);
  Matrix a = Matrix::of(mat);
  bool fits = input->ndim() == 0 || (input->ndim() == 1 && (input->size(0) == a.rows() || input->size(0) == 1));
  if (a.cols() != vec->size(0) || !fits) fail_mv_sizes(input->numel(), a, vec);
  check_mv_types(input, mat, vec);
  const int64_t rows = a.rows();
  TensorPtr result = accumulator(input, Sizes(&rows, 1), beta, alpha);
  multiply(a, Matrix::column(vec), Matrix::column(result.get()), alpha, beta);
  return result;
}

TensorPtr baddbmm(Tensor* input, Tensor* batch1, Tensor* batch2, const Scalar& beta, const Scalar& alpha) {
  check_batches("batch1", "batch2", batch1, batch2);
  Matrix a = Matrix::of(batch1), b = Matrix::of(batch2);
  check_batch_sizes(a, b);
  if (input->dtype != batch1->dtype)
    fail("Input dtypes must be the same, got: input ", info(input->dtype).c_name,
         ", batch1: ", info(batch1->dtype).c_name, ", batch2: ", info(batch2->dtype).c_name);
  check_bmm_types("baddbmm", batch1, batch2);
  const int64_t sizes[3] = {a.batch(), a.rows(), b.cols()};
  TensorPtr result = accumulator(input, sizes, beta, alpha);
  if (result->numel() > 0) multiply(a, b, Matrix::of(result.get()), alpha, beta);
  return result;
}

TensorPtr addbmm(Tensor* input, Tensor* batch1, Tensor* batch2, const Scalar& beta, const Scalar& alpha) {
  check_batches("batch1", "batch2", batch1, batch2);
  Matrix a = Matrix::of(batch1), b = Matrix::of(batch2);
  check_batch_sizes(a, b);
  check_addmm_types(input, batch1, batch2);
  const int64_t sizes[2] = {a.rows(), b.cols()};
  TensorPtr result = accumulator(input, sizes, beta, alpha);
  Matrix total = Matrix::of(result.get());
  WithoutLock unlocked(work(a, total));
  on(input->device).matmul.sum_bmm(a.batch_view(), b.batch_view(), total.matrix_view(), alpha, beta);
  return result;
}

TensorPtr linear_plain(Tensor* input, Tensor* weight) {
  check_matrices(input, weight);
  return product(Matrix::of(input), Matrix::of(weight).transposed(), true);
}

TensorPtr linear_biased(Tensor* bias, Tensor* input, Tensor* weight) {
  check_matrix("mat1", input);
  check_matrix("mat2", weight);
  check_addmm_types(bias, input, weight, true);
  Matrix a = Matrix::of(input), b = Matrix::of(weight).transposed();
  check_inner(a, b, true);
  return product_plus(bias, a, b, kOne, kOne);
}

TensorPtr mm_conj(Tensor* input, Tensor* mat2, bool turned) {
  check_matrices(input, mat2);
  TensorPtr second = conjugate(mat2);
  return gradient_product(Matrix::of(input), Matrix::of(second.get()), turned);
}
TensorPtr mm_t_conj(Tensor* input, Tensor* mat2, bool turned) {
  check_matrices(input, mat2);
  TensorPtr second = conjugate(mat2);
  return gradient_product(Matrix::of(input).transposed(), Matrix::of(second.get()), turned);
}

TensorPtr unsafe_view(Tensor* input, const Ints& size) {
  ShapePtr shape = make_shape(size);
  if (shape->numel != input->numel())
    fail("shape '", to_string(size), "' is invalid for input of size ", input->numel(),
         advice::fitting_sizes(shape->numel, false, input->numel()));
  TensorPtr packed = contiguous(input);
  return alias(packed.get(), std::move(shape));
}

}  // namespace adjoint::ops
