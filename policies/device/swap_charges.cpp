#include "policies/device/swap_charges.hpp"

#include "policies/scheduler/device_scheduler.hpp"

#include <algorithm>
#include <vector>

namespace rtexec::policies {
namespace {

constexpr Wide operations = 3; // the number of swap-outs that the charge of each loaded job includes

std::vector<std::uint32_t> volumes_of(const Plan& plan) {
  std::vector<std::uint32_t> volumes;
  for (const PlannedTask& task : plan.tasks) volumes.push_back(task.begins_with());
  return volumes;
}

bool copies_out(const Plan& plan) {
  return std::ranges::any_of(
      plan.tasks, [](const PlannedTask& task) { return std::ranges::any_of(task.swap_slots, &SwapSlot::copied_out); });
}

} // namespace

SwapCharges::SwapCharges(const SwapCost& cost, unsigned copy_engines, std::span<const std::uint32_t> volumes,
                         bool copied_out)
    : in_(cost.in_per_chunk.count()),
      out_((copied_out ? cost.out_per_chunk : cost.drop_per_chunk).count()),
      drop_(cost.drop_per_chunk.count()),
      in_fixed_(cost.in_fixed.count()),
      out_fixed_(cost.out_fixed.count()),
      both_ways_(copy_engines > 1) {
  for (const std::size_t chunks : volumes) {
    largest_ = std::max(largest_, chunks);
    total_ += chunks;
    if (chunks > 0) ++tasks_;
  }
}

SwapCharges::SwapCharges(const Plan& plan)
    : SwapCharges(plan.swap->cost, plan.swap->copy_engines, volumes_of(plan), copies_out(plan)) {}

Nanos SwapCharges::load_start(std::size_t chunks) const {
  return bounded(fixed(chunks) + (both_ways_ ? std::min(in_, out_) : 0));
}

Nanos SwapCharges::load(std::size_t chunks) const {
  return chunks == 0 ? 0 : std::max(Nanos{1}, bounded(load_start(chunks) + Wide{alpha()} * chunks));
}

Nanos SwapCharges::restore(std::size_t chunks) const {
  return chunks == 0 ? 0 : bounded(Wide{alpha()} * chunks + 2 * Wide{load_start(largest_)});
}

Nanos SwapCharges::flight() const {
  const std::size_t most = both_ways_ ? DeviceScheduler::transfers_per_direction : 1;
  return bounded(std::max(Wide{in_fixed_} + in_, Wide{out_fixed_} + out_) * most);
}

StreamCosts SwapCharges::stream() const {
  const Nanos copy = bounded(Wide{in_} + drop_), resume = load_start(largest_);
  const Nanos longest = both_ways_ ? copy : std::max(copy, out_);
  const unsigned operations = both_ways_ ? DeviceScheduler::transfers_per_direction : 1;
  return {.copy = copy,
          .begin = in_fixed_,
          .resume = resume,
          .in_flight = in_flight(operations, longest, in_fixed_, resume)};
}

Nanos SwapCharges::swap_in(std::size_t chunks) const {
  return chunks == 0 ? 0 : bounded(Wide{in_fixed_} + Wide{in_} * chunks);
}

Nanos SwapCharges::swap_out(std::size_t chunks) const {
  return chunks == 0 ? 0 : bounded(operations * out_fixed_ + Wide{out_} * chunks);
}

std::uint64_t SwapCharges::max_blocking(Nanos time, Nanos execution, Nanos beside) const {
  if (time - execution < beside) return 0;
  return std::min(chunks_within(time, bounded(operations * out_fixed_), out_),
                  chunks_within(time - execution, in_fixed_, in_));
}

Nanos SwapCharges::uncharged(SwapRule rule) const {
  if (tasks_ == 0) return 0;
  return rule == SwapRule::rt_swap ? bounded(Wide{out_fixed_} * (2 * tasks_ + 1) + Wide{out_} * largest_)
                                   : bounded(Wide{out_fixed_} * (tasks_ + 1));
}

Nanos SwapCharges::on_demand(std::size_t chunks) const {
  return chunks == 0 ? 0 : bounded(fixed(chunks) + Wide{in_ + out_} * chunks);
}

} // namespace rtexec::policies
