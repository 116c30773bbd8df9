// Rows are taken in tiles, whose scores fit the cache; scores that a causal mask would hide are mostly not computed.
#include "cpu/attention.h"

#include <algorithm>

#include "cpu/attention_drops.h"
#include "cpu/matmul.h"
#include "cpu/reduce_rows.h"
#include "cpu/softmax.h"

namespace adjoint::cpu {
namespace {

using kernels::AttentionInputs;

/// Rows of the queries in a tile.
constexpr int64_t kTileRows = 32;

template <class T>
struct Matrix2 {
  T* data;
  int64_t sizes[2], strides[2];

  View view() const {
    return {const_cast<char*>(reinterpret_cast<const char*>(data)), DTypeOf<T>::value, 2, sizes, strides};
  }
  T* row(int64_t i) const { return data + i * strides[0]; }
  Matrix2 rows(int64_t begin, int64_t count) const { return {row(begin), {count, sizes[1]}, {strides[0], strides[1]}}; }
  Matrix2 transposed() const { return {data, {sizes[1], sizes[0]}, {strides[1], strides[0]}}; }
};

/// The rows of one head.
template <class T>
Matrix2<T> head_of(const View& view, int64_t head) {
  const int64_t batch = head / view.sizes[1], number = head % view.sizes[1];
  // A single row has no next one: its stride may be anything.
  const int64_t step = view.sizes[2] == 1 ? view.sizes[3] : view.strides[2];
  return {view.as<T>() + batch * view.strides[0] + number * view.strides[1], {view.sizes[2], view.sizes[3]}, {step, 1}};
}

template <class T>
Matrix2<T> packed(char* data, int64_t rows, int64_t columns) {
  return {reinterpret_cast<T*>(data), {rows, columns}, {columns, 1}};
}

/// Keys that row `row` of the queries looks at.
int64_t keys_of(const AttentionInputs& of, int64_t row) {
  return of.causal ? std::min(row + 1, of.key.sizes[2]) : of.key.sizes[2];
}

template <class T>
void forward(const AttentionInputs& of, const View& out, const View& logsumexp) {
  const int64_t heads = of.query.sizes[0] * of.query.sizes[1], rows = of.query.sizes[2];
  const int64_t tiles = (rows + kTileRows - 1) / kTileRows, all_keys = of.key.sizes[2];
  const int64_t work = kTileRows * all_keys * (of.query.sizes[3] + 4);
  share_out_scratch(heads * tiles, work, kTileRows * all_keys * int64_t{sizeof(T)}, [&](int64_t unit, char* scratch) {
    const int64_t head = unit / tiles, first = unit % tiles * kTileRows, count = std::min(kTileRows, rows - first);
    const int64_t keys = keys_of(of, first + count - 1);
    const Matrix2<T> shares = packed<T>(scratch, count, keys);
    const Matrix2<T> query = head_of<T>(of.query, head).rows(first, count), key = head_of<T>(of.key, head);
    gemm(query.view(), key.rows(0, keys).transposed().view(), shares.view(), Scalar::of(of.scale));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t seen = keys_of(of, first + i);
      logsumexp.as<T>()[head * rows + first + i] = softmax_row(shares.row(i), seen);
      std::fill(shares.row(i) + seen, shares.row(i) + keys, T(0));
    }
    const Matrix2<T> value = head_of<T>(of.value, head).rows(0, keys);
    gemm(shares.view(), value.view(), head_of<T>(out, head).rows(first, count).view());
  });
}

template <class T>
void zero(const Matrix2<T>& matrix) {
  for (int64_t i = 0; i < matrix.sizes[0]; ++i) std::fill_n(matrix.row(i), matrix.sizes[1], T(0));
}

/// With shares P = exp(scores - logsumexp):  dV = P'g,  dP = g V',  dS = P (dP - sum of g out),  dQ = dS K,  dK = dS'Q.
template <class T>
void backward(const AttentionInputs& of, const View& grad, const View& out, const View& logsumexp,
              const View& for_query, const View& for_key, const View& for_value) {
  const int64_t heads = of.query.sizes[0] * of.query.sizes[1], rows = of.query.sizes[2], size = of.query.sizes[3];
  const int64_t all_keys = of.key.sizes[2], tile_bytes = kTileRows * all_keys * int64_t{sizeof(T)};
  const Scalar scale = Scalar::of(of.scale), one = Scalar::of(int64_t{1});
  share_out_scratch(heads, rows * all_keys * (size + 4), 2 * tile_bytes, [&](int64_t head, char* scratch) {
    const Matrix2<T> q = head_of<T>(of.query, head), k = head_of<T>(of.key, head), v = head_of<T>(of.value, head);
    const Matrix2<T> dq = head_of<T>(for_query, head), dk = head_of<T>(for_key, head), dv = head_of<T>(for_value, head);
    const Matrix2<T> all_g = head_of<T>(grad, head), all_out = head_of<T>(out, head);
    zero(dk);
    zero(dv);
    for (int64_t first = 0; first < rows; first += kTileRows) {
      const int64_t count = std::min(kTileRows, rows - first), keys = keys_of(of, first + count - 1);
      const Matrix2<T> shares = packed<T>(scratch, count, keys), slopes = packed<T>(scratch + tile_bytes, count, keys);
      const Matrix2<T> query = q.rows(first, count), g = all_g.rows(first, count);
      const Matrix2<T> key = k.rows(0, keys), value = v.rows(0, keys);
      gemm(query.view(), key.transposed().view(), shares.view(), scale);
      gemm(g.view(), value.transposed().view(), slopes.view());
      for (int64_t i = 0; i < count; ++i) {
        const int64_t seen = keys_of(of, first + i);
        T* share = shares.row(i);
        T* slope = slopes.row(i);
        exp_row(share, logsumexp.as<T>()[head * rows + first + i], seen);
        const T* along = g.row(i);
        const T* result = all_out.row(first + i);
        double along_out = 0;
        for (int64_t c = 0; c < size; ++c) along_out += double{along[c]} * double{result[c]};
        const T mean = static_cast<T>(along_out);
        for (int64_t j = 0; j < seen; ++j) slope[j] = share[j] * (slope[j] - mean);
        std::fill(share + seen, share + keys, T(0));
        std::fill(slope + seen, slope + keys, T(0));
      }
      gemm(shares.transposed().view(), g.view(), dv.rows(0, keys).view(), one, one);
      gemm(slopes.view(), key.view(), dq.rows(first, count).view(), scale);
      gemm(slopes.transposed().view(), query.view(), dk.rows(0, keys).view(), scale, one);
    }
  });
}

}  // namespace

void attention(const AttentionInputs& of, const View& out, const View& logsumexp) {
  dispatch_real(of.query.dtype, [&](auto tag) { forward<decltype(tag)>(of, out, logsumexp); });
}

void attention_backward(const AttentionInputs& of, const View& grad, const View& out, const View& logsumexp,
                        const View& for_query, const View& for_key, const View& for_value) {
  dispatch_real(of.query.dtype,
                [&](auto tag) { backward<decltype(tag)>(of, grad, out, logsumexp, for_query, for_key, for_value); });
}

void attention_kept(const View& draws, double dropped, const View& out) {
  dispatch_real(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    const int64_t keys = out.sizes[3], rows = keys ? out.numel() / keys : 0;
    const DropRate rate = DropRate::of(dropped);
    T* to = out.as<T>();
    for (int64_t i = 0; i < rows; ++i) {
      const DropRow row = DropRow::of(draws.as<const int64_t>(), i);
      for (int64_t j = 0; j < keys; ++j) *to++ = row.drops(j, rate.below) ? T(0) : static_cast<T>(rate.factor);
    }
  });
}

}  // namespace adjoint::cpu
