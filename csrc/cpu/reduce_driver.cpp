// The walk over kept and reduced dimensions: groups of lanes times chunks of elements, shared out over the threads.
#include "cpu/reduce_driver.h"

#include <memory>

namespace adjoint::cpu {
namespace {

/// Elements of one unit of work: part of the definition of the tree, so results change with it.
constexpr int64_t kChunk = 65536;
constexpr int64_t kShortRun = 256;

class Walk {
 public:
  Walk(const Reducer& reducer, const View& in, const View& out, const View& second)
      : reducer_(reducer), data_(in.data) {
    for (int d = 0; d < in.ndim; ++d) {
      int64_t step = in.strides[d];
      if (in.sizes[d] == out.sizes[d]) {
        kept_.add(in.sizes[d], {step, out.strides[d], second.strides[d]});
      } else if (step < 0 && !reducer.ordered && in.sizes[d] > 0) {
        data_ += (in.sizes[d] - 1) * step * reducer.itemsize;
        reduced_.add(in.sizes[d], {-step});
      } else {
        reduced_.add(in.sizes[d], {step});
      }
    }
  }

  void run() {
    if (kept_.total == 0) return;
    kept_.coalesce();
    reduced_.coalesce();
    inner_ = kept_.pop(lane_step_);
    n_ = reduced_.total;
    segment_ = reduced_.count > 0 ? reduced_.size[reduced_.count - 1] : n_;
    step_ = reduced_.count > 0 ? reduced_.stride[0][reduced_.count - 1] : 0;
    if (kept_.total * inner_ == 1 && reduced_.count <= 1 && n_ <= kRun) return run_small();
    by_columns_ = choose_columns();
    int64_t widest = std::min<int64_t>(inner_, kMaxLanes);
    // Runs that are too short to be worth a call each are taken from many lanes at once.
    bool side_by_side = by_columns_ || segment_ < kShortRun;
    int64_t chunk = side_by_side ? std::clamp<int64_t>(kChunk / widest, 512, kChunk) : kChunk;
    chunks_ = n_ <= chunk ? 1 : (n_ + chunk - 1) / chunk;
    width_ = side_by_side  ? widest
             : chunks_ > 1 ? 1
                           : std::min<int64_t>(widest, std::max<int64_t>(1, kChunk / (n_ + 1)));
    groups_in_row_ = (inner_ + width_ - 1) / width_;
    int64_t groups = kept_.total * groups_in_row_;
    int64_t work = width_ * std::min(n_, chunk);
    if (chunks_ == 1) {
      share_out(groups, work, [this](int64_t begin, int64_t end) {
        alignas(16) char states[kMaxLanes * kMaxStateBytes];
        for (int64_t group = begin; group < end; ++group) {
          Group place = locate(group);
          reduce_range(place, 0, n_, states);
          reducer_.emit(states, place.target);
        }
      });
      return;
    }
    int64_t slot = width_ * reducer_.state_bytes;
    auto partials = std::make_unique_for_overwrite<char[]>(static_cast<size_t>(groups * chunks_ * slot));
    share_out(groups * chunks_, work, [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) {
        int64_t from = unit % chunks_ * chunk;
        reduce_range(locate(unit / chunks_), from, std::min(n_, from + chunk), partials.get() + unit * slot);
      }
    });
    share_out(groups, width_ * chunks_, [&](int64_t begin, int64_t end) {
      for (int64_t group = begin; group < end; ++group) {
        Group place = locate(group);
        char* states = partials.get() + group * chunks_ * slot;
        for (int64_t reach = 1; reach < chunks_; reach *= 2) {
          for (int64_t c = 0; c + reach < chunks_; c += 2 * reach) {
            reducer_.join(states + c * slot, states + (c + reach) * slot, place.target.lanes);
          }
        }
        reducer_.emit(states, place.target);
      }
    });
  }

 private:
  struct Group {
    const char* data;
    Target target;
  };

  /// One result from few elements: no divisions, for the sake of tiny tensors.
  void run_small() const {
    alignas(16) char state[kMaxStateBytes];
    reducer_.reduce({data_, 0, 1, step_, n_, 0, false}, state);
    reducer_.emit(state, {1, {0, 0}, {0, 0}});
  }

  /// Lanes side by side when they are nearer to each other than the elements of one lane, or when those are few.
  bool choose_columns() const {
    if (inner_ == 1) return false;
    if (n_ < 16) return inner_ >= 16 || segment_ == 1;
    int64_t lane = std::abs(lane_step_[0]);
    return lane != 0 && lane < std::abs(step_);
  }

  Group locate(int64_t group) const {
    int64_t first_lane = group % groups_in_row_ * width_;
    int64_t offsets[3];
    kept_.locate(group / groups_in_row_, offsets);
    for (int v = 0; v < 3; ++v) offsets[v] += first_lane * lane_step_[v];
    Target target{std::min(width_, inner_ - first_lane), {offsets[1], offsets[2]}, {lane_step_[1], lane_step_[2]}};
    return {data_ + offsets[0] * reducer_.itemsize, target};
  }

  /// Elements [begin, end) of the reduced dimensions, split in the middle down to runs that one stride can walk.
  void reduce_range(const Group& group, int64_t begin, int64_t end, char* states) const {
    int64_t lanes = group.target.lanes;
    int64_t first_segment = segment_ > 0 ? begin / segment_ : 0;
    if (begin == end || (end - 1) / segment_ == first_segment) {
      int64_t offset[1];
      reduced_.locate(begin, offset);
      const char* data = group.data + offset[0] * reducer_.itemsize;
      return reducer_.reduce({data, lane_step_[0], lanes, step_, end - begin, begin, by_columns_}, states);
    }
    int64_t segments = (end - 1) / segment_ - first_segment + 1;
    int64_t middle = (first_segment + segments / 2) * segment_;
    reduce_range(group, begin, middle, states);
    alignas(16) char right[kMaxLanes * kMaxStateBytes];
    reduce_range(group, middle, end, right);
    reducer_.join(states, right, lanes);
  }

  const Reducer& reducer_;
  const char* data_;
  Dims<3> kept_;
  Dims<1> reduced_;
  int64_t lane_step_[3];
  int64_t inner_, n_, segment_, step_, chunks_, width_, groups_in_row_;
  bool by_columns_;
};

}  // namespace

void run_reduction(const Reducer& reducer, const View& in, const View& out, const View& second) {
  Walk(reducer, in, out, second).run();
}

}  // namespace adjoint::cpu
