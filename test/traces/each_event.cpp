#include "test/traces/each_event.hpp"

#include "config/names.hpp"
#include "traces/emit.hpp"

#include <chrono>

namespace rtexec::traces::test {
namespace {

using namespace std::chrono_literals;
using Integers = std::map<std::string, std::int64_t>;

constexpr policies::JobId job{.task = 3, .number = 5'000'000'000};
constexpr std::int64_t number = 5'000'000'000;

constexpr policies::Transfer moved{.task = 6, .slot = 11, .frame = 70'000};
constexpr policies::Action loaded{.kind = policies::Action::Kind::copy_in, .job = job, .transfer = moved};
constexpr policies::Action saved{.kind = policies::Action::Kind::copy_out, .job = job, .transfer = moved};
constexpr Bytes chunk{6'000'000'000};

Instant at(std::int64_t ns) { return Instant(Duration(ns)); }

void emit_swapping() {
  for (const auto& policy : spellings<SwapPolicy>())
    swap_plan({.policy = policy.value, .frames = 90'000, .copy_engines = 2, .cost = {.chunk = chunk}, .store = {}}, "page-locked host memory");
  swap_begin(loaded, at(140));
  swap_end(loaded, at(141), {}, chunk);
  swap_begin(saved, at(142));
  swap_end(saved, at(143), {}, chunk);
  swap_begin(saved, at(144)); // of constants: unmapped only
  swap_end(saved, at(145), {}, {});
  swap_end(loaded, at(146), std::unexpected(Errc::corrupted), chunk);
  swap_end(saved, at(147), std::unexpected(Errc::io_error), {});
  swap_totals({4'000'000'001}, {4'000'000'002}, {4'000'000'003}, {4'000'000'004});
}

std::vector<ExpectedEvent> swapping() {
  std::vector<ExpectedEvent> events;
  for (const auto& policy : spellings<SwapPolicy>())
    events.push_back({"swap_plan", {{"frames", 90'000}, {"copy_engines", 2}, {"chunk_bytes", 6'000'000'000}},
                      {{"policy", std::string(policy.text)}, {"store", "page-locked host memory"}}});
  const auto transfer = [](Integers more) {
    more.insert({{"task", 6}, {"slot", 11}, {"frame", 70'000}, {"cause_task", 3}, {"cause_job", number}});
    return more;
  };
  const std::vector<ExpectedEvent> transfers{
      {"swap_in_begin", transfer({{"at", 140}}), {}},
      {"swap_in_end", transfer({{"at", 141}, {"copied_bytes", 6'000'000'000}}), {{"outcome", "ok"}}},
      {"swap_out_begin", transfer({{"at", 142}}), {}},
      {"swap_out_end", transfer({{"at", 143}, {"copied_bytes", 6'000'000'000}}), {{"outcome", "ok"}}},
      {"swap_out_begin", transfer({{"at", 144}}), {}},
      {"swap_out_end", transfer({{"at", 145}, {"copied_bytes", 0}}), {{"outcome", "ok"}}},
      {"swap_in_end", transfer({{"at", 146}, {"copied_bytes", 6'000'000'000}}), {{"outcome", "corrupted"}}},
      {"swap_out_end", transfer({{"at", 147}, {"copied_bytes", 0}}), {{"outcome", "io-error"}}},
      {"swap_totals",
       {{"in_bytes", 4'000'000'001}, {"out_bytes", 4'000'000'002}, {"skipped_bytes", 4'000'000'003}, {"dropped_bytes", 4'000'000'004}},
       {}}};
  events.insert(events.end(), transfers.begin(), transfers.end());
  return events;
}

} // namespace

void emit_each_event() {
  Task task;
  task.name = "front";
  task.period = 100ms;
  task.deadline = 90ms;
  task.offset = 7ms;
  PlannedTask planned;
  planned.core = 1;
  planned.promised = true;
  planned.wcet = {.before = 2ms, .device = 31ms, .after = 1ms};
  planned.core_rank = 4;
  planned.device_rank = 5;
  planned.ready_by = 10ms;
  planned.device_done_by = 80ms;
  Plan plan_made;
  plan_made.proved = true;
  plan_made.order = Order::static_priority;
  plan_made.tasks = {planned};
  plan_made.demand = {1000};
  plan_made.capacity = {2000};
  plan_made.chunk = {500};
  TestVerdict loose, tight;
  loose.name = "demand";
  loose.slack = 9ms;
  tight.name = "rta";
  tight.limiting_task = "front";
  tight.slack = 3ms;
  plan_made.tests = {loose, tight};

  plan(plan_made);
  task_info(3, task, planned);
  planned.response_bound = 60ms;
  task_info(4, task, planned);
  layer_info(3, 17, "conv_17");
  degraded("core 1: SCHED_FIFO refused");
  device_memory("NVIDIA H200", {5'000'000'000}, {400'000'000}, {4'500'000'000}, {9'000'000'000});
  job_release(job, at(100), at(107), at(200));
  job_start(job, at(110));
  cpu_end(job, at(120));
  device_request(job, at(121), at(180));
  device_begin(job, at(130));
  layer_begin(job, 17, at(131));
  layer_end(job, 17, at(169));
  device_end(job, at(170), {});
  device_end(job, at(171), std::unexpected(Errc::device_fault));
  device_end(job, at(172), std::unexpected(Errc::device_lost));
  after_begin(job, at(175));
  job_end(job, at(100), at(210));
  job_miss(job, at(200), at(210));
  job_overrun(job, at(300), OnOverrun::abort_job, policies::ReleaseDecision::Kind::abort_and_wait);
  job_skip(3, at(400), at(401));
  job_abort(job, at(410));
  device_fault(job, "CUDA_ERROR_ILLEGAL_ADDRESS");
  emit_swapping();
}

std::vector<ExpectedEvent> each_event() {
  const auto of_job = [](Integers more) {
    more.insert({{"task", 3}, {"job", number}});
    return more;
  };
  const Integers info{{"promised", 1}, {"period", 100'000'000}, {"deadline", 90'000'000}, {"offset", 7'000'000}, {"core", 1},
                      {"core_rank", 4}, {"device_rank", 5}, {"wcet_before", 2'000'000}, {"wcet_device", 31'000'000},
                      {"wcet_after", 1'000'000}, {"ready_by", 10'000'000}, {"device_done_by", 80'000'000}};
  Integers unbounded = info, bounded = info;
  unbounded.insert({{"task", 3}, {"response_bound", -1}});
  bounded.insert({{"task", 4}, {"response_bound", 60'000'000}});
  std::vector<ExpectedEvent> events{
      {"plan", {{"proved", 1}, {"order", 1}, {"tasks", 1}, {"demand_bytes", 1000}, {"capacity_bytes", 2000}, {"chunk_bytes", 500},
                {"slack", 3'000'000}}, {{"tightest_test", "rta"}, {"tightest_task", "front"}}},
      {"task_info", unbounded, {{"name", "front"}}},
      {"task_info", bounded, {{"name", "front"}}},
      {"layer_info", {{"task", 3}, {"layer", 17}}, {{"name", "conv_17"}}},
      {"degraded", {}, {{"what", "core 1: SCHED_FIFO refused"}}},
      {"device_memory",
       {{"used_bytes", 5'000'000'000}, {"context_bytes", 400'000'000}, {"demand_bytes", 4'500'000'000}, {"separate_bytes", 9'000'000'000}},
       {{"name", "NVIDIA H200"}}},
      {"job_release", of_job({{"nominal", 100}, {"actual", 107}, {"deadline", 200}}), {}},
      {"job_start", of_job({{"at", 110}}), {}},
      {"cpu_end", of_job({{"at", 120}}), {}},
      {"device_request", of_job({{"at", 121}, {"deadline", 180}}), {}},
      {"device_begin", of_job({{"at", 130}}), {}},
      {"layer_begin", of_job({{"layer", 17}, {"at", 131}}), {}},
      {"layer_end", of_job({{"layer", 17}, {"at", 169}}), {}},
      {"device_end", of_job({{"at", 170}, {"outcome", 0}}), {}},
      {"device_end", of_job({{"at", 171}, {"outcome", 1 + static_cast<std::int64_t>(Errc::device_fault)}}), {}},
      {"device_end", of_job({{"at", 172}, {"outcome", 1 + static_cast<std::int64_t>(Errc::device_lost)}}), {}},
      {"after_begin", of_job({{"at", 175}}), {}},
      {"job_end", of_job({{"at", 210}, {"response", 110}}), {}},
      {"job_miss", of_job({{"at", 210}, {"deadline", 200}, {"lateness", 10}}), {}},
      {"job_overrun", of_job({{"at", 300}, {"policy", static_cast<std::int64_t>(OnOverrun::abort_job)},
                              {"decision", static_cast<std::int64_t>(policies::ReleaseDecision::Kind::abort_and_wait)}}), {}},
      {"job_skip", {{"task", 3}, {"nominal", 400}, {"at", 401}}, {}},
      {"job_abort", of_job({{"at", 410}}), {}},
      {"device_fault", of_job({}), {{"what", "CUDA_ERROR_ILLEGAL_ADDRESS"}}},
  };
  const std::vector<ExpectedEvent> more = swapping();
  events.insert(events.end(), more.begin(), more.end());
  return events;
}

} // namespace rtexec::traces::test
