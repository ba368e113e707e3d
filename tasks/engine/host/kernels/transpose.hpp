// Transposes a matrix.
#pragma once

#include <cstdint>

namespace rtexec::tasks::kernels {

/// Computes to[column * pitch_to + row] = from[row * pitch_from + column] for all rows and columns.
void transpose(float* to, std::int64_t pitch_to, const float* from, std::int64_t pitch_from, std::int64_t rows,
               std::int64_t columns) noexcept;

} // namespace rtexec::tasks::kernels
