#include "cpu/grid_isa.h"

namespace adjoint::cpu {
namespace {

template <class T>
void sample_points(const T* __restrict plane, const int32_t* offset, const T* weight, const BitsOf<T>* mask, int taps,
                   int64_t count, T* __restrict out) {
  for (int64_t p = 0; p < count; ++p) out[p] = kept(weight[p] * plane[offset[p]], mask[p]);
  for (int t = 1; t < taps; ++t) {
    offset += kGridBlock;
    weight += kGridBlock;
    mask += kGridBlock;
    for (int64_t p = 0; p < count; ++p) out[p] += kept(weight[p] * plane[offset[p]], mask[p]);
  }
}

template <class T>
constexpr GridLoops<T> kLoops = {.sample_points = sample_points<T>};

}  // namespace

template <class T>
template <Isa>
GridLoops<T> GridLoops<T>::compiled() {
  return kLoops<T>;
}
template GridLoops<float> GridLoops<float>::compiled<kIsa>();
template GridLoops<double> GridLoops<double>::compiled<kIsa>();

}  // namespace adjoint::cpu
