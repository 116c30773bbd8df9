#include "cuda/cudnn.h"

#include <atomic>
#include <cstring>
#include <limits>
#include <map>
#include <type_traits>
#include <vector>

#include "cuda/allocator.h"
#include "cuda/library.h"
#include "cuda/sessions.h"

namespace adjoint::cuda {
namespace {

using kernels::ConvShape;
using Handle = struct CudnnHandle*;
using Descriptor = struct CudnnDescriptor*;

// Numbers of NVIDIA's enumerations.
constexpr int kFloat = 0, kDouble = 1, kChannelsFirst = 0, kCorrelation = 1, kDeterministic = 1;
constexpr int kDefaultMath = 0, kOnlyFma = 3;

/// What cuDNN says of an algorithm.
struct Algorithm {
  int number, status;
  float time;
  size_t memory;
  int determinism, math;
  int reserved[3];
};

/// The functions of one way take the descriptors of the two inputs, then the result's.
struct Functions {
  int (*algorithms)(Handle, Descriptor, Descriptor, Descriptor, Descriptor, int, int*, Algorithm*);
  int (*workspace)(Handle, Descriptor, Descriptor, Descriptor, Descriptor, int, size_t*);
  int (*run)(Handle, const void*, Descriptor, const void*, Descriptor, const void*, Descriptor, int, void*, size_t,
             const void*, Descriptor, void*);
};

struct Cudnn {
  int (*create)(Handle*);
  int (*set_stream)(Handle, Stream);
  int (*create_tensor)(Descriptor*);
  int (*create_filter)(Descriptor*);
  int (*create_convolution)(Descriptor*);
  int (*destroy_tensor)(Descriptor);
  int (*destroy_filter)(Descriptor);
  int (*destroy_convolution)(Descriptor);
  int (*set_tensor)(Descriptor, int, int, const int*, const int*);
  int (*set_filter)(Descriptor, int, int, int, const int*);
  int (*set_convolution)(Descriptor, int, const int*, const int*, const int*, int, int);
  int (*set_groups)(Descriptor, int);
  int (*set_math)(Descriptor, int);
  Functions ways[3];
};

/// Null where cuDNN is not there, or lacks something.
const Cudnn* cudnn() {
  static Library library({"libcudnn.so.9"});
  static Cudnn functions{};
  static const bool complete = [] {
    if (!library.open()) return false;
    bool all = true;
    auto find = [&](const char* name, auto& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(library.find(name));
      all = all && function;
    };
    find("cudnnCreate", functions.create);
    find("cudnnSetStream", functions.set_stream);
    find("cudnnCreateTensorDescriptor", functions.create_tensor);
    find("cudnnCreateFilterDescriptor", functions.create_filter);
    find("cudnnCreateConvolutionDescriptor", functions.create_convolution);
    find("cudnnDestroyTensorDescriptor", functions.destroy_tensor);
    find("cudnnDestroyFilterDescriptor", functions.destroy_filter);
    find("cudnnDestroyConvolutionDescriptor", functions.destroy_convolution);
    find("cudnnSetTensorNdDescriptor", functions.set_tensor);
    find("cudnnSetFilterNdDescriptor", functions.set_filter);
    find("cudnnSetConvolutionNdDescriptor", functions.set_convolution);
    find("cudnnSetConvolutionGroupCount", functions.set_groups);
    find("cudnnSetConvolutionMathType", functions.set_math);
    constexpr const char* names[] = {"Forward", "BackwardData", "BackwardFilter"};
    for (int way = 0; way < 3; ++way) {
      const std::string name = std::string("Convolution") + names[way];
      find(("cudnnGet" + name + "Algorithm_v7").c_str(), functions.ways[way].algorithms);
      find(("cudnnGet" + name + "WorkspaceSize").c_str(), functions.ways[way].workspace);
      find(("cudnn" + name).c_str(), functions.ways[way].run);
    }
    return all;
  }();
  return complete ? &functions : nullptr;
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
  Descriptor wide = nullptr, narrow = nullptr, weight = nullptr, convolution = nullptr;
  int algorithm = 0;
  size_t workspace = 0;
  bool works = false;

  Plan(Handle handle, const Key& key) { works = describe(key) && choose(handle, key.way); }
  Plan(Plan&&) = delete;
  ~Plan() {
    if (wide) cudnn()->destroy_tensor(wide);
    if (narrow) cudnn()->destroy_tensor(narrow);
    if (weight) cudnn()->destroy_filter(weight);
    if (convolution) cudnn()->destroy_convolution(convolution);
  }

  Descriptor first(ConvWay way) const { return way == ConvWay::Data ? weight : wide; }
  Descriptor second(ConvWay way) const { return way == ConvWay::Forward ? weight : narrow; }
  Descriptor result(ConvWay way) const {
    return way == ConvWay::Forward ? narrow : way == ConvWay::Data ? wide : weight;
  }

 private:
  /// cuDNN counts in 32 bits, and has images of two or three dimensions.
  bool describe(const Key& key) {
    const ConvShape& s = key.shape;
    const int skipped = s.wide[0] == 1 && s.kernel[0] == 1 && s.narrow[0] == 1 ? 1 : 0, dims = 3 - skipped;
    const int type = key.dtype == DType::Float64 ? kDouble : kFloat;
    const Cudnn& api = *cudnn();
    auto tensor = [&](Descriptor descriptor, int64_t channels, const int64_t* sizes) {
      int64_t all[5] = {s.batch, s.groups * channels}, step = 1;
      for (int d = 0; d < dims; ++d) all[2 + d] = sizes[skipped + d];
      int size[5], stride[5];
      for (int d = dims + 1; d >= 0; --d) {
        size[d] = static_cast<int>(all[d]);
        stride[d] = static_cast<int>(step);
        step *= all[d];
      }
      return step <= std::numeric_limits<int>::max() && api.set_tensor(descriptor, type, dims + 2, size, stride) == 0;
    };
    int filter[5] = {static_cast<int>(s.groups * s.narrow_channels), static_cast<int>(s.wide_channels)};
    int padding[3], stride[3], dilation[3];
    for (int d = 0; d < dims; ++d) {
      filter[2 + d] = static_cast<int>(s.kernel[skipped + d]);
      padding[d] = static_cast<int>(s.padding[skipped + d]);
      stride[d] = static_cast<int>(s.stride[skipped + d]);
      dilation[d] = static_cast<int>(s.dilation[skipped + d]);
    }
    return api.create_tensor(&wide) == 0 && api.create_tensor(&narrow) == 0 && api.create_filter(&weight) == 0 &&
           api.create_convolution(&convolution) == 0 && tensor(wide, s.wide_channels, s.wide) &&
           tensor(narrow, s.narrow_channels, s.narrow) &&
           api.set_filter(weight, type, kChannelsFirst, dims + 2, filter) == 0 &&
           api.set_convolution(convolution, dims, padding, stride, dilation, kCorrelation, type) == 0 &&
           api.set_groups(convolution, static_cast<int>(s.groups)) == 0 &&
           api.set_math(convolution, key.tf32 ? kDefaultMath : kOnlyFma) == 0;
  }

  /// The first that gives the same result each time, and takes no more memory than can be spared.
  bool choose(Handle handle, ConvWay way) {
    constexpr int kMost = 16;
    constexpr size_t kMostMemory = size_t{1} << 30;
    Algorithm found[kMost];
    int count = 0;
    const Functions& functions = cudnn()->ways[static_cast<int>(way)];
    const Descriptor a = first(way), b = second(way), c = result(way);
    if (functions.algorithms(handle, a, b, convolution, c, kMost, &count, found) != 0) return false;
    for (int i = 0; i < count; ++i) {
      if (found[i].status != 0 || found[i].determinism != kDeterministic || found[i].memory > kMostMemory) continue;
      algorithm = found[i].number;
      if (functions.workspace(handle, a, b, convolution, c, algorithm, &workspace) == 0) return true;
    }
    return false;
  }
};

struct Session {
  Handle handle = nullptr;
  std::map<std::vector<int64_t>, Plan> plans;
  Session() {
    if (cudnn()->create(&handle) != 0) handle = nullptr;
  }
};

std::atomic<bool> enabled{true}, tf32{false};

}  // namespace

bool has_cudnn(DType dtype) { return (dtype == DType::Float32 || dtype == DType::Float64) && enabled && cudnn(); }

bool cudnn_convolution(ConvWay way, const ConvShape& shape, const View& first, const View& second, const View& out,
                       bool adds) {
  if (!has_cudnn(out.dtype)) return false;
  auto& session = thread_session<Session>(out.device);
  if (!session.handle || cudnn()->set_stream(session.handle, current_stream(out.device)) != 0) return false;
  const Key key{shape, way, out.dtype, tf32};
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
  const int status = cudnn()->ways[static_cast<int>(way)].run(
      session.handle, alpha, plan.first(way), first.data, plan.second(way), second.data, plan.convolution,
      plan.algorithm, workspace.data(), plan.workspace, beta, plan.result(way), out.data);
  if (status == 0 && waits_for_launches()) [[unlikely]]
    synchronize(out.device.index, current_stream(out.device));
  return status == 0;
}

void use_cudnn(bool used) { enabled = used; }
void allow_cudnn_tf32(bool allowed) { tf32 = allowed; }

}  // namespace adjoint::cuda
