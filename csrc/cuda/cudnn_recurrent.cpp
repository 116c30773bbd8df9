#include "cuda/cudnn_recurrent.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "core/error.h"
#include "cuda/allocator.h"
#include "cuda/api/cudnn.h"
#include "cuda/cudnn.h"
#include "cuda/memory.h"
#include "cuda/sessions.h"
#include "cuda/streams.h"

namespace adjoint::cuda {
namespace {

using kernels::Network;
using kernels::NetworkInputs;
using kernels::RecurrentKind;
using namespace cudnn;

/// Null where cuDNN is not there, or lacks something.
const RnnFunctions* rnn_functions() {
  const Library* its = library();
  if (!its) return nullptr;
  static RnnFunctions found;
  static const bool complete = found.find(*its).empty();
  return complete ? &found : nullptr;
}

void accepted(int status, const char* what) {
  if (status != kOk)
    fail("cuDNN refused ", what, " of a recurrent network (status ", status,
         "); torch.backends.cudnn.enabled = False does without it");
}

int as_int(int64_t number) { return static_cast<int>(number); }

/// A descriptor that goes with its owner.
template <class Descriptor>
class Owned {
 public:
  Owned(int (*create)(Descriptor*), int (*destroy)(Descriptor)) : destroy_(destroy) {
    if (create(&descriptor_) != kOk) descriptor_ = nullptr;
  }
  Owned(const Owned&) = delete;
  ~Owned() {
    if (descriptor_) destroy_(descriptor_);
  }
  operator Descriptor() const { return descriptor_; }

 private:
  Descriptor descriptor_ = nullptr;
  int (*destroy_)(Descriptor);
};

/// What a network is, but for its sequences.
struct Plan {
  Owned<Rnn> rnn{rnn_functions()->create_rnn, rnn_functions()->destroy_rnn};
  Owned<Dropout> dropout{rnn_functions()->create_dropout, rnn_functions()->destroy_dropout};
  bool works;

  Plan(Handle handle, const Network& of)
      : works(rnn && dropout && describe(handle, of) && has_weights_in_order(handle, of)) {}

 private:
  bool describe(Handle handle, const Network& of) const {
    const RnnFunctions& api = *rnn_functions();
    const int type = type_of(of.dtype), compute = of.dtype == DType::Float64 ? kDouble : kFloat;
    const int math = is_half(of.dtype) ? kTensorCores : of.rounds ? kDefaultMath : kOnlyFma;
    return api.set_dropout(dropout, handle, 0, nullptr, 0, 0) == kOk &&
           api.set_rnn(rnn, kRnnStandard, static_cast<int>(of.kind), of.biased ? kRnnTwoBiases : kRnnUnbiased,
                       of.directions == 2 ? kRnnBothWays : kRnnOneWay, kRnnMultiplied, type, compute, math,
                       as_int(of.features), as_int(of.size), as_int(of.size), as_int(of.layers), dropout, 0) == kOk;
  }

  /// Where weights lie is for cuDNN to say. The order that kernels::NetworkInputs has is the one that it has had so
  /// far.
  bool has_weights_in_order(Handle handle, const Network& of) const {
    size_t bytes = 0;
    if (rnn_functions()->weight_bytes(handle, rnn, &bytes) != kOk) return false;
    const int64_t item = itemsize(of.dtype), gates = of.gates();
    if (bytes != static_cast<size_t>(of.weights() * item)) return false;
    const Owned<Tensor> matrix(functions()->create_tensor, functions()->destroy_tensor);
    const Owned<Tensor> vector(functions()->create_tensor, functions()->destroy_tensor);
    // An address to count from: nothing is read.
    char* const start = reinterpret_cast<char*>(uintptr_t{1} << 20);
    char *next = start, *next_bias = start + (of.weights() - of.biases()) * item;
    for (int64_t place = 0; place < of.layers * of.directions; ++place) {
      for (int64_t gate = 0; gate < 2 * gates; ++gate) {
        void *weight = nullptr, *bias = nullptr;
        if (rnn_functions()->weight_places(handle, rnn, as_int(place), bytes, start, as_int(gate), matrix, &weight,
                                           vector, &bias) != kOk)
          return false;
        if (weight != next || bias != (of.biased ? next_bias : nullptr)) return false;
        next += of.size * (gate < gates ? of.width(place / of.directions) : of.size) * item;
        next_bias += of.size * item;
      }
    }
    return true;
  }
};

struct Session {
  std::map<std::vector<int64_t>, Plan> plans;
};

bool fits_ints(const Network& of) {
  constexpr int64_t most = std::numeric_limits<int>::max();
  const int64_t widest = std::max(of.features, of.directions * of.size), states = of.layers * of.directions * of.size;
  if (states == 0 || widest > most || states > most || of.weights() > most) return false;
  return of.batch_sizes.empty() ||
         (static_cast<int64_t>(of.batch_sizes.size()) <= most && of.batch_sizes[0] <= most / states);
}

/// The plan of a network with this thread's handle; null where cuDNN does not take it.
const Plan* plan_for(const Network& of, Handle handle) {
  const std::vector<int64_t> key = {static_cast<int64_t>(of.kind),
                                    static_cast<int64_t>(of.dtype),
                                    of.features,
                                    of.size,
                                    of.layers,
                                    of.directions,
                                    of.biased,
                                    of.rounds};
  auto& plans = thread_session<Session>(of.device).plans;
  constexpr size_t kMostPlans = 1024;
  if (plans.size() >= kMostPlans) plans.clear();
  const Plan& plan = plans.try_emplace(key, handle, of).first->second;
  return plan.works ? &plan : nullptr;
}

/// All descriptors of a call, and the memory that it needs.
struct Described {
  Handle handle;
  const Plan* plan = nullptr;
  const RnnFunctions& api = *rnn_functions();
  Owned<RnnData> input{api.create_data, api.destroy_data}, output{api.create_data, api.destroy_data};
  Owned<Tensor> state{functions()->create_tensor, functions()->destroy_tensor};
  size_t weight_bytes, workspace = 0, reserve = 0;

  Described(const Network& of, bool keeps)
      : handle(handle_on(of.device)), weight_bytes(static_cast<size_t>(of.weights() * itemsize(of.dtype))) {
    if (!handle || !(plan = plan_for(of, handle))) accepted(-1, "the shape");
    const std::vector<int> lengths = lengths_of(of.batch_sizes);
    const int type = type_of(of.dtype), steps = as_int(of.batch_sizes.size()), batch = as_int(of.batch_sizes[0]);
    auto describe = [&](RnnData data, int64_t width) {
      accepted(api.set_data(data, type, kRnnPacked, steps, batch, as_int(width), lengths.data(), nullptr),
               "the sequences");
    };
    describe(input, of.features);
    describe(output, of.directions * of.size);
    const int size = as_int(of.size), sizes[] = {as_int(of.layers * of.directions), batch, size};
    const int strides[] = {batch * size, size, 1};
    accepted(functions()->set_tensor(state, type, 3, sizes, strides), "the states");
    accepted(api.spaces(handle, plan->rnn, keeps ? kRnnTraining : kRnnInference, input, &workspace, &reserve),
             "the memory");
  }

 private:
  static std::vector<int> lengths_of(const std::vector<int64_t>& batch_sizes) {
    std::vector<int> lengths(static_cast<size_t>(batch_sizes[0]), 0);
    for (int64_t count : batch_sizes)
      for (int64_t i = 0; i < count; ++i) ++lengths[static_cast<size_t>(i)];
    return lengths;
  }
};

/// Of LSTMs alone.
char* cell_of(const Network& network, const View& states) {
  return network.kind == RecurrentKind::Lstm ? states.data : nullptr;
}

}  // namespace

bool takes_network(const Network& of) {
  if (!has_cudnn(of.dtype) || !rnn_functions() || !fits_ints(of)) return false;
  const Handle handle = handle_on(of.device);
  return handle && plan_for(of, handle);
}

int64_t network_reserve(const Network& of) { return static_cast<int64_t>(Described(of, true).reserve); }

void network(const Network& of, const NetworkInputs& in, const View& output, const View& last_hidden,
             const View& last_cell, const View& reserve) {
  const bool keeps = reserve.numel() > 0;
  const Described call(of, keeps);
  const Scratch workspace(call.workspace, of.device);
  accepted(
      call.api.forward(call.handle, call.plan->rnn, keeps ? kRnnTraining : kRnnInference, in.lengths.as<const int>(),
                       call.input, in.input.data, call.output, output.data, call.state, in.hidden.data,
                       last_hidden.data, call.state, cell_of(of, in.cell), cell_of(of, last_cell), call.weight_bytes,
                       in.weights.data, call.workspace, workspace.data(), call.reserve, keeps ? reserve.data : nullptr),
      "the forward");
  finish_launch(of.device);
}

void network_backward(const Network& of, const NetworkInputs& in, const View& output, const View& output_grad,
                      const View& hidden_grad, const View& cell_grad, const View& reserve, const NetworkInputs& grads) {
  const Described call(of, true);
  if (reserve.numel() != static_cast<int64_t>(call.reserve))
    fail("recurrent network: the forward kept ", reserve.numel(), " bytes for gradients, and ", call.reserve,
         " are needed");
  const Scratch workspace(call.workspace, of.device);
  const int* lengths = in.lengths.as<const int>();
  accepted(call.api.backward_data(call.handle, call.plan->rnn, lengths, call.output, output.data, output_grad.data,
                                  call.input, grads.input.data, call.state, in.hidden.data, hidden_grad.data,
                                  grads.hidden.data, call.state, cell_of(of, in.cell), cell_of(of, cell_grad),
                                  cell_of(of, grads.cell), call.weight_bytes, in.weights.data, call.workspace,
                                  workspace.data(), call.reserve, reserve.data),
           "the gradients");
  clear(grads.weights);
  accepted(call.api.backward_weights(call.handle, call.plan->rnn, kRnnAdds, lengths, call.input, in.input.data,
                                     call.state, in.hidden.data, call.output, output.data, call.weight_bytes,
                                     grads.weights.data, call.workspace, workspace.data(), call.reserve, reserve.data),
           "the weights' gradients");
  finish_launch(of.device);
}

}  // namespace adjoint::cuda
