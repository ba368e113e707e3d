#include "rtexec/studies/bringup/item.hpp"

#include "rtexec/studies/bringup/bandwidth_items.hpp"
#include "rtexec/studies/bringup/measured_items.hpp"
#include "rtexec/studies/bringup/read.hpp"

#include <array>

namespace rtexec::bringup {

namespace {

template <int tenths> Duration lengths(const Subject& subject) { return subject.length * tenths / 10; }

} // namespace

std::span<const Item> items() {
  static constexpr std::array all{
      Item{"identity/board", "which board it is", board_identity, {}},
      Item{"identity/cores", "its cores", core_kinds, {}},
      Item{"kernel/preemption", "preemption of the kernel", preemption, {}},
      Item{"kernel/command-line", "the kernel's command line", command_line, {}},
      Item{"kernel/isolation", "isolated cores", isolation, {}},
      Item{"kernel/timers", "resolution of timers", timers, {}},
      Item{"real-time/rights", "SCHED_FIFO and locked memory", real_time_rights, {}},
      Item{"real-time/group", "real-time share of the group", real_time_group, {}},
      Item{"real-time/throttling", "real-time throttling", throttling, {}},
      Item{"real-time/fair-server", "the kernel's fair server", fair_server, {}},
      Item{"clocks/locked", "locked clocks", locked_clocks, {}},
      Item{"thermal/headroom", "heat below throttling", thermal_headroom, {}},
      Item{"power/supply", "the power supply", power_supply, {}},
      Item{"latency/release", "release latency under load", release_latency, lengths<25>},
      Item{"counter/clusters", "counters of memory traffic", traffic_counters, lengths<5>},
      Item{"memory/bandwidth", "memory bandwidth", memory_bandwidth, bandwidth_takes},
      Item{"memory/regulation", "budgets of memory bandwidth", memory_regulation, lengths<10>},
      Item{"device/rules", "rules of the device", device_rules, lengths<5>, true},
      Item{"device/vmm", "mapping of chunks", device_mapping, lengths<5>, true},
      Item{"device/copies", "copies each way and both", device_copies, lengths<10>, true},
      Item{"store/swap", "the swap store", swap_store, lengths<25>},
      Item{"trace/cost", "what an event costs", trace_cost, lengths<10>},
      Item{"deadlines/task-set", "deadlines of a short task set", task_set, lengths<25>},
  };
  return all;
}

} // namespace rtexec::bringup
