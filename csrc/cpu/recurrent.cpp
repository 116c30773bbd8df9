#include "cpu/recurrent.h"

#include <cmath>

#include "cpu/parallel.h"
#include "cpu/vector_math.h"

ADJOINT_VECTOR_UNARY(exp)
ADJOINT_VECTOR_UNARY(tanh)

namespace adjoint::cpu {
namespace {

/// Elements of work that are worth a second thread.
constexpr int64_t kGrain = 1 << 13;

template <class T>
inline void forward_row(T* __restrict gates, const T* before, T* __restrict cell, T* __restrict hidden, int64_t n) {
  T *i = gates, *f = gates + n, *g = gates + 2 * n, *o = gates + 3 * n;
  for (int64_t k = 0; k < 2 * n; ++k) gates[k] = 1 / (1 + std::exp(-gates[k]));
  for (int64_t k = 0; k < n; ++k) g[k] = std::tanh(g[k]);
  for (int64_t k = 0; k < n; ++k) o[k] = 1 / (1 + std::exp(-o[k]));
  for (int64_t k = 0; k < n; ++k) cell[k] = f[k] * before[k] + i[k] * g[k];
  for (int64_t k = 0; k < n; ++k) hidden[k] = o[k] * std::tanh(cell[k]);
}

template <class T>
inline void backward_row(const T* activated, const T* before, const T* cell, const T* hidden_grad,
                         T* __restrict cell_grad, T* __restrict gates_grad, int64_t n) {
  const T *i = activated, *f = activated + n, *g = activated + 2 * n, *o = activated + 3 * n;
  for (int64_t k = 0; k < n; ++k) {
    const T bent = std::tanh(cell[k]), dh = hidden_grad[k];
    const T dc = cell_grad[k] + dh * o[k] * (1 - bent * bent);
    gates_grad[k] = dc * g[k] * i[k] * (1 - i[k]);
    gates_grad[n + k] = dc * before[k] * f[k] * (1 - f[k]);
    gates_grad[2 * n + k] = dc * i[k] * (1 - g[k] * g[k]);
    gates_grad[3 * n + k] = dh * bent * o[k] * (1 - o[k]);
    cell_grad[k] = dc * f[k];
  }
}

// Not templates: those cannot be cloned.
ADJOINT_CLONES void forward_rows(float* gates, const float* before, float* cell, float* hidden, int64_t rows,
                                 int64_t n) {
  for (int64_t r = 0; r < rows; ++r) forward_row(gates + 4 * r * n, before + r * n, cell + r * n, hidden + r * n, n);
}
ADJOINT_CLONES void forward_rows(double* gates, const double* before, double* cell, double* hidden, int64_t rows,
                                 int64_t n) {
  for (int64_t r = 0; r < rows; ++r) forward_row(gates + 4 * r * n, before + r * n, cell + r * n, hidden + r * n, n);
}
ADJOINT_CLONES void backward_rows(const float* activated, const float* before, const float* cell,
                                  const float* hidden_grad, float* cell_grad, float* gates_grad, int64_t rows,
                                  int64_t n) {
  for (int64_t r = 0; r < rows; ++r)
    backward_row(activated + 4 * r * n, before + r * n, cell + r * n, hidden_grad + r * n, cell_grad + r * n,
                 gates_grad + 4 * r * n, n);
}
ADJOINT_CLONES void backward_rows(const double* activated, const double* before, const double* cell,
                                  const double* hidden_grad, double* cell_grad, double* gates_grad, int64_t rows,
                                  int64_t n) {
  for (int64_t r = 0; r < rows; ++r)
    backward_row(activated + 4 * r * n, before + r * n, cell + r * n, hidden_grad + r * n, cell_grad + r * n,
                 gates_grad + 4 * r * n, n);
}

/// Calls body(T*, first row, rows) for the type, the rows divided over the threads.
template <class Body>
void each_part(const LstmCell& cell, const Body& body) {
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, cell.size));
  parallel_for(cell.batch, grain, [&](int64_t begin, int64_t end) {
    if (cell.dtype == DType::Float32) {
      body(static_cast<float*>(nullptr), begin * cell.size, end - begin);
    } else {
      body(static_cast<double*>(nullptr), begin * cell.size, end - begin);
    }
  });
}

}  // namespace

void LstmCell::forward(char* gates, const char* before, char* cell, char* hidden) const {
  each_part(*this, [&]<class T>(T*, int64_t at, int64_t rows) {
    forward_rows(reinterpret_cast<T*>(gates) + 4 * at, reinterpret_cast<const T*>(before) + at,
                 reinterpret_cast<T*>(cell) + at, reinterpret_cast<T*>(hidden) + at, rows, size);
  });
}

void LstmCell::backward(const char* activated, const char* before, const char* cell, const char* hidden_grad,
                        char* cell_grad, char* gates_grad) const {
  each_part(*this, [&]<class T>(T*, int64_t at, int64_t rows) {
    backward_rows(reinterpret_cast<const T*>(activated) + 4 * at, reinterpret_cast<const T*>(before) + at,
                  reinterpret_cast<const T*>(cell) + at, reinterpret_cast<const T*>(hidden_grad) + at,
                  reinterpret_cast<T*>(cell_grad) + at, reinterpret_cast<T*>(gates_grad) + 4 * at, rows, size);
  });
}

}  // namespace adjoint::cpu
