#include "policies/swap_charges.hpp"

#include <algorithm>

namespace rtexec::policies {
namespace {

Nanos bounded(Wide time) { return static_cast<Nanos>(std::min<Wide>(time, unbounded)); }

} // namespace

SwapRule rule_of(SwapPolicy policy) {
  switch (policy) {
    case SwapPolicy::pipelined:
    case SwapPolicy::none: return SwapRule::overlapped;
    case SwapPolicy::rt_swap:
    case SwapPolicy::mo_vmm:
    case SwapPolicy::min:
    case SwapPolicy::pageable: return SwapRule::exchanged;
    case SwapPolicy::lru: return SwapRule::on_demand;
  }
  return SwapRule::on_demand;
}

SwapCharges::SwapCharges(const Plan& plan)
    : in_(plan.swap->cost.in_per_chunk.count()), in_fixed_(plan.swap->cost.in_fixed.count()), out_fixed_(plan.swap->cost.out_fixed.count()),
      both_ways_(plan.swap->copy_engines > 1) {
  bool copied = false;
  for (const PlannedTask& task : plan.tasks) {
    copied = copied || std::ranges::any_of(task.swap_slots, &SwapSlot::copied_out);
    largest_ = std::max(largest_, task.swap_slots.size());
    total_ += task.swap_slots.size();
    if (!task.swap_slots.empty()) ++tasks_;
  }
  out_ = (copied ? plan.swap->cost.out_per_chunk : plan.swap->cost.drop_per_chunk).count();
}

Nanos SwapCharges::load(std::size_t chunks) const {
  if (chunks == 0) return 0;
  const Nanos beta = both_ways_ ? std::min(in_, out_) : 0;
  return bounded(fixed(chunks) + beta + Wide{per_chunk()} * chunks);
}

Nanos SwapCharges::swap_in(std::size_t chunks) const { return chunks == 0 ? 0 : bounded(Wide{in_fixed_} + Wide{in_} * chunks); }

Nanos SwapCharges::swap_out(std::size_t chunks) const {
  constexpr Wide operations = 3; // for each job that comes in
  return chunks == 0 ? 0 : bounded(operations * out_fixed_ + Wide{out_} * chunks);
}

Nanos SwapCharges::stray() const { return bounded(Wide{out_fixed_} * (2 * tasks_ + 1) + Wide{out_} * largest_); }

Nanos SwapCharges::on_demand(std::size_t chunks) const { return chunks == 0 ? 0 : bounded(fixed(chunks) + Wide{in_ + out_} * chunks); }

} // namespace rtexec::policies
