// The time to move the chunks of one job in the worst case: none of them is resident, and every frame (physical chunk)
// is taken. Formulas and assumptions: proofs/swapping.md.
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
  /// `volumes`: the number of swapped chunks by task. `copied_out`: some chunks are copied when they leave the device;
  /// otherwise all are dropped.
  SwapCharges(const SwapCost& cost, unsigned copy_engines, std::span<const std::uint32_t> volumes, bool copied_out);
  SwapCharges(const DeviceSet& set, const Volumes& volumes)
      : SwapCharges(set.cost, set.copy_engines, volumes, set.copies_out(volumes)) {}
  /// `plan.swap` must be set, and volumes assigned.
  explicit SwapCharges(const Plan& plan);

  /// For `pipelined`: returns the longest load of `chunks` chunks, o = phi + beta + alpha x with x = `chunks`. It is 0
  /// only if `chunks` is 0, since the scheduler treats tasks with and without a load differently.
  [[nodiscard]] Nanos load(std::size_t chunks) const;
  /// Returns alpha: the time that each chunk adds to a load.
  [[nodiscard]] Nanos alpha() const { return both_ways_ ? std::max(in_, out_) : in_ + out_; }
  /// Returns phi + beta: the part of a load of `chunks` chunks that does not grow with each of them.
  [[nodiscard]] Nanos load_start(std::size_t chunks) const;
  /// For `segmented`: returns the time to reload chunks of a less urgent level, after a load of `chunks` chunks took
  /// their frames.
  [[nodiscard]] Nanos restore(std::size_t chunks) const;
  /// For `segmented`: returns the time until all transfers in flight have ended, in both directions. Each may belong to
  /// another load.
  [[nodiscard]] Nanos flight() const;
  /// Returns the costs of streaming: loading constants while their own job executes.
  [[nodiscard]] StreamCosts stream() const;
  /// For `serial` and `rt_swap`: return O_in and O_out, the times of a swap-in and of the swap-outs for it.
  [[nodiscard]] Nanos swap_in(std::size_t chunks) const;
  [[nodiscard]] Nanos swap_out(std::size_t chunks) const;
  [[nodiscard]] JobTimes job(Nanos execution, std::size_t chunks) const {
    return {execution, swap_in(chunks), swap_out(chunks), chunks > 0};
  }
  /// For `serial`: returns the most chunks with which a job of this `execution` blocks no longer than `time`. `beside`:
  /// the longest execution of another task.
  [[nodiscard]] std::uint64_t max_blocking(Nanos time, Nanos execution, Nanos beside) const;
  /// Returns the time of swap-outs in a busy period that no job is charged for (proofs/serial-and-rt-swap.md). Under
  /// `serial` it is the fixed cost of some operations. Under `rt_swap` there are more operations, and chunks that leave
  /// for jobs that are then overtaken.
  [[nodiscard]] Nanos uncharged(SwapRule rule) const;
  /// For `demand_paging`: returns the time to copy chunks out and in, one after the other.
  [[nodiscard]] Nanos on_demand(std::size_t chunks) const;

  [[nodiscard]] Nanos in() const { return in_; } // time to copy one chunk in
  /// The time to free the frame of one chunk: a copy, unless all chunks that leave can be dropped
  [[nodiscard]] Nanos out() const { return out_; }
  [[nodiscard]] std::size_t largest() const { return largest_; } // the most chunks of one task
  [[nodiscard]] std::size_t total() const { return total_; }
  [[nodiscard]] std::size_t tasks() const { return tasks_; } // number of tasks that swap

 private:
  /// Returns the fixed part of the load of one job. It is the largest if every other task loses a chunk.
  [[nodiscard]] Wide fixed(std::size_t chunks) const {
    return Wide{in_fixed_} + Wide{out_fixed_} * std::min(chunks, tasks_ - 1);
  }

  Nanos in_ = 0, out_ = 0, drop_ = 0;
  Nanos in_fixed_ = 0, out_fixed_ = 0;
  bool both_ways_ = false;
  std::size_t largest_ = 0, total_ = 0, tasks_ = 0;
};

} // namespace rtexec::policies
