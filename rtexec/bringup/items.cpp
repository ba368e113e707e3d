#include "rtexec/bringup/item.hpp"

#include "rtexec/bringup/measured.hpp"
#include "rtexec/bringup/read.hpp"

#include <array>

namespace rtexec::bringup {

std::span<const Item> items() {
  using namespace std::chrono_literals;
  static constexpr std::array all{
      Item{"identity/board", "which board it is", board_identity, 0s},
      Item{"identity/cores", "its cores", core_kinds, 0s},
      Item{"kernel/preemption", "preemption of the kernel", preemption, 0s},
      Item{"kernel/command-line", "the kernel's command line", command_line, 0s},
      Item{"kernel/isolation", "isolated cores", isolation, 0s},
      Item{"kernel/timers", "resolution of timers", timers, 0s},
      Item{"real-time/rights", "SCHED_FIFO and locked memory", real_time_rights, 0s},
      Item{"real-time/group", "real-time share of the group", real_time_group, 0s},
      Item{"real-time/throttling", "real-time throttling", throttling, 0s},
      Item{"real-time/fair-server", "the kernel's fair server", fair_server, 0s},
      Item{"clocks/locked", "locked clocks", locked_clocks, 0s},
      Item{"thermal/headroom", "heat below throttling", thermal_headroom, 0s},
      Item{"power/supply", "the power supply", power_supply, 0s},
      Item{"latency/release", "release latency under load", release_latency, 5s},
      Item{"counter/clusters", "counters of memory traffic", traffic_counters, 1s},
      Item{"memory/bandwidth", "memory bandwidth", memory_bandwidth, 4s},
      Item{"memory/regulation", "budgets of memory bandwidth", memory_regulation, 2s},
      Item{"device/rules", "rules of the device", device_rules, 1s, true},
      Item{"device/vmm", "mapping of chunks", device_mapping, 1s, true},
      Item{"device/copies", "copies each way and both", device_copies, 2s, true},
      Item{"store/swap", "the swap store", swap_store, 5s},
      Item{"trace/cost", "what an event costs", trace_cost, 2s},
      Item{"deadlines/task-set", "deadlines of a short task set", task_set, 5s},
  };
  return all;
}

} // namespace rtexec::bringup
