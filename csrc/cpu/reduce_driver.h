// How any reduction walks its views: a fixed tree over chunks of elements, the same for every number of threads.
#pragma once

#include <cstring>

#include "cpu/reduce_rows.h"

namespace adjoint::cpu {

/// Most outputs ("lanes") reduced side by side, and most bytes of one lane's state.
inline constexpr int kMaxLanes = 512;
inline constexpr int kMaxStateBytes = 32;
/// Elements of one row that are reduced at once: what fits in the nearest cache.
inline constexpr int64_t kRun = 2048;
/// Rows reduced at once when the lanes are contiguous.
inline constexpr int64_t kPanelRows = 16;

/// About half of n, a multiple of `unit`: where trees split, so that they depend on n alone.
inline int64_t half_of(int64_t n, int64_t unit) { return std::max(unit, n / 2 / unit * unit); }

/// Where the elements of some lanes lie: lane w, element k is at data + (w * lane_step + k * step) * itemsize.
struct Panel {
  const char* data;
  int64_t lane_step;
  int64_t lanes;
  int64_t step;
  int64_t n;
  int64_t first;    ///< index of element 0 within the reduced dimensions
  bool by_columns;  ///< true when the lanes, not the elements of one lane, lie next to each other
};

/// Where the results of some lanes go: offsets and strides, in elements, of up to two outputs.
struct Target {
  int64_t lanes;
  int64_t offset[2];
  int64_t step[2];
};

/// One kind of reduction; states are plain bytes to the driver, so that it is compiled once. Nothing here throws.
class Reducer {
 public:
  Reducer(int64_t itemsize, int64_t state_bytes, bool ordered)
      : itemsize(itemsize), state_bytes(state_bytes), ordered(ordered) {}

  /// Sets the states of panel.lanes lanes from their elements; of none, to the identity.
  virtual void reduce(const Panel& panel, void* states) const = 0;
  /// Joins `right` into `left`, lane by lane.
  virtual void join(void* left, const void* right, int64_t lanes) const = 0;
  virtual void emit(const void* states, const Target& target) const = 0;

  const int64_t itemsize;
  const int64_t state_bytes;
  const bool ordered;  ///< element numbers matter: the reduced dimension must not be walked backwards

 protected:
  ~Reducer() = default;
};

/// Reduces `in` to the shape of `out` (and of `second`, which has the same sizes; pass `out` again if there is none).
void run_reduction(const Reducer& reducer, const View& in, const View& out, const View& second);

/// Builds a Reducer from an Op with: types Element and State (State plain data, at most 32 bytes);
/// `State row(const Element* x, int64_t n, int64_t first)` for 0 < n <= kRun;
/// `void panel(const Element* x, int64_t step, int64_t n, int64_t lanes, int64_t first, State*)` for 0 < n <=
/// kPanelRows; `void join(State&, const State&)`; `State identity()`; `void emit(const State*, const Target&)`;
/// `kOrdered`: element numbers matter; `reader`: a Reader<Element>.
template <class Op>
class ReducerOf final : public Reducer {
 public:
  using Element = typename Op::Element;
  using State = typename Op::State;
  static_assert(sizeof(State) <= kMaxStateBytes && std::is_trivially_copyable_v<State>);

  ReducerOf(const Op& op, DType dtype) : Reducer(adjoint::itemsize(dtype), sizeof(State), Op::kOrdered), op_(op) {}

  void reduce(const Panel& panel, void* states) const override {
    State* results = static_cast<State*>(states);
    if (panel.n == 0) {
      for (int64_t w = 0; w < panel.lanes; ++w) results[w] = op_.identity();
    } else if (panel.by_columns) {
      columns(panel, results);
    } else {
      for (int64_t w = 0; w < panel.lanes; ++w) {
        results[w] = row(panel.data + w * panel.lane_step * itemsize, panel.step, panel.n, panel.first);
      }
    }
  }

  void join(void* left, const void* right, int64_t lanes) const override {
    join_states(static_cast<State*>(left), static_cast<const State*>(right), lanes);
  }

  void emit(const void* states, const Target& target) const override {
    op_.emit(static_cast<const State*>(states), target);
  }

 private:
  void join_states(State* left, const State* right, int64_t lanes) const {
    for (int64_t w = 0; w < lanes; ++w) op_.join(left[w], right[w]);
  }

  State row(const char* data, int64_t step, int64_t n, int64_t first) const {
    if (n > kRun) return long_row(data, step, n, first);
    return op_.reader.direct(step) ? packed_row(data, n, first) : gathered_row(data, step, n, first);
  }

  [[gnu::noinline]] State long_row(const char* data, int64_t step, int64_t n, int64_t first) const {
    int64_t half = half_of(n, kRun);
    State left = row(data, step, half, first);
    State right = row(data + half * step * itemsize, step, n - half, first + half);
    op_.join(left, right);
    return left;
  }

  // Kept out of `long_row`: the recursion would multiply their code.
  [[gnu::noinline]] State packed_row(const char* data, int64_t n, int64_t first) const {
    return op_.row(reinterpret_cast<const Element*>(data), n, first);
  }
  [[gnu::noinline]] State gathered_row(const char* data, int64_t step, int64_t n, int64_t first) const {
    Element buffer[kRun];
    op_.reader.load(data, step, n, buffer);
    return op_.row(buffer, n, first);
  }

  [[gnu::noinline]] void columns(const Panel& panel, State* results) const {
    if constexpr (!Op::kOrdered) {
      bool packed = panel.lane_step == 1 && panel.step == panel.lanes;
      if (packed && panel.lanes <= kMaxLanes / 4 && panel.n >= 4 * (kMaxLanes / panel.lanes)) {
        return packed_columns(panel, results);
      }
    }
    if (panel.n <= kPanelRows) return panel_columns(panel, results);
    Panel part = panel;
    part.n = half_of(panel.n, kPanelRows);
    columns(part, results);
    State right[kMaxLanes];
    part.data += part.n * panel.step * itemsize;
    part.first += part.n;
    part.n = panel.n - part.n;
    columns(part, right);
    join_states(results, right, panel.lanes);
  }

  /// A few lanes without gaps: takes several rows for one wide row, and folds the wide result.
  void packed_columns(const Panel& panel, State* results) const {
    int64_t rows = kMaxLanes / panel.lanes;
    Panel wide = panel;
    wide.lanes = wide.step = rows * panel.lanes;
    wide.n = panel.n / rows;
    State states[kMaxLanes];
    columns(wide, states);
    if (int64_t rest = panel.n % rows; rest > 0) {
      State tail[kMaxLanes];
      wide.data += wide.n * wide.step * itemsize;
      wide.lanes = rest * panel.lanes;
      wide.n = 1;
      panel_columns(wide, tail);
      join_states(states, tail, wide.lanes);
    }
    while (rows > 1) {
      int64_t half = (rows + 1) / 2;
      join_states(states, states + half * panel.lanes, (rows - half) * panel.lanes);
      rows = half;
    }
    std::copy(states, states + panel.lanes, results);
  }

  [[gnu::noinline]] void panel_columns(const Panel& panel, State* results) const {
    if (op_.reader.direct(panel.lane_step)) {
      const Element* x = reinterpret_cast<const Element*>(panel.data);
      return op_.panel(x, panel.step, panel.n, panel.lanes, panel.first, results);
    }
    Element buffer[kPanelRows * kMaxLanes];
    const bool packed_rows = op_.reader.direct(panel.step) && panel.lane_step == panel.n;
    if (!packed_rows || !turn_rows(reinterpret_cast<const Element*>(panel.data), panel.n, panel.lanes, buffer)) {
      for (int64_t k = 0; k < panel.n; ++k) {
        op_.reader.load(panel.data + k * panel.step * itemsize, panel.lane_step, panel.lanes, buffer + k * panel.lanes);
      }
    }
    op_.panel(buffer, panel.lanes, panel.n, panel.lanes, panel.first, results);
  }

  Op op_;
};

}  // namespace adjoint::cpu
