// The C interface: what a program gets and what it is told.
#include "config/c_error.hpp"

#include <rtexec/rtexec.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace rtexec {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

template <auto free> struct Free {
  void operator()(auto* handle) const { free(handle); }
};
using Set = std::unique_ptr<rtexec_task_set, Free<rtexec_task_set_free>>;
using PlanHandle = std::unique_ptr<rtexec_plan, Free<rtexec_plan_free>>;
using ExecutiveHandle = std::unique_ptr<rtexec_executive, Free<rtexec_executive_free>>;

const std::string task_set = R"(
[executive]
duration = '100ms'
allow_degraded = true
[device]
capacity = '64MiB'
[[task]]
name = 'own'
workload = 'custom'
period = '20ms'
wcet = '1ms'
wcet_before = '1ms'
wcet_after = '1ms'
)";

Set parse(const std::string& toml = task_set) { return Set(rtexec_parse(toml.c_str(), "set.toml", nullptr)); }

/// Counts its jobs' parts, and how often it was made and ended.
struct Own {
  rtexec_workload workload{};
  std::atomic<int> jobs = 0;
  int made = 0, ended = 0;

  Own() {
    workload.size = sizeof workload;
    workload.self = this;
    workload.memory.state = 100;
    workload.fingerprint = "own";
    workload.execute = [](void*) { return RTEXEC_OK; };
    workload.after = [](void* self, std::uint64_t) {
      ++static_cast<Own*>(self)->jobs;
      return RTEXEC_OK;
    };
    workload.destroy = [](void* self) { ++static_cast<Own*>(self)->ended; };
  }
  [[nodiscard]] rtexec_own_workload given() {
    return {.size = sizeof(rtexec_own_workload),
            .task = "own",
            .create = [](void* self, rtexec_error*) -> const rtexec_workload* {
              ++static_cast<Own*>(self)->made;
              return &static_cast<Own*>(self)->workload;
            },
            .context = this};
  }
};

rtexec_setup setup_with(const rtexec_own_workload& own) {
  rtexec_setup setup{};
  setup.size = sizeof setup;
  setup.force = true;
  setup.workloads = &own;
  setup.workload_count = 1;
  return setup;
}

TEST(CApi, TellsWhatIsWrong) {
  rtexec_error error{};
  EXPECT_EQ(rtexec_parse("[[task]]\nname = 'a'\n", "set.toml", &error), nullptr);
  EXPECT_EQ(error.code, RTEXEC_BAD_INPUT);
  EXPECT_THAT(error.what, HasSubstr("set.toml"));
  EXPECT_EQ(rtexec_load("/nonexistent.toml", &error), nullptr);
  EXPECT_THAT(error.what, HasSubstr("/nonexistent.toml"));
  EXPECT_EQ(rtexec_load("/nonexistent.toml", nullptr), nullptr) << "who does not want to know";
}

TEST(CApi, WhatDoesNotFitIsCut) {
  rtexec_error error{};
  config::tell(&error, {Errc::refused, std::string(RTEXEC_ERROR_LENGTH - 1, 'x')});
  EXPECT_THAT(error.what, EndsWith("x"));
  config::tell(&error, {Errc::refused, std::string(RTEXEC_ERROR_LENGTH, 'x')});
  EXPECT_EQ(std::string(error.what).size(), RTEXEC_ERROR_LENGTH - 1u);
  EXPECT_THAT(error.what, EndsWith("x..."));
  EXPECT_EQ(error.code, RTEXEC_REFUSED);
}

TEST(CApi, PlansWithoutRunning) {
  Own own;
  const auto given = own.given();
  const auto setup = setup_with(given);
  const PlanHandle plan(rtexec_plan_of(parse().get(), &setup, nullptr));
  ASSERT_TRUE(plan);
  EXPECT_TRUE(rtexec_plan_proved(plan.get()));
  const auto json = nlohmann::json::parse(rtexec_plan_json(plan.get()));
  EXPECT_EQ(json["verdict"], "proved");
  EXPECT_EQ(json["conditions"][0]["supposed"], "execution times hold");
  EXPECT_EQ(json["tasks"][0]["memory"]["state_bytes"], 100);
  EXPECT_EQ(own.made, 1);
  EXPECT_EQ(own.ended, 1);
}

TEST(CApi, ATaskOfTheProgramNeedsItsWorkload) {
  rtexec_error error{};
  EXPECT_EQ(rtexec_plan_of(parse().get(), nullptr, &error), nullptr);
  EXPECT_EQ(error.code, RTEXEC_BAD_INPUT);
  EXPECT_THAT(error.what, HasSubstr("'own'"));
  const rtexec_own_workload none = {.size = sizeof none,
                                    .task = "own",
                                    .create = [](void*, rtexec_error* why) -> const rtexec_workload* {
                                      config::tell(why, {Errc::unsupported, "not on a Sunday"});
                                      return nullptr;
                                    },
                                    .context = nullptr};
  const auto setup = setup_with(none);
  EXPECT_EQ(rtexec_create(parse().get(), &setup, &error), nullptr);
  EXPECT_EQ(error.code, RTEXEC_UNSUPPORTED);
  EXPECT_STREQ(error.what, "task 'own': not on a Sunday");
}

TEST(CApi, WithoutExecuteThereIsNoPartOnTheDevice) {
  Own own;
  own.workload.execute = nullptr;
  const auto given = own.given();
  const auto setup = setup_with(given);
  rtexec_error error{};
  EXPECT_EQ(rtexec_create(parse().get(), &setup, &error), nullptr);
  EXPECT_THAT(error.what, HasSubstr("asks for 100B of device memory"));
  own.workload.memory.state = 0;
  EXPECT_EQ(rtexec_create(parse().get(), &setup, &error), nullptr);
  EXPECT_THAT(error.what, HasSubstr("set wcet = \"0ns\""));
  std::string without = task_set;
  without.replace(without.find("wcet = '1ms'"), 12, "wcet = '0ns'");
  const ExecutiveHandle executive(rtexec_create(parse(without).get(), &setup, &error));
  ASSERT_TRUE(executive) << error.what;
  ASSERT_EQ(rtexec_start(executive.get(), &error), RTEXEC_OK) << error.what;
  EXPECT_TRUE(rtexec_wait(executive.get(), -1));
  const auto report = nlohmann::json::parse(rtexec_stop(executive.get(), &error));
  EXPECT_EQ(report["tasks"][0]["completed"].get<int>() + 1, own.jobs);
}

TEST(CApi, RunsAndReports) {
  Own own;
  const auto given = own.given();
  const auto setup = setup_with(given);
  rtexec_error error{};
  ExecutiveHandle executive(rtexec_create(parse().get(), &setup, &error));
  ASSERT_TRUE(executive) << error.what;
  EXPECT_TRUE(rtexec_plan_proved(rtexec_executive_plan(executive.get())));
  EXPECT_FALSE(rtexec_deadlines_kept(executive.get())) << "before stop nothing is known";
  ASSERT_EQ(rtexec_start(executive.get(), &error), RTEXEC_OK) << error.what;
  EXPECT_TRUE(nlohmann::json::accept(rtexec_progress(executive.get(), &error)));
  EXPECT_TRUE(rtexec_wait(executive.get(), -1));
  const std::string report = rtexec_stop(executive.get(), &error);
  EXPECT_EQ(report, rtexec_stop(executive.get(), &error)) << "again, the same";
  const auto json = nlohmann::json::parse(report);
  EXPECT_EQ(json["stopped_by"], "duration");
  EXPECT_EQ(json["deadlines_kept"], rtexec_deadlines_kept(executive.get()));
  EXPECT_EQ(json["bounds_kept"], rtexec_bounds_kept(executive.get()));
  EXPECT_EQ(json["tasks"][0]["completed"].get<int>() + 1, own.jobs) << "and one for warming up";
  executive.reset();
  EXPECT_EQ(own.ended, 1);
}

TEST(CApi, TellsOfPartsAboveTheirWcets) {
  Own own;
  own.workload.execute = [](void*) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    return RTEXEC_OK;
  };
  const auto given = own.given();
  auto setup = setup_with(given);
  std::vector<rtexec_wcet_excess> told;
  setup.context = &told;
  setup.on_wcet_exceeded = [](void* context, const rtexec_wcet_excess* excess) {
    EXPECT_STREQ(excess->task, "own");
    if (excess->part == RTEXEC_DEVICE) static_cast<std::vector<rtexec_wcet_excess>*>(context)->push_back(*excess);
  };
  rtexec_error error{};
  const ExecutiveHandle executive(rtexec_create(parse().get(), &setup, &error));
  ASSERT_TRUE(executive) << error.what;
  ASSERT_EQ(rtexec_start(executive.get(), &error), RTEXEC_OK) << error.what;
  EXPECT_TRUE(rtexec_wait(executive.get(), -1));
  const auto json = nlohmann::json::parse(rtexec_stop(executive.get(), &error));
  ASSERT_GE(told.size(), 2u);
  EXPECT_EQ(told.size(), json["tasks"][0]["above_wcet"]["device"].get<std::size_t>());
  EXPECT_LT(told[0].job, told[1].job);
  EXPECT_GE(told[0].took_ns, 3'000'000);
  EXPECT_EQ(told[0].wcet_ns, 1'000'000);
}

TEST(CApi, AnOlderSetupIsUnderstood) {
  struct Older {
    std::size_t size;
    bool force;
  };
  Older older{.size = sizeof older, .force = true};
  rtexec_error error{};
  rtexec_setup setup{};
  std::memcpy(&setup, &older, sizeof older);
  setup.workload_count = 7; // what stands behind its end means nothing
  EXPECT_EQ(rtexec_create(parse().get(), &setup, &error), nullptr);
  EXPECT_THAT(error.what, HasSubstr("'own'")) << "no workload was given";
}

TEST(CApi, MeasuresNothingByNonsense) {
  rtexec_error error{};
  EXPECT_EQ(rtexec_profile(parse().get(), nullptr, 10, 0.5, &error), RTEXEC_BAD_INPUT);
  EXPECT_THAT(error.what, HasSubstr("margin"));
}

} // namespace
} // namespace rtexec
