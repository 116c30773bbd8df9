#include "ops/recurrent_network.h"

#include <algorithm>
#include <numeric>

#include "core/lock.h"
#include "core/mode.h"
#include "kernels/backend.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

using kernels::Network;
using kernels::NetworkInputs;
using kernels::RecurrentKind;

/// What tensors of the right numbers of dimensions say; the rest is for check() to find.
Network described(const Tensor* input, const Tensor* hidden, const std::vector<int64_t>& batch_sizes, int64_t kind,
                  bool is_bidirectional, bool is_biased, bool rounds) {
  Network network{static_cast<RecurrentKind>(kind),
                  input->dtype,
                  input->device,
                  input->size(1),
                  hidden->size(2),
                  hidden->size(0),
                  1,
                  is_biased,
                  rounds,
                  batch_sizes};
  if (is_bidirectional) network.layers /= 2, network.directions = 2;
  return network;
}

void check_input(const Tensor* input, const Tensor* hidden, int64_t kind) {
  if (input->ndim() != 2 || hidden->ndim() != 3 || kind < 0 || kind > 3)
    fail("recurrent network: expected an input (row, features) and states (layer, sequence, size); got ",
         to_string(input->sizes()), " and ", to_string(hidden->sizes()));
}

TensorPtr vector_of(int64_t size, DType dtype, Device device) { return empty(Sizes(&size, 1), dtype, device); }

/// A network and its inputs, checked, in memory as a library takes them.
struct Call {
  Network network;
  TensorPtr input, hidden, cell, weights, lengths;

  Call(Tensor* its_input, Tensor* its_hidden, std::optional<Tensor*> its_cell, Tensor* its_weights, Tensor* its_lengths,
       const std::vector<int64_t>& batch_sizes, int64_t kind, bool is_bidirectional, bool is_biased, bool rounds) {
    check_input(its_input, its_hidden, kind);
    network = described(its_input, its_hidden, batch_sizes, kind, is_bidirectional, is_biased, rounds);
    check(its_input, its_hidden, its_cell, its_weights, its_lengths);
    input = contiguous(its_input), hidden = contiguous(its_hidden), weights = contiguous(its_weights);
    lengths = contiguous(its_lengths);
    cell = its_cell ? contiguous(*its_cell) : vector_of(0, network.dtype, network.device);
  }

  NetworkInputs views() const {
    return {input->view(), hidden->view(), cell->view(), weights->view(), lengths->view()};
  }
  TensorPtr output() const {
    const int64_t sizes[] = {input->size(0), network.directions * network.size};
    return empty(Sizes(sizes, 2), network.dtype, network.device);
  }
  int64_t work() const { return input->size(0) * network.weights(); }

 private:
  void check(const Tensor* rows, const Tensor* states, std::optional<Tensor*> cells, const Tensor* vector,
             const Tensor* steps) const {
    const auto& batches = network.batch_sizes;
    const bool falling = std::is_sorted(batches.rbegin(), batches.rend()) && !batches.empty() && batches.back() > 0;
    const bool fits = falling && states->size(1) == batches[0] &&
                      rows->size(0) == std::accumulate(batches.begin(), batches.end(), int64_t{0}) &&
                      states->size(0) == network.layers * network.directions && network.layers > 0 &&
                      vector->ndim() == 1 && vector->numel() == network.weights() && steps->ndim() == 1 &&
                      steps->numel() == batches[0] && steps->dtype == DType::Int32;
    if (!fits)
      fail("recurrent network: input ", to_string(rows->sizes()), ", states ", to_string(states->sizes()), ", weights ",
           to_string(vector->sizes()), " and lengths ", to_string(steps->sizes()), " do not fit");
    const bool has_cells = network.kind == RecurrentKind::Lstm;
    if (has_cells != cells.has_value() || (cells && !std::ranges::equal((*cells)->sizes(), states->sizes())))
      fail("recurrent network: expected cell states like the hidden ones for an LSTM, and for no other");
    for (const Tensor* tensor : {states, vector, cells ? static_cast<const Tensor*>(*cells) : states})
      if (tensor->dtype != network.dtype)
        fail("recurrent network: expected one type for input, states and weights; got ", info(network.dtype).name,
             " and ", info(tensor->dtype).name);
  }
};

/// What a forward has kept, to be written over: a copy, if another backward through the same graph may want it.
TensorPtr kept_for_now(Tensor* reserve) {
  const bool is_last = frees_kept_values && !(mode_flags & (kTransformed | kFunctional));
  return is_last ? TensorPtr::borrow(reserve) : clone(reserve);
}

}  // namespace

bool takes_recurrent_network(const Tensor* input, const Tensor* hidden, const std::vector<int64_t>& batch_sizes,
                             int64_t kind, bool is_bidirectional, bool is_biased, bool rounds) {
  if (!input->device.holds_values() || !is_float(input->dtype)) return false;
  check_input(input, hidden, kind);
  return on(input->device)
      .recurrent.takes_network(described(input, hidden, batch_sizes, kind, is_bidirectional, is_biased, rounds));
}

std::vector<TensorPtr> recurrent_network(Tensor* input, Tensor* hidden, std::optional<Tensor*> cell, Tensor* weights,
                                         Tensor* lengths, const std::vector<int64_t>& batch_sizes, int64_t kind,
                                         bool is_bidirectional, bool is_biased, bool rounds, bool keeps) {
  const Call call(input, hidden, cell, weights, lengths, batch_sizes, kind, is_bidirectional, is_biased, rounds);
  const auto& kernels = on(input->device).recurrent;
  TensorPtr output = call.output();
  TensorPtr last_hidden = empty(hidden->sizes(), input->dtype, input->device);
  TensorPtr last_cell = empty(call.cell->sizes(), input->dtype, input->device);
  TensorPtr reserve = vector_of(keeps ? kernels.network_reserve(call.network) : 0, DType::UInt8, input->device);
  {
    WithoutLock unlocked(call.work());
    kernels.network(call.network, call.views(), output->view(), last_hidden->view(), last_cell->view(),
                    reserve->view());
  }
  std::vector<TensorPtr> results;
  for (TensorPtr* one : {&output, &last_hidden, &last_cell, &reserve}) results.push_back(std::move(*one));
  return results;
}

std::vector<TensorPtr> recurrent_network_gradients(Tensor* output_grad, Tensor* hidden_grad, Tensor* cell_grad,
                                                   Tensor* input, Tensor* hidden, std::optional<Tensor*> cell,
                                                   Tensor* weights, Tensor* lengths, Tensor* output, Tensor* reserve,
                                                   const std::vector<int64_t>& batch_sizes, int64_t kind,
                                                   bool is_bidirectional, bool is_biased, bool rounds) {
  const Call call(input, hidden, cell, weights, lengths, batch_sizes, kind, is_bidirectional, is_biased, rounds);
  TensorPtr from_output = contiguous(output_grad), from_hidden = contiguous(hidden_grad);
  TensorPtr from_cell = contiguous(cell_grad), result = contiguous(output), kept = kept_for_now(reserve);
  TensorPtr for_input = empty(input->sizes(), input->dtype, input->device);
  TensorPtr for_hidden = empty(hidden->sizes(), input->dtype, input->device);
  TensorPtr for_cell = empty(call.cell->sizes(), input->dtype, input->device);
  TensorPtr for_weights = empty(weights->sizes(), input->dtype, input->device);
  {
    WithoutLock unlocked(call.work());
    on(input->device)
        .recurrent.network_backward(
            call.network, call.views(), result->view(), from_output->view(), from_hidden->view(), from_cell->view(),
            kept->view(),
            {for_input->view(), for_hidden->view(), for_cell->view(), for_weights->view(), call.lengths->view()});
  }
  std::vector<TensorPtr> results;
  for (TensorPtr* one : {&for_input, &for_hidden, &for_cell, &for_weights}) results.push_back(std::move(*one));
  return results;
}

}  // namespace adjoint::ops
