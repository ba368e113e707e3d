#include "test/traces/each_event.hpp"

#include "config/names.hpp"
#include "traces/emit.hpp"

#include <chrono>
#include <iterator>

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
    swap_plan({.policy = policy.value, .frames = 90'000, .copy_engines = 2, .cost = {.chunk = chunk}, .store = {}},
              "page-locked host memory");
  swap_begin(loaded, at(140));
  swap_end(loaded, at(141), {}, chunk);
  swap_begin(saved, at(142));
  swap_end(saved, at(143), {}, chunk);
  swap_begin(saved, at(144)); // constants are unmapped only
  swap_end(saved, at(145), {}, {});
  swap_end(loaded, at(146), Unexpected(Errc::corrupted), chunk);
  swap_end(saved, at(147), Unexpected(Errc::io_error), {});
  swap_totals({4'000'000'001}, {4'000'000'002}, {4'000'000'003}, {4'000'000'004});
}

std::vector<ExpectedEvent> swapping() {
  std::vector<ExpectedEvent> events;
  for (const auto& policy : spellings<SwapPolicy>())
    events.push_back({"swap_plan",
                      {{"frames", 90'000}, {"copy_engines", 2}, {"chunk_bytes", 6'000'000'000}},
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
       {{"in_bytes", 4'000'000'001},
        {"out_bytes", 4'000'000'002},
        {"skipped_bytes", 4'000'000'003},
        {"dropped_bytes", 4'000'000'004}},
       {}}};
  events.insert(events.end(), transfers.begin(), transfers.end());
  return events;
}

constexpr std::uint64_t sequence = 7'000'000'000;

policies::Event input(policies::Event::Kind kind) {
  const bool moves = kind == policies::Event::Kind::copied_in || kind == policies::Event::Kind::copied_out;
  return {.kind = kind,
          .job = moves ? policies::JobId{} : job,
          .now = at(500),
          .deadline = at(580),
          .transfer = moves ? moved : policies::Transfer{},
          .failed = moves,
          .segment = kind == policies::Event::Kind::segment_done ? 80'000U : 0};
}

constexpr policies::Event::Kind inputs[] = {policies::Event::Kind::job_requested, policies::Event::Kind::job_withdrawn,
                                            policies::Event::Kind::segment_done,  policies::Event::Kind::execution_done,
                                            policies::Event::Kind::copied_in,     policies::Event::Kind::copied_out};
constexpr const char* input_names[] = {"job-requested",  "job-withdrawn", "segment-done",
                                       "execution-done", "copied-in",     "copied-out"};
constexpr policies::Action::Kind actions[] = {
    policies::Action::Kind::start_execution, policies::Action::Kind::copy_in, policies::Action::Kind::copy_out,
    policies::Action::Kind::refuse,          policies::Action::Kind::drop,    policies::Action::Kind::fail};
constexpr const char* action_names[] = {"start-execution", "copy-in", "copy-out", "refuse", "drop", "fail"};

void emit_scheduling() {
  for (const auto kind : inputs) scheduler_input(sequence, input(kind));
  for (const auto kind : actions)
    scheduler_action(sequence, {.kind = kind,
                                .job = job,
                                .transfer = moved,
                                .co_running = true,
                                .as = MemoryPolicy::host,
                                .segment = 4,
                                .committed = 2});
}

std::vector<ExpectedEvent> scheduling() {
  std::vector<ExpectedEvent> events;
  for (std::size_t i = 0; i < std::size(inputs); ++i) {
    const bool moves = i >= 4;
    events.push_back({"scheduler_input",
                      {{"sequence", static_cast<std::int64_t>(sequence)},
                       {"task", moves ? 0 : 3},
                       {"job", moves ? 0 : number},
                       {"at", 500},
                       {"deadline", i == 0 ? 580 : 0},
                       {"moved_task", moves ? 6 : 0},
                       {"slot", moves ? 11 : 0},
                       {"frame", moves ? 70'000 : 0},
                       {"failed", moves},
                       {"segment", i == 2 ? 80'000 : 0}},
                      {{"input", input_names[i]}}});
  }
  for (const char* action : action_names)
    events.push_back({"scheduler_action",
                      {{"sequence", static_cast<std::int64_t>(sequence)},
                       {"task", 3},
                       {"job", number},
                       {"moved_task", 6},
                       {"slot", 11},
                       {"frame", 70'000},
                       {"beside", 1},
                       {"segment", 4},
                       {"committed", 2}},
                      {{"action", action}, {"as", "H"}}});
  return events;
}

void emit_bandwidth() {
  client_change(7, 2, 1234, "front", "came", at(595));
  regulated_core(5, 1ms);
  bandwidth_budget(5, at(600), {4'000'000'005}, 1ms);
  throttle_begin(5, at(610));
  throttle_end(5, at(620));
}

void emit_clocks() {
  core_clock(5, at(630), {2'400'000'001});
  device_clock(at(640), {1'980'000'001}, {5'200'000'001}, 3);
  core_stolen(6, true, at(650), at(660), Duration(70'000'000'001));
}

std::vector<ExpectedEvent> clocks() {
  return {{"core_clock", {{"core", 5}, {"at", 630}, {"frequency", 2'400'000'001}}, {}},
          {"device_clock",
           {{"at", 640}, {"frequency", 1'980'000'001}, {"memory_frequency", 5'200'000'001}, {"limits", 3}},
           {}},
          {"core_stolen", {{"core", 6}, {"computes", 1}, {"since", 650}, {"at", 660}, {"stolen", 70'000'000'001}}, {}}};
}

std::vector<ExpectedEvent> bandwidth() {
  return {{"client_change",
           {{"task", 7}, {"place", 2}, {"process", 1234}, {"at", 595}},
           {{"name", "front"}, {"what", "came"}}},
          {"regulated_core", {{"core", 5}, {"period", 1'000'000}}, {}},
          {"bandwidth_budget", {{"core", 5}, {"at", 600}, {"bytes", 4'000'000'005}, {"period", 1'000'000}}, {}},
          {"throttle_begin", {{"core", 5}, {"at", 610}}, {}},
          {"throttle_end", {{"core", 5}, {"at", 620}}, {}}};
}

/// Emits a chain with bounds, under each communication, and one without bounds.
void emit_chains() {
  TaskSet tasks;
  tasks.tasks.resize(3);
  tasks.tasks[0].name = "camera";
  tasks.tasks[1].name = "brake";
  tasks.tasks[2].name = "fusion";
  tasks.tasks[2].trigger = Trigger::input;
  tasks.chains.resize(2);
  tasks.chains[0].name = "steer";
  tasks.chains[0].tasks = {"camera", "brake"};
  tasks.chains[0].max_reaction = 500ms;
  tasks.chains[0].max_age = 400ms;
  tasks.chains[1].name = "stop";
  tasks.chains[1].tasks = {"fusion"};
  tasks.chains[1].communicate = Communication::let;
  PlannedChain planned;
  planned.kept = true;
  planned.input_delay = 7ms;
  planned.reaction = 300ms;
  planned.age = 290ms;
  planned.reduced_age = 280ms;
  planned.terms = {{.task = "camera", .waits = 100ms, .takes = 50ms}, {.task = "brake", .waits = 90ms, .takes = 60ms}};
  chain_info(0, tasks, planned);
  chain_info(1, tasks, {});
}

std::vector<ExpectedEvent> chains() {
  const auto place = [](std::int64_t chain, std::int64_t task, std::int64_t waits, std::int64_t takes) {
    return ExpectedEvent{"chain_task", {{"chain", chain}, {"task", task}, {"waits", waits}, {"takes", takes}}, {}};
  };
  return {{"chain_info",
           {{"chain", 0},
            {"triggered", 0},
            {"kept", 1},
            {"reaction", 300'000'000},
            {"age", 290'000'000},
            {"reduced_age", 280'000'000},
            {"max_reaction", 500'000'000},
            {"max_age", 400'000'000},
            {"from_sampling", 1}},
           {{"name", "steer"}, {"communicate", "immediate"}}},
          place(0, 0, 100'000'000, 50'000'000),
          place(0, 1, 90'000'000, 60'000'000),
          {"chain_info",
           {{"chain", 1},
            {"triggered", 1},
            {"kept", 0},
            {"reaction", -1},
            {"age", -1},
            {"reduced_age", -1},
            {"max_reaction", -1},
            {"max_age", -1},
            {"from_sampling", 0}},
           {{"name", "stop"}, {"communicate", "let"}}},
          place(1, 2, -1, -1)};
}

/// Emits the event once for each memory policy.
void emit_memory_policies(const Task& task, PlannedTask planned) {
  planned.memory = {
      .constant = {5'000'000'001}, .scratch = {5'000'000'002}, .state = {5'000'000'003}, .fixed = {5'000'000'004}};
  planned.swap_volume = {5'000'000'005};
  planned.swap_slots.resize(9);
  planned.resident_slots = 4;
  planned.co_run = CoRun{.wcet = Duration(5'000'000'006), .idle = {}};
  planned.workload = "dnn-5f3a";
  planned.tuning = {"conv_1 = winograd", "conv_2 = direct"};
  for (const auto& policy : spellings<MemoryPolicy>()) {
    planned.memory_policy = policy.value;
    task_info(5, task, planned);
  }
}

std::vector<ExpectedEvent> memory_policies() {
  std::vector<ExpectedEvent> events;
  for (const auto& policy : spellings<MemoryPolicy>()) {
    events.push_back(
        {"task_info", {{"task", 5}, {"swap_slots", 9}, {"resident_slots", 4}}, {{"criticality", "best-effort"}}});
    events.push_back({"task_memory",
                      {{"task", 5},
                       {"constant_bytes", 5'000'000'001},
                       {"scratch_bytes", 5'000'000'002},
                       {"state_bytes", 5'000'000'003},
                       {"fixed_bytes", 5'000'000'004},
                       {"swap_volume_bytes", 5'000'000'005}},
                      {{"policy", std::string(policy.text)}}});
    events.push_back({"task_co_run", {{"task", 5}, {"wcet", 5'000'000'006}, {"idle", -1}}, {}});
    events.push_back({"task_workload", {{"task", 5}}, {{"workload", "dnn-5f3a"}}});
    events.push_back({"task_tuning", {{"task", 5}}, {{"line", "conv_1 = winograd"}}});
    events.push_back({"task_tuning", {{"task", 5}}, {{"line", "conv_2 = direct"}}});
  }
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
  plan_made.tasks = {planned, planned, planned};
  plan_made.tasks[1].segments = 70'000;
  plan_made.tasks[1].stream = Stream{.ring = 70'001, .reads = {{0, 70'002}, {70'003, 70'004}}};
  plan_made.tasks[1].segment_wcets = {5ms, 7ms, 6ms};
  plan_made.tasks[2].device_class = 80'000;
  plan_made.launch_ahead = 90'000;
  plan_made.demand = {1000};
  plan_made.capacity = {2000};
  plan_made.chunk = {500};
  TestVerdict loose, tight;
  loose.test = AdmissionTest::theorem1;
  loose.slack = 9ms;
  tight.test = AdmissionTest::rta;
  tight.limiting_task = "front";
  tight.slack = 3ms;
  tight.bound = TimeBound{57ms, 60ms};
  tight.proved = true;
  plan_made.device_test = loose;
  plan_made.end_to_end = tight;

  run_begin("1.2.3", "a board", false, at(90));
  run_begin("1.2.3", "simulation", true, at(0));
  task_set("a/set.toml");
  plan(plan_made);
  task_info(3, task, planned);
  planned.response_bound = 60ms;
  task_info(4, task, planned);
  task.criticality = Criticality::best_effort;
  emit_memory_policies(task, planned);
  emit_chains();
  layer_info(3, 17, "conv_17");
  degraded("core 1: SCHED_FIFO refused");
  probe("store", "page-locked host memory");
  device_memory("NVIDIA H200", {5'000'000'000}, {400'000'000}, {4'500'000'000}, {9'000'000'000});
  task_load(3, at(60), at(80));
  first_contents(3, 2, {6'000'000'000}, 2, at(61), at(79));
  first_contents_tile(3, 2, 1, {3'000'000'000}, at(65), at(70), at(71), at(78));
  job_release(job, at(100), at(107), at(200));
  job_start(job, at(110));
  job_input(job, at(110), at(105), 70'000, 60'000, {});
  job_input(job, at(111), at(105), 1, 1, Unexpected(Errc::stale));
  cpu_end(job, at(120), Duration(9));
  device_request(job, at(121), at(180));
  device_begin(job, at(130));
  segment_end(job, 4, at(133));
  segment_begin(job, 5, at(134));
  layer_begin(job, 17, at(131));
  layer_end(job, 17, at(169));
  device_executed(job, Duration(39));
  device_end(job, at(170), {});
  device_end(job, at(171), Unexpected(Errc::device_fault));
  device_end(job, at(172), Unexpected(Errc::device_lost));
  after_begin(job, at(175));
  result_drop(job, at(209), 70'000);
  job_end(job, at(210), Duration(110), Duration(34));
  job_miss(job, at(210), at(200), Duration(10));
  job_overrun(job, at(300), OnOverrun::abort_job, policies::ReleaseDecision::Kind::abort_and_wait);
  job_skip(3, at(400), at(401), policies::ReleaseReason::wcet_exceeded);
  job_abort(job, at(410));
  device_fault(job, "CUDA_ERROR_ILLEGAL_ADDRESS");
  emit_swapping();
  emit_scheduling();
  emit_bandwidth();
  emit_clocks();
  run_end(at(700), "duration");
}

std::vector<ExpectedEvent> each_event() {
  const auto of_job = [](Integers more) {
    more.insert({{"task", 3}, {"job", number}});
    return more;
  };
  const Integers info{{"promised", 1},
                      {"period", 100'000'000},
                      {"deadline", 90'000'000},
                      {"offset", 7'000'000},
                      {"core", 1},
                      {"core_rank", 4},
                      {"device_rank", 5},
                      {"wcet_before", 2'000'000},
                      {"wcet_device", 31'000'000},
                      {"wcet_after", 1'000'000},
                      {"ready_by", 10'000'000},
                      {"device_done_by", 80'000'000},
                      {"swap_slots", 0},
                      {"resident_slots", -1}};
  const Integers nothing{
      {"constant_bytes", 0}, {"scratch_bytes", 0}, {"state_bytes", 0}, {"fixed_bytes", 0}, {"swap_volume_bytes", 0}};
  Integers unbounded = info, bounded = info;
  unbounded.insert({{"task", 3}, {"response_bound", -1}});
  bounded.insert({{"task", 4}, {"response_bound", 60'000'000}});
  const auto memory_of = [&](std::int64_t task) {
    Integers of = nothing;
    of.insert({"task", task});
    return ExpectedEvent{"task_memory", of, {{"policy", "D"}}};
  };
  std::vector<ExpectedEvent> events{
      {"run_begin", {{"simulated", 0}, {"start", 90}}, {{"version", "1.2.3"}, {"machine", "a board"}}},
      {"run_begin", {{"simulated", 1}, {"start", 0}}, {{"version", "1.2.3"}, {"machine", "simulation"}}},
      {"task_set", {}, {{"file", "a/set.toml"}}},
      {"plan",
       {{"proved", 1},
        {"order", 1},
        {"tasks", 3},
        {"demand_bytes", 1000},
        {"capacity_bytes", 2000},
        {"chunk_bytes", 500},
        {"slack", 3'000'000}},
       {{"tightest_test", "rta"}, {"tightest_task", "front"}}},
      {"admission_test",
       {{"proved", 0}, {"baseline", 1}, {"left", 0}, {"right", 0}, {"slack", 9'000'000}},
       {{"name", "theorem1"}, {"limiting_task", ""}}},
      {"admission_test",
       {{"proved", 1}, {"baseline", 0}, {"left", 57'000'000}, {"right", 60'000'000}, {"slack", 3'000'000}},
       {{"name", "rta"}, {"limiting_task", "front"}}},
      {"task_segments",
       {{"task", 1}, {"device_class", 1}, {"segments", 70'000}, {"launch_ahead", 90'000}, {"longest", 7'000'000}},
       {}},
      {"task_stream", {{"task", 1}, {"ring", 70'001}, {"begin", 0}, {"end", 70'002}}, {}},
      {"task_stream", {{"task", 1}, {"ring", 70'001}, {"begin", 70'003}, {"end", 70'004}}, {}},
      {"task_segments",
       {{"task", 2}, {"device_class", 80'000}, {"segments", 1}, {"launch_ahead", 90'000}, {"longest", -1}},
       {}},
      {"task_info", unbounded, {{"name", "front"}, {"criticality", "real-time"}}},
      memory_of(3),
      {"task_workload", {{"task", 3}}, {{"workload", ""}}},
      {"task_info", bounded, {{"name", "front"}, {"criticality", "real-time"}}},
      memory_of(4),
      {"task_workload", {{"task", 4}}, {{"workload", ""}}},
  };
  const auto append = [&events](const std::vector<ExpectedEvent>& more) {
    events.insert(events.end(), more.begin(), more.end());
  };
  append(memory_policies());
  append(chains());
  append({
      {"layer_info", {{"task", 3}, {"layer", 17}}, {{"name", "conv_17"}}},
      {"degraded", {}, {{"what", "core 1: SCHED_FIFO refused"}}},
      {"probe", {}, {{"service", "store"}, {"found", "page-locked host memory"}}},
      {"device_memory",
       {{"used_bytes", 5'000'000'000},
        {"context_bytes", 400'000'000},
        {"demand_bytes", 4'500'000'000},
        {"separate_bytes", 9'000'000'000}},
       {{"name", "NVIDIA H200"}}},
      {"task_load", {{"task", 3}, {"begin", 60}, {"end", 80}}, {}},
      {"first_contents",
       {{"task", 3}, {"buffer", 2}, {"bytes", 6'000'000'000}, {"tiles", 2}, {"begin", 61}, {"end", 79}},
       {}},
      {"first_contents_tile",
       {{"task", 3},
        {"buffer", 2},
        {"tile", 1},
        {"bytes", 3'000'000'000},
        {"prefetch_begin", 65},
        {"prefetch_end", 70},
        {"make_begin", 71},
        {"make_end", 78}},
       {}},
      {"job_release", of_job({{"nominal", 100}, {"actual", 107}, {"deadline", 200}}), {}},
      {"job_start", of_job({{"at", 110}}), {}},
      {"job_input", of_job({{"at", 110}, {"sampled", 105}, {"inputs", 70'000}, {"stale", 60'000}, {"outcome", 0}}), {}},
      {"job_input",
       of_job({{"at", 111},
               {"sampled", 105},
               {"inputs", 1},
               {"stale", 1},
               {"outcome", 1 + static_cast<std::int64_t>(Errc::stale)}}),
       {}},
      {"cpu_end", of_job({{"at", 120}, {"executed", 9}}), {}},
      {"device_request", of_job({{"at", 121}, {"deadline", 180}}), {}},
      {"device_begin", of_job({{"at", 130}}), {}},
      {"segment_end", of_job({{"segment", 4}, {"at", 133}}), {}},
      {"segment_begin", of_job({{"segment", 5}, {"at", 134}}), {}},
      {"layer_begin", of_job({{"layer", 17}, {"at", 131}}), {}},
      {"layer_end", of_job({{"layer", 17}, {"at", 169}}), {}},
      {"device_executed", of_job({{"executed", 39}}), {}},
      {"device_end", of_job({{"at", 170}, {"outcome", 0}}), {}},
      {"device_end", of_job({{"at", 171}, {"outcome", 1 + static_cast<std::int64_t>(Errc::device_fault)}}), {}},
      {"device_end", of_job({{"at", 172}, {"outcome", 1 + static_cast<std::int64_t>(Errc::device_lost)}}), {}},
      {"after_begin", of_job({{"at", 175}}), {}},
      {"result_drop", of_job({{"at", 209}, {"sinks", 70'000}}), {}},
      {"job_end", of_job({{"at", 210}, {"response", 110}, {"executed", 34}}), {}},
      {"job_miss", of_job({{"at", 210}, {"deadline", 200}, {"lateness", 10}}), {}},
      {"job_overrun",
       of_job({{"at", 300},
               {"policy", static_cast<std::int64_t>(OnOverrun::abort_job)},
               {"decision", static_cast<std::int64_t>(policies::ReleaseDecision::Kind::abort_and_wait)}}),
       {}},
      {"job_skip",
       {{"task", 3},
        {"nominal", 400},
        {"at", 401},
        {"reason", static_cast<std::int64_t>(policies::ReleaseReason::wcet_exceeded)}},
       {}},
      {"job_abort", of_job({{"at", 410}}), {}},
      {"device_fault", of_job({}), {{"what", "CUDA_ERROR_ILLEGAL_ADDRESS"}}},
  });
  append(swapping());
  append(scheduling());
  append(bandwidth());
  append(clocks());
  append({{"run_end", {{"at", 700}}, {{"stopped_by", "duration"}}}});
  return events;
}

} // namespace rtexec::traces::test
