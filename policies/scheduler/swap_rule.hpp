// The rules by which the device scheduler moves chunks. The scheduler, charges, tests and searches all use them.
#pragma once

#include <rtexec/choices.hpp>

#include <cstdint>

namespace rtexec::policies {

enum class SwapRule : std::uint8_t {
  pipelined,     // the chunks of one job are loaded while another job executes
  serial,        // one swap operation at a time, and only for the most urgent job
  rt_swap,       // one swap operation at a time; swap-outs for any job (RT-Swap, RTSS 2023, section V-C)
  demand_paging, // the missing chunks of a job are loaded only when the job is the next to execute
};

[[nodiscard]] constexpr SwapRule rule_of(SwapPolicy policy) noexcept {
  switch (policy) {
  case SwapPolicy::pipelined:
  case SwapPolicy::none: return SwapRule::pipelined;
  case SwapPolicy::serial: return SwapRule::serial;
  case SwapPolicy::rt_swap:
  case SwapPolicy::mo_vmm:
  case SwapPolicy::min:
  case SwapPolicy::pageable: return SwapRule::rt_swap;
  case SwapPolicy::lru: break;
  }
  return SwapRule::demand_paging;
}

/// True if chunks move in swap operations. Only one operation is in progress at a time. It is not preempted, and may
/// serve a job that still waits.
[[nodiscard]] constexpr bool in_operations(SwapRule rule) noexcept {
  return rule == SwapRule::serial || rule == SwapRule::rt_swap;
}

} // namespace rtexec::policies
