// A workload for tests, on the core alone: tensors by name and shape, and a function from inputs to outputs.
#pragma once

#include <rtexec/task_set.hpp>
#include <rtexec/workload.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rtexec::test {

class OwnWorkload final : public Workload {
 public:
  struct Values {
    std::string name;
    ElementType type;
    std::vector<std::int64_t> shape;
  };
  using Compute = std::function<void(std::uint64_t job, std::span<const Tensor> in, std::span<const Tensor> out)>;

  OwnWorkload(const std::vector<Values>& inputs, const std::vector<Values>& outputs, Compute compute)
      : compute_(std::move(compute)) {
    for (const Values& each : inputs) inputs_.push_back(made(each));
    for (const Values& each : outputs) outputs_.push_back(made(each));
  }
  bool uses_device() const override { return false; }
  MemoryDemand memory() const override { return {}; }
  std::span<const std::byte> constants() const override { return {}; }
  std::string fingerprint() const override { return "own"; }
  Result<> bind(Device&, const Memory&) override { return {}; }
  std::span<const Tensor> inputs() const override { return inputs_; }
  std::span<const Tensor> outputs() const override { return outputs_; }
  Status before(std::uint64_t job) noexcept override {
    compute_(job, inputs_, outputs_);
    return {};
  }
  Status execute() noexcept override { return {}; }
  Status after(std::uint64_t) noexcept override { return {}; }

 private:
  Tensor made(const Values& values) {
    const auto count = std::accumulate(values.shape.begin(), values.shape.end(), std::int64_t{1}, std::multiplies<>());
    std::vector<std::byte>& bytes = bytes_.emplace_back(static_cast<std::size_t>(count) * size_of(values.type));
    return {.name = values.name, .type = values.type, .shape = values.shape, .bytes = bytes};
  }

  Compute compute_;
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<Tensor> inputs_, outputs_;
};

/// Returns its task, with the given period and negligible WCETs.
inline Task own_task(const std::string& name, Duration period) {
  Task task;
  task.name = name;
  task.workload = WorkloadKind::custom;
  task.period = task.deadline = period;
  task.wcet = Wcet{.before = std::chrono::microseconds(200), .device = {}, .after = std::chrono::microseconds(200)};
  return task;
}

} // namespace rtexec::test
