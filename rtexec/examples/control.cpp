// A control loop. The program defines the task and its workload, measures it, plans it, runs it and prints a report.
#include <rtexec/executive.hpp>
#include <rtexec/profiler.hpp>

#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <span>
#include <string>

namespace {

using namespace std::chrono_literals;

/// A plant whose speed follows its input with some delay.
struct Plant {
  double speed = 0;
  void step(double input) { speed += 0.2 * (input - speed); }
};

/// A controller that keeps the plant's speed at `goal`. It runs only on a CPU core: it has no device part, and never
/// waits for the device.
class Controller final : public rtexec::Workload {
 public:
  Controller(Plant& plant, double goal) : plant_(plant), goal_(goal) {}

  [[nodiscard]] bool uses_device() const override { return false; }
  [[nodiscard]] rtexec::MemoryDemand memory() const override { return {}; }
  [[nodiscard]] std::span<const std::byte> constants() const override { return {}; }
  [[nodiscard]] std::string fingerprint() const override { return "controller-2"; }

  [[nodiscard]] rtexec::Result<> bind(rtexec::Device&, const rtexec::Memory&) override { return {}; }

  [[nodiscard]] rtexec::Status before(std::uint64_t) noexcept override {
    const double error = goal_ - plant_.speed;
    sum_ += error;
    input_ = 2 * error + 0.5 * sum_;
    return {};
  }
  [[nodiscard]] rtexec::Status execute() noexcept override { return {}; }
  [[nodiscard]] rtexec::Status after(std::uint64_t) noexcept override {
    plant_.step(input_);
    return {};
  }

 private:
  Plant& plant_;
  double goal_;
  double sum_ = 0; // the sum of errors
  double input_ = 0;
};

rtexec::TaskSet task_set() {
  rtexec::Task control;
  control.name = "control";
  control.workload = rtexec::WorkloadKind::custom;
  control.period = control.deadline = 50ms;

  rtexec::TaskSet set;
  set.executive.duration = 2s;
  // Also run if the machine grants no real-time priorities; then no bounds are guaranteed
  set.executive.allow_degraded = true;
  set.device.capacity = rtexec::Bytes{64u << 20};
  set.tasks = {control};
  return set;
}

int failed(const rtexec::Error& error) {
  std::cerr << error.what << '\n';
  return rtexec::exit_code(error.code);
}

} // namespace

int main() {
  Plant plant;
  const auto own_workloads = [&] {
    rtexec::ExecutiveSetup setup;
    setup.workloads["control"] = std::make_unique<Controller>(plant, 1.5);
    return setup;
  };

  rtexec::TaskSet set = task_set();
  const auto measured = rtexec::profile(set, {.jobs = 20, .margin = 2}, {}, own_workloads);
  if (!measured) return failed(measured.error());
  set.tasks[0].wcet = measured->entries[0].wcet;

  std::atomic<int> late = 0;
  rtexec::ExecutiveSetup setup = own_workloads();
  setup.on_miss = [&](const rtexec::Miss&) { ++late; };
  auto executive = rtexec::Executive::create(set, std::move(setup));
  if (!executive) return failed(executive.error());
  if (const auto started = executive->start(); !started) return failed(started.error());
  const bool promised = executive->plan().proved && executive->degraded().empty();
  std::cout << (promised ? "every deadline will be kept\n" : "nothing is promised\n");
  executive->wait();
  const rtexec::Report report = executive->stop();
  const rtexec::TaskReport& task = report.tasks[0];
  std::cout << task.completed << " jobs, " << late << " of them late, longest response "
            << rtexec::readable(task.response.max) << ", speed " << plant.speed << '\n';
  return plant.speed > 1.4 && plant.speed < 1.6 ? 0 : 1;
}
