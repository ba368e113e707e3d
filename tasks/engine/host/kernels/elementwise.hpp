// Loops over contiguous elements. y may be the same array as an operand, but must not overlap an operand in any other
// way.
#pragma once

#include "tasks/engine/graph/graph.hpp"

#include <cstddef>
#include <cstdint>

namespace rtexec::tasks::kernels {

/// Computes y = f(x) for any kind of activation. All other functions of this file accept only common kinds
/// (is_common()).
void activate(Activation f, float* y, const float* x, std::size_t n) noexcept;
/// Computes y = f(x + bias + residual); `residual` may be null.
void finish(Activation f, float* y, const float* x, float bias, const float* residual, std::size_t n) noexcept;
/// Computes y = f(x * scale + shift).
void scale_shift(Activation f, float* y, const float* x, float scale, float shift, std::size_t n) noexcept;
/// Quantise x, that is y = clip(round(x / scale) + zero, low, high). NaN becomes 0.
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
/// Computes y = a op b for operations on floats. A step is 1, or 0 if the operand is one value for all elements.
void combine(Binary::Kind kind, float* y, const float* a, std::size_t step_a, const float* b, std::size_t step_b,
             std::size_t n) noexcept;
/// Computes y = condition ? a : b. The steps are those of combine().
void select(float* y, const std::uint8_t* condition, std::size_t step_condition, const float* a, std::size_t step_a,
            const float* b, std::size_t step_b, std::size_t n) noexcept;
/// Computes y = max(y, x), or min(y, x).
void maximum(float* y, const float* x, std::size_t n) noexcept;
void minimum(float* y, const float* x, std::size_t n) noexcept;
/// Computes y += x * factor.
void accumulate(float* y, const float* x, float factor, std::size_t n) noexcept;
/// Computes y += x modulo 2^32, for floats x that hold integers.
void accumulate(std::uint32_t* y, const float* x, std::size_t n) noexcept;
/// Computes y += x * x.
void accumulate_squares(float* y, const float* x, std::size_t n) noexcept;
/// Computes y = x / (bias + factor * sums) ^ beta.
void divide_by_power(float* y, const float* x, const float* sums, float bias, float factor, float beta,
                     std::size_t n) noexcept;
/// Return the largest (smallest) element of x; n is at least 1.
float maximum(const float* x, std::size_t n) noexcept;
float minimum(const float* x, std::size_t n) noexcept;
/// Computes y = e^(x - most), and returns the sum of y.
double exponentials(float* y, const float* x, float most, std::size_t n) noexcept;
/// Computes the maximum of each of the `width` columns of x, which has n rows.
void maxima(float* most, const float* x, std::size_t width, std::size_t n) noexcept;
/// Replaces x by e^(x - most) in each column, and computes the sum of each column.
void exponentials(float* x, const float* most, float* sums, std::size_t width, std::size_t n) noexcept;
/// Returns the sum of x, accumulated in double precision.
double sum(const float* x, std::size_t n) noexcept;
/// Returns the sum of the squares of x - mean, accumulated in double precision.
double sum_of_squares(const float* x, float mean, std::size_t n) noexcept;
/// Computes y[i] = x[low[i]] + (x[high[i]] - x[low[i]]) * weight[i]. If the weight is 0, y[i] is exactly x[low[i]].
void blend(float* y, const float* x, const std::int32_t* low, const std::int32_t* high, const float* weight,
           std::size_t n) noexcept;
/// Computes y[i] = x[i * step].
void gather_strided(float* y, const float* x, std::ptrdiff_t step, std::size_t n) noexcept;

} // namespace rtexec::tasks::kernels
