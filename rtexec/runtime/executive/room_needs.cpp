#include "rtexec/runtime/executive/room_needs.hpp"

#include "hal/open/available_memory.hpp"
#include "hal/resources.hpp"
#include "policies/memory/plan_memory.hpp"

#include <sys/mman.h>

namespace rtexec::executive {

namespace {

/// Returns the size of the workloads' page-locked buffers that are still to be allocated. Excludes buffers that the
/// plan's demand contains. Also excludes the copies of constants, which are already allocated.
Bytes host_buffers(const LoadedSet& set, const Plan& plan) {
  Bytes all;
  if (set.board.unified_memory) return all;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const Bytes host = plan.tasks[i].memory.host;
    all += host - std::min(host, Bytes{set.workloads[i]->constants().size()});
  }
  return all;
}

/// Returns the size of the threads' stacks.
Bytes stacks(const Plan& plan) {
  constexpr Bytes of_task{3 << 20}, of_services{16 << 20};
  return of_task * plan.tasks.size() + of_services;
}

} // namespace

Requirement room_in_host_memory(const LoadedSet& set, const Plan& plan, const Setup& setup) {
  Bytes needed = host_buffers(set, plan) + stacks(plan) + hal::unlocked_memory(hal::Machine());
  if (set.board.memory_is_of_host() && !setup.open_device) needed += plan.demand;
  if (plan.swap && plan.swap->store.empty() && !setup.open_store) needed += policies::swap_volume(plan);
  const auto available = hal::check_available_memory(needed, "the memory of this process", hal::Machine());
  if (!available) return indispensable(refused("host memory", available.error()));
  return given("host memory", "there is room for " + readable(needed));
}

std::optional<Requirement> room_in_locked_memory(const LoadedSet& set, const Plan& plan) {
  const Bytes ahead = plan.separate + host_buffers(set, plan) + stacks(plan);
  const auto room =
      hal::Mapping::anonymous(round_up(ahead, hal::page_size()), PROT_NONE, 0, "the memory that the run locks");
  if (room) return std::nullopt;
  Requirement need = refused("locked memory", room.error());
  if (const hal::Finding limit = hal::Machine().memory_lock(); !limit.advice.empty()) need.advice = limit.advice;
  return need;
}

std::optional<Requirement> room_in_store(const Plan& plan, const Setup& setup) {
  if (!plan.swap || plan.swap->store.empty() || setup.open_store) return std::nullopt;
  const Bytes size = policies::swap_volume(plan);
  const std::string subject = "store";
  if (const auto room = hal::try_file_store(plan.swap->store, size); !room)
    return indispensable(refused(subject, room.error()));
  return given(subject, plan.swap->store.string() + " has room for " + readable(size));
}

} // namespace rtexec::executive
