#include "op/out_types.h"

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace adjoint {
namespace {

constexpr int kAny = -1;

/// Torch's words, where they are the op's own. {} is the type given, [] the one expected, with a c the types of C;
/// @ is the op, and [i] says whether 32-bit integers are expected.
struct OutWords {
  const char* ops;
  const char* text;
  int place = kAny;
};

/// For an out= that must have the type of the result.
constexpr OutWords kExactWords[] = {
    {" neg floor ceil round round_whole round_decimals trunc frac sign sgn conj_physical clamp bitwise_not gelu "
     "gelu_tanh hardshrink softplus softshrink ",
     "Found dtype {} but expected []"},
    {" amax amin ",
     "Expected the dtype for input and out to match, but got [] for input's dtype and {} for out's dtype."},
    {" where ", "Expected out type to be [] but got {}"},
    {" dot vdot ", "result dtype {} does not match input dtype []"},
    {" mv ", "addmv input tensors must have the same dtype, but got {}, [], and []"},
    {" addbmm ", "self and mat2 must have the same dtype, but got {} and []"},
    {" index_select ", "index_select(): self and result must have the same scalar type"},
    {" masked_select ", "masked_select(): self and result must have the same scalar type"},
    {" take ", "take(): self and out expected to have the same dtype, but got self.dtype = [] and out.dtype = {}"},
    {" nonzero ", "nonzero: Expected out tensor to have scalar type [] but got scalar type{}"},
    {" any ", "any only supports bool tensor for result, got: {}"},
    {" all ", "all only supports bool tensor for result, got: {}"},
    {" isneginf isposinf signbit ", "@ does not support non-boolean outputs."},
    {" cummax cummin logcumsumexp ", "expected scalar_type [] but found {}"},
    {" logsigmoid linalg_solve_triangular ", "expected scalar type [] but found {}"},
    {" kthvalue ", "output values must be of same type as input", 0},
    {" kthvalue ", "output indices must be of scalar type []", 1},
    {" median_dim nanmedian_dim ",
     "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type torch.{}Tensor "
     "does "
     "not equal torch.[]Tensor (while checking arguments for median)",
     0},
    {" median_dim nanmedian_dim ",
     "Expected tensor for argument #1 'indices' to have scalar type []; but got torch.{}Tensor instead (while checking "
     "arguments for median)",
     1},
    {" mode ", "expected scalar type '[]' but got '{}' for values output"},
    {" tensordot inner ",
     "tensordot: Expected the output tensor to have dtype [], but got an output tensor with dtype {}"},
    {" multinomial ", "multinomial expects Long tensor out, got: {}"},
    {" quantile nanquantile ", "quantile() out tensor must be same dtype as the input tensor"},
    {" nan_to_num ", "nan_to_num: dtype of out: {} should be same as input: []"},
    {" linalg_norm ", "linalg.norm expected out tensor dtype [] but got: {}"},
    {" linalg_matrix_norm ", "linalg.matrix_norm expected out tensor dtype [] but got: {}"},
    {" linalg_vecdot ", "linalg.vecdot: Expected out of dtype[] but found {}"},
    {" linalg_multi_dot ", "multi_dot(): expected out tensor to have dtype [c] but got {c}"},
    {" ormqr ",
     "torch.ormqr: Expected input and result to have the same dtype, but input has dtype[] and result has dtype {}"},
    {" frexp ", "torch.frexp() expects mantissa to have dtype [c] but got {c}", 0},
    {" frexp ", "torch.frexp() expects exponent to have int dtype but got {c}", 1},
    {" heaviside ", "heaviside is not yet implemented for tensors with different dtypes."},
    {" histc histogram ",
     "torch.histogram: input tensor and hist tensor should have the same dtype, but got input [c] and hist {c}", 0},
    {" histogram ",
     "torch.histogram: input tensor and bin_edges tensor should have the same dtype, but got input [c] and bin_edges "
     "{c} for dimension 0",
     1},
    {" _sorted_places ",
     "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on "
     "whether out_int32 flag is True, but we got output tensor's dtype {} and out_int32 flag is [i]"},
    {" complex_parts polar ", "Expected object of scalar type [] but got scalar type {} for argument 'out'"},
    {" narrow_copy ", "Expected self.dtype() == output.dtype() to be true, but got false."},
};

/// For an out= that the result cannot be cast to.
constexpr OutWords kCastWords[] = {
    {" cholesky cholesky_inverse cholesky_solve ",
     "@: Expected result to be safely castable from [] dtype, but got result with dtype {}"},
    {" linalg_cond ", "linalg.cond: Expected result to be safely castable from [] dtype, but got result with dtype {}"},
    {" linalg_pinv ", "linalg.pinv: Expected result to be safely castable from [] dtype, but got result with dtype {}"},
    {" linalg_tensorinv ",
     "tensorinv: Expected result to be safely castable from [] dtype, but got result with dtype {}"},
    {" linalg_tensorsolve ",
     "tensorsolve: Expected result to be safely castable from [] dtype, but got result with dtype {}"},
    {" linalg_householder_product ",
     "torch.linalg.householder_product: Expected result to be safely castable from [] dtype, but got result with "
     "dtype {}"},
    {" linalg_matrix_rank ",
     "torch.linalg.matrix_rank: Expected result to be safely castable from [] dtype, but got result with dtype {}"},
    {" linalg_eigvals ",
     "torch.linalg.eigvals: Expected eigenvalues to be safely castable from [] dtype, but got eigenvalues with dtype "
     "{}"},
    {" linalg_eig ",
     "torch.linalg.eig: Expected eigenvalues to be safely castable from [] dtype, but got eigenvalues with dtype {}",
     0},
    {" linalg_eig ",
     "torch.linalg.eig: Expected eigenvectors to be safely castable from [] dtype, but got eigenvectors with dtype {}",
     1},
    {" linalg_lstsq ",
     "torch.linalg.lstsq: Expected rank to be safely castable from [] dtype, but got rank with dtype {}", 2},
    {" linalg_lstsq ",
     "torch.linalg.lstsq: Expected singular_values to be safely castable from [] dtype, but got singular_values with "
     "dtype {}",
     3},
    {" linalg_lstsq ",
     "torch.linalg.lstsq: Expected solution to be safely castable from [] dtype, but got solution with dtype {}"},
    {" geqrf ", "torch.geqrf: Expected a to be safely castable from [] dtype, but got a with dtype {}", 0},
    {" geqrf ", "torch.geqrf: Expected tau to be safely castable from [] dtype, but got tau with dtype {}", 1},
    {" ldexp ", "ldexp can't be cast to the desired output type {}"},
    {" logsumexp ", "logsumexp(): Expected floating point type for result tensor, but got: {}"},
    {" mvlgamma ", "mvlgamma: result type [] can't be cast to the desired output type []"},
};

/// Raises in the words of a table, where it has some.
template <size_t n>
void refuse_in_words(const OutWords (&table)[n], const char* op, DType given, DType expected, int place) {
  const std::string name = std::string(" ") + op + " ";
  for (const OutWords& words : table) {
    if (!std::strstr(words.ops, name.c_str()) || (words.place != kAny && words.place != place)) continue;
    std::string text = words.text;
    const std::pair<std::string_view, const char*> marks[] = {{"@", op},
                                                              {"{}", info(given).legacy_name},
                                                              {"[]", info(expected).legacy_name},
                                                              {"{c}", info(given).c_name},
                                                              {"[c]", info(expected).c_name},
                                                              {"[i]", expected == DType::Int32 ? "True" : "False"}};
    for (auto [mark, shown] : marks)
      for (size_t at; (at = text.find(mark)) != std::string::npos;) text.replace(at, mark.size(), shown);
    fail(text);
  }
}

/// Results of Fourier transforms are complex, or real and no integers.
void check_transform(const char* op, DType given, DType expected) {
  constexpr const char* transforms =
      " fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 hfft2 ihfft2 fftn ifftn rfftn irfftn hfftn ihfftn ";
  std::string name = std::string(" ") + op + " ";
  if (!std::strstr(transforms, name.c_str()) || (is_complex(given) == is_complex(expected) && is_differentiable(given)))
    return;
  name = op;
  if (name.back() == '2') name.back() = 'n';
  if (name == "ifftn") name = "fftn";
  fail(name, " expects a ", is_complex(expected) ? "complex" : "floating point", " output tensor, but got ",
       info(given).legacy_name, "; give an out= of the result's type");
}

}  // namespace

void check_out_type(const char* op, DType given, DType expected, bool exact, int place) {
  const bool castable = category(expected) <= category(given);
  if (!castable) refuse_in_words(kCastWords, op, given, expected, place);
  if (exact && given != expected) {
    refuse_in_words(kExactWords, op, given, expected, place);
    fail("Expected out tensor to have dtype ", info(expected).c_name, ", but got ", info(given).c_name, " instead");
  }
  check_transform(op, given, expected);
  // Joined tensors go through cat().
  if (!castable && (std::strcmp(op, "cat") == 0 || std::strstr(op, "stack")))
    fail(ErrorKind::Type, "torch.cat(): input types can't be cast to the desired output type ",
         info(given).legacy_name);
}

}  // namespace adjoint
