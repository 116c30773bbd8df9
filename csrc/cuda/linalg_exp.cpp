// The exponential of matrices: a Padé approximant of the halved matrix, squared as often as it was halved.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <vector>

#include "cuda/device/linalg_args.h"
#include "cuda/launch.h"
#include "cuda/linalg.h"
#include "cuda/linalg_batch.h"
#include "cuda/matmul.h"
#include "cuda/memory.h"
#include "cuda/through_cpu.h"
#include "kernels/pade.h"

namespace adjoint::cuda {
namespace {

using kernels::Pade;

/// All matrices of a batch together. That they lie row by row and the library takes them to lie column by column does
/// not matter: exp(A^T) = exp(A)^T.
class Exponential {
 public:
  explicit Exponential(const View& a)
      : a_(a),
        count_(batch_of(a)),
        n_(rows_of(a)),
        norms_(static_cast<size_t>(count_) * sizeof(double), a.device),
        row_strides_{n_ * n_, n_, 1},
        column_strides_{n_ * n_, 1, n_},
        sizes_{count_, n_, n_} {}

  void run() {
    const double greatest = find_norms();
    const Pade& pade = chosen(greatest);
    ScaleArgs scale{a_.data, norms(), a_.numel(), n_ * n_, pade.limit};
    launch_each("ScaleArgs", "scale_down", scale);
    approximate(pade);
    for (int done = 0; done < squarings(greatest, pade.limit); ++done) {
      multiply(a_.data, a_.data, other());
      take_squares(pade.limit, done);
    }
    take_squares(pade.limit, 1 << 20);  // of what is not finite
  }

 private:
  const Pade& chosen(double norm) const {
    auto pick = [&](const auto& table) -> const Pade& {
      for (const Pade& pade : table)
        if (norm <= pade.limit) return pade;
      return *(std::end(table) - 1);
    };
    return real_type(a_.dtype) == DType::Float64 ? pick(kernels::kPadeDouble) : pick(kernels::kPadeFloat);
  }

  /// The greatest that is finite. The program waits for it: it says how often to square.
  double find_norms() {
    OneNormArgs args{a_.data, norms(), n_};
    launch(a_.device, linalg_text("OneNormArgs", "one_norm", a_.dtype, kMatrixThreads), args, count_, kMatrixThreads);
    std::vector<double> here(static_cast<size_t>(count_));
    const int64_t sizes[1] = {count_}, strides[1] = {1};
    to_host({norms_.data(), DType::Float64, 1, sizes, strides, a_.device},
            {reinterpret_cast<char*>(here.data()), DType::Float64, 1, sizes, strides});
    double greatest = 0;
    for (double norm : here)
      if (std::isfinite(norm)) greatest = std::max(greatest, norm);
    return greatest;
  }

  /// a = (V - U)^-1 (V + U), where U has the odd and V the even powers.
  void approximate(const Pade& pade) {
    const double* c = pade.coefficients;
    const int top = pade.degree == 13 ? 3 : pade.degree / 2;
    multiply(a_.data, a_.data, power(0));
    for (int k = 1; k < top; ++k) multiply(power(0), power(k - 1), power(k));
    char *odd = piece(kMostPowers + 1), *even = piece(kMostPowers + 2);
    if (pade.degree == 13) {
      // Powers beyond the sixth by one more product: A^6 (c13 A^6 + c11 A^4 + c9 A^2) for the odd part.
      combine(other(), c + 7, false, top, nullptr);
      multiply(power(2), other(), even);
      combine(other(), c + 1, true, top, even);
      multiply(a_.data, other(), odd);
      combine(other(), c + 6, false, top, nullptr);
      multiply(power(2), other(), power(3));
      combine(even, c, true, top, power(3));
    } else {
      combine(other(), c + 1, true, top, nullptr);
      multiply(a_.data, other(), odd);
      combine(even, c, true, top, nullptr);
    }
    FractionArgs args{a_.data, even, odd, a_.numel()};
    launch_each("FractionArgs", "fraction", args);
    const Workspace swaps(by_columns(even), n_, 1, DType::Int32), infos(by_columns(even), 1, 1, DType::Int32);
    lu_factor(by_columns(even), swaps.vectors(), infos.vectors());
    lu_solve(by_columns(even), swaps.vectors(), by_columns(a_.data), true, false);
  }

  /// target = the sum of c[2 k] A^(2 k), with that of k = 0 or not, and of another one.
  void combine(char* target, const double* c, bool with_identity, int top, const char* more) {
    CombineArgs args{{}, target, {}, with_identity ? c[0] : 0, a_.numel(), n_, top};
    for (int k = 0; k < top; ++k) {
      args.powers[k] = power(k);
      args.factors[k] = c[2 * (k + 1)];
    }
    if (more) {
      args.powers[args.count] = more;
      args.factors[args.count++] = 1;
    }
    launch_each("CombineArgs", "combine", args);
  }

  void multiply(char* x, char* y, char* result) {
    bmm(by_rows(x), by_rows(y), by_rows(result), Scalar::of(1.0), Scalar::of(0.0));
  }

  void take_squares(double limit, int done) {
    SquareArgs args{a_.data, other(), norms(), a_.numel(), n_ * n_, limit, done};
    launch_each("SquareArgs", "take_squares", args);
  }

  /// A thread for each element.
  template <class Args>
  void launch_each(const char* name, const char* function, Args& args) {
    launch(a_.device, linalg_text(name, function, a_.dtype, kThreads), args, blocks_for(a_.numel()));
  }

  View by_rows(char* data) const { return {data, a_.dtype, 3, sizes_, row_strides_, a_.device}; }
  View by_columns(char* data) const { return {data, a_.dtype, 3, sizes_, column_strides_, a_.device}; }
  double* norms() const { return reinterpret_cast<double*>(norms_.data()); }
  /// One of as many batches of matrices as are needed beside the given one.
  char* piece(int i) {
    auto& memory = pieces_[i];
    if (!memory) memory = std::make_unique<Scratch>(static_cast<size_t>(a_.numel() * itemsize(a_.dtype)), a_.device);
    return memory->data();
  }
  char* power(int k) { return piece(k); }  ///< A^(2 (k + 1))
  char* other() { return piece(kMostPowers); }

  View a_;
  int64_t count_, n_;
  Scratch norms_;
  int64_t row_strides_[3], column_strides_[3], sizes_[3];
  std::unique_ptr<Scratch> pieces_[kMostPowers + 3];
};

}  // namespace

void matrix_exp(const View& a) {
  if (!can_solve({&a})) return through_cpu.linalg.matrix_exp(a);
  if (a.numel() != 0) Exponential(a).run();
}

}  // namespace adjoint::cuda
