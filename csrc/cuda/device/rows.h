// Rows of elements in the registers of some threads.
#pragma once

#include "block.h"
#include "cpu/math.h"

namespace adjoint::cuda {

/// A row's elements that one of `group` threads has: packet p begins at (p * group + lane) * width.
template <class A, int group, int packets, int width>
struct RowPart {
  A values[packets * width];

  template <class S, bool packed>
  void load(const S* row, int64_t step, int lane, int n, A otherwise) {
#pragma unroll
    for (int p = 0; p < packets; ++p) {
      const int first = (p * group + lane) * width;
      if constexpr (packed) {
        Packet<S, width> packet;
        if (first < n) packet = load_packet<width, true>(row + first);
#pragma unroll
        for (int i = 0; i < width; ++i) values[p * width + i] = first < n ? convert<A>(packet.values[i]) : otherwise;
      } else {
#pragma unroll
        for (int i = 0; i < width; ++i)
          values[p * width + i] = first + i < n ? convert<A>(row[(first + i) * step]) : otherwise;
      }
    }
  }
  template <class S, bool packed>
  void store(S* row, int64_t step, int lane, int n) const {
#pragma unroll
    for (int p = 0; p < packets; ++p) {
      const int first = (p * group + lane) * width;
      if constexpr (packed) {
        Packet<S, width> packet;
#pragma unroll
        for (int i = 0; i < width; ++i) packet.values[i] = convert<S>(values[p * width + i]);
        if (first < n) store_packet<true>(packet, row + first);
      } else {
#pragma unroll
        for (int i = 0; i < width; ++i)
          if (first + i < n) row[(first + i) * step] = convert<S>(values[p * width + i]);
      }
    }
  }
};

}  // namespace adjoint::cuda
