// A workload that takes the time and the memory that it was told to, and computes nothing: for experiments with schedules.
//
// Each part of a job spins for 95 % of its WCET by CLOCK_MONOTONIC, so that what surrounds it (a switch, a cache miss, the clock itself)
// fits into the rest and a run keeps what was promised. Preemption is not compensated: a preempted part ends at the same instant
// as an undisturbed one. The footprint is state; on the host device the device part writes one word in each page of it, as far as its time
// allows. On a GPU it occupies the compute engine for its time, and the memory.
#pragma once

#include "config/task_set.hpp"
#include "tasks/workload.hpp"

namespace rtexec::tasks {

class SyntheticWorkload final : public Workload {
 public:
  SyntheticWorkload(const Wcet& wcet, Bytes footprint, DeviceKind kind) : wcet_(wcet), footprint_(footprint), kind_(kind) {}

  [[nodiscard]] MemoryDemand memory() const override { return {{}, {}, footprint_}; }
  [[nodiscard]] std::span<const std::byte> constants() const override { return {}; }
  [[nodiscard]] std::string fingerprint() const override;
  [[nodiscard]] Result<> bind(hal::Device&, const Memory& memory) override {
    if (kind_ == DeviceKind::host) state_ = memory.state;
    return {};
  }

  [[nodiscard]] Status before(std::uint64_t job) noexcept override;
  [[nodiscard]] Status execute() noexcept override;
  [[nodiscard]] Status after(std::uint64_t job) noexcept override;

 private:
  Wcet wcet_;
  Bytes footprint_;
  DeviceKind kind_;
  std::byte* state_ = nullptr; // where the host can write it
};

} // namespace rtexec::tasks
