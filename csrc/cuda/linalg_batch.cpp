#include "cuda/linalg_batch.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "cuda/device/linalg_args.h"
#include "cuda/elementwise.h"
#include "cuda/launch.h"
#include "cuda/matmul.h"
#include "cuda/memory.h"
#include "cuda/walk.h"

namespace adjoint::cuda {
namespace {

/// The dimensions before the inner ones.
View batch_view(const View& view, int inner) {
  return {view.data, view.dtype, view.ndim - inner, view.sizes, view.strides, view.device};
}

bool can_walk(const View& view, int inner) {
  const View batch = batch_view(view, inner);
  const View* views[] = {&batch};
  return fits(ordered_geometry(views));
}

void note_diagonal(const View& a, const View& infos, bool zero) {
  const int64_t count = batch_of(a);
  const int64_t rows = rows_of(a), n = std::min(rows, cols_of(a));
  DiagonalArgs args{a.data, infos.as<int32_t>(), nullptr, nullptr, n, rows * cols_of(a), rows + 1};
  launch(a.device,
         linalg_text("DiagonalArgs", zero ? "note_zero_diagonal" : "note_nan_diagonal", a.dtype, kDiagonalThreads),
         args, count, kDiagonalThreads);
}

}  // namespace

int64_t batch_of(const View& view, int inner) { return batch_view(view, inner).numel(); }

bool can_solve(std::initializer_list<const View*> views) {
  if (!has_cusolver()) return false;
  for (const View* view : views)
    for (int64_t size : {rows_of(*view), cols_of(*view), rows_of(*view) * cols_of(*view), batch_of(*view)})
      if (size > std::numeric_limits<int32_t>::max()) return false;
  return true;
}

Shaped packed_columns(const View& like, int64_t rows, int64_t cols) {
  Shaped shaped;
  const int batch = like.ndim - 2;
  shaped.sizes.assign(like.sizes, like.sizes + batch);
  shaped.strides.resize(static_cast<size_t>(batch));
  int64_t step = rows * cols;
  for (int d = batch; d-- > 0; step *= like.sizes[d]) shaped.strides[static_cast<size_t>(d)] = step;
  shaped.sizes.insert(shaped.sizes.end(), {rows, cols});
  shaped.strides.insert(shaped.strides.end(), {1, rows});
  return shaped;
}

int64_t numel_of(const Shaped& shaped) {
  int64_t n = 1;
  for (int64_t size : shaped.sizes) n *= size;
  return n;
}

Shaped swapped(const View& view) {
  Shaped shaped = cut(view, rows_of(view), cols_of(view));
  const auto last = shaped.sizes.size() - 1;
  std::swap(shaped.sizes[last], shaped.sizes[last - 1]);
  std::swap(shaped.strides[last], shaped.strides[last - 1]);
  return shaped;
}

Shaped diagonal(const View& view) {
  Shaped shaped = cut(view, rows_of(view), cols_of(view));
  const int64_t n = std::min(rows_of(view), cols_of(view)), step = shaped.strides.back();
  shaped.sizes.pop_back();
  shaped.strides.pop_back();
  shaped.sizes.back() = n;
  shaped.strides.back() += step;
  return shaped;
}

Shaped cut(const View& view, int64_t rows, int64_t cols) {
  Shaped shaped{{view.sizes, view.sizes + view.ndim}, {view.strides, view.strides + view.ndim}};
  shaped.sizes[shaped.sizes.size() - 2] = rows;
  shaped.sizes.back() = cols;
  return shaped;
}

// ---- Places

Columns::Columns(const View& view, int inner) : view_(view), inner_(inner) {
  ld_ = inner == 2 && cols_of(view) > 1 ? view.strides[view.ndim - 1]
                                        : std::max<int64_t>(1, inner == 2 ? rows_of(view) : 1);
}

Columns Columns::copied(const View& view, int inner) {
  std::vector<int64_t> sizes(view.sizes, view.sizes + view.ndim), strides(static_cast<size_t>(view.ndim));
  const int batch = view.ndim - inner;
  int64_t step = 1;
  auto place = [&](int d) {
    const auto at = static_cast<size_t>(d);
    if (d < batch && view.strides[d] == 0) sizes[at] = std::min<int64_t>(sizes[at], 1);
    strides[at] = d < batch && view.strides[d] == 0 ? 0 : step;
    step *= std::max<int64_t>(sizes[at], 1);
  };
  for (int d = batch; d < view.ndim; ++d) place(d);
  for (int d = batch; d-- > 0;) place(d);
  auto memory = std::make_unique<Scratch>(static_cast<size_t>(step * itemsize(view.dtype)), view.device);
  View source = view, target = view;
  source.sizes = target.sizes = sizes.data();
  target.data = memory->data();
  target.strides = strides.data();
  copy(source, target);
  target.sizes = view.sizes;
  Columns result(target, inner);
  result.memory_ = std::move(memory);
  result.strides_ = std::move(strides);
  result.view_.strides = result.strides_.data();
  return result;
}

Columns Columns::readable(const View& view) {
  const int64_t rows = rows_of(view), cols = cols_of(view);
  const bool packed = rows <= 1 || view.strides[view.ndim - 2] == 1;
  const int64_t step = view.strides[view.ndim - 1];
  const bool apart = cols <= 1 || (step >= std::max<int64_t>(rows, 1) && step <= std::numeric_limits<int32_t>::max());
  return packed && apart && can_walk(view, 2) ? of(view) : copied(view, 2);
}

Columns Columns::vectors(const View& view) {
  const int last = view.ndim - 1;
  const bool packed = view.sizes[last] <= 1 || view.strides[last] == 1;
  return packed && can_walk(view, 1) ? Columns(view, 1) : copied(view, 1);
}

void* Columns::at(int64_t i) const {
  int64_t offset = 0;
  for (int d = view_.ndim - inner_; d-- > 0; i /= view_.sizes[d]) offset += i % view_.sizes[d] * view_.strides[d];
  return view_.data + offset * itemsize(view_.dtype);
}

void** Columns::addresses() {
  const View batch = batch_view(view_, inner_);
  const int64_t count = batch.numel();
  addresses_ = std::make_unique<Scratch>(static_cast<size_t>(count) * sizeof(void*), view_.device);
  auto** out = reinterpret_cast<char**>(addresses_->data());
  AddressArgs args{view_.data, out, itemsize(view_.dtype), {}};
  const View* views[] = {&batch};
  set_walk(ordered_geometry(views), args.walk);
  launch(view_.device, kernel_text("linalg.h", "AddressArgs", "list_addresses"), args, blocks_for(count));
  return reinterpret_cast<void**>(out);
}

Workspace::Workspace(const View& like, int64_t rows, int64_t cols, DType dtype)
    : shape_(packed_columns(like, rows, cols)),
      dtype_(dtype),
      device_(like.device),
      memory_(static_cast<size_t>(numel_of(shape_) * itemsize(dtype)), like.device) {}

PackedVectors::PackedVectors(const View& vectors, DType dtype)
    : memory_(static_cast<size_t>(vectors.numel() * itemsize(dtype)), vectors.device),
      strides_(static_cast<size_t>(vectors.ndim)),
      view_{memory_.data(), dtype, vectors.ndim, vectors.sizes, strides_.data(), vectors.device} {
  packed_strides(vectors, strides_.data());
  copy(vectors, view_);
}

Scratch elements_for(const View& like, int64_t count) {
  return Scratch(static_cast<size_t>(std::max<int64_t>(count, 1) * itemsize(like.dtype)), like.device);
}

// ---- All matrices

NonFinite::NonFinite(const View& a) : marks_(static_cast<size_t>(batch_of(a)) * sizeof(int32_t), a.device) {
  FiniteArgs args{a.data, reinterpret_cast<int32_t*>(marks_.data()), rows_of(a) * cols_of(a)};
  launch(a.device, linalg_text("FiniteArgs", "set_aside_nonfinite", a.dtype, kMatrixThreads), args, batch_of(a),
         kMatrixThreads);
}

void fill_diagonal(const View& a) {
  alignas(16) char one[16];
  dispatch(a.dtype, [&](auto tag) {
    const auto element = convert<decltype(tag)>(1.0);
    std::memcpy(one, &element, sizeof(element));
  });
  fill(diagonal(a).view(a.data, a.dtype, a.device), one);
}

void fill_identity(const View& a) {
  clear(a);
  fill_diagonal(a);
}

void copy_conjugate(const View& in, const View& out) {
  copy(in, out);
  if (is_complex(out.dtype) && out.numel() != 0) conjugate(out);
}

void note_nan_diagonal(const View& a, const View& infos) { note_diagonal(a, infos, false); }
void note_zero_diagonal(const View& a, const View& infos) { note_diagonal(a, infos, true); }

std::string linalg_text(const char* args, const char* function, DType dtype, int threads) {
  return kernel_text("linalg.h", args, std::string(function) + "<" + device_type(dtype) + ">", threads);
}

}  // namespace adjoint::cuda
