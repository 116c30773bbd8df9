#include "cuda/cublaslt.h"

#include <algorithm>
#include <compare>
#include <map>
#include <utility>

#include "cuda/allocator.h"
#include "cuda/api/cublas.h"
#include "cuda/api/cublaslt.h"
#include "cuda/sessions.h"
#include "cuda/streams.h"

namespace adjoint::cuda {
namespace {

using cublas::kOk;
using namespace cublaslt;

/// Null where cuBLASLt is not there, or lacks something.
const Functions* library_functions() {
  static Library library(kFiles);
  static Functions functions;
  static const bool complete = library.open() && functions.find(library).empty();
  return complete ? &functions : nullptr;
}

int type_of(DType dtype) {
  if (dtype == DType::Float32) return cublas::kReal32;
  return dtype == DType::Float16 ? cublas::kReal16 : cublas::kBrain16;
}

/// The greatest power of 2 that divides an address, as far as an algorithm may care for.
int64_t alignment_of(const char* data) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  return static_cast<int64_t>(std::min<uintptr_t>(address & (~address + 1), 256));
}

/// All that an algorithm depends on.
struct Key {
  DType dtype;
  bool tf32;
  int64_t m, n, k;
  bool a_transposed, b_transposed;
  int64_t a_leading, b_leading, c_leading;
  int64_t a_alignment, b_alignment, c_alignment, bias_alignment;
  bool biased, relu;

  Key(const BlasProduct& p, const char* bias, bool with_relu)
      : dtype(p.dtype),
        tf32(p.dtype == DType::Float32 && allows_tf32()),
        m(p.m),
        n(p.n),
        k(p.k),
        a_transposed(p.a.transposed),
        b_transposed(p.b.transposed),
        a_leading(p.a.leading),
        b_leading(p.b.leading),
        c_leading(p.c.leading),
        a_alignment(alignment_of(p.a.data)),
        b_alignment(alignment_of(p.b.data)),
        c_alignment(alignment_of(p.c.data)),
        bias_alignment(alignment_of(bias)),
        biased(bias != nullptr),
        relu(with_relu) {}
  auto operator<=>(const Key&) const = default;
};

/// Descriptors, and the algorithm that was proposed for them.
struct Plan {
  Operation operation = nullptr;
  Layout a = nullptr, b = nullptr, c = nullptr;
  Proposal proposal = {};
  bool works = false;

  Plan(Handle handle, const Key& key, const char* bias, size_t most_workspace) {
    const RelaxedCapture relaxed;  // cuBLASLt may load kernels
    works = describe(key) && (!bias || set_bias(bias)) && choose(handle, key, most_workspace);
  }
  Plan(Plan&&) = delete;
  ~Plan() {
    if (operation) library_functions()->destroy_operation(operation);
    for (Layout layout : {a, b, c})
      if (layout) library_functions()->destroy_layout(layout);
  }

  bool set_bias(const char* bias) { return set(kBiasPointer, bias); }

 private:
  template <class T>
  bool set(int attribute, T value) {
    return library_functions()->set_operation(operation, attribute, &value, sizeof(value)) == kOk;
  }

  bool describe(const Key& key) {
    const Functions& api = *library_functions();
    const int type = type_of(key.dtype);
    auto layout = [&](Layout& made, bool transposed, int64_t rows, int64_t cols, int64_t leading) {
      if (transposed) std::swap(rows, cols);  // as they lie
      return api.create_layout(&made, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(cols), leading) == kOk;
    };
    auto way = [](bool transposed) { return int32_t{transposed ? cublas::kTransposed : cublas::kPlain}; };
    return api.create_operation(&operation, key.tf32 ? cublas::kComputeTf32 : cublas::kCompute32, cublas::kReal32) ==
               kOk &&
           set(kTransposeA, way(key.a_transposed)) && set(kTransposeB, way(key.b_transposed)) &&
           (!key.biased || set(kEpilogue, static_cast<uint32_t>(key.relu ? kAddBiasThenRelu : kAddBias))) &&
           layout(a, key.a_transposed, key.m, key.k, key.a_leading) &&
           layout(b, key.b_transposed, key.k, key.n, key.b_leading) && layout(c, false, key.m, key.n, key.c_leading);
  }

  /// The one that cuBLASLt expects to be the fastest.
  bool choose(Handle handle, const Key& key, size_t most_workspace) {
    const Functions& api = *library_functions();
    Preference preference = nullptr;
    if (api.create_preference(&preference) != kOk) return false;
    auto prefer = [&](int attribute, auto value) {
      return api.set_preference(preference, attribute, &value, sizeof(value)) == kOk;
    };
    auto align = [&](int attribute, int64_t bytes) { return prefer(attribute, static_cast<uint32_t>(bytes)); };
    int count = 0;
    // Sums of half types are kept in float32 also where a product is split over blocks.
    const bool found = prefer(kMostWorkspace, uint64_t{most_workspace}) &&
                       prefer(kReductions, uint32_t{kReduceInComputeType}) && align(kAlignmentA, key.a_alignment) &&
                       align(kAlignmentB, key.b_alignment) && align(kAlignmentC, key.c_alignment) &&
                       align(kAlignmentD, key.c_alignment) &&
                       api.propose(handle, operation, a, b, c, c, preference, 1, &proposal, &count) == kOk;
    api.destroy_preference(preference);
    return found && count > 0 && proposal.status == kOk && proposal.workspace <= most_workspace &&
           !(key.biased && is_half(key.dtype) && splits());
  }

  /// Whether sums are split over blocks. Those of half types are rounded before the bias is added, then.
  bool splits() const {
    int32_t parts = 0;
    size_t size = 0;
    return library_functions()->read_algorithm(&proposal.algorithm, kSplits, &parts, sizeof(parts), &size) != kOk ||
           parts > 1;
  }
};

struct Session {
  Handle handle = nullptr;
  std::map<Key, Plan> plans;
  Session() {
    const RelaxedCapture relaxed;  // a handle takes memory
    if (library_functions()->create(&handle) != kOk) handle = nullptr;
  }
};

}  // namespace

bool has_cublaslt(DType dtype) { return (dtype == DType::Float32 || is_half(dtype)) && library_functions(); }

bool cublaslt_product(Device device, const BlasProduct& p, const char* bias, bool relu) {
  auto& session = thread_session<Session>(device);
  if (!session.handle) return false;
  constexpr size_t kMostPlans = 1024;
  const Key key(p, bias, relu);
  auto found = session.plans.find(key);
  if (found == session.plans.end()) {
    if (session.plans.size() >= kMostPlans) session.plans.clear();
    const size_t most = blas_workspace_size(use(device).capability);
    found = session.plans.try_emplace(key, session.handle, key, bias, most).first;
  }
  Plan& plan = found->second;
  if (!plan.works || (bias && !plan.set_bias(bias))) return false;
  Scratch workspace(plan.proposal.workspace, device);
  const float one = 1, zero = 0;
  const int status = library_functions()->multiply(session.handle, plan.operation, bias ? &one : p.alpha, p.a.data,
                                                   plan.a, p.b.data, plan.b, bias ? &zero : p.beta, p.c.data, plan.c,
                                                   p.c.data, plan.c, &plan.proposal.algorithm, workspace.data(),
                                                   plan.proposal.workspace, current_stream(device));
  if (status != kOk) return false;
  finish_launch(device);
  return true;
}

}  // namespace adjoint::cuda
