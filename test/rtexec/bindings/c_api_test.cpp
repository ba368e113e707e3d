// Tests the C interface: its results and its error messages.
#include "config/c_error.hpp"
#include "tasks/engine/models/models.hpp"
#include "test/support/eventually.hpp"
#include "test/support/test_files.hpp"
#include "test/support/thread_counts.hpp"

#include <rtexec/rtexec.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <utility>
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

/// Returns a set that runs until it is stopped.
std::string endless(std::string set = task_set) {
  set.replace(set.find("'100ms'"), 7, "'3600s'");
  return set;
}

Set parse(const std::string& toml = task_set) { return Set(rtexec_parse(toml.c_str(), "set.toml", nullptr)); }

/// A workload that counts its jobs' parts, and how often it was created and destroyed.
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

TEST(CApi, ReportsWhyTaskSetIsRefused) {
  rtexec_error error{};
  EXPECT_EQ(rtexec_parse("[[task]]\nname = 'a'\n", "set.toml", &error), nullptr);
  EXPECT_EQ(error.code, RTEXEC_BAD_INPUT);
  EXPECT_THAT(error.what, HasSubstr("set.toml"));
  EXPECT_EQ(rtexec_load("/nonexistent.toml", &error), nullptr);
  EXPECT_THAT(error.what, HasSubstr("/nonexistent.toml"));
  EXPECT_EQ(rtexec_load("/nonexistent.toml", nullptr), nullptr) << "who does not want to know";
}

TEST(CApi, TruncatesTooLongErrorText) {
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

TEST(CApi, RequiresWorkloadForTaskOfTheProgram) {
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

TEST(CApi, WorkloadWithoutExecuteHasNoDevicePart) {
  Own own;
  own.workload.execute = nullptr;
  const auto given = own.given();
  const auto setup = setup_with(given);
  rtexec_error error{};
  EXPECT_EQ(rtexec_create(parse().get(), &setup, &error), nullptr);
  EXPECT_THAT(error.what, HasSubstr("requests 100B of device memory"));
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

TEST(CApi, ReportsEachPartAboveItsWcet) {
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
  const ExecutiveHandle executive(rtexec_create(parse(endless()).get(), &setup, &error));
  ASSERT_TRUE(executive) << error.what;
  ASSERT_EQ(rtexec_start(executive.get(), &error), RTEXEC_OK) << error.what;
  EXPECT_TRUE(test::eventually([&] {
    const auto now = nlohmann::json::parse(rtexec_progress(executive.get(), &error));
    return now["tasks"][0]["above_wcet"]["device"] >= 2;
  }));
  const auto json = nlohmann::json::parse(rtexec_stop(executive.get(), &error));
  ASSERT_GE(told.size(), 2u);
  EXPECT_EQ(told.size(), json["tasks"][0]["above_wcet"]["device"].get<std::size_t>());
  EXPECT_LT(told[0].job, told[1].job);
  EXPECT_GE(told[0].took_ns, 3'000'000);
  EXPECT_EQ(told[0].wcet_ns, 1'000'000);
}

TEST(CApi, AcceptsOlderSmallerSetup) {
  struct Older {
    std::size_t size;
    bool force;
  };
  Older older{.size = sizeof older, .force = true};
  rtexec_error error{};
  rtexec_setup setup{};
  std::memcpy(&setup, &older, sizeof older);
  setup.workload_count = setup.callback_count = 7; // members beyond its end are ignored
  EXPECT_EQ(rtexec_create(parse().get(), &setup, &error), nullptr);
  EXPECT_THAT(error.what, HasSubstr("'own'")) << "no workload was given";
}

/// A workload on the core alone, with two inputs and an output: out = first + second.
struct Adder {
  rtexec_workload workload{};
  std::int32_t first[2]{}, second[2]{}, out[2]{};
  std::int64_t shape[1]{2};
  rtexec_tensor inputs[2]{}, outputs[1]{};

  Adder() {
    inputs[0] = tensor("first", first);
    inputs[1] = tensor("second", second);
    outputs[0] = tensor("out", out);
    workload.size = sizeof workload;
    workload.self = this;
    workload.fingerprint = "adder";
    workload.inputs = inputs;
    workload.input_count = 2;
    workload.outputs = outputs;
    workload.output_count = 1;
    workload.before = [](void* self, std::uint64_t) {
      auto& adder = *static_cast<Adder*>(self);
      for (int i = 0; i < 2; ++i) adder.out[i] = adder.first[i] + adder.second[i];
      return RTEXEC_OK;
    };
  }
  rtexec_tensor tensor(const char* name, std::int32_t* data) {
    return {.size = sizeof(rtexec_tensor),
            .name = name,
            .type = RTEXEC_INT32,
            .rank = 1,
            .shape = shape,
            .data = data,
            .bytes = sizeof first};
  }
  [[nodiscard]] rtexec_own_workload given() {
    return {.size = sizeof(rtexec_own_workload),
            .task = "own",
            .create = [](void* self, rtexec_error*) -> const rtexec_workload* {
              return &static_cast<Adder*>(self)->workload;
            },
            .context = this};
  }
};

std::string core_alone(std::string set = task_set) {
  set.replace(set.find("wcet = '1ms'"), 12, "wcet = '0ns'");
  return set;
}

/// The program's inputs and what it observed. One thread at a time writes each member.
struct Program {
  std::atomic<int> inputs = 0, outputs = 0, wrong = 0, allocating = 0;
  std::uint64_t before_input = 0, before_output = 0; // allocations of their threads
  rtexec_code answer = RTEXEC_OK;
};

/// Returns 1 if the calling thread allocated since the previous call. The first call is that of the warm-up.
int allocated(std::uint64_t& before, bool first) {
  const std::uint64_t now = test::allocations();
  return std::exchange(before, now) != now && !first ? 1 : 0;
}

rtexec_code put_in(void* context, rtexec_input_job* job) {
  auto& program = *static_cast<Program*>(context);
  program.allocating += allocated(program.before_input, program.inputs == 0);
  program.wrong += job->size != sizeof *job || std::string_view(job->task) != "own" || job->input_count != 2;
  program.wrong += std::string_view(job->inputs[1].name) != "second" || job->inputs[1].type != RTEXEC_INT32 ||
                   job->inputs[1].rank != 1 || job->inputs[1].shape[0] != 2 || job->inputs[1].bytes != 8;
  for (int i = 0; i < 2; ++i) {
    static_cast<std::int32_t*>(job->inputs[0].data)[i] = static_cast<std::int32_t>(job->job) * 10 + i;
    static_cast<std::int32_t*>(job->inputs[1].data)[i] = 1;
  }
  job->sampled_ns = job->release_ns - 5;
  ++program.inputs;
  return program.answer;
}

void take_out(void* context, const rtexec_output_job* job) {
  auto& program = *static_cast<Program*>(context);
  program.allocating += allocated(program.before_output, program.outputs == 0);
  program.wrong += job->size != sizeof *job || std::string_view(job->task) != "own" || job->output_count != 1;
  for (int i = 0; i < 2; ++i)
    program.wrong +=
        static_cast<const std::int32_t*>(job->outputs[0].data)[i] != static_cast<std::int32_t>(job->job) * 10 + i + 1;
  program.wrong += job->sampled_ns != job->release_ns - 5 || job->detection_count != 0;
  ++program.outputs;
}

rtexec_task_callbacks callbacks_of(Program& program) {
  return {.size = sizeof(rtexec_task_callbacks),
          .task = "own",
          .on_input = put_in,
          .on_output = take_out,
          .context = &program};
}

/// Runs the adder with the program's callbacks for at least five jobs, and returns its report.
nlohmann::json run_adder(Program& program, const std::string& set) {
  Adder adder;
  const auto given = adder.given();
  const auto callbacks = callbacks_of(program);
  auto setup = setup_with(given);
  setup.callbacks = &callbacks;
  setup.callback_count = 1;
  rtexec_error error{};
  const ExecutiveHandle executive(rtexec_create(parse(endless(set)).get(), &setup, &error));
  EXPECT_TRUE(executive) << error.what;
  if (!executive) return {};
  EXPECT_EQ(rtexec_start(executive.get(), &error), RTEXEC_OK) << error.what;
  EXPECT_TRUE(test::eventually([&] { return program.inputs > 5; })) << "and one for warming up";
  return nlohmann::json::parse(rtexec_stop(executive.get(), &error));
}

TEST(CApi, PassesInputsToOutputsInSameJob) {
  Program program;
  const auto report = run_adder(program, core_alone());
  EXPECT_EQ(program.wrong, 0);
  EXPECT_EQ(program.allocating, 0) << "from the warm-up on";
  EXPECT_GE(program.outputs, 4);
  EXPECT_EQ(program.outputs, report["tasks"][0]["completed"].get<int>() + 1) << "one for warming up";
  EXPECT_EQ(program.inputs, report["tasks"][0]["released"].get<int>() + 1);
}

TEST(CApi, AppliesOnStalePolicyWhenProgramHasNoNewInput) {
  Program program;
  program.answer = RTEXEC_STALE;
  const std::string asks =
      "inputs = [{tensor = 'first', from = 'program', on_stale = 'skip'}, "
      "{tensor = 'second', from = 'program', on_stale = 'reuse'}]\n";
  const auto report = run_adder(program, core_alone() + asks);
  EXPECT_GE(report["tasks"][0]["skipped"], 4);
  EXPECT_EQ(program.outputs, 1) << "the one for warming up";
}

TEST(CApi, RefusesCallbacksWithoutMatchingTask) {
  Adder adder;
  const auto given = adder.given();
  auto setup = setup_with(given);
  rtexec_task_callbacks none{};
  none.size = sizeof none;
  setup.callbacks = &none;
  setup.callback_count = 1;
  rtexec_error error{};
  EXPECT_EQ(rtexec_create(parse(core_alone()).get(), &setup, &error), nullptr);
  EXPECT_THAT(error.what, HasSubstr("need the name of their task"));
  none.task = "another";
  EXPECT_EQ(rtexec_create(parse(core_alone()).get(), &setup, &error), nullptr);
  EXPECT_THAT(error.what, HasSubstr("task 'another', but no task of the set has this name"));
  const rtexec_task_callbacks twice[] = {none, none};
  setup.callbacks = twice;
  setup.callback_count = 2;
  EXPECT_EQ(rtexec_create(parse(core_alone()).get(), &setup, &error), nullptr);
  EXPECT_THAT(error.what, HasSubstr("twice for task 'another'"));
}

/// The boxes of the last job.
struct Boxes {
  std::uint64_t job = 0;
  std::vector<rtexec_box> boxes = std::vector<rtexec_box>(200);
  std::size_t count = 0;
};

TEST(CApi, DetectionsOfCallbackMatchOutputFiles) {
  const test::ScratchFolder folder;
  ASSERT_TRUE(tasks::write_model("yolov3-tiny", {.size = 160}, folder / "net.onnx"));
  const std::string set =
      "[executive]\nduration = '1s'\nallow_degraded = true\n[[task]]\nname = 'own'\n"
      "model = 'net.onnx'\nperiod = '200ms'\nwcet = '1ms'\n"
      "outputs = [{tensor = 'detections', to = 'file:out'}]\n";
  Boxes seen;
  const rtexec_task_callbacks callbacks = {.size = sizeof callbacks,
                                           .task = "own",
                                           .on_input = nullptr,
                                           .on_output =
                                               [](void* context, const rtexec_output_job* job) {
                                                 auto& last = *static_cast<Boxes*>(context);
                                                 last.job = job->job;
                                                 last.count = std::min(job->detection_count, last.boxes.size());
                                                 std::copy_n(job->detections, last.count, last.boxes.begin());
                                               },
                                           .context = &seen};
  rtexec_setup setup{};
  setup.size = sizeof setup;
  setup.force = true;
  setup.callbacks = &callbacks;
  setup.callback_count = 1;
  rtexec_error error{};
  const Set tasks(rtexec_parse(set.c_str(), (folder / "set.toml").c_str(), &error));
  ASSERT_TRUE(tasks) << error.what;
  ExecutiveHandle executive(rtexec_create(tasks.get(), &setup, &error));
  ASSERT_TRUE(executive) << error.what;
  ASSERT_EQ(rtexec_start(executive.get(), &error), RTEXEC_OK) << error.what;
  EXPECT_TRUE(rtexec_wait(executive.get(), -1));
  EXPECT_NE(rtexec_stop(executive.get(), &error), nullptr);
  executive.reset(); // after that, all files are written
  std::ifstream lines(folder / "out/latest/own.jsonl");
  nlohmann::json last;
  for (std::string line; std::getline(lines, line);) last = nlohmann::json::parse(line);
  EXPECT_EQ(last["job"], seen.job);
  ASSERT_EQ(last["detections"].size(), seen.count);
  EXPECT_GT(seen.count, 0u) << "noise looks like something to seeded weights";
  for (std::size_t i = 0; i < seen.count; ++i) {
    const auto& box = last["detections"][i];
    EXPECT_EQ(box["class"], seen.boxes[i].label);
    EXPECT_NEAR(box["score"].get<float>(), seen.boxes[i].score, 1e-3);
    EXPECT_NEAR(box["right"].get<float>(), seen.boxes[i].right, 1e-1);
  }
}

TEST(CApi, ReleasesTaskWhenProgramTriggersIt) {
  Own own;
  const auto given = own.given();
  const auto setup = setup_with(given);
  std::string called = task_set + "trigger = 'call'\n";
  called.replace(called.find("'20ms'"), 6, "'1ms'");
  called.replace(called.find("wcet = '1ms'"), 12, "wcet = '10us'");
  called.replace(called.find("wcet_before = '1ms'"), 19, "wcet_before = '10us'");
  called.replace(called.find("wcet_after = '1ms'"), 18, "wcet_after = '10us'");
  rtexec_error error{};
  const ExecutiveHandle executive(rtexec_create(parse(endless(called)).get(), &setup, &error));
  ASSERT_TRUE(executive) << error.what;
  ASSERT_EQ(rtexec_start(executive.get(), &error), RTEXEC_OK) << error.what;
  EXPECT_FALSE(rtexec_trigger(executive.get(), "another"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(rtexec_trigger(executive.get(), "own"));
    EXPECT_TRUE(test::eventually([&] {
      return nlohmann::json::parse(rtexec_progress(executive.get(), &error))["tasks"][0]["completed"] == i + 1;
    }));
    EXPECT_FALSE(rtexec_wait(executive.get(), 20'000'000));
  }
  const auto report = nlohmann::json::parse(rtexec_stop(executive.get(), &error));
  EXPECT_EQ(report["tasks"][0]["released"], 3);
}

/// A call of one function of the interface with null for all its arguments. It returns true if the result is right.
struct NullCall {
  const char* function;
  bool (*is_right)(rtexec_error* error);
};

constexpr NullCall null_calls[] = {
    {"rtexec_load", [](rtexec_error* e) { return rtexec_load(nullptr, e) == nullptr; }},
    {"rtexec_parse", [](rtexec_error* e) { return rtexec_parse(nullptr, nullptr, e) == nullptr; }},
    {"rtexec_task_set_free", [](rtexec_error*) { return rtexec_task_set_free(nullptr), true; }},
    {"rtexec_plan_of", [](rtexec_error* e) { return rtexec_plan_of(nullptr, nullptr, e) == nullptr; }},
    {"rtexec_plan_proved", [](rtexec_error*) { return !rtexec_plan_proved(nullptr); }},
    {"rtexec_plan_json", [](rtexec_error*) { return rtexec_plan_json(nullptr) == nullptr; }},
    {"rtexec_plan_free", [](rtexec_error*) { return rtexec_plan_free(nullptr), true; }},
    {"rtexec_profile", [](rtexec_error* e) { return rtexec_profile(nullptr, nullptr, 1, 1, e) == RTEXEC_BAD_INPUT; }},
    {"rtexec_create", [](rtexec_error* e) { return rtexec_create(nullptr, nullptr, e) == nullptr; }},
    {"rtexec_executive_plan", [](rtexec_error*) { return rtexec_executive_plan(nullptr) == nullptr; }},
    {"rtexec_start", [](rtexec_error* e) { return rtexec_start(nullptr, e) == RTEXEC_BAD_INPUT; }},
    {"rtexec_wait", [](rtexec_error*) { return rtexec_wait(nullptr, -1); }},
    {"rtexec_trigger", [](rtexec_error*) { return !rtexec_trigger(nullptr, nullptr); }},
    {"rtexec_request_stop", [](rtexec_error*) { return rtexec_request_stop(nullptr), true; }},
    {"rtexec_progress", [](rtexec_error* e) { return rtexec_progress(nullptr, e) == nullptr; }},
    {"rtexec_stop", [](rtexec_error* e) { return rtexec_stop(nullptr, e) == nullptr; }},
    {"rtexec_deadlines_kept", [](rtexec_error*) { return !rtexec_deadlines_kept(nullptr); }},
    {"rtexec_bounds_kept", [](rtexec_error*) { return !rtexec_bounds_kept(nullptr); }},
    {"rtexec_executive_free", [](rtexec_error*) { return rtexec_executive_free(nullptr), true; }},
    {"rtexec_bandwidth_locks_open", // takes no handle
     [](rtexec_error*) { return rtexec_bandwidth_locks_free(rtexec_bandwidth_locks_open(nullptr)), true; }},
    {"rtexec_bandwidth_lock", [](rtexec_error*) { return rtexec_bandwidth_lock(nullptr), true; }},
    {"rtexec_bandwidth_unlock", [](rtexec_error*) { return rtexec_bandwidth_unlock(nullptr), true; }},
    {"rtexec_gpu_busy", [](rtexec_error*) { return rtexec_gpu_busy(nullptr), true; }},
    {"rtexec_gpu_not_busy", [](rtexec_error*) { return rtexec_gpu_not_busy(nullptr), true; }},
    {"rtexec_bandwidth_locks_free", [](rtexec_error*) { return rtexec_bandwidth_locks_free(nullptr), true; }},
};

TEST(CApi, RefusesNullInEveryFunction) {
  for (const NullCall& call : null_calls) {
    EXPECT_TRUE(call.is_right(nullptr)) << call.function;
    rtexec_error error{};
    EXPECT_TRUE(call.is_right(&error)) << call.function;
    if (error.code != RTEXEC_OK) {
      EXPECT_EQ(error.code, RTEXEC_BAD_INPUT) << call.function;
      EXPECT_THAT(error.what, EndsWith(" is null")) << call.function;
    }
  }
}

TEST(CApi, NullTestCoversEveryFunctionOfHeader) {
  const std::string header = test::read_text("rtexec/include/rtexec/rtexec.h");
  ASSERT_FALSE(header.empty()) << "run from the top of the tree";
  std::set<std::string> declared, tried;
  const std::regex function(R"(RTEXEC_API[^;(]*\b(rtexec_\w+)\()");
  for (std::sregex_iterator each(header.begin(), header.end(), function), end; each != end; ++each)
    declared.insert((*each)[1]);
  for (const NullCall& call : null_calls) tried.insert(call.function);
  EXPECT_EQ(tried, declared);
}

TEST(CApi, RefusesNullArraysAndNullTexts) {
  const Set set = parse();
  rtexec_setup setup{};
  setup.size = sizeof setup;
  setup.callback_count = setup.workload_count = 1;
  rtexec_error error{};
  EXPECT_EQ(rtexec_plan_of(set.get(), &setup, &error), nullptr);
  EXPECT_THAT(error.what, HasSubstr("callbacks is null"));
  setup.callback_count = 0;
  EXPECT_EQ(rtexec_create(set.get(), &setup, &error), nullptr);
  EXPECT_THAT(error.what, HasSubstr("workloads is null"));
  EXPECT_EQ(rtexec_parse(task_set.c_str(), nullptr, &error), nullptr);
  EXPECT_THAT(error.what, HasSubstr("file is null"));
}

TEST(CApi, ReadsUnterminatedErrorTextOnlyToItsEnd) {
  const rtexec_own_workload own{.size = sizeof own,
                                .task = "own",
                                .create = [](void*, rtexec_error* error) -> const rtexec_workload* {
                                  std::ranges::fill(error->what, 'x');
                                  return nullptr;
                                },
                                .context = nullptr};
  const auto setup = setup_with(own);
  rtexec_error error{};
  EXPECT_EQ(rtexec_create(parse().get(), &setup, &error), nullptr);
  EXPECT_THAT(error.what, HasSubstr("task 'own': xxx"));
}

TEST(CApi, ProfileRefusesMarginBelowOne) {
  rtexec_error error{};
  EXPECT_EQ(rtexec_profile(parse().get(), nullptr, 10, 0.5, &error), RTEXEC_BAD_INPUT);
  EXPECT_THAT(error.what, HasSubstr("margin"));
}

} // namespace
} // namespace rtexec
