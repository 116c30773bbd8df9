// Matrix products of any type and any strides: small ones, those of integers, and all where there is no cuBLAS.
#pragma once

#include "core/dtype.h"
#include "kernel.h"
#include "matmul_args.h"

namespace adjoint::cuda {

/// Each block has a tile of c of this side, each thread 4 x 4 elements of it; `kDepth` columns of a at a time.
inline constexpr int kSide = 64, kDepth = 16, kEach = 4, kTileThreads = 256;

/// A tile of rows or columns of a matrix, in shared memory, by depth. Threads that follow each other read what lies
/// side by side. Beyond the matrix there are zeros.
template <class T, class Stored>
inline void load_tile(T (*tile)[kSide + kEach], const Stored* from, int64_t across_step, int64_t depth_step,
                      int64_t across, int64_t depth) {
  const bool along_depth = depth_step == 1;
#pragma unroll
  for (int round = 0; round < kSide * kDepth / kTileThreads; ++round) {
    const int number = round * kTileThreads + static_cast<int>(threadIdx.x);
    const int i = along_depth ? number / kDepth : number % kSide, l = along_depth ? number % kDepth : number / kSide;
    tile[l][i] = i < across && l < depth ? convert<T>(from[i * across_step + l * depth_step]) : T(0);
  }
}

template <class T, class Stored>
inline void store_tile(const ProductArgs& args, Stored* c, const T (&sums)[kEach][kEach], int64_t row, int64_t col) {
  const T alpha = *reinterpret_cast<const T*>(args.alpha.bytes), beta = *reinterpret_cast<const T*>(args.beta.bytes);
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      if (row + i >= args.m || col + j >= args.n) continue;
      Stored* place = c + (row + i) * args.c.row + (col + j) * args.c.col;
      T value = alpha * sums[i][j];
      if (args.reads_c) value = value + beta * convert<T>(*place);
      *place = convert<Stored>(value);
    }
  }
}

/// c = alpha * a @ b + beta * c, summed in T. Tiles are counted along blockIdx.x, matrices along blockIdx.y.
template <class T, class Stored>
inline void product(const ProductArgs& args) {
  alignas(16) __shared__ T left[kDepth][kSide + kEach];
  alignas(16) __shared__ T right[kDepth][kSide + kEach];
  const int64_t tiles_across = (args.n + kSide - 1) / kSide;
  const int64_t row = blockIdx.x / tiles_across * kSide, col = blockIdx.x % tiles_across * kSide;
  const int down = static_cast<int>(threadIdx.x) / (kSide / kEach) * kEach;
  const int across = static_cast<int>(threadIdx.x) % (kSide / kEach) * kEach;
  for (int64_t number = blockIdx.y; number < args.batch; number += gridDim.y) {
    const Stored* a = reinterpret_cast<const Stored*>(args.a.data) + number * args.a.batch + row * args.a.row;
    const Stored* b = reinterpret_cast<const Stored*>(args.b.data) + number * args.b.batch + col * args.b.col;
    T sums[kEach][kEach];
#pragma unroll
    for (int i = 0; i < kEach * kEach; ++i) sums[i / kEach][i % kEach] = T(0);
    for (int64_t depth = 0; depth < args.k; depth += kDepth) {
      load_tile<T>(left, a + depth * args.a.col, args.a.row, args.a.col, args.m - row, args.k - depth);
      load_tile<T>(right, b + depth * args.b.row, args.b.col, args.b.row, args.n - col, args.k - depth);
      __syncthreads();
      for (int l = 0; l < kDepth; ++l) {
        T x[kEach], y[kEach];
#pragma unroll
        for (int i = 0; i < kEach; ++i) x[i] = left[l][down + i], y[i] = right[l][across + i];
#pragma unroll
        for (int i = 0; i < kEach * kEach; ++i)
          sums[i / kEach][i % kEach] = sums[i / kEach][i % kEach] + x[i / kEach] * y[i % kEach];
      }
      __syncthreads();
    }
    store_tile(args, reinterpret_cast<Stored*>(args.c.data) + number * args.c.batch, sums, row + down, col + across);
  }
}

/// c = alpha * a @ b + beta * added, where sums are few and short: each thread has one.
template <class T, class Stored>
inline void small_product(const SmallProductArgs& args) {
  const uint32_t number = thread_number<uint32_t>(), area = args.m * args.n;
  if (number >= args.batch * area) return;
  const int64_t matrix = number / area, row = number % area / args.n, col = number % area % args.n;
  auto at = [&](const Matrices& x, int64_t i, int64_t j) {
    return reinterpret_cast<Stored*>(x.data) + matrix * x.batch + i * x.row + j * x.col;
  };
  const Stored *a = at(args.a, row, 0), *b = at(args.b, 0, col);
  T sum = T(0);
#pragma unroll 4
  for (uint32_t l = 0; l < args.k; ++l) {
    sum = sum + convert<T>(*a) * convert<T>(*b);
    a += args.a.col;
    b += args.b.row;
  }
  T value = *reinterpret_cast<const T*>(args.alpha.bytes) * sum;
  if (args.adds) value = value + *reinterpret_cast<const T*>(args.beta.bytes) * convert<T>(*at(args.added, row, col));
  *at(args.c, row, col) = convert<Stored>(value);
}

}  // namespace adjoint::cuda
