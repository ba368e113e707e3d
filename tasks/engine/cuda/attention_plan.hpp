// Which attention kernel on matrix units computes what. Pure: no device is needed.
#pragma once

#include <rtexec/choices.hpp>
#include "tasks/engine/cuda/kernels/network_arguments.hpp"

#include <optional>

namespace rtexec::tasks::cuda {

inline constexpr int attention_architecture = 80; // the first that has them

/// Nothing where none applies: rows begin at multiples of 16 bytes, and are not too long.
[[nodiscard]] std::optional<Launch> plan_attention(const AttentionArguments& attention, Precision precision);

/// Names of all kernels.
[[nodiscard]] const char* attention_kernel(Precision precision, int size, int key_warps);

} // namespace rtexec::tasks::cuda
