// A workload that moves memory in its CPU parts and needs no device. It is used for experiments with bandwidth budgets.
// Each job moves traffic_before bytes in its first part and traffic_after bytes in its last part. These two amounts are
// rounded down to whole lines (copy: pairs of lines). Each job continues where the previous job ended.
// tasks/loads/traffic/generator.hpp defines how each pattern counts bytes. The device part does nothing.
#pragma once

#include <rtexec/task_set.hpp>
#include "hal/machine_files.hpp"
#include "tasks/loads/traffic/generator.hpp"
#include <rtexec/workload.hpp>

#include <memory>

namespace rtexec::tasks {

class TrafficWorkload final : public Workload {
 public:
  /// Makes the workload. The line size is the line size of `machine`'s caches. If the task names no buffer size, the
  /// size of these caches determines it. Returns bad_input if an amount is below one line or no traffic is requested.
  /// Returns out_of_memory if the buffer cannot be allocated.
  [[nodiscard]] static Result<std::unique_ptr<TrafficWorkload>> make(const Task& task,
                                                                     const hal::Machine& machine = hal::Machine());

  [[nodiscard]] MemoryDemand memory() const override { return {}; }
  [[nodiscard]] std::span<const std::byte> constants() const override { return {}; }
  /// The result depends on pattern, amounts, buffer and line size.
  [[nodiscard]] std::string fingerprint() const override;
  [[nodiscard]] Result<> bind(Device&, const Memory&) override { return {}; }

  [[nodiscard]] Status before(std::uint64_t) noexcept override { return move(before_); }
  [[nodiscard]] Status execute() noexcept override { return {}; }
  [[nodiscard]] Status after(std::uint64_t) noexcept override { return move(after_); }

  [[nodiscard]] const LineGenerator& generator() const { return *generator_; }

 private:
  TrafficWorkload(const Task& task, std::unique_ptr<LineGenerator> generator);
  [[nodiscard]] Status move(Bytes bytes) noexcept;

  TrafficPattern pattern_;
  Bytes before_, after_;
  std::unique_ptr<LineGenerator> generator_;
};

} // namespace rtexec::tasks
