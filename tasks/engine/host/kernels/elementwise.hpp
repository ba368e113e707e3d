// Loops over contiguous elements. y may be identical to an operand, but must not overlap it otherwise.
#pragma once

#include "tasks/engine/graph/graph.hpp"

#include <cstddef>
#include <cstdint>

namespace rtexec::tasks::kernels {

/// y = f(x) for any kind of activation. The other functions take common kinds only.
void activate(Activation f, float* y, const float* x, std::size_t n) noexcept;
/// y = f(x + bias + residual); residual may be null.
void finish(Activation f, float* y, const float* x, float bias, const float* residual, std::size_t n) noexcept;
/// y = f(x * scale + shift)
void scale_shift(Activation f, float* y, const float* x, float scale, float shift, std::size_t n) noexcept;
/// Quantizes x; NaN becomes 0.
void quantise(const Quantise& to, std::uint8_t* y, const float* x, std::size_t n) noexcept;
void quantise(const Quantise& to, std::int8_t* y, const float* x, std::size_t n) noexcept;
void quantise(const Quantise& to, std::uint16_t* y, const float* x, std::size_t n) noexcept;
void quantise(const Quantise& to, std::int16_t* y, const float* x, std::size_t n) noexcept;
void quantise(const Quantise& to, std::int32_t* y, const float* x, std::size_t n) noexcept;
void dequantise(const Dequantise& from, float* y, const std::uint8_t* x, std::size_t n) noexcept;
void dequantise(const Dequantise& from, float* y, const std::int8_t* x, std::size_t n) noexcept;
void dequantise(const Dequantise& from, float* y, const std::uint16_t* x, std::size_t n) noexcept;
void dequantise(const Dequantise& from, float* y, const std::int16_t* x, std::size_t n) noexcept;
void dequantise(const Dequantise& from, float* y, const std::int32_t* x, std::size_t n) noexcept;
/// y = a op b for operations on floats. A step is 0 (one value for all elements) or 1.
void combine(Binary::Kind kind, float* y, const float* a, std::size_t step_a, const float* b, std::size_t step_b,
             std::size_t n) noexcept;
/// y = condition ? a : b, with the steps of combine().
void select(float* y, const std::uint8_t* condition, std::size_t step_condition, const float* a, std::size_t step_a,
            const float* b, std::size_t step_b, std::size_t n) noexcept;
/// y = max(y, x)
void maximum(float* y, const float* x, std::size_t n) noexcept;
void minimum(float* y, const float* x, std::size_t n) noexcept;
/// y += x * factor
void accumulate(float* y, const float* x, float factor, std::size_t n) noexcept;
/// y += x modulo 2^32, for floats with integer values.
void accumulate(std::uint32_t* y, const float* x, std::size_t n) noexcept;
/// y += x * x
void accumulate_squares(float* y, const float* x, std::size_t n) noexcept;
/// y = x / (bias + factor * sums) ^ beta
void divide_by_power(float* y, const float* x, const float* sums, float bias, float factor, float beta,
                     std::size_t n) noexcept;
/// Returns the largest (smallest) element of x; n is at least 1.
float maximum(const float* x, std::size_t n) noexcept;
float minimum(const float* x, std::size_t n) noexcept;
/// Sets y = e^(x - most) and returns the sum of y.
double exponentials(float* y, const float* x, float most, std::size_t n) noexcept;
/// Computes the maximum of each of the `width` columns of x, which has n rows.
void maxima(float* most, const float* x, std::size_t width, std::size_t n) noexcept;
/// Sets x = e^(x - most) in each column and computes the sum of each column.
void exponentials(float* x, const float* most, float* sums, std::size_t width, std::size_t n) noexcept;
/// Returns the sum of x, accumulated in double precision.
double sum(const float* x, std::size_t n) noexcept;
/// Returns the sum of the squares of x - mean, accumulated in double precision.
double sum_of_squares(const float* x, float mean, std::size_t n) noexcept;
/// y[i] = x[low[i]] + (x[high[i]] - x[low[i]]) * weight[i]. If the weight is 0, y[i] is x[low[i]] exactly.
void blend(float* y, const float* x, const std::int32_t* low, const std::int32_t* high, const float* weight,
           std::size_t n) noexcept;
/// y[i] = x[i * step]
void gather_strided(float* y, const float* x, std::ptrdiff_t step, std::size_t n) noexcept;

} // namespace rtexec::tasks::kernels
