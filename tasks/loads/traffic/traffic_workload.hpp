// A workload that moves memory in its CPU parts and needs no device: for experiments with bandwidth budgets. Each job
// moves traffic_before bytes in its first part and traffic_after in its last, in whole lines (copy: pairs of lines),
// rounded down, from where the job before left off; what a byte is for each pattern, tasks/loads/traffic/generator.hpp
// says. Its device part does nothing.
#pragma once

#include <rtexec/task_set.hpp>
#include "hal/machine_files.hpp"
#include "tasks/loads/traffic/generator.hpp"
#include <rtexec/workload.hpp>

#include <memory>

namespace rtexec::tasks {

class TrafficWorkload final : public Workload {
 public:
  /// Line size, and buffer where the task names none, come from `machine`'s caches. bad_input: an amount that is less
  /// than a line, or no traffic at all; out_of_memory.
  [[nodiscard]] static Result<std::unique_ptr<TrafficWorkload>> make(const Task& task,
                                                                     const hal::Machine& machine = hal::Machine());

  [[nodiscard]] MemoryDemand memory() const override { return {}; }
  [[nodiscard]] std::span<const std::byte> constants() const override { return {}; }
  /// Of pattern, amounts, buffer and line.
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
