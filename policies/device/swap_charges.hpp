// What moving the chunks of one job takes, when none is there and every frame is taken. Formulas and assumptions:
// proofs/swapping.md.
#pragma once

#include <rtexec/plan.hpp>
#include "policies/device/device_set.hpp"
#include "policies/segments/streaming.hpp"
#include "policies/device/swap_bounds.hpp"

#include <cstdint>
#include <span>

namespace rtexec::policies {

/// All at most `unbounded`.
class SwapCharges {
 public:
  /// `volumes`: chunks by task. `copied_out`: some of them are copied when they leave.
  SwapCharges(const SwapCost& cost, unsigned copy_engines, std::span<const std::uint32_t> volumes, bool copied_out);
  SwapCharges(const DeviceSet& set, const Volumes& volumes)
      : SwapCharges(set.cost, set.copy_engines, volumes, set.copies_out(volumes)) {}
  /// `plan.swap` is there, and volumes are assigned.
  explicit SwapCharges(const Plan& plan);

  /// pipelined: o = phi + beta + alpha x; 0 for no chunks, and for none but those: a task with a load does not bypass
  /// others.
  [[nodiscard]] Nanos load(std::size_t chunks) const;
  /// alpha: how much longer a load takes for each chunk.
  [[nodiscard]] Nanos alpha() const { return both_ways_ ? std::max(in_, out_) : in_ + out_; }
  /// phi + beta: what of a load does not grow with its chunks.
  [[nodiscard]] Nanos load_start(std::size_t chunks) const;
  /// segmented: what a less urgent level loads again where a load of so many chunks took its frames.
  [[nodiscard]] Nanos restore(std::size_t chunks) const;
  /// segmented: until what is in flight has landed, in either direction; each may belong to another load.
  [[nodiscard]] Nanos flight() const;
  /// Where constants come while their job executes.
  [[nodiscard]] StreamCosts stream() const;
  /// serial and rt_swap: O_in and O_out.
  [[nodiscard]] Nanos swap_in(std::size_t chunks) const;
  [[nodiscard]] Nanos swap_out(std::size_t chunks) const;
  [[nodiscard]] JobTimes job(Nanos execution, std::size_t chunks) const {
    return {execution, swap_in(chunks), swap_out(chunks), chunks > 0};
  }
  /// The most chunks for which a job blocks no longer than `time` under serial; `beside`: the longest other execution.
  [[nodiscard]] std::uint64_t max_blocking(Nanos time, Nanos execution, Nanos beside) const;
  /// Once in a busy period, what no job is charged for. serial: operations; rt_swap: chunks that leave for jobs that do
  /// not come in.
  [[nodiscard]] Nanos uncharged(SwapRule rule) const;
  /// demand_paging: both, chunk by chunk.
  [[nodiscard]] Nanos on_demand(std::size_t chunks) const;

  [[nodiscard]] Nanos in() const { return in_; } // of one chunk
  /// Likewise: a copy, unless no swap slot of any task is copied out
  [[nodiscard]] Nanos out() const { return out_; }
  [[nodiscard]] std::size_t largest() const { return largest_; } // chunks of one task
  [[nodiscard]] std::size_t total() const { return total_; }
  [[nodiscard]] std::size_t tasks() const { return tasks_; } // that swap

 private:
  /// Of the load of one job: every other task can be a victim.
  [[nodiscard]] Wide fixed(std::size_t chunks) const {
    return Wide{in_fixed_} + Wide{out_fixed_} * std::min(chunks, tasks_ - 1);
  }

  Nanos in_ = 0, out_ = 0, drop_ = 0;
  Nanos in_fixed_ = 0, out_fixed_ = 0;
  bool both_ways_ = false;
  std::size_t largest_ = 0, total_ = 0, tasks_ = 0;
};

} // namespace rtexec::policies
