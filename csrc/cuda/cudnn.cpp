#include "cuda/cudnn.h"

#include <atomic>
#include <cstring>
#include <limits>
#include <map>
#include <vector>

#include "cuda/allocator.h"
#include "cuda/api/cudnn.h"
#include "cuda/sessions.h"
#include "cuda/streams.h"

namespace adjoint::cuda {
namespace {

using kernels::ConvShape;
using namespace cudnn;

std::atomic<bool> enabled{true}, tf32{true};

Library& opened() {
  static Library library(kFiles);
  return library;
}

/// All that an algorithm depends on.
struct Key {
  ConvShape shape;
  ConvWay way;
  DType dtype;
  bool tf32;

  std::vector<int64_t> numbers() const {
    std::vector<int64_t> all(sizeof(ConvShape) / sizeof(int64_t));
    std::memcpy(all.data(), &shape, sizeof(ConvShape));
    for (int64_t more : {static_cast<int64_t>(way), static_cast<int64_t>(dtype), int64_t{tf32}}) all.push_back(more);
    return all;
  }
};

/// Descriptors, and the algorithm that was chosen for them.
struct Plan {
  Tensor wide = nullptr, narrow = nullptr;
  Filter weight = nullptr;
  Convolution convolution = nullptr;
  int algorithm = 0;
  size_t workspace = 0;
  bool works = false;

  Plan(Handle handle, const Key& key) { works = describe(key) && choose(handle, key); }
  Plan(Plan&&) = delete;
  ~Plan() {
    if (wide) functions()->destroy_tensor(wide);
    if (narrow) functions()->destroy_tensor(narrow);
    if (weight) functions()->destroy_filter(weight);
    if (convolution) functions()->destroy_convolution(convolution);
  }

  /// Calls `f` with the descriptors of the two inputs and of the result, and with the functions of a way: which tells
  /// of algorithms, which of their memory, and which runs one.
  template <class F>
  auto with(ConvWay way, F f) const {
    const Functions& api = *functions();
    switch (way) {
      case ConvWay::Forward: return f(wide, weight, narrow, api.forward_algorithms, api.forward_workspace, api.forward);
      case ConvWay::Data: return f(weight, narrow, wide, api.data_algorithms, api.data_workspace, api.data);
      default: return f(wide, narrow, weight, api.weight_algorithms, api.weight_workspace, api.weight);
    }
  }

 private:
  /// cuDNN counts in 32 bits, and has images of two or three dimensions.
  bool describe(const Key& key) {
    const ConvShape& s = key.shape;
    const int skipped = s.wide[0] == 1 && s.kernel[0] == 1 && s.narrow[0] == 1 ? 1 : 0, dims = 3 - skipped;
    const int type = type_of(key.dtype), compute = key.dtype == DType::Float64 ? kDouble : kFloat;
    const int math = is_half(key.dtype) ? kTensorCores : key.tf32 ? kDefaultMath : kOnlyFma;
    const Functions& api = *functions();
    auto tensor = [&](Tensor descriptor, int64_t channels, const int64_t* sizes) {
      int64_t all[5] = {s.batch, s.groups * channels}, step = 1;
      for (int d = 0; d < dims; ++d) all[2 + d] = sizes[skipped + d];
      int size[5], stride[5];
      for (int d = dims + 1; d >= 0; --d) {
        size[d] = static_cast<int>(all[d]);
        stride[d] = static_cast<int>(step);
        step *= all[d];
      }
      return step <= std::numeric_limits<int>::max() && api.set_tensor(descriptor, type, dims + 2, size, stride) == kOk;
    };
    int filter[5] = {static_cast<int>(s.groups * s.narrow_channels), static_cast<int>(s.wide_channels)};
    int padding[3], stride[3], dilation[3];
    for (int d = 0; d < dims; ++d) {
      filter[2 + d] = static_cast<int>(s.kernel[skipped + d]);
      padding[d] = static_cast<int>(s.padding[skipped + d]);
      stride[d] = static_cast<int>(s.stride[skipped + d]);
      dilation[d] = static_cast<int>(s.dilation[skipped + d]);
    }
    return api.create_tensor(&wide) == kOk && api.create_tensor(&narrow) == kOk && api.create_filter(&weight) == kOk &&
           api.create_convolution(&convolution) == kOk && tensor(wide, s.wide_channels, s.wide) &&
           tensor(narrow, s.narrow_channels, s.narrow) &&
           api.set_filter(weight, type, kChannelsFirst, dims + 2, filter) == kOk &&
           api.set_convolution(convolution, dims, padding, stride, dilation, kCorrelation, compute) == kOk &&
           api.set_groups(convolution, static_cast<int>(s.groups)) == kOk && api.set_math(convolution, math) == kOk;
  }

  /// The first that gives the same result each time, and takes no more memory than can be spared.
  bool choose(Handle handle, const Key& key) {
    constexpr int kMost = 16;
    constexpr size_t kMostMemory = size_t{1} << 30;
    Algorithm found[kMost];
    int count = 0;
    return with(key.way, [&](auto a, auto b, auto c, auto algorithms, auto memory_of, auto) {
      if (algorithms(handle, a, b, convolution, c, kMost, &count, found) != kOk) return false;
      for (int i = 0; i < count; ++i) {
        const Algorithm& one = found[i];
        if (one.status != kOk || one.determinism != kDeterministic || one.memory > kMostMemory) continue;
        algorithm = one.number;
        // Each is meant for a kind of arithmetic, but exact floats are settled.
        const bool is_exact = !is_half(key.dtype) && !key.tf32;
        if (one.math == kConverting || (!is_exact && functions()->set_math(convolution, one.math) != kOk)) continue;
        if (memory_of(handle, a, b, convolution, c, algorithm, &workspace) == kOk) return true;
      }
      return false;
    });
  }
};

struct Session {
  Handle handle = nullptr;
  std::map<std::vector<int64_t>, Plan> plans;
  Session() {
    const RelaxedCapture relaxed;  // a handle takes memory
    if (functions()->create(&handle) != kOk) handle = nullptr;
  }
};

}  // namespace

namespace cudnn {

const Functions* functions() {
  static Functions found;
  static const bool complete = opened().open() && found.find(opened()).empty();
  return complete ? &found : nullptr;
}
const Library* library() { return functions() ? &opened() : nullptr; }

Handle handle_on(Device device) {
  auto& session = thread_session<Session>(device);
  const bool ready = session.handle && functions()->set_stream(session.handle, current_stream(device)) == kOk;
  return ready ? session.handle : nullptr;
}

int type_of(DType dtype) {
  switch (dtype) {
    case DType::Float64: return kDouble;
    case DType::Float16: return kHalf;
    case DType::BFloat16: return kBrain;
    default: return kFloat;
  }
}

}  // namespace cudnn

bool has_cudnn(DType dtype) {
  return enabled && (dtype == DType::Float32 || dtype == DType::Float64 || is_half(dtype)) && functions();
}

bool cudnn_convolution(ConvWay way, const ConvShape& shape, const View& first, const View& second, const View& out,
                       bool adds) {
  if (!has_cudnn(out.dtype)) return false;
  if (!handle_on(out.device)) return false;
  auto& session = thread_session<Session>(out.device);
  const Key key{shape, way, out.dtype, out.dtype == DType::Float32 && tf32};
  constexpr size_t kMostPlans = 4096;
  if (session.plans.size() >= kMostPlans) session.plans.clear();
  const Plan& plan = session.plans.try_emplace(key.numbers(), session.handle, key).first->second;
  if (!plan.works) return false;
  Scratch workspace(plan.workspace, out.device);
  const float one = 1, zero = 0;
  const double wide_one = 1, wide_zero = 0;
  const bool wide = out.dtype == DType::Float64;
  const void* alpha = wide ? static_cast<const void*>(&wide_one) : &one;
  const void* beta = adds ? alpha : wide ? static_cast<const void*>(&wide_zero) : &zero;
  const int status = plan.with(way, [&](auto a, auto b, auto c, auto, auto, auto run) {
    return run(session.handle, alpha, a, first.data, b, second.data, plan.convolution, plan.algorithm, workspace.data(),
               plan.workspace, beta, c, out.data);
  });
  if (status == kOk) finish_launch(out.device);
  return status == kOk;
}

size_t cudnn_version() { return functions() ? functions()->version() : 0; }
void use_cudnn(bool used) { enabled = used; }
void allow_cudnn_tf32(bool allowed) { tf32 = allowed; }

}  // namespace adjoint::cuda
