// Random numbers: tensors made of them, and fills in place.
#pragma once

#include "core/generator.h"
#include "ops/creation.h"

namespace adjoint::ops {

/// The one to fill tensors of a device with: the device's default one where none is given, which is what null says in
/// all functions here.
Generator& generator_for(Generator* generator, Device device);

TensorPtr create_rand(const SizeArgs& size, Generator* generator, const CreationOptions& options);
TensorPtr create_randn(const SizeArgs& size, Generator* generator, const CreationOptions& options);
TensorPtr create_randint(int64_t low, std::optional<int64_t> high, const std::optional<SizeList>& size,
                         Generator* generator, const CreationOptions& options);
TensorPtr create_randperm(int64_t n, Generator* generator, const CreationOptions& options);
TensorPtr rand_like(Tensor* input, Generator* generator, std::optional<MemoryFormat> format,
                    const CreationOptions& options);
TensorPtr randn_like(Tensor* input, Generator* generator, std::optional<MemoryFormat> format,
                     const CreationOptions& options);
TensorPtr randint_like(Tensor* input, int64_t low, std::optional<int64_t> high, Generator* generator,
                       std::optional<MemoryFormat> format, const CreationOptions& options);
/// With sizes, the mean and the deviation are numbers, or tensors of no dimension; without, one is a tensor at least.
TensorPtr create_normal(const TensorOrReal& mean, const std::optional<TensorOrReal>& std,
                        const std::optional<SizeList>& size, Generator* generator, const CreationOptions& options);

/// Ones with the probabilities of `input`, or with probability p, in a type that is by default the input's.
TensorPtr bernoulli(Tensor* input, std::optional<double> p, Generator* generator, std::optional<DType> dtype);
TensorPtr poisson(Tensor* input, Generator* generator);
TensorPtr binomial(Tensor* count, Tensor* prob, Generator* generator);

/// The values of a tensor, broadcast to these sizes, packed in memory of their own.
TensorPtr packed(Tensor* tensor, Sizes sizes, DType dtype = DType::Float64);

void uniform_(Tensor* input, double low, double high, Generator* generator);
void normal_(Tensor* input, double mean, double std, Generator* generator);
/// From [low, high), up to the greatest number of the type, or all from 0 on, as bounds are given.
void random_(Tensor* input, std::optional<int64_t> low, std::optional<int64_t> high, Generator* generator);
void bernoulli_(Tensor* input, const TensorOrReal& p, Generator* generator);
void exponential_(Tensor* input, double lambda, Generator* generator);
void geometric_(Tensor* input, double p, Generator* generator);
void log_normal_(Tensor* input, double mean, double std, Generator* generator);
void cauchy_(Tensor* input, double median, double sigma, Generator* generator);

}  // namespace adjoint::ops
