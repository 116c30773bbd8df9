// Fills with random numbers that are the ones torch's CPU generator gives.
#pragma once

#include "core/dtype.h"
#include "core/generator.h"

namespace adjoint {

// Each fill writes n contiguous elements at `data`, in order, and checks its arguments before the first draw.

/// rand, uniform_: from [low, high). Complex tensors are filled as pairs of real numbers.
void fill_uniform(Generator& generator, DType dtype, void* data, int64_t n, double low = 0, double high = 1);

/// Which of torch's two normal streams to follow. It fills contiguous tensors of 16 elements and more in blocks,
/// and strided ones element by element: pass Elementwise when `data` is a buffer for such a tensor.
enum class NormalStream { Blocks, Elementwise };

/// randn, normal_. Complex tensors are filled as pairs of real numbers, each part with half of the variance.
void fill_normal(Generator& generator, DType dtype, void* data, int64_t n, double mean = 0, double std = 1,
                 NormalStream stream = NormalStream::Blocks);

/// randint, random_(low, high): whole numbers from [low, high), into integer, bool and floating types.
void fill_randint(Generator& generator, DType dtype, void* data, int64_t n, int64_t low, int64_t high);

/// random_(low, None): from low up to the greatest value of the type, for floating types up to 2 ** (bits of
/// precision).
void fill_random_from(Generator& generator, DType dtype, void* data, int64_t n, int64_t low);

/// random_(): from 0 up to the greatest value of the type, for floating types up to 2 ** (bits of precision).
void fill_random_full(Generator& generator, DType dtype, void* data, int64_t n);

/// A random permutation of 0 ... n - 1.
void randperm(Generator& generator, int64_t* data, int64_t n);

/// bernoulli_(p), and with it dropout: one with probability p, else zero.
void fill_bernoulli(Generator& generator, DType dtype, void* data, int64_t n, double p);

/// bernoulli_(p), bernoulli(p) with a tensor of n probabilities. `data` and `p` may be the same memory.
void fill_bernoulli(Generator& generator, DType dtype, void* data, int64_t n, DType p_dtype, const void* p);

void fill_exponential(Generator& generator, DType dtype, void* data, int64_t n, double lambda = 1);
void fill_geometric(Generator& generator, DType dtype, void* data, int64_t n, double p);
void fill_log_normal(Generator& generator, DType dtype, void* data, int64_t n, double mean = 1, double std = 2);
void fill_cauchy(Generator& generator, DType dtype, void* data, int64_t n, double median = 0, double sigma = 1);

/// poisson: each rate becomes a count of events.
void fill_poisson(Generator& generator, double* rates, int64_t n);
/// binomial: each number of trials becomes a count of successes, which have these chances.
void fill_binomial(Generator& generator, double* counts, const double* chances, int64_t n);

}  // namespace adjoint
