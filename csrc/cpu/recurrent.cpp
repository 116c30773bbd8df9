#include "cpu/recurrent.h"

#include <cstring>

#include "cpu/matmul.h"
#include "cpu/parallel.h"
#include "cpu/recurrent_isa.h"

namespace adjoint::cpu {
namespace {

/// One step of a batch of LSTM cells. All memory is contiguous: `gates` has rows of i, f, g, o (4 * size elements),
/// everything else rows of `size`.
struct LstmCell {
  DType dtype;
  int64_t batch, size;

  /// Puts the activated gates in the place of the sums `gates`; from `before`, the cell state that was, follow `cell`
  /// and `hidden`.
  void forward(char* gates, const char* before, char* cell, char* hidden) const;
  /// From the gradients of the hidden and of the cell state: those of the gates' sums, and of the state that was, which
  /// takes the place of `cell_grad`.
  void backward(const char* activated, const char* before, const char* cell, const char* hidden_grad, char* cell_grad,
                char* gates_grad) const;
};

/// Elements of work that are worth a second thread.
constexpr int64_t kGrain = 1 << 13;

/// Calls body(T{}, first row, rows) for the type, the rows divided over the threads.
template <class Body>
void each_part(const LstmCell& cell, const Body& body) {
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, cell.size));
  parallel_for(cell.batch, grain, [&](int64_t begin, int64_t end) {
    dispatch_real(cell.dtype, [&](auto tag) { body(tag, begin * cell.size, end - begin); });
  });
}

void LstmCell::forward(char* gates, const char* before, char* cell, char* hidden) const {
  each_part(*this, [&]<class T>(T, int64_t at, int64_t rows) {
    chosen<LstmLoops<T>>.forward(reinterpret_cast<T*>(gates) + 4 * at, reinterpret_cast<const T*>(before) + at,
                                 reinterpret_cast<T*>(cell) + at, reinterpret_cast<T*>(hidden) + at, rows, size);
  });
}

void LstmCell::backward(const char* activated, const char* before, const char* cell, const char* hidden_grad,
                        char* cell_grad, char* gates_grad) const {
  each_part(*this, [&]<class T>(T, int64_t at, int64_t rows) {
    chosen<LstmLoops<T>>.backward(reinterpret_cast<const T*>(activated) + 4 * at,
                                  reinterpret_cast<const T*>(before) + at, reinterpret_cast<const T*>(cell) + at,
                                  reinterpret_cast<const T*>(hidden_grad) + at, reinterpret_cast<T*>(cell_grad) + at,
                                  reinterpret_cast<T*>(gates_grad) + 4 * at, rows, size);
  });
}

const Scalar kOne = Scalar::of(int64_t{1});

/// The matrix of one step of a sequence.
View step_of(const View& sequence, int64_t step) {
  View view{sequence.data, sequence.dtype, 2, sequence.sizes + 1, sequence.strides + 1};
  return view.shifted(step * view.numel());
}

template <class T>
void add(const View& more, const View& total) {
  const T* from = more.as<T>();
  T* to = total.as<T>();
  for (int64_t i = 0, n = total.numel(); i < n; ++i) to[i] += from[i];
}

}  // namespace

void lstm(const View& gates, const View& hidden, const View& cell, const View& weight, const View& output,
          const View& cells, const View& activated) {
  const LstmCell batch = {gates.dtype, gates.sizes[1], weight.sizes[1]};
  const int64_t sizes[] = {weight.sizes[1], weight.sizes[0]}, strides[] = {weight.strides[1], weight.strides[0]};
  const View transposed = {weight.data, weight.dtype, 2, sizes, strides};
  std::memcpy(activated.data, gates.data, static_cast<size_t>(gates.numel() * itemsize(gates.dtype)));
  View before_hidden = hidden, before_cell = cell;
  for (int64_t t = 0; t < gates.sizes[0]; ++t) {
    const View sums = step_of(activated, t), now = step_of(output, t), state = step_of(cells, t);
    gemm(before_hidden, transposed, sums, kOne, kOne);
    batch.forward(sums.data, before_cell.data, state.data, now.data);
    before_hidden = now;
    before_cell = state;
  }
}

void lstm_backward(const View& output_grad, const View& cells_grad, const View& cells, const View& activated,
                   const View& cell, const View& weight, const View& gates_grad, const View& hidden_grad,
                   const View& cell_grad) {
  const LstmCell batch = {activated.dtype, activated.sizes[1], weight.sizes[1]};
  const auto add_to = batch.dtype == DType::Float32 ? add<float> : add<double>;
  const auto bytes = static_cast<size_t>(hidden_grad.numel() * itemsize(batch.dtype));
  std::memset(hidden_grad.data, 0, bytes);
  std::memset(cell_grad.data, 0, bytes);
  for (int64_t t = activated.sizes[0] - 1; t >= 0; --t) {
    const View sums = step_of(gates_grad, t);
    add_to(step_of(output_grad, t), hidden_grad);
    add_to(step_of(cells_grad, t), cell_grad);
    const View before = t > 0 ? step_of(cells, t - 1) : cell;
    batch.backward(step_of(activated, t).data, before.data, step_of(cells, t).data, hidden_grad.data, cell_grad.data,
                   sums.data);
    gemm(sums, weight, hidden_grad);
  }
}

}  // namespace adjoint::cpu
