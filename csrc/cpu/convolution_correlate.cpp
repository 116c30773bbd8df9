// Convolutions by direct sums over taps and channels: images are packed with their padding, weights by panels of output
// channels, and the inner loops of the machine's instruction set keep a block of results in registers.
#include "cpu/convolution_plan.h"

#include <utility>

#include "cpu/convolution_detail.h"

namespace adjoint::cpu {
namespace {

/// Pixels whose sums are kept in the cache, and taps times channels that are added to them in one go.
constexpr int64_t kBandPixels = 256;
constexpr int64_t kBandDepth = 128;

/// Some rows of one phase, or some blocks of one row, for one panel of a group's output channels: the unit of work.
struct Piece {
  const ConvPhase* phase;
  int64_t panel;
  int64_t row, rows;      ///< rows are counted over the first two dimensions
  int64_t block, blocks;  ///< blocks of pixels in a row
};

template <class T>
class Correlator {
 public:
  explicit Correlator(const Correlation& plan)
      : plan_(plan), panels_(plan.out_channels), by_image_(plan.batch >= 2 * plan.threads) {
    slots_ = plan.threads == 1 ? 1 : int64_t{plan.threads} * 4;
    if (by_image_) slots_ = std::min(slots_, plan.batch);
    for (const ConvPhase& phase : plan.phases) {
      depth_ += phase.depth();
      add_pieces(phase);
    }
    const int64_t lanes = panels_.loops.lanes;
    sums_ = panels_.by_pixels ? 16 * lanes : (kBandPixels + 16) * 2 * lanes;
  }

  int64_t weights_size() const { return plan_.groups * depth_ * panels_.padded; }
  int64_t image_size() const { return plan_.image() + kImageSlack; }
  int64_t images() const { return by_image_ ? slots_ : plan_.batch; }
  int64_t scratch() const { return weights_size() + images() * image_size() + slots_ * sums_ + 64; }

  void run(const T* in, const T* weight, const T* bias, T* out, T* scratch) const {
    T* const weights = scratch;
    T* const copies = weights + weights_size();
    T* const sums = copies + images() * image_size();
    const Job job{in, weights, bias, out};
    if (static_cast<int64_t>(plan_.phases.size()) < phases_in_all()) fill_bias(bias, out);
    pack_weights(weight, weights);
    if (by_image_) {
      over_slots(plan_.batch, [&](int64_t slot, int64_t n) {
        T* copy = copies + slot * image_size();
        const T* image = image_or_copy(plan_, in, n, copy);
        for (int64_t g = 0; g < plan_.groups; ++g) {
          // What has just been packed is still in the cache.
          if (image == copy) pack_channels(in, n, g * plan_.in_channels, (g + 1) * plan_.in_channels, copy);
          for (const Piece& piece : pieces_) compute(job, piece, g, n, image, sums + slot * sums_);
        }
      });
      return;
    }
    const int64_t channels = plan_.groups * plan_.in_channels;
    over_slots(plan_.batch * channels, [&](int64_t, int64_t unit) {
      const int64_t n = unit / channels, c = unit % channels;
      T* copy = copies + n * image_size();
      if (image_or_copy(plan_, in, n, copy) == copy) pack_channels(in, n, c, c + 1, copy);
    });
    const auto pieces = static_cast<int64_t>(pieces_.size());
    over_slots(plan_.batch * plan_.groups * pieces, [&](int64_t slot, int64_t unit) {
      const int64_t n = unit / pieces / plan_.groups;
      const T* image = image_or_copy(plan_, in, n, copies + n * image_size());
      compute(job, pieces_[static_cast<size_t>(unit % pieces)], unit / pieces % plan_.groups, n, image,
              sums + slot * sums_);
    });
  }

 private:
  struct Job {
    const T* in;
    const T* weights;
    const T* bias;
    T* out;
  };

  /// body(slot, unit) for all units; no two calls at a time have the same slot.
  template <class Body>
  void over_slots(int64_t units, const Body& body) const {
    const int64_t slots = std::min(slots_, units);
    parallel_for(slots, slots_ == 1 ? slots : 1, [&](int64_t begin, int64_t end) {
      for (int64_t slot = begin; slot < end; ++slot) {
        for (int64_t unit = units * slot / slots; unit < units * (slot + 1) / slots; ++unit) body(slot, unit);
      }
    });
  }

  int64_t phases_in_all() const {
    return static_cast<int64_t>(plan_.classes[0].size() * plan_.classes[1].size() * plan_.classes[2].size());
  }

  /// Pixels of a block: few blocks, little waste at the end of the row.
  int64_t block_width(int64_t count) const {
    if (panels_.by_pixels) return panels_.loops.lanes;
    int64_t best = 2, best_cost = INT64_MAX;
    for (int64_t width = 2; width <= panels_.loops.most_pixels; width += 2) {
      const int64_t cost = (count + width - 1) / width * (width + 1);
      if (cost > best_cost) continue;
      best = width;
      best_cost = cost;
    }
    return best;
  }

  void add_pieces(const ConvPhase& phase) {
    const int64_t width = block_width(phase.axes[2]->count);
    const int64_t in_row = (phase.axes[2]->count + width - 1) / width;
    const int64_t most = std::max<int64_t>(1, (panels_.by_pixels ? 16 : 1) * kBandPixels / width);
    const int64_t blocks = std::min(in_row, most);
    const int64_t rows = std::max<int64_t>(1, most / blocks);
    for (int64_t panel = 0; panel < panels_.count; ++panel) {
      for (int64_t row = 0; row < phase.rows(); row += rows) {
        for (int64_t block = 0; block < in_row; block += blocks) {
          pieces_.push_back(
              {&phase, panel, row, std::min(rows, phase.rows() - row), block, std::min(blocks, in_row - block)});
        }
      }
    }
  }

  void pack_channels(const T* in, int64_t n, int64_t begin, int64_t end, T* copy) const {
    const int64_t channels = plan_.groups * plan_.in_channels;
    pack_image(plan_, in + n * channels * plan_.in_plane(), begin, end, copy);
    if (end == channels) std::fill_n(copy + plan_.image(), kImageSlack, T(0));
  }

  const T* weights_of(const T* weights, const ConvPhase& phase, int64_t group, int64_t panel) const {
    return weights + (phase.depth_before * plan_.groups + group * phase.depth()) * panels_.padded +
           panel * panels_.width * phase.depth();
  }

  /// [phase][group][panel][input channel and tap][output channel]
  void pack_weights(const T* weight, T* packed) const {
    const int64_t units = static_cast<int64_t>(plan_.phases.size()) * plan_.groups * panels_.count;
    over_slots(units, [&](int64_t, int64_t unit) {
      const int64_t panel = unit % panels_.count;
      const int64_t group = unit / panels_.count % plan_.groups;
      const ConvPhase& phase = plan_.phases[static_cast<size_t>(unit / panels_.count / plan_.groups)];
      T* const target = const_cast<T*>(weights_of(packed, phase, group, panel));
      const int64_t width = panels_.width_of(panel), used = panels_.used(panel);
      const T* from = weight + group * plan_.weight_group + panel * panels_.width * plan_.weight_out;
      // A few terms at a time, so that both sides stay in the cache.
      for (int64_t start = 0; start < phase.depth(); start += 16) {
        const int64_t end = std::min(phase.depth(), start + 16);
        for (int64_t o = 0; o < width; ++o) {
          const T* source = from + (o < used ? o : 0) * plan_.weight_out;
          for (int64_t k = start; k < end; ++k)
            target[k * width + o] = o < used ? source[phase.sources[static_cast<size_t>(k)]] : T(0);
        }
      }
    });
  }

  void fill_bias(const T* bias, T* out) const {
    const int64_t channels = plan_.groups * plan_.out_channels, size = plan_.out_plane();
    over_slots(plan_.batch * channels, [&](int64_t, int64_t unit) {
      std::fill_n(out + unit * size, size, bias ? bias[unit % channels] : T(0));
    });
  }

  void compute(const Job& job, const Piece& piece, int64_t group, int64_t n, const T* image, T* sums) const {
    const int64_t channel = group * plan_.out_channels + piece.panel * panels_.width;
    T* out = job.out + (n * plan_.groups * plan_.out_channels + channel) * plan_.out_plane();
    const T* bias = job.bias ? job.bias + channel : nullptr;
    const T* weights = weights_of(job.weights, *piece.phase, group, piece.panel);
    image += group * plan_.in_channels * plan_.plane;
    panels_.by_pixels ? channels_beside_pixels(piece, image, weights, bias, out, sums)
                      : pixels_beside_channels(piece, image, weights, bias, out, sums);
  }

  /// Walks over the rows of a phase: where one begins in the packed image, and in the output.
  struct Rows {
    const Correlation& plan;
    const ConvAxis &z_axis, &y_axis;
    int64_t z, y, first;
    int64_t line;  ///< terms of one tap of the first two dimensions

    Rows(const Correlation& correlation, const ConvPhase& phase, int64_t row)
        : plan(correlation), z_axis(*phase.axes[0]), y_axis(*phase.axes[1]), first(phase.axes[2]->first) {
      line = plan.in_channels * static_cast<int64_t>(phase.axes[2]->taps.size());
      z = row / y_axis.count;
      y = row % y_axis.count;
    }
    void next() {
      if (++y < y_axis.count) return;
      y = 0;
      ++z;
    }
    /// Those of the terms [begin, end) that remain when lines of padding at both ends are left out.
    std::pair<int64_t, int64_t> terms(int64_t begin, int64_t end) const {
      while (begin < end && is_padding(begin / line)) begin = std::min(end, (begin / line + 1) * line);
      while (begin < end && is_padding((end - 1) / line)) end = std::max(begin, (end - 1) / line * line);
      return {begin, end};
    }
    bool is_padding(int64_t tap) const {
      const auto taps = static_cast<int64_t>(y_axis.taps.size());
      const int64_t a = z * plan.step[0] + z_axis.offsets[static_cast<size_t>(tap / taps)];
      const int64_t b = y * plan.step[1] + y_axis.offsets[static_cast<size_t>(tap % taps)];
      return a < 0 || a >= plan.in[0] || b < 0 || b >= plan.in[1];
    }
    int64_t in() const { return (z * plan.step[0] * plan.span[1] + y * plan.step[1]) * plan.row; }
    int64_t out() const {
      return ((z_axis.first + z * z_axis.apart) * plan.out[1] + y_axis.first + y * y_axis.apart) * plan.out[2] + first;
    }
  };

  void pixels_beside_channels(const Piece& piece, const T* image, const T* weights, const T* bias, T* out,
                              T* sums) const {
    const ConvPhase& phase = *piece.phase;
    const int64_t count = phase.axes[2]->count, pixels = block_width(count);
    const int64_t width = panels_.width_of(piece.panel);
    const auto loop = panels_.loops.by_channels[width / panels_.loops.lanes - 1][pixels / 2 - 1];
    for (int64_t k = 0; k < phase.depth(); k += kBandDepth) {
      T* target = sums;
      Rows row(plan_, phase, piece.row);
      for (int64_t r = 0; r < piece.rows; ++r, row.next()) {
        const T* from = image + row.in() + piece.block * pixels;
        const auto [first, last] = row.terms(k, std::min(k + kBandDepth, phase.depth()));
        for (int64_t b = 0; b < piece.blocks; ++b, target += pixels * width) {
          if (first < last || k == 0)
            loop(from + b * pixels, phase.offsets.data() + first, last - first, weights + first * width, target, k > 0);
        }
      }
    }
    const int64_t first = piece.block * pixels, last = std::min(count, first + piece.blocks * pixels);
    const int64_t apart = phase.axes[2]->apart;
    for (int64_t o = 0; o < panels_.used(piece.panel); ++o) {
      const T term = bias ? bias[o] : T(0);
      Rows row(plan_, phase, piece.row);
      for (int64_t r = 0; r < piece.rows; ++r, row.next()) {
        T* to = out + o * plan_.out_plane() + row.out() + first * apart;
        const T* from = sums + r * piece.blocks * pixels * width + o;
        if (apart == 1) {
          for (int64_t x = 0; x < last - first; ++x) to[x] = from[x * width] + term;
        } else {
          for (int64_t x = 0; x < last - first; ++x) to[x * apart] = from[x * width] + term;
        }
      }
    }
  }

  void channels_beside_pixels(const Piece& piece, const T* image, const T* weights, const T* bias, T* out,
                              T* sums) const {
    const ConvPhase& phase = *piece.phase;
    const int64_t count = phase.axes[2]->count, lanes = panels_.loops.lanes, apart = phase.axes[2]->apart;
    const int64_t first = piece.block * lanes, last = std::min(count, first + piece.blocks * lanes);
    const int64_t used = panels_.used(piece.panel);
    const auto& loops = panels_.loops.by_pixels[panels_.width == 4];
    const int64_t wide = (panels_.width == 4 ? 2 : 4) * lanes;
    // Straight to its place, where that has room for whole vectors.
    const bool direct = apart == 1 && used == panels_.width && last - first >= lanes;
    T terms[4] = {};
    for (int64_t o = 0; bias && o < used; ++o) terms[o] = bias[o];
    Rows row(plan_, phase, piece.row);
    for (int64_t r = 0; r < piece.rows; ++r, row.next()) {
      const T* from = image + row.in();
      T* to = out + row.out();
      for (int64_t x = first; x < last; x += wide) {
        if (direct) x = std::min(x, last - lanes);
        const int64_t done = std::min(wide, last - x);
        loops[(done - 1) / lanes](from + x, phase.offsets.data(), phase.depth(), weights, terms, direct ? to + x : sums,
                                  direct ? plan_.out_plane() : wide, direct ? done - lanes : wide);
        for (int64_t o = 0; !direct && o < used; ++o) {
          T* target = to + o * plan_.out_plane() + x * apart;
          for (int64_t i = 0; i < done; ++i) target[i * apart] = sums[o * wide + i];
        }
      }
    }
  }

  const Correlation& plan_;
  const Panels<T> panels_;
  const bool by_image_;  ///< images are shared out, not pieces of them
  int64_t slots_, depth_ = 0, sums_;
  std::vector<Piece> pieces_;
};

}  // namespace

template <class T>
ADJOINT_SHORT_LOOPS void pack_image(const Correlation& plan, const T* in, int64_t begin, int64_t end, T* packed) {
  const int64_t step = plan.step[2];
  for (int64_t s = 0; s < step; ++s) {
    // Column i of this run is x = low + s + i * step; those from `from` to `to` lie in the input.
    const int64_t x = plan.low[2] + s;
    const int64_t from = std::clamp<int64_t>(x >= 0 ? 0 : (step - 1 - x) / step, 0, plan.columns);
    const int64_t to = std::clamp<int64_t>((plan.in[2] - x + step - 1) / step, from, plan.columns);
    for (int64_t c = begin; c < end; ++c) {
      T* run = packed + c * plan.plane + s * plan.columns;
      for (int64_t a = 0; a < plan.span[0]; ++a) {
        const int64_t z = plan.low[0] + a;
        for (int64_t b = 0; b < plan.span[1]; ++b, run += plan.row) {
          const int64_t y = plan.low[1] + b;
          if (z < 0 || z >= plan.in[0] || y < 0 || y >= plan.in[1]) {
            for (int64_t i = 0; i < plan.columns; ++i) run[i] = T(0);
            continue;
          }
          const T* source = in + ((c * plan.in[0] + z) * plan.in[1] + y) * plan.in[2];
          for (int64_t i = 0; i < from; ++i) run[i] = T(0);
          if (step == 1) {
            for (int64_t i = from; i < to; ++i) run[i] = source[x + i];
          } else if (step == 2) {
            for (int64_t i = from; i < to; ++i) run[i] = source[x + i * 2];
          } else {
            for (int64_t i = from; i < to; ++i) run[i] = source[x + i * step];
          }
          for (int64_t i = to; i < plan.columns; ++i) run[i] = T(0);
        }
      }
    }
  }
}

template <class T>
int64_t correlate_scratch(const Correlation& plan) {
  return Correlator<T>(plan).scratch();
}

template <class T>
void correlate(const Correlation& plan, const T* in, const T* weight, const T* bias, T* out, T* scratch) {
  Correlator<T>(plan).run(in, weight, bias, out, scratch);
}

#define ADJOINT_INSTANCES(T)                                                       \
  template void pack_image<T>(const Correlation&, const T*, int64_t, int64_t, T*); \
  template int64_t correlate_scratch<T>(const Correlation&);                       \
  template void correlate<T>(const Correlation&, const T*, const T*, const T*, T*, T*);
ADJOINT_INSTANCES(float)
ADJOINT_INSTANCES(double)
#undef ADJOINT_INSTANCES

}  // namespace adjoint::cpu
