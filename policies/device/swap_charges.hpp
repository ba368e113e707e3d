// The time to move the chunks of one job in the worst case: no chunk is resident, and every frame (physical chunk) is
// occupied. A *charge* is the time that the analysis counts for such a move. Formulas, letters and assumptions:
// proofs/swapping.md, notation.md.
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
  /// `volumes`: the number of swapped chunks by task. `copied_out`: true if some chunks are copied when they leave the
  /// device; false if all chunks are dropped.
  SwapCharges(const SwapCost& cost, unsigned copy_engines, std::span<const std::uint32_t> volumes, bool copied_out);
  SwapCharges(const DeviceSet& set, const Volumes& volumes)
      : SwapCharges(set.cost, set.copy_engines, volumes, set.copies_out(volumes)) {}
  /// Requires that `plan.swap` is set and that the swap volumes are assigned.
  explicit SwapCharges(const Plan& plan);

  /// For `pipelined`: returns o, the longest load of x = `chunks` chunks: o = phi + beta + alpha x. phi is the fixed
  /// time of a load, beta the time until both of two copy engines are busy, and alpha the time for each chunk. The
  /// result is 0 only if `chunks` is 0, since the scheduler treats tasks with and without a load differently.
  [[nodiscard]] Nanos load(std::size_t chunks) const;
  /// Returns alpha: the time that each chunk adds to a load.
  [[nodiscard]] Nanos alpha() const { return both_ways_ ? std::max(in_, out_) : in_ + out_; }
  /// Returns phi + beta: the part of a load of `chunks` chunks that is not proportional to the number of chunks.
  [[nodiscard]] Nanos load_start(std::size_t chunks) const;
  /// For `segmented`: a load of `chunks` chunks takes frames from a less urgent level. Returns the time to reload the
  /// chunks of that level which were in these frames.
  [[nodiscard]] Nanos restore(std::size_t chunks) const;
  /// For `segmented`: returns the time until all transfers in flight in both directions have ended. Each transfer may
  /// belong to a different load.
  [[nodiscard]] Nanos flight() const;
  /// Returns the costs of streaming, that is, of loading constants during the execution of their own job.
  [[nodiscard]] StreamCosts stream() const;
  /// For `serial` and `rt_swap`: return O_in and O_out, the times of a swap-in and of the swap-outs for it.
  [[nodiscard]] Nanos swap_in(std::size_t chunks) const;
  [[nodiscard]] Nanos swap_out(std::size_t chunks) const;
  [[nodiscard]] JobTimes job(Nanos execution, std::size_t chunks) const {
    return {execution, swap_in(chunks), swap_out(chunks), chunks > 0};
  }
  /// For `serial`: returns the largest number of chunks with which a job blocks no longer than `time`. `execution`: the
  /// job's execution. `beside`: the longest execution of another task.
  [[nodiscard]] std::uint64_t max_blocking(Nanos time, Nanos execution, Nanos beside) const;
  /// Returns the time of swap-outs in a busy period that the charge of no job includes (proofs/serial-and-rt-swap.md).
  /// Let n be the number of tasks that swap. Under `serial` the result is the fixed cost of n + 1 swap-outs. Under
  /// `rt_swap` it is the fixed cost of 2 n + 1 swap-outs, and the time to copy out chunks for a job that another job
  /// overtakes afterwards.
  [[nodiscard]] Nanos uncharged(SwapRule rule) const;
  /// For `demand_paging`: returns the time to copy chunks out and in, one after the other.
  [[nodiscard]] Nanos on_demand(std::size_t chunks) const;

  [[nodiscard]] Nanos in() const { return in_; } // time to copy one chunk in
  /// The time to free the frame of one chunk: the time of a copy, unless all chunks that leave the device are dropped
  [[nodiscard]] Nanos out() const { return out_; }
  [[nodiscard]] std::size_t largest() const { return largest_; } // the largest number of swapped chunks of one task
  [[nodiscard]] std::size_t total() const { return total_; }
  [[nodiscard]] std::size_t tasks() const { return tasks_; } // number of tasks that swap

 private:
  /// Returns the fixed part of the time to load `chunks` chunks. In the worst case the load evicts chunks of as many
  /// other tasks as possible.
  [[nodiscard]] Wide fixed(std::size_t chunks) const {
    return Wide{in_fixed_} + Wide{out_fixed_} * std::min(chunks, tasks_ - 1);
  }

  Nanos in_ = 0, out_ = 0, drop_ = 0;
  Nanos in_fixed_ = 0, out_fixed_ = 0;
  bool both_ways_ = false;
  std::size_t largest_ = 0, total_ = 0, tasks_ = 0;
};

} // namespace rtexec::policies
