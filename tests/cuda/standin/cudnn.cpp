// A stand-in for cuDNN's convolutions, as csrc/cuda/cudnn.cpp calls them: plain loops, when the driver's work is done.
// Nothing finds it under cuDNN's name unless a test makes a link of that name.
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "driver.h"
#include "halves.h"

namespace {

constexpr int kSuccess = 0, kBadParameter = 2000, kWorkspace = 4096, kChosen = 5;
constexpr int kFloat = 0, kDouble = 1, kHalf = 2, kBrain = 9, kTensorCores = 1;

/// Of a tensor, a filter or a convolution.
struct Descriptor {
  int type = -1;
  std::vector<int> sizes, strides, padding, steps, dilation;
  int groups = 1, math = -1;
};

/// As cuDNN fills it.
struct Algorithm {
  int number, status;
  float time;
  size_t memory;
  int determinism, math;
  int reserved[3];
};

/// Whether a filter takes the wide tensor to the narrow one.
bool fit(const Descriptor& wide, const Descriptor& filter, const Descriptor& convolution, const Descriptor& narrow) {
  const size_t dims = convolution.padding.size();
  if (wide.sizes.size() != dims + 2 || narrow.sizes.size() != dims + 2 || filter.sizes.size() != dims + 2) return false;
  if (wide.sizes[0] != narrow.sizes[0] || wide.sizes[1] != filter.sizes[1] * convolution.groups) return false;
  if (narrow.sizes[1] != filter.sizes[0] || filter.sizes[0] % convolution.groups != 0 || convolution.math < 0)
    return false;
  for (size_t d = 0; d < dims; ++d) {
    const int reach = convolution.dilation[d] * (filter.sizes[d + 2] - 1) + 1;
    const int size = (wide.sizes[d + 2] + 2 * convolution.padding[d] - reach) / convolution.steps[d] + 1;
    if (narrow.sizes[d + 2] != size) return false;
  }
  return true;
}

/// visit(wide element, filter element, narrow element) for all products of a convolution.
template <class Visit>
void each_product(const Descriptor& wide, const Descriptor& filter, const Descriptor& convolution,
                  const Descriptor& narrow, Visit visit) {
  const size_t dims = convolution.padding.size();
  int64_t positions = 1, taps = 1, plane = 1;
  for (size_t d = 2; d < dims + 2; ++d) positions *= narrow.sizes[d], taps *= filter.sizes[d], plane *= wide.sizes[d];
  const int made = narrow.sizes[1], taken = filter.sizes[1], made_each = made / convolution.groups;
  for (int64_t n = 0; n < wide.sizes[0]; ++n)
    for (int64_t o = 0; o < made; ++o)
      for (int64_t p = 0; p < positions; ++p)
        for (int64_t i = 0; i < taken; ++i)
          for (int64_t t = 0; t < taps; ++t) {
            int64_t rest_p = p, rest_t = t, at = 0, step = 1;
            bool inside = true;
            for (size_t d = dims; d-- > 0;) {
              const int64_t x = rest_p % narrow.sizes[d + 2] * convolution.steps[d] - convolution.padding[d] +
                                rest_t % filter.sizes[d + 2] * convolution.dilation[d];
              inside = inside && x >= 0 && x < wide.sizes[d + 2];
              at += x * step;
              step *= wide.sizes[d + 2];
              rest_p /= narrow.sizes[d + 2];
              rest_t /= filter.sizes[d + 2];
            }
            if (!inside) continue;
            const int64_t channel = o / made_each * taken + i;
            visit((n * wide.sizes[1] + channel) * plane + at, (o * taken + i) * taps + t,
                  (n * made + o) * positions + p);
          }
}

int64_t count(const Descriptor& descriptor) {
  int64_t n = 1;
  for (int size : descriptor.sizes) n *= size;
  return n;
}

enum class Way { Forward, Data, Filter };

/// Elements stored as S, numbers in T.
template <class S, class T>
void convolve(Way way, Descriptor wide, Descriptor filter, Descriptor convolution, Descriptor narrow, const void* first,
              const void* second, void* result, T alpha, T beta) {
  const auto *a = static_cast<const S*>(first), *b = static_cast<const S*>(second);
  auto* out = static_cast<S*>(result);
  std::vector<double> sums(static_cast<size_t>(count(way == Way::Forward ? narrow : way == Way::Data ? wide : filter)));
  each_product(wide, filter, convolution, narrow, [&](int64_t w, int64_t f, int64_t n) {
    if (way == Way::Forward) sums[static_cast<size_t>(n)] += double(load(a[w])) * load(b[f]);
    if (way == Way::Data) sums[static_cast<size_t>(w)] += double(load(a[f])) * load(b[n]);
    if (way == Way::Filter) sums[static_cast<size_t>(f)] += double(load(a[w])) * load(b[n]);
  });
  for (size_t i = 0; i < sums.size(); ++i)
    store(out[i], T(alpha * sums[i] + (beta == T(0) ? T(0) : beta * T(load(out[i])))));
}

int algorithms(bool fits, int math, int requested, int* returned, Algorithm* found) {
  if (!fits) return kBadParameter;
  // The first two are to be left out: one differs from time to time, one is not there.
  const Algorithm all[] = {{0, 0, 1, 0, 0, 0, {}}, {1, 1, 1, 0, 1, 0, {}}, {kChosen, 0, 2, kWorkspace, 1, math, {}}};
  *returned = requested < 3 ? requested : 3;
  for (int i = 0; i < *returned; ++i) found[i] = all[i];
  return kSuccess;
}

int workspace_size(int algorithm, size_t* size) {
  *size = kWorkspace;
  return algorithm == kChosen ? kSuccess : kBadParameter;
}

int run(Way way, const Descriptor& wide, const Descriptor& filter, const Descriptor& convolution,
        const Descriptor& narrow, const void* first, const void* second, void* result, const void* alpha,
        const void* beta, int algorithm, size_t size) {
  if (const int code = standin::begin_call("cudnnConvolution")) return code;
  if (algorithm != kChosen || size < kWorkspace || !fit(wide, filter, convolution, narrow)) return kBadParameter;
  if (wide.type != filter.type || wide.type != narrow.type || convolution.type != (wide.type == kDouble ? 1 : 0))
    return kBadParameter;
  auto queue = [&]<class S, class T>(S, T) {
    T one, other;
    std::memcpy(&one, alpha, sizeof(T));
    std::memcpy(&other, beta, sizeof(T));
    standin::enqueue(
        [=] { convolve<S, T>(way, wide, filter, convolution, narrow, first, second, result, one, other); });
  };
  const bool halves = wide.type == kHalf || wide.type == kBrain;
  if (halves) standin::begin_call("cudnnConvolution of halves");
  if (halves != (convolution.math == kTensorCores)) return kBadParameter;
  switch (wide.type) {
    case kFloat: queue(float(), float()); break;
    case kDouble: queue(double(), double()); break;
    case kHalf: queue(HalfBits(), float()); break;
    case kBrain: queue(BrainBits(), float()); break;
    default: return kBadParameter;
  }
  return kSuccess;
}

int create(Descriptor** descriptor) {
  *descriptor = new Descriptor;
  return kSuccess;
}
int destroy(Descriptor* descriptor) {
  delete descriptor;
  return kSuccess;
}

}  // namespace

extern "C" {

size_t cudnnGetVersion() { return 91002; }
int cudnnCreate(void** handle) {
  *handle = reinterpret_cast<void*>(0x30);
  return kSuccess;
}
int cudnnSetStream(void*, void*) { return kSuccess; }
int cudnnCreateTensorDescriptor(Descriptor** descriptor) { return create(descriptor); }
int cudnnCreateFilterDescriptor(Descriptor** descriptor) { return create(descriptor); }
int cudnnCreateConvolutionDescriptor(Descriptor** descriptor) { return create(descriptor); }
int cudnnDestroyTensorDescriptor(Descriptor* descriptor) { return destroy(descriptor); }
int cudnnDestroyFilterDescriptor(Descriptor* descriptor) { return destroy(descriptor); }
int cudnnDestroyConvolutionDescriptor(Descriptor* descriptor) { return destroy(descriptor); }
int cudnnSetTensorNdDescriptor(Descriptor* descriptor, int type, int dims, const int* sizes, const int* strides) {
  if (dims < 3) return kBadParameter;
  descriptor->type = type;
  descriptor->sizes.assign(sizes, sizes + dims);
  descriptor->strides.assign(strides, strides + dims);
  for (int d = 0; d + 1 < dims; ++d)
    if (strides[d] != strides[d + 1] * sizes[d + 1]) return kBadParameter;
  return kSuccess;
}
int cudnnSetFilterNdDescriptor(Descriptor* descriptor, int type, int format, int dims, const int* sizes) {
  if (dims < 4 || format != 0) return kBadParameter;
  descriptor->type = type;
  descriptor->sizes.assign(sizes, sizes + dims);
  return kSuccess;
}
int cudnnSetConvolutionNdDescriptor(Descriptor* descriptor, int dims, const int* padding, const int* steps,
                                    const int* dilation, int mode, int type) {
  if (mode != 1) return kBadParameter;
  descriptor->type = type;
  descriptor->padding.assign(padding, padding + dims);
  descriptor->steps.assign(steps, steps + dims);
  descriptor->dilation.assign(dilation, dilation + dims);
  return kSuccess;
}
int cudnnSetConvolutionGroupCount(Descriptor* descriptor, int groups) {
  descriptor->groups = groups;
  return kSuccess;
}
int cudnnSetConvolutionMathType(Descriptor* descriptor, int math) {
  descriptor->math = math;
  return kSuccess;
}

int cudnnGetConvolutionForwardAlgorithm_v7(void*, Descriptor* x, Descriptor* w, Descriptor* c, Descriptor* y,
                                           int requested, int* returned, Algorithm* found) {
  return algorithms(fit(*x, *w, *c, *y), c->math, requested, returned, found);
}
int cudnnGetConvolutionBackwardDataAlgorithm_v7(void*, Descriptor* w, Descriptor* dy, Descriptor* c, Descriptor* dx,
                                                int requested, int* returned, Algorithm* found) {
  return algorithms(fit(*dx, *w, *c, *dy), c->math, requested, returned, found);
}
int cudnnGetConvolutionBackwardFilterAlgorithm_v7(void*, Descriptor* x, Descriptor* dy, Descriptor* c, Descriptor* dw,
                                                  int requested, int* returned, Algorithm* found) {
  return algorithms(fit(*x, *dw, *c, *dy), c->math, requested, returned, found);
}
int cudnnGetConvolutionForwardWorkspaceSize(void*, Descriptor*, Descriptor*, Descriptor*, Descriptor*, int algorithm,
                                            size_t* size) {
  return workspace_size(algorithm, size);
}
int cudnnGetConvolutionBackwardDataWorkspaceSize(void*, Descriptor*, Descriptor*, Descriptor*, Descriptor*,
                                                 int algorithm, size_t* size) {
  return workspace_size(algorithm, size);
}
int cudnnGetConvolutionBackwardFilterWorkspaceSize(void*, Descriptor*, Descriptor*, Descriptor*, Descriptor*,
                                                   int algorithm, size_t* size) {
  return workspace_size(algorithm, size);
}
int cudnnConvolutionForward(void*, const void* alpha, Descriptor* xd, const void* x, Descriptor* wd, const void* w,
                            Descriptor* c, int algorithm, void*, size_t size, const void* beta, Descriptor* yd,
                            void* y) {
  return run(Way::Forward, *xd, *wd, *c, *yd, x, w, y, alpha, beta, algorithm, size);
}
int cudnnConvolutionBackwardData(void*, const void* alpha, Descriptor* wd, const void* w, Descriptor* dyd,
                                 const void* dy, Descriptor* c, int algorithm, void*, size_t size, const void* beta,
                                 Descriptor* dxd, void* dx) {
  return run(Way::Data, *dxd, *wd, *c, *dyd, w, dy, dx, alpha, beta, algorithm, size);
}
int cudnnConvolutionBackwardFilter(void*, const void* alpha, Descriptor* xd, const void* x, Descriptor* dyd,
                                   const void* dy, Descriptor* c, int algorithm, void*, size_t size, const void* beta,
                                   Descriptor* dwd, void* dw) {
  return run(Way::Filter, *xd, *dwd, *c, *dyd, x, dy, dw, alpha, beta, algorithm, size);
}

}  // extern "C"
