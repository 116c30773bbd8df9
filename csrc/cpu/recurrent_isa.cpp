#include "cpu/recurrent_isa.h"

#include <cmath>

#include "cpu/vector_math.h"

ADJOINT_VECTOR_UNARY(exp)
ADJOINT_VECTOR_UNARY(tanh)

namespace adjoint::cpu {
namespace {

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

template <class T>
void forward(T* gates, const T* before, T* cell, T* hidden, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r) forward_row(gates + 4 * r * n, before + r * n, cell + r * n, hidden + r * n, n);
}

template <class T>
void backward(const T* activated, const T* before, const T* cell, const T* hidden_grad, T* cell_grad, T* gates_grad,
              int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r)
    backward_row(activated + 4 * r * n, before + r * n, cell + r * n, hidden_grad + r * n, cell_grad + r * n,
                 gates_grad + 4 * r * n, n);
}

template <class T>
constexpr LstmLoops<T> kLoops = {.forward = forward<T>, .backward = backward<T>};

}  // namespace

template <class T>
template <Isa>
LstmLoops<T> LstmLoops<T>::compiled() {
  return kLoops<T>;
}
template LstmLoops<float> LstmLoops<float>::compiled<kIsa>();
template LstmLoops<double> LstmLoops<double>::compiled<kIsa>();

}  // namespace adjoint::cpu
