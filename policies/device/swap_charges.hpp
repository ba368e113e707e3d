// The time to move the chunks of one job, if none is loaded and every frame is taken. Formulas and assumptions:
// proofs/swapping.md.
#pragma once

#include <rtexec/plan.hpp>
#include "policies/device/device_set.hpp"
#include "policies/segments/streaming.hpp"
#include "policies/device/swap_bounds.hpp"

#include <cstdint>
#include <span>

namespace rtexec::policies {

/// The charges of swapping. All are at most `unbounded`.
class SwapCharges {
 public:
  /// `volumes`: number of chunks by task. `copied_out`: some of them are copied when they leave.
  SwapCharges(const SwapCost& cost, unsigned copy_engines, std::span<const std::uint32_t> volumes, bool copied_out);
  SwapCharges(const DeviceSet& set, const Volumes& volumes)
      : SwapCharges(set.cost, set.copy_engines, volumes, set.copies_out(volumes)) {}
  /// `plan.swap` must be set, and volumes assigned.
  explicit SwapCharges(const Plan& plan);

  /// pipelined: returns o = phi + beta + alpha x. It is 0 only if `chunks` is 0: a task with a load does not bypass
  /// others.
  [[nodiscard]] Nanos load(std::size_t chunks) const;
  /// Returns alpha: how much longer a load takes for each chunk.
  [[nodiscard]] Nanos alpha() const { return both_ways_ ? std::max(in_, out_) : in_ + out_; }
  /// Returns phi + beta: the part of a load that does not grow with its chunks.
  [[nodiscard]] Nanos load_start(std::size_t chunks) const;
  /// segmented: returns the time to reload the chunks of a less urgent level whose frames a load of `chunks` chunks
  /// took.
  [[nodiscard]] Nanos restore(std::size_t chunks) const;
  /// segmented: returns the time until all transfers in flight in either direction have ended; each may belong to
  /// another load.
  [[nodiscard]] Nanos flight() const;
  /// Returns the costs for constants that are loaded while their job executes.
  [[nodiscard]] StreamCosts stream() const;
  /// serial and rt_swap: return O_in and O_out.
  [[nodiscard]] Nanos swap_in(std::size_t chunks) const;
  [[nodiscard]] Nanos swap_out(std::size_t chunks) const;
  [[nodiscard]] JobTimes job(Nanos execution, std::size_t chunks) const {
    return {execution, swap_in(chunks), swap_out(chunks), chunks > 0};
  }
  /// Returns the most chunks for which a job blocks no longer than `time` under serial. `beside`: the longest other
  /// execution.
  [[nodiscard]] std::uint64_t max_blocking(Nanos time, Nanos execution, Nanos beside) const;
  /// Returns the moves of a busy period that no job is charged for. serial: operations; rt_swap: chunks that leave for
  /// jobs that are not loaded.
  [[nodiscard]] Nanos uncharged(SwapRule rule) const;
  /// demand_paging: returns the time to copy out and in, chunk by chunk.
  [[nodiscard]] Nanos on_demand(std::size_t chunks) const;

  [[nodiscard]] Nanos in() const { return in_; } // time to copy one chunk in
  /// Time to free the frame of one chunk: a copy, unless no swap slot of any task is copied out
  [[nodiscard]] Nanos out() const { return out_; }
  [[nodiscard]] std::size_t largest() const { return largest_; } // the most chunks of one task
  [[nodiscard]] std::size_t total() const { return total_; }
  [[nodiscard]] std::size_t tasks() const { return tasks_; } // number of tasks that swap

 private:
  /// Returns the fixed part of the load of one job: every other task can be a victim.
  [[nodiscard]] Wide fixed(std::size_t chunks) const {
    return Wide{in_fixed_} + Wide{out_fixed_} * std::min(chunks, tasks_ - 1);
  }

  Nanos in_ = 0, out_ = 0, drop_ = 0;
  Nanos in_fixed_ = 0, out_fixed_ = 0;
  bool both_ways_ = false;
  std::size_t largest_ = 0, total_ = 0, tasks_ = 0;
};

} // namespace rtexec::policies
