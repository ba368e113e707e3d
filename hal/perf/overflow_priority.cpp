#include "config/base/text.hpp"
#include "hal/bandwidth_counter.hpp"
#include "hal/resources.hpp"
#include "hal/system.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>

namespace rtexec::hal {
namespace {

constexpr std::string_view thread_name = "irq_work/";

Result<int> fifo_priority_of(int kernel_id) {
  SchedulingAttributes attributes;
  if (sys().sched_getattr(kernel_id, &attributes, sizeof attributes, 0) != 0)
    return call_failed("reading the scheduling class of the kernel's thread " + std::to_string(kernel_id), errno);
  return attributes.policy == SCHED_FIFO ? static_cast<int>(attributes.priority) : 0;
}

Result<> set_fifo_priority(int kernel_id, int priority) {
  SchedulingAttributes wanted;
  wanted.policy = priority > 0 ? SCHED_FIFO : SCHED_OTHER;
  wanted.priority = static_cast<std::uint32_t>(priority);
  const std::string what = "giving the kernel's thread " + std::string(thread_name) + " (" + std::to_string(kernel_id) +
                           ") FIFO priority " + std::to_string(priority);
  if (sys().sched_setattr(kernel_id, &wanted, 0) != 0)
    return call_failed(what, errno,
                       "Needs CAP_SYS_NICE; without it an overflow is reported only when no thread of a higher "
                       "priority runs on its core.");
  const auto found = fifo_priority_of(kernel_id);
  if (!found) return Unexpected(found.error());
  if (*found != priority) return fail(Errc::refused, what + ": the kernel reports " + std::to_string(*found));
  return {};
}

/// Returns the core of a thread's name: 3 for "irq_work/3". Returns nullopt for any other name.
std::optional<unsigned> core_of(std::string_view name) {
  if (!name.starts_with(thread_name)) return std::nullopt;
  return config::number<unsigned>(name.substr(thread_name.size()));
}

} // namespace

Result<OverflowPriority> OverflowPriority::raise(std::span<const unsigned> cores, int fifo_priority,
                                                 const Machine& machine) {
  OverflowPriority raised;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(machine.under_root("/proc"), error)) {
    const std::string id = entry.path().filename();
    const auto kernel_id = config::number<int>(id);
    if (!kernel_id) continue;
    const auto name = machine.read("/proc/" + id + "/comm");
    const auto core = name ? core_of(*name) : std::nullopt;
    if (!core || std::ranges::find(cores, *core) == cores.end()) continue;
    const auto before = fifo_priority_of(*kernel_id);
    if (!before) return Unexpected(before.error());
    if (*before >= fifo_priority) continue;
    if (const auto set = set_fifo_priority(*kernel_id, fifo_priority); !set) return Unexpected(set.error());
    raised.before_.push_back({.kernel_id = *kernel_id, .fifo_priority = *before});
  }
  return raised;
}

OverflowPriority::~OverflowPriority() {
  // A destructor cannot report an error
  for (const Before& thread : before_) static_cast<void>(set_fifo_priority(thread.kernel_id, thread.fifo_priority));
}

} // namespace rtexec::hal
