// Kernels that do nothing; what must read values refuses.
#include "meta/backend.h"

#include "core/error.h"
#include "kernels/uniform.h"

namespace adjoint::meta {
namespace {

using kernels::all;
using kernels::Function;

/// Becomes whatever function is asked for: one that does nothing.
struct Nothing {
  template <class Result, class... Args>
  constexpr operator Function<Result, Args...>() const {
    return [](Args...) -> Result { return Result(); };
  }
};

/// Becomes whatever function is asked for: one that says that there are no values.
struct NoValues {
  template <class Result, class... Args>
  constexpr operator Function<Result, Args...>() const {
    return [](Args...) -> Result {
      fail(ErrorKind::NotImplemented, "Cannot copy out of meta tensor; no data! What depends on values cannot be ",
           "computed on the meta device; compute it on the cpu");
    };
  }
};

/// Where storages seem to lie: views of them are told apart by their distance from it.
constexpr uintptr_t kAddress = 1 << 20;

kernels::Memory memory() {
  auto table = all<kernels::Memory>(Nothing());
  table.to_host = NoValues();
  table.read = NoValues();
  return table;
}

kernels::Indexing indexing() {
  auto table = all<kernels::Indexing>(Nothing());
  table.count_nonzero = NoValues();
  return table;
}

kernels::Search search() {
  auto table = all<kernels::Search>(Nothing());
  table.least_and_greatest = NoValues();
  return table;
}

kernels::Structure structure() {
  auto table = all<kernels::Structure>(Nothing());
  table.total_repeats = [](const View&) -> int64_t {
    fail("cannot repeat_interleave a meta tensor without output_size; how often it repeats is not known there");
  };
  return table;
}

}  // namespace

Storage* allocate(size_t nbytes, Device) {
  static constexpr StorageOwner owner = {[](Storage* storage) { delete storage; }, false};
  return new Storage{1, 0, reinterpret_cast<char*>(kAddress), nbytes, false, false, &owner};
}

const Backend backend = {
    .memory = memory(),
    .ranges = all<kernels::Ranges>(Nothing()),
    .random = all<kernels::Random>(Nothing()),
    .elementwise = all<kernels::Elementwise>(Nothing()),
    .reduce = all<kernels::Reduce>(Nothing()),
    .scan = all<kernels::Scan>(Nothing()),
    .softmax = all<kernels::Softmax>(Nothing()),
    .sort = all<kernels::Sort>(Nothing()),
    .indexing = indexing(),
    .structure = structure(),
    .search = search(),
    .unique = all<kernels::Unique>(NoValues()),
    .sparse = all<kernels::Sparse>(NoValues()),
    .matmul = all<kernels::Matmul>(Nothing()),
    .convolution = all<kernels::Convolution>(Nothing()),
    .pooling = all<kernels::Pooling>(Nothing()),
    .folding = all<kernels::Folding>(Nothing()),
    .grid = all<kernels::Grid>(Nothing()),
    .resampling = all<kernels::Resampling>(Nothing()),
    .ctc = all<kernels::Ctc>(Nothing()),
    .embedding_bag = all<kernels::EmbeddingBag>(Nothing()),
    .loss_labels = all<kernels::LossLabels>(Nothing()),
    .linalg = all<kernels::Linalg>(Nothing()),
    .normalization = all<kernels::Normalization>(Nothing()),
    .attention = all<kernels::Attention>(Nothing()),
    .recurrent = all<kernels::Recurrent>(Nothing()),
    .fft = all<kernels::Fft>(Nothing()),
    .distance = all<kernels::Distance>(Nothing()),
};

}  // namespace adjoint::meta
