// The gradient of a convolution's weight: products of the output's gradient and the shifted input, summed over
// positions and images.
#include "cpu/convolution_detail.h"

namespace adjoint::cpu {
namespace {

/// Images are summed in this many bands at most, whatever the number of threads; more memory than this for the bands'
/// sums is not worth it.
constexpr int64_t kBands = 16;
constexpr int64_t kBandElements = int64_t{1} << 20;
/// Elements that are packed before they are used, so that they are still in the cache.
constexpr int64_t kChunkElements = int64_t{1} << 18;

template <class T>
class WeightGrad {
 public:
  explicit WeightGrad(const Correlation& plan) : plan_(plan), panels_(plan.out_channels) {
    if (!plan.phases.empty()) depth_ = plan.phases[0].depth();
    const int64_t rows = panels_.loops.grad_rows, lanes = panels_.loops.lanes;
    blocks_ = (depth_ + rows - 1) / rows;
    row_ = panels_.by_pixels ? (plan.out[2] + lanes - 1) / lanes * lanes : plan.out[2];
    channels_ = panels_.by_pixels ? plan.out_channels : panels_.padded;
    grads_ = plan.groups * channels_ * plan.out[0] * plan.out[1] * row_;
    sums_ = plan.groups * channels_ * blocks_ * rows;
    bands_ = std::min(plan.batch, kBands);
    by_band_ = plan.batch >= 4 && bands_ * sums_ <= kBandElements;
    if (!by_band_) bands_ = 1;
    images_ =
        by_band_ ? 1 : std::clamp<int64_t>(kChunkElements / std::max<int64_t>(1, image_size() + grads_), 1, plan.batch);
    walk_ = {{plan.out[0], plan.out[1], plan.out[2]},
             {plan.step[0] * plan.span[1] * plan.row, plan.step[1] * plan.row}};
  }

  int64_t scratch() const { return bands_ * (sums_ + images_ * (image_size() + grads_)); }

  void run(const T* grad, const T* in, T* weight, T* scratch) const {
    std::fill_n(scratch, bands_ * sums_, T(0));
    T* const copies = scratch + bands_ * sums_;
    T* const grads = copies + bands_ * images_ * image_size();
    by_band_ ? sum_by_bands(grad, in, scratch, copies, grads) : sum_by_chunks(grad, in, scratch, copies, grads);
    write(scratch, weight);
  }

 private:
  int64_t image_size() const { return plan_.image() + kImageSlack; }
  int64_t units() const { return plan_.groups * (panels_.by_pixels ? plan_.out_channels : panels_.count) * blocks_; }

  template <class Body>
  void share(int64_t units, const Body& body) const {
    parallel_for(units, plan_.threads == 1 ? units : 1, [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) body(unit);
    });
  }

  void sum_by_bands(const T* grad, const T* in, T* sums, T* copies, T* grads) const {
    share(bands_, [&](int64_t band) {
      T* copy = copies + band * image_size();
      T* packed = grads + band * grads_;
      for (int64_t n = plan_.batch * band / bands_; n < plan_.batch * (band + 1) / bands_; ++n) {
        const T* image = image_or_copy(plan_, in, n, copy);
        if (image == copy) pack_channels(in, n, 0, plan_.groups * plan_.in_channels, copy);
        for (int64_t panel = 0; panel < plan_.groups * panels_.count; ++panel) pack_grad(grad, n, panel, packed);
        for (int64_t unit = 0; unit < units(); ++unit) add(unit, image, packed, sums + band * sums_);
      }
    });
  }

  void sum_by_chunks(const T* grad, const T* in, T* sums, T* copies, T* grads) const {
    const int64_t channels = plan_.groups * plan_.in_channels, panels = plan_.groups * panels_.count;
    for (int64_t start = 0; start < plan_.batch; start += images_) {
      const int64_t count = std::min(images_, plan_.batch - start);
      share(count * (channels + panels), [&](int64_t unit) {
        const int64_t i = unit / (channels + panels), part = unit % (channels + panels);
        if (part < channels) {
          T* copy = copies + i * image_size();
          if (image_or_copy(plan_, in, start + i, copy) == copy) pack_channels(in, start + i, part, part + 1, copy);
        } else {
          pack_grad(grad, start + i, part - channels, grads + i * grads_);
        }
      });
      share(units(), [&](int64_t unit) {
        for (int64_t i = 0; i < count; ++i)
          add(unit, image_or_copy(plan_, in, start + i, copies + i * image_size()), grads + i * grads_, sums);
      });
    }
  }

  void pack_channels(const T* in, int64_t n, int64_t begin, int64_t end, T* copy) const {
    const int64_t channels = plan_.groups * plan_.in_channels;
    pack_image(plan_, in + n * channels * plan_.in_plane(), begin, end, copy);
    if (begin == 0) std::fill_n(copy + plan_.image(), kImageSlack, T(0));
  }

  /// One panel of an image's gradient: [position][channel], or for few channels rows that are filled up with zeros.
  ADJOINT_SHORT_LOOPS void pack_grad(const T* grad, int64_t n, int64_t unit, T* packed) const {
    const int64_t group = unit / panels_.count, panel = unit % panels_.count;
    const int64_t size = plan_.out_plane(), used = panels_.used(panel);
    const int64_t channel = group * plan_.out_channels + panel * panels_.width;
    const T* from = grad + (n * plan_.groups * plan_.out_channels + channel) * size;
    if (panels_.by_pixels) {
      const int64_t rows = plan_.out[0] * plan_.out[1], columns = plan_.out[2];
      T* to = packed + channel * rows * row_;
      for (int64_t r = 0; r < used * rows; ++r, from += columns, to += row_) {
        for (int64_t i = 0; i < columns; ++i) to[i] = from[i];
        for (int64_t i = columns; i < row_; ++i) to[i] = T(0);
      }
      return;
    }
    const int64_t width = panels_.width_of(panel);
    T* to = packed + (group * channels_ + panel * panels_.width) * size;
    // A few positions at a time, so that both sides stay in the cache.
    for (int64_t start = 0; start < size; start += 16) {
      const int64_t end = std::min(size, start + 16);
      for (int64_t o = 0; o < width; ++o) {
        for (int64_t q = start; q < end; ++q) to[q * width + o] = o < used ? from[o * size + q] : T(0);
      }
    }
  }

  /// Adds one image's part of one block: some taps and input channels, by one panel of output channels.
  void add(int64_t unit, const T* image, const T* grads, T* sums) const {
    const int64_t rows = panels_.loops.grad_rows, size = plan_.out[0] * plan_.out[1] * row_;
    const int64_t panels = panels_.by_pixels ? plan_.out_channels : panels_.count;
    const int64_t width = panels_.by_pixels ? 1 : panels_.width;
    const int64_t block = unit % blocks_, panel = unit / blocks_ % panels, group = unit / blocks_ / panels;
    const int64_t channel = group * channels_ + panel * width;
    const T* pointers[8];
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t k = std::min(block * rows + r, depth_ - 1);
      pointers[r] = image + group * plan_.in_channels * plan_.plane + plan_.phases[0].offsets[static_cast<size_t>(k)];
    }
    const int64_t mine = panels_.by_pixels ? 1 : panels_.width_of(panel);
    T* target = sums + channel * blocks_ * rows + block * rows * mine;
    const T* grad = grads + channel * size;
    if (panels_.by_pixels) {
      panels_.loops.grad_by_pixels(pointers, walk_, grad, target);
    } else {
      panels_.loops.grad_by_channels[mine / panels_.loops.lanes - 1](pointers, walk_, grad, target);
    }
  }

  /// The bands' sums, each in its place in the weight.
  void write(const T* sums, T* weight) const {
    const int64_t depth = blocks_ * panels_.loops.grad_rows;
    share(plan_.groups * plan_.out_channels, [&](int64_t unit) {
      const int64_t group = unit / plan_.out_channels, o = unit % plan_.out_channels;
      const int64_t panel = panels_.by_pixels ? o : o / panels_.width;
      const int64_t width = panels_.by_pixels ? 1 : panels_.width_of(panel);
      const int64_t lead = panels_.by_pixels ? o : panel * panels_.width;
      const T* from = sums + (group * channels_ + lead) * depth + (o - lead);
      T* to = weight + unit * depth_;
      for (int64_t k = 0; k < depth_; ++k) {
        T sum = from[k * width];
        for (int64_t band = 1; band < bands_; ++band) sum += from[band * sums_ + k * width];
        to[plan_.phases[0].sources[static_cast<size_t>(k)]] = sum;
      }
    });
  }

  const Correlation& plan_;
  const Panels<T> panels_;
  int64_t depth_ = 0;  ///< input channels times taps
  int64_t blocks_;     ///< of them
  int64_t row_;        ///< of packed gradients
  int64_t channels_;   ///< of a group, with those that only fill up
  int64_t grads_, sums_, bands_, images_;
  bool by_band_;  ///< images are shared out, not parts of the weight
  GradWalk walk_;
};

}  // namespace

template <class T>
int64_t conv_weight_scratch(const Correlation& plan) {
  return WeightGrad<T>(plan).scratch();
}

template <class T>
void conv_weight(const Correlation& plan, const T* grad, const T* in, T* weight, T* scratch) {
  WeightGrad<T>(plan).run(grad, in, weight, scratch);
}

template int64_t conv_weight_scratch<float>(const Correlation&);
template int64_t conv_weight_scratch<double>(const Correlation&);
template void conv_weight<float>(const Correlation&, const float*, const float*, float*, float*);
template void conv_weight<double>(const Correlation&, const double*, const double*, double*, double*);

}  // namespace adjoint::cpu
