// The scheduling parameters of a thread in the kernel. The response-time bounds of the thread assume them, but any
// program with the permission may change them during the run.
#pragma once

#include <cstdint>
#include <optional>
#include <sched.h>
#include <string>

namespace rtexec::hal {

struct ThreadBasis {
  std::uint32_t policy = SCHED_OTHER;
  std::uint32_t priority = 0;                                   // of SCHED_FIFO and SCHED_RR
  std::uint64_t runtime_ns = 0, deadline_ns = 0, period_ns = 0; // of SCHED_DEADLINE
  cpu_set_t cores{};

  friend bool operator==(const ThreadBasis& a, const ThreadBasis& b);
};

/// Returns the present parameters of a thread of this process, or nullopt if the thread has ended. Any thread;
/// allocates nothing.
[[nodiscard]] std::optional<ThreadBasis> basis_of(int kernel_id) noexcept;

/// Returns "FIFO 90 on core 0", "DEADLINE 2ms/10ms on cores 0-3", "OTHER on core 1".
[[nodiscard]] std::string to_string(const ThreadBasis& basis);

} // namespace rtexec::hal
