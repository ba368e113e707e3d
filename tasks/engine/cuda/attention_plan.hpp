// Chooses among the attention kernels that use Tensor Cores (matrix units). Pure: no device is needed.
#pragma once

#include <rtexec/choices.hpp>
#include "tasks/engine/cuda/kernels/network_arguments.hpp"

#include <optional>

namespace rtexec::tasks::cuda {

inline constexpr int attention_architecture = 80; // first architecture with these kernels, 10 * major + minor

/// Returns the launch of a Tensor Core kernel, or nullopt if none applies. Rows of q, k and v must begin at multiples
/// of 16 bytes and have at most 128 elements.
[[nodiscard]] std::optional<Launch> plan_attention(const AttentionArguments& attention, Precision precision);

/// Returns the name of a kernel. `size` is the largest row length (32, 64 or 128), and `key_warps` is the number of
/// warps along the keys (1, 2 or 4).
[[nodiscard]] const char* attention_kernel(Precision precision, int size, int key_warps);

} // namespace rtexec::tasks::cuda
