// Tests jobs that open and close by themselves: no work goes to the device without one, and none is left open.
#include "rtexec/sharing/preload/job_gate.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace rtexec::preload {
namespace {

/// A device whose work is a number.
class Device final : public GatedDevice {
 public:
  std::atomic<int> work{0}, jobs{0}, wrong{0};
  std::atomic<bool> held{false}, grants{true};

  bool begin() noexcept override {
    if (held.load()) ++wrong;
    if (!grants.load()) return false;
    held = true;
    ++jobs;
    return true;
  }
  void end() noexcept override {
    if (!held.exchange(false) || work.load() != 0) ++wrong;
  }
  bool holds() noexcept override { return held.load(); }
  bool idle() noexcept override { return work.load() == 0; }
  void wait_until_idle() noexcept override {
    while (work.load() != 0) std::this_thread::yield();
  }
  void submit() {
    if (!held.load()) ++wrong;
    ++work;
  }
};

void submit(JobGate& gate, Device& device) {
  ASSERT_TRUE(gate.enter());
  device.submit();
  gate.leave();
}

TEST(JobGate, BeginsJobWithFirstWorkAndEndsItOnceIdle) {
  Device device;
  JobGate gate(device);
  gate.synchronised();
  EXPECT_EQ(device.jobs, 0);
  submit(gate, device);
  submit(gate, device);
  EXPECT_EQ(device.jobs, 1);
  gate.synchronised(); // another stream
  EXPECT_TRUE(device.held);
  device.work = 0;
  gate.synchronised();
  EXPECT_FALSE(device.held);
  submit(gate, device);
  EXPECT_EQ(device.jobs, 2);
  EXPECT_EQ(device.wrong, 0);
}

TEST(JobGate, KeepsJobOpenUntilProgramEndsIt) {
  Device device;
  JobGate gate(device);
  ASSERT_TRUE(gate.begin());
  submit(gate, device);
  device.work = 0;
  gate.synchronised();
  EXPECT_TRUE(device.held);
  ASSERT_TRUE(gate.begin());
  gate.end();
  EXPECT_TRUE(device.held) << "the outer one counts";
  gate.end();
  EXPECT_FALSE(device.held);
  gate.end();
  submit(gate, device);
  device.work = 0;
  gate.end();
  EXPECT_FALSE(device.held) << "one that opened by itself";
  EXPECT_EQ(device.wrong, 0);
}

TEST(JobGate, RefusesWorkWhenDeviceIsNotGranted) {
  Device device;
  JobGate gate(device);
  device.grants = false;
  EXPECT_FALSE(gate.enter());
  EXPECT_FALSE(gate.begin());
  device.grants = true;
  submit(gate, device);
  device.work = 0;
  gate.synchronised();
  EXPECT_FALSE(device.held);
}

TEST(JobGate, BeginsNewJobAfterActionThatLostTheDevice) {
  Device device;
  JobGate gate(device);
  submit(gate, device);
  device.work = 0;
  gate.apart([&] { device.held = false; });
  submit(gate, device);
  EXPECT_EQ(device.jobs, 2);
  EXPECT_EQ(device.wrong, 0);
}

TEST(JobGate, YieldsDeviceOnceItsWorkHasEnded) {
  using namespace std::chrono_literals;
  Device device;
  JobGate gate(device);
  gate.give_way(1s);
  submit(gate, device);
  std::atomic<bool> stop{false};
  std::thread program([&] { // submits the next work before the last has ended
    while (!stop.load()) {
      submit(gate, device);
      std::this_thread::sleep_for(1ms);
      --device.work;
      gate.synchronised();
    }
  });
  while (device.work.load() < 2) std::this_thread::yield();
  EXPECT_EQ(device.jobs, 1);
  std::thread first([&] {
    std::this_thread::sleep_for(20ms);
    --device.work;
  });
  gate.give_way(10s);
  first.join();
  while (device.jobs.load() < 2) std::this_thread::yield();
  stop = true;
  program.join();
  EXPECT_EQ(device.wrong, 0);
}

TEST(JobGate, DoesNotYieldWhileWorkIsPendingOrJobIsExplicit) {
  using namespace std::chrono_literals;
  Device device;
  JobGate gate(device);
  submit(gate, device);
  gate.give_way(5ms);
  submit(gate, device);
  EXPECT_EQ(device.jobs, 1);
  device.work = 0;
  ASSERT_TRUE(gate.begin());
  gate.give_way(5ms);
  EXPECT_TRUE(device.held) << "the program ends it";
  gate.end();
  EXPECT_EQ(device.wrong, 0);
}

TEST(JobGate, HoldsJobAroundAllWorkOfSeveralThreads) {
  Device device;
  JobGate gate(device);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      while (!stop.load()) {
        ASSERT_TRUE(gate.enter());
        device.submit();
        gate.leave();
        --device.work;
        gate.synchronised();
        if (i == 0) {
          gate.apart([&] {
            if (device.work.load() != 0) ++device.wrong;
          });
        }
        if (i == 2) gate.give_way(std::chrono::milliseconds(1));
        if (i == 1) {
          ASSERT_TRUE(gate.begin());
          gate.end();
        }
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  stop = true;
  for (auto& thread : threads) thread.join();
  gate.synchronised();
  EXPECT_FALSE(device.held);
  EXPECT_EQ(device.wrong, 0);
  EXPECT_GT(device.jobs, 10);
}

} // namespace
} // namespace rtexec::preload
