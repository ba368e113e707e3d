// What moving the chunks of one job takes, when none is there and every frame is taken. Formulas and assumptions:
// README.md.
#pragma once

#include <rtexec/plan.hpp>
#include "policies/arithmetic.hpp"

#include <cstdint>
#include <span>

namespace rtexec::policies {

/// How the device scheduler moves chunks (device_scheduler.hpp).
enum class SwapRule {
  overlapped, // pipelined: one job's load beside the execution of another
  guarded,    // serial: one operation at a time, and only for the most urgent job
  exchanged,  // rt-swap and its baselines: one operation at a time
  on_demand,  // lru: nothing beside a load
};
[[nodiscard]] SwapRule rule_of(SwapPolicy policy);

/// All at most `unbounded`.
class SwapCharges {
 public:
  /// `volumes`: chunks by task. `copied_out`: some of them are copied when they leave.
  SwapCharges(const SwapCost& cost, unsigned copy_engines, std::span<const std::uint32_t> volumes, bool copied_out);
  /// `plan.swap` is there, and volumes are assigned.
  explicit SwapCharges(const Plan& plan);

  /// o = phi + beta + alpha x of overlapped loads; 0 for no chunks, and for none but those: a task with a load does not
  /// bypass others.
  [[nodiscard]] Nanos load(std::size_t chunks) const;
  /// alpha: how much longer a load takes for each chunk.
  [[nodiscard]] Nanos per_chunk() const { return both_ways_ ? std::max(in_, out_) : in_ + out_; }
  /// What of a load does not grow with its chunks.
  [[nodiscard]] Nanos load_start(std::size_t chunks) const;
  /// O_in and O_out of guarded and exchanged ones.
  [[nodiscard]] Nanos swap_in(std::size_t chunks) const;
  [[nodiscard]] Nanos swap_out(std::size_t chunks) const;
  /// Once in a busy period, exchanged: chunks that leave for jobs that do not come in.
  [[nodiscard]] Nanos stray() const;
  /// Once in a busy period, guarded: operations that no job is charged for.
  [[nodiscard]] Nanos stray_operations() const;
  /// Both, chunk by chunk.
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

  Nanos in_ = 0, out_ = 0;
  Nanos in_fixed_ = 0, out_fixed_ = 0;
  bool both_ways_ = false;
  std::size_t largest_ = 0, total_ = 0, tasks_ = 0;
};

} // namespace rtexec::policies
