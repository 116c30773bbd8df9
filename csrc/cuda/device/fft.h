// What is left to do around cuFFT.
#pragma once

#include "core/dtype.h"
#include "fft_args.h"
#include "kernel.h"

namespace adjoint::cuda {

/// Halves of spectra of real values: what must be real becomes so, as cuFFT asks for it. Each thread has one line.
template <class R>
inline void make_ends_real(const HalfLinesArgs& args) {
  const int64_t line = thread_number<int64_t>();
  if (line >= args.lines) return;
  auto* first = reinterpret_cast<std::complex<R>*>(args.data) + line * args.distance;
  first[0] = std::complex<R>(first[0].real(), R(0));
  if (args.n % 2 != 0) return;
  auto* last = first + args.n / 2 * args.stride;
  *last = std::complex<R>(last->real(), R(0));
}

}  // namespace adjoint::cuda
