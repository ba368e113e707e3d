// Chooses among the attention kernels that use Tensor Cores. Pure functions: no device is needed.
#pragma once

#include <rtexec/choices.hpp>
#include "tasks/engine/cuda/kernels/network_arguments.hpp"

#include <optional>

namespace rtexec::tasks::cuda {

inline constexpr int attention_architecture = 80; // first architecture (10 * major + minor) with these kernels

/// Returns the launch of a Tensor Core kernel that computes `attention`, or nullopt if no such kernel supports it. The
/// rows of q, k and v must begin at multiples of 16 bytes and have at most 128 elements.
[[nodiscard]] std::optional<Launch> plan_attention(const AttentionArguments& attention, Precision precision);

/// Returns the name of the attention kernel for a precision. `size` is the maximum length of a row (32, 64 or 128), and
/// `key_warps` is the number of warps among which the keys are divided (1, 2 or 4).
[[nodiscard]] const char* attention_kernel(Precision precision, int size, int key_warps);

} // namespace rtexec::tasks::cuda
