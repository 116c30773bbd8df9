// A stand-in for cuBLASLt: what csrc/cuda/cublaslt.cpp looks for in libcublasLt, computed by plain loops. An algorithm
// that it proposes works for the very problem only that it was asked for, at the alignments that were promised, and
// with the memory that it said; other calls are refused.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>

#include "driver.h"
#include "products.h"

namespace {

using namespace standin;

constexpr int kSuccess = 0, kNotInitialized = 1, kInvalidValue = 7, kNotSupported = 15;
constexpr uint32_t kPlain = 1, kBias = 4, kReluBias = 6;  // epilogues

struct Handle {};
struct Operation {
  int compute, scale;
  int32_t a_op = 0, b_op = 0;
  uint32_t epilogue = kPlain;
  const void* bias = nullptr;

  bool biased() const { return epilogue != kPlain; }
};
struct Layout {
  int type;
  uint64_t rows, cols;
  int64_t leading;

  bool valid() const { return rows > 0 && cols > 0 && leading >= static_cast<int64_t>(rows); }
  bool operator==(const Layout&) const = default;
};
struct Preference {
  uint64_t workspace = 0;
  uint32_t reductions = 7, a_alignment = 256, b_alignment = 256, c_alignment = 256, d_alignment = 256;
};
struct Algorithm {
  uint64_t problem;  ///< a number made of the problem
  uint64_t workspace;
  uint64_t alignments[4];  ///< of a, b, d and the bias
  uint64_t parts;          ///< that sums are split into
  uint64_t rest;
};
struct Proposal {
  Algorithm algorithm;
  size_t workspace;
  int status;
  float waves;
  int reserved[4];
};

uint64_t alignment_of(const void* data) {
  const auto address = reinterpret_cast<uint64_t>(data);
  return std::min<uint64_t>(address & (~address + 1), 256);
}

uint64_t number_of(const Operation& op, const Layout& a, const Layout& b, const Layout& d) {
  uint64_t result = 1469598103934665603u;
  auto mix = [&](uint64_t value) { result = (result ^ value) * 1099511628211u; };
  for (int value : {op.compute, op.scale, op.a_op, op.b_op, static_cast<int>(op.epilogue)})
    mix(static_cast<uint64_t>(value));
  for (const Layout* layout : {&a, &b, &d}) {
    for (uint64_t value : {layout->rows, layout->cols}) mix(value);
    mix(static_cast<uint64_t>(layout->type));
    mix(static_cast<uint64_t>(layout->leading));
  }
  return result;
}

/// Takes a value of an attribute's very size.
template <class T>
int take(T& place, const void* value, size_t size) {
  if (!value || size != sizeof(T)) return kInvalidValue;
  std::memcpy(&place, value, size);
  return kSuccess;
}

/// Whether matrices fit each other, and are of types that have such a product, plain, with a bias, or with a bias and
/// relu.
int check(const Operation& op, const Layout& a, const Layout& b, const Layout& c, const Layout& d) {
  const uint64_t m = op.a_op ? a.cols : a.rows, k = op.a_op ? a.rows : a.cols;
  if (!a.valid() || !b.valid() || !d.valid() || c != d || d.rows != m || (op.b_op ? b.cols : b.rows) != k ||
      (op.b_op ? b.rows : b.cols) != d.cols)
    return kInvalidValue;
  const bool known = d.type == 0 || d.type == 2 || d.type == 14;
  if (!known || a.type != d.type || b.type != d.type || op.scale != 0) return kNotSupported;
  if (op.epilogue != kPlain && op.epilogue != kBias && op.epilogue != kReluBias) return kNotSupported;
  return op.compute == 68 || (op.compute == 77 && d.type == 0) ? kSuccess : kNotSupported;
}

}  // namespace

extern "C" {

int cublasLtCreate(Handle** handle) {
  if (const int code = standin::begin_call("cublasLtCreate")) return code;
  *handle = new Handle;
  return kSuccess;
}

int cublasLtMatmulDescCreate(Operation** made, int compute, int scale) {
  *made = new Operation{compute, scale};
  return kSuccess;
}
int cublasLtMatmulDescSetAttribute(Operation* op, int attribute, const void* value, size_t size) {
  switch (attribute) {
    case 3: return take(op->a_op, value, size);
    case 4: return take(op->b_op, value, size);
    case 7: return take(op->epilogue, value, size);
    case 8: return take(op->bias, value, size);
    default: return kInvalidValue;
  }
}
int cublasLtMatmulDescDestroy(Operation* op) {
  delete op;
  return kSuccess;
}

int cublasLtMatrixLayoutCreate(Layout** made, int type, uint64_t rows, uint64_t cols, int64_t leading) {
  *made = new Layout{type, rows, cols, leading};
  return kSuccess;
}
int cublasLtMatrixLayoutDestroy(Layout* layout) {
  delete layout;
  return kSuccess;
}

int cublasLtMatmulPreferenceCreate(Preference** made) {
  *made = new Preference;
  return kSuccess;
}
int cublasLtMatmulPreferenceSetAttribute(Preference* preference, int attribute, const void* value, size_t size) {
  switch (attribute) {
    case 1: return take(preference->workspace, value, size);
    case 3: return take(preference->reductions, value, size);
    case 5: return take(preference->a_alignment, value, size);
    case 6: return take(preference->b_alignment, value, size);
    case 7: return take(preference->c_alignment, value, size);
    case 8: return take(preference->d_alignment, value, size);
    default: return kInvalidValue;
  }
}
int cublasLtMatmulPreferenceDestroy(Preference* preference) {
  delete preference;
  return kSuccess;
}

/// Long sums are split, which takes memory where sums of half types are not to be rounded between.
int cublasLtMatmulAlgoGetHeuristic(Handle* handle, const Operation* op, const Layout* a, const Layout* b,
                                   const Layout* c, const Layout* d, const Preference* preference, int most,
                                   Proposal* proposals, int* count) {
  *count = 0;
  if (const int code = standin::begin_call("cublasLtMatmulAlgoGetHeuristic")) return code;
  if (!handle) return kNotInitialized;
  if (most < 1) return kInvalidValue;
  if (const int code = check(*op, *a, *b, *c, *d)) return code;
  if (preference->reductions != 2) return kNotSupported;
  const uint64_t k = op->a_op ? a->rows : a->cols, memory = k > 256 ? uint64_t{1} << 20 : 0;
  if (memory > preference->workspace || preference->c_alignment != preference->d_alignment) return kNotSupported;
  proposals[0] = {};
  proposals[0].algorithm = {
      number_of(*op, *a, *b, *d),
      memory,
      {preference->a_alignment, preference->b_alignment, preference->d_alignment, alignment_of(op->bias)},
      memory ? 2u : 1u,
      0};
  proposals[0].workspace = memory;
  *count = 1;
  return kSuccess;
}

int cublasLtMatmulAlgoConfigGetAttribute(const Algorithm* algorithm, int attribute, void* value, size_t size,
                                         size_t* written) {
  if (attribute != 2 || size != sizeof(int32_t)) return kInvalidValue;
  const auto parts = static_cast<int32_t>(algorithm->parts);
  std::memcpy(value, &parts, size);
  *written = size;
  return kSuccess;
}

int cublasLtMatmul(Handle* handle, const Operation* op, const void* alpha, const void* a, const Layout* a_layout,
                   const void* b, const Layout* b_layout, const void* beta, const void* c, const Layout* c_layout,
                   void* d, const Layout* d_layout, const Algorithm* algorithm, void* workspace, size_t memory, void*) {
  if (const int code = standin::begin_call("cublasLtMatmul")) return code;
  if (op->epilogue == kBias) standin::begin_call("cublasLtMatmul with a bias");
  if (op->epilogue == kReluBias) standin::begin_call("cublasLtMatmul with a bias and relu");
  if (!handle) return kNotInitialized;
  if (const int code = check(*op, *a_layout, *b_layout, *c_layout, *d_layout)) return code;
  const void* places[4] = {a, b, d, op->bias};
  for (int i = 0; i < (op->biased() ? 4 : 3); ++i)
    if (!places[i] || alignment_of(places[i]) < algorithm->alignments[i]) return kInvalidValue;
  if (c != d || algorithm->problem != number_of(*op, *a_layout, *b_layout, *d_layout)) return kInvalidValue;
  if (memory < algorithm->workspace || (memory && (!workspace || alignment_of(workspace) < 256))) return kInvalidValue;
  float first, second;
  std::memcpy(&first, alpha, sizeof(float));
  std::memcpy(&second, beta, sizeof(float));
  const Side left{static_cast<const char*>(a), op->a_op == 1, a_layout->leading, 0};
  const Side right{static_cast<const char*>(b), op->b_op == 1, b_layout->leading, 0};
  const Side result{static_cast<const char*>(d), false, d_layout->leading, 0};
  const auto m = static_cast<int64_t>(d_layout->rows), n = static_cast<int64_t>(d_layout->cols);
  const auto k = static_cast<int64_t>(op->a_op ? a_layout->rows : a_layout->cols);
  auto run = [&]<class S>(S) {
    standin::enqueue([=, bias = op->biased() ? op->bias : nullptr, fewer = op->compute == 77,
                      split = algorithm->parts > 1, relu = op->epilogue == kReluBias] {
      multiply<S, float>(left, right, result, 1, m, n, k, first, second, fewer, bias, split, relu);
    });
    return kSuccess;
  };
  switch (d_layout->type) {
    case 0: return run(float());
    case 2: return run(HalfBits());
    default: return run(BrainBits());
  }
}

}  // extern "C"
