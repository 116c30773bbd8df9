#include "cuda/faults.h"

#include <mutex>

#include "core/error.h"
#include "core/origin.h"
#include "cuda/runtime.h"
#include "cuda/streams.h"

namespace adjoint::cuda {
namespace {

Fault* records[kMaxDevices];
std::mutex making;
constexpr const char* kUnknown =
    "; an earlier operation on the device found it: run with CUDA_LAUNCH_BLOCKING=1 to see which";

}  // namespace

FaultRecord fault_record(int index) {
  const Origin launch = origin();
  if (Fault* record = records[index]) [[likely]]
    return {record, launch};
  std::lock_guard lock(making);
  if (!records[index]) {
    use(index);
    const RelaxedCapture relaxed;
    void* memory = nullptr;
    check(driver().allocate_host(&memory, sizeof(Fault), kPinnedForAllContexts | kPinnedSeenByDevice),
          "making a record of faults");
    records[index] = new (memory) Fault{};
  }
  return {records[index], launch};
}

void raise_fault(int index) {
  volatile Fault* record = records[index];
  if (!record || record->kind == static_cast<int32_t>(FaultKind::None)) [[likely]]
    return;
  const auto kind = static_cast<FaultKind>(record->kind);
  const int64_t value = record->value, bound = record->bound;
  const int32_t dim = record->dim;
  const std::string launched = in_words(record->origin);
  record->kind = static_cast<int32_t>(FaultKind::None);
  const std::string where = launched.empty() ? std::string(kUnknown) : "; the GPU found it in " + launched;
  switch (kind) {
    case FaultKind::Index:
      fail(ErrorKind::Index, "index ", value, " is out of bounds for dimension ", dim, " with size ", bound, where);
    case FaultKind::Class: fail(ErrorKind::Index, "Target ", value, " is out of bounds of ", bound, " classes", where);
    case FaultKind::Negative: fail("a value must not be negative, got ", value, where);
    case FaultKind::Chance:
      fail("bernoulli: Expected p_in >= 0 && p_in <= 1 to be true, but got false; pass probabilities", where);
    case FaultKind::Rate: fail("invalid Poisson rate, expected rate to be non-negative", where);
    case FaultKind::FirstOffset:
      fail(
          "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
          "got ",
          value, where);
    case FaultKind::LastOffset:
      fail("offsets[-1] can not be greater than input's length ", bound, " but got offsets[-1] of ", value, where);
    case FaultKind::FallingOffset:
      fail("embedding_bag: expected offsets that do not decrease; got ", value, " after ", bound, where);
    case FaultKind::BagIndex:
      fail("embedding_bag: an index of input takes value ", value, " which is not in the valid range [0, ", bound, ")",
           where);
    case FaultKind::Label: fail("argument #2 'target' is out of range: got ", value, " of ", bound, " classes", where);
    case FaultKind::SequenceLabel:
      fail("ctc_loss: expected labels from 0 to ", bound - 1, "; got ", value, " in sequence ", dim, where);
    case FaultKind::SparseEntry:
      fail(ErrorKind::Index,
           "index out of range: a sparse tensor has entries outside of its sizes; its indices were changed since it "
           "was made",
           where);
    case FaultKind::Refused: fail(reinterpret_cast<const char*>(value), where);
    case FaultKind::None: break;
  }
}

}  // namespace adjoint::cuda
