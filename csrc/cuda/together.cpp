#include "cuda/together.h"

#include <algorithm>
#include <cstring>

#include "cuda/launch.h"

namespace adjoint::cuda {
namespace {

thread_local Together* living = nullptr;

bool same(const Scalar& a, const Scalar& b) {
  if (a.category != b.category || a.beyond != b.beyond || a.integer != b.integer) return false;
  return (a.category != Category::Complex && !a.beyond) || std::memcmp(&a.imaginary, &b.imaginary, sizeof(double)) == 0;
}

void launch_waiting() {
  if (living) living->finish();
}

}  // namespace

Together::Together() : outer_(living) {
  if (outer_) outer_->finish();
  living = this;
  before_driver_calls = launch_waiting;
}

Together::~Together() {
  try {
    finish();
  } catch (...) {  // an error of an earlier launch, which the next call meets again
  }
  living = outer_;
  before_driver_calls = outer_ ? launch_waiting : nullptr;
}

Together* Together::current() { return living; }

void Together::finish() {
  if (!function_) return;
  const Function function = function_;
  function_ = nullptr;  // the launch asks for the driver
  read_.clear();
  written_.clear();
  launch(device_, function, &args_, blocks_);
}

bool Together::takes(const PackedLaunch& launch) const {
  if (function_ != launch.function || device_ != launch.device || args_.tensors == kManyTensors) return false;
  if ((args_.tensors + 1) * launch.operands > kManyPlaces) return false;
  for (int i = 0; i < params_; ++i)
    if (!same(args_.params[i], launch.args->params[i])) return false;
  for (int i = 0; i < operands_; ++i) {
    const auto size = static_cast<size_t>(launch.number_bytes[i]);
    if (std::memcmp(args_.numbers[i].bytes, launch.args->numbers[i].bytes, size) != 0) return false;
  }
  for (int i = 0; i < operands_; ++i) {
    const char *begin = launch.args->data[i], *end = begin + launch.bytes[i];
    auto overlaps = [&](const Range& range) { return begin < range.end && range.begin < end; };
    if (std::ranges::any_of(written_, overlaps)) return false;
    if (i == 0 && std::ranges::any_of(read_, overlaps)) return false;
  }
  return true;
}

void Together::begin(const PackedLaunch& launch) {
  finish();
  device_ = launch.device;
  operands_ = launch.operands;
  params_ = launch.params;
  width_ = launch.width;
  blocks_ = 0;
  args_.tensors = 0;
  std::copy_n(launch.args->params, launch.params, args_.params);
  for (int i = 0; i < operands_; ++i)
    std::memcpy(args_.numbers[i].bytes, launch.args->numbers[i].bytes, static_cast<size_t>(launch.number_bytes[i]));
  function_ = launch.function;
}

void Together::add(const PackedLaunch& launch) {
  constexpr int64_t kMostBlocks = int64_t{1} << 30;
  const int64_t blocks = blocks_for((launch.args->numel + launch.width - 1) / launch.width);
  if (!takes(launch) || blocks_ + blocks > kMostBlocks) begin(launch);
  const int32_t place = args_.tensors++;
  args_.first_block[place] = static_cast<uint32_t>(blocks_);
  args_.sizes[place] = launch.args->numel;
  blocks_ += blocks;
  for (int i = 0; i < operands_; ++i) {
    args_.places[place * operands_ + i] = launch.args->data[i];
    const Range range = {launch.args->data[i], launch.args->data[i] + launch.bytes[i]};
    if (launch.bytes[i] > 0) (i == 0 ? written_ : read_).push_back(range);
  }
}

}  // namespace adjoint::cuda
