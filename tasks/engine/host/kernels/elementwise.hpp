// Loops over contiguous elements. y may be x or another operand itself, but not overlap it otherwise.
#pragma once

#include "tasks/engine/graph/graph.hpp"

#include <cstddef>
#include <cstdint>

namespace rtexec::tasks::kernels {

/// y = f(x), of any kind; the other functions take common ones.
void activate(Activation f, float* y, const float* x, std::size_t n) noexcept;
/// y = f(x + bias + residual); residual may be null.
void finish(Activation f, float* y, const float* x, float bias, const float* residual, std::size_t n) noexcept;
/// y = f(x * scale + shift)
void scale_shift(Activation f, float* y, const float* x, float scale, float shift, std::size_t n) noexcept;
/// NaN becomes 0.
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
/// y = a op b, for operations on floats. Steps are 0 (one value for all) or 1.
void combine(Binary::Kind kind, float* y, const float* a, std::size_t step_a, const float* b, std::size_t step_b,
             std::size_t n) noexcept;
/// y = condition ? a : b. Steps likewise.
void select(float* y, const std::uint8_t* condition, std::size_t step_condition, const float* a, std::size_t step_a,
            const float* b, std::size_t step_b, std::size_t n) noexcept;
/// y = max(y, x)
void maximum(float* y, const float* x, std::size_t n) noexcept;
void minimum(float* y, const float* x, std::size_t n) noexcept;
/// y += x * factor
void accumulate(float* y, const float* x, float factor, std::size_t n) noexcept;
/// y += x modulo 2^32, for floats that are integers.
void accumulate(std::uint32_t* y, const float* x, std::size_t n) noexcept;
/// y += x * x
void accumulate_squares(float* y, const float* x, std::size_t n) noexcept;
/// y = x / (bias + factor * sums) ^ beta
void divide_by_power(float* y, const float* x, const float* sums, float bias, float factor, float beta,
                     std::size_t n) noexcept;
/// The largest and the smallest of x; n is at least 1.
float maximum(const float* x, std::size_t n) noexcept;
float minimum(const float* x, std::size_t n) noexcept;
/// y = e^(x - most), and the sum of them.
double exponentials(float* y, const float* x, float most, std::size_t n) noexcept;
/// The largest of each of `width` columns of x, of which there are n rows.
void maxima(float* most, const float* x, std::size_t width, std::size_t n) noexcept;
/// x = e^(x - most) of each column likewise, and their sums.
void exponentials(float* x, const float* most, float* sums, std::size_t width, std::size_t n) noexcept;
/// The sum of x, in partial sums of double precision.
double sum(const float* x, std::size_t n) noexcept;
/// Likewise, of the squares of x - mean.
double sum_of_squares(const float* x, float mean, std::size_t n) noexcept;
/// y[i] = low + (high - low) * weight, for the elements of x with these indices; low itself where the weight is 0.
void blend(float* y, const float* x, const std::int32_t* low, const std::int32_t* high, const float* weight,
           std::size_t n) noexcept;
/// y[i] = x[i * step]
void gather_strided(float* y, const float* x, std::ptrdiff_t step, std::size_t n) noexcept;

} // namespace rtexec::tasks::kernels
