// Convolutions: the choice between the two ways to compute them, and the parts of complex weights.
#include "cpu/convolution.h"

#include "core/lock.h"
#include "cpu/allocator.h"
#include "cpu/convolution_plan.h"

namespace adjoint::cpu {
namespace {

/// Memory for so many elements; to be had only with the interpreter lock.
template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t elements)
      : storage_(StoragePtr::steal(allocate(static_cast<size_t>(elements) * sizeof(T), Device()))) {}
  T* data() const { return reinterpret_cast<T*>(storage_->data); }

 private:
  StoragePtr storage_;
};

template <class T>
void spread_all(const ConvShape& shape, bool transposed, const View& in, const View& weight, const View* bias,
                const View& out) {
  WithoutLock unlocked(out.numel());
  spread(shape, transposed, in.as<const T>(), weight.as<const T>(), data_of<const T>(bias), out.as<T>());
}

/// f(element, re re, re im, im re, im im) for all weights, by (first, second) part.
template <class R, class F>
void each_weight(const View& complex, const View& real, F f) {
  const int64_t groups = complex.sizes[0], first = complex.sizes[1], inner = complex.sizes[2] * complex.sizes[3];
  auto* weight = complex.as<std::complex<R>>();
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t a = 0; a < first; ++a) {
      for (int64_t b = 0; b < inner; ++b, ++weight) {
        auto place = [&](int64_t i, int64_t j) {
          return real.as<R>() + (((g * 2 + i) * first + a) * 2 + j) * inner + b;
        };
        f(*weight, place(0, 0), place(0, 1), place(1, 0), place(1, 1));
      }
    }
  }
}

}  // namespace

void convolution(const ConvShape& shape, bool transposed, const View& in, const View& weight, const View* bias,
                 const View& out) {
  if (is_integral(out.dtype)) return spread_all<uint64_t>(shape, transposed, in, weight, bias, out);
  dispatch_real(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    if (mostly_padding(shape, transposed)) return spread_all<T>(shape, transposed, in, weight, bias, out);
    Correlation plan(shape, transposed);
    Scratch<T> scratch(correlate_scratch<T>(plan));
    WithoutLock unlocked(plan.work() >> 4);
    correlate<T>(plan, in.as<const T>(), weight.as<const T>(), data_of<const T>(bias), out.as<T>(), scratch.data());
  });
}

void convolution_weight(const ConvShape& shape, const View& grad, const View& in, const View& out) {
  dispatch_real(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    if (mostly_padding(shape, false)) {
      WithoutLock unlocked(out.numel());
      return spread_weight(shape, grad.as<const T>(), in.as<const T>(), out.as<T>());
    }
    Correlation plan(shape, false);
    Scratch<T> scratch(conv_weight_scratch<T>(plan));
    WithoutLock unlocked(plan.work() >> 4);
    conv_weight<T>(plan, grad.as<const T>(), in.as<const T>(), out.as<T>(), scratch.data());
  });
}

void split_conv_weight(const View& complex, const View& real, bool transposed) {
  dispatch_real(complex.dtype, [&](auto tag) {
    using R = decltype(tag);
    // An imaginary input makes -w.imag of a real output.
    each_weight<R>(complex, real, [&](std::complex<R>& w, R* rr, R* ri, R* ir, R* ii) {
      *rr = *ii = w.real();
      *ri = transposed ? w.imag() : -w.imag();
      *ir = transposed ? -w.imag() : w.imag();
    });
  });
}

void join_conv_weight(const View& real, const View& complex) {
  dispatch_real(complex.dtype, [&](auto tag) {
    using R = decltype(tag);
    each_weight<R>(complex, real, [](std::complex<R>& w, R* rr, R* ri, R* ir, R* ii) { w = {*rr - *ii, *ri + *ir}; });
  });
}

}  // namespace adjoint::cpu
