// The C API, which calls the public C++ API. A handle owns its object, and the texts that its functions return.
#include <rtexec/bandwidth_lock.hpp>
#include <rtexec/executive.hpp>
#include <rtexec/planning.hpp>
#include <rtexec/profiler.hpp>
#include <rtexec/rtexec.h>
#include "config/c_error.hpp"
#include "config/base/must.hpp"
#include "rtexec/runtime/json/plan_json.hpp"
#include "tasks/backends/custom_workload.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <new>
#include <type_traits>

using namespace rtexec;
using config::tell;

struct rtexec_task_set {
  TaskSet set;
};

struct rtexec_plan {
  Plan plan;
  std::string json;
};

struct rtexec_executive {
  Executive executive;
  rtexec_plan plan;
  std::optional<Report> report;
  std::string text;
};

struct rtexec_bandwidth_locks {
  BandwidthLocks locks;
};

namespace {

/// Returns the error for the exception that is being handled. Requires that the caller is in a catch block.
Error error_of_exception() {
  try {
    throw;
  } catch (const Failed& failed) { return failed.error; } catch (const std::bad_alloc&) {
    return {Errc::out_of_memory, "out of memory"};
  } catch (const std::exception& exception) { return {Errc::unsupported, exception.what()}; } catch (...) {
    return {Errc::unsupported, "a callback threw an exception that is not a std::exception"};
  }
}

/// Calls `body` and returns its result, a pointer. If `body` throws, as must() does, returns null and sets `error`.
template <class Body> std::invoke_result_t<Body> pointer(rtexec_error* error, Body body) noexcept {
  try {
    return body();
  } catch (...) {
    tell(error, error_of_exception());
    return nullptr;
  }
}

template <class Body> rtexec_code code(rtexec_error* error, Body body) noexcept {
  try {
    body();
    return RTEXEC_OK;
  } catch (...) {
    const Error failed = error_of_exception();
    tell(error, failed);
    return config::code_of(failed.code);
  }
}

/// Returns `argument`. Throws bad_input if it is null, because the caller must pass it.
template <class T> T* not_null(T* argument, const char* name) {
  if (argument == nullptr) give_up(Errc::bad_input, std::string(name) + " is null");
  return argument;
}

/// Copies a struct of the caller into a struct of this version. Members that an older version does not have are zero.
template <class Struct> Struct of_this_version(const Struct* given) {
  Struct known{};
  if (given == nullptr) return known;
  if (given->size < sizeof given->size) give_up(Errc::bad_input, "a struct's size must be set to its sizeof");
  std::memcpy(&known, given, std::min(given->size, sizeof known));
  return known;
}

/// Calls `use` for each element of an array. The elements have the size of the struct in the caller's version.
template <class Struct, class Use> void for_each(const Struct* array, std::size_t count, const char* name, Use use) {
  if (count > 0) not_null(array, name);
  const auto* at = reinterpret_cast<const std::byte*>(array);
  for (std::size_t i = 0; i < count; ++i) {
    const auto* each = reinterpret_cast<const Struct*>(at);
    use(of_this_version(each));
    at += each->size;
  }
}

Result<std::unique_ptr<Workload>> make(const rtexec_own_workload& own) {
  if (own.create == nullptr) return fail(Errc::bad_input, "create must not be null");
  rtexec_error error{RTEXEC_BAD_INPUT, {}};
  const rtexec_workload* workload = own.create(own.context, &error);
  if (workload == nullptr) return fail(config::errc_of(error.code), config::text_of(error, "create()"));
  return tasks::CustomWorkload::adopt(workload);
}

std::vector<std::string> names_of(const TaskSet& set) {
  std::vector<std::string> names;
  for (const Task& task : set.tasks) names.push_back(task.name);
  return names;
}

std::function<void(const Miss&)> miss_callback(const rtexec_setup& setup, const TaskSet& set) {
  if (setup.on_miss == nullptr) return {};
  return [call = setup.on_miss, context = setup.context, names = names_of(set)](const Miss& miss) {
    const rtexec_miss told{.size = sizeof told,
                           .task = names[miss.task].c_str(),
                           .job = miss.job,
                           .response_ns = miss.response.count(),
                           .deadline_ns = miss.deadline.count()};
    call(context, &told);
  };
}

std::function<void(const WcetExcess&)> excess_callback(const rtexec_setup& setup, const TaskSet& set) {
  if (setup.on_wcet_exceeded == nullptr) return {};
  return [call = setup.on_wcet_exceeded, context = setup.context, names = names_of(set)](const WcetExcess& excess) {
    const rtexec_wcet_excess told{.size = sizeof told,
                                  .task = names[excess.task].c_str(),
                                  .job = excess.job,
                                  .part = static_cast<rtexec_part>(excess.part),
                                  .took_ns = excess.took.count(),
                                  .wcet_ns = excess.wcet.count()};
    call(context, &told);
  };
}

/// The tensors of a task as C structs. The structs are made in the warm-up job, after the workload is bound.
/// Afterwards, neither the address nor the shape of a tensor changes.
class TensorViews {
 public:
  std::span<const rtexec_tensor> of(std::span<const Tensor> tensors) {
    if (views_.size() != tensors.size()) {
      views_.resize(tensors.size());
      std::ranges::transform(tensors, views_.begin(), view);
    }
    return views_;
  }

 private:
  static rtexec_tensor view(const Tensor& tensor) {
    return {.size = sizeof(rtexec_tensor),
            .name = tensor.name.c_str(),
            .type = static_cast<rtexec_element_type>(tensor.type),
            .rank = tensor.shape.size(),
            .shape = tensor.shape.data(),
            .data = tensor.bytes.data(),
            .bytes = tensor.bytes.size()};
  }

  std::vector<rtexec_tensor> views_;
};

static_assert(
    static_cast<int>(ElementType::uint8) == RTEXEC_UINT8 && static_cast<int>(ElementType::int32) == RTEXEC_INT32 &&
    static_cast<int>(ElementType::int64) == RTEXEC_INT64 && static_cast<int>(ElementType::float16) == RTEXEC_FLOAT16 &&
    static_cast<int>(ElementType::float32) == RTEXEC_FLOAT32 && static_cast<int>(ElementType::int8) == RTEXEC_INT8 &&
    static_cast<int>(ElementType::boolean) == RTEXEC_BOOLEAN &&
    static_cast<int>(ElementType::uint16) == RTEXEC_UINT16 && static_cast<int>(ElementType::int16) == RTEXEC_INT16 &&
    static_cast<int>(ElementType::uint32) == RTEXEC_UINT32 && static_cast<int>(ElementType::uint64) == RTEXEC_UINT64 &&
    static_cast<int>(ElementType::float64) == RTEXEC_FLOAT64);
static_assert(sizeof(rtexec_box) == sizeof(Box) && offsetof(rtexec_box, top) == offsetof(Box, top) &&
              offsetof(rtexec_box, right) == offsetof(Box, right) &&
              offsetof(rtexec_box, bottom) == offsetof(Box, bottom) &&
              offsetof(rtexec_box, score) == offsetof(Box, score) &&
              offsetof(rtexec_box, label) == offsetof(Box, label));

std::int64_t ns(Instant at) noexcept { return at.time_since_epoch().count(); }

std::function<Status(InputJob&)> input_callback(const rtexec_task_callbacks& given) {
  if (given.on_input == nullptr) return {};
  return [call = given.on_input, context = given.context, task = std::string(given.task),
          views = TensorViews()](InputJob& job) mutable -> Status {
    const auto inputs = views.of(job.inputs);
    rtexec_input_job asked{.size = sizeof asked,
                           .task = task.c_str(),
                           .job = job.job,
                           .release_ns = ns(job.release),
                           .sampled_ns = ns(job.sampled),
                           .inputs = inputs.data(),
                           .input_count = inputs.size()};
    const rtexec_code answer = call(context, &asked);
    job.sampled = Instant(Duration(asked.sampled_ns));
    return answer == RTEXEC_OK ? Status() : Unexpected(config::errc_of(answer));
  };
}

std::function<void(const OutputJob&)> output_callback(const rtexec_task_callbacks& given) {
  if (given.on_output == nullptr) return {};
  return [call = given.on_output, context = given.context, task = std::string(given.task),
          views = TensorViews()](const OutputJob& job) mutable {
    const auto outputs = views.of(job.outputs);
    const rtexec_output_job told{.size = sizeof told,
                                 .task = task.c_str(),
                                 .job = job.job,
                                 .release_ns = ns(job.release),
                                 .sampled_ns = ns(job.sampled),
                                 .outputs = outputs.data(),
                                 .output_count = outputs.size(),
                                 .detections = reinterpret_cast<const rtexec_box*>(job.detections.data()),
                                 .detection_count = job.detections.size()};
    call(context, &told);
  };
}

Result<ExecutiveSetup> setup_of(const rtexec_setup* given, const TaskSet& set) {
  const rtexec_setup setup = of_this_version(given);
  ExecutiveSetup result;
  result.force = setup.force;
  result.on_miss = miss_callback(setup, set);
  result.on_wcet_exceeded = excess_callback(setup, set);
  std::string errors;
  Errc first{};
  for_each(setup.callbacks, setup.callback_count, "callbacks", [&](const rtexec_task_callbacks& own) {
    if (own.task == nullptr) give_up(Errc::bad_input, "callbacks need the name of their task");
    if (!result.callbacks.try_emplace(own.task, TaskCallbacks{input_callback(own), output_callback(own)}).second)
      give_up(Errc::bad_input, "callbacks were given twice for task '" + std::string(own.task) + "'");
  });
  for_each(setup.workloads, setup.workload_count, "workloads", [&](const rtexec_own_workload& own) {
    if (own.task == nullptr) give_up(Errc::bad_input, "a workload needs the name of its task");
    auto workload = make(own);
    if (workload) return void(result.workloads.insert_or_assign(own.task, std::move(*workload)));
    if (errors.empty()) first = workload.error().code;
    errors += (errors.empty() ? "task '" : "\ntask '") + std::string(own.task) + "': " + workload.error().what;
  });
  if (!errors.empty()) return fail(first, errors);
  return result;
}

rtexec_plan handle_of(const ResolvedSet& set, const Plan& plan) { return {plan, to_json(set, plan).dump(2)}; }

void measure(const TaskSet& set, const rtexec_setup* setup, const ProfileOptions& options) {
  if (!std::isfinite(options.margin) || options.margin < 1)
    give_up(Errc::bad_input, "margin = " + std::to_string(options.margin) + ": must be at least 1");
  const Profile measured = must(profile(set, options, {}, [&] { return setup_of(setup, set); }));
  must(write_profile(measured, set.executive.profile));
}

} // namespace

rtexec_task_set* rtexec_load(const char* file, rtexec_error* error) {
  return pointer(error, [&] { return new rtexec_task_set{must(read_task_set(not_null(file, "file")))}; });
}

rtexec_task_set* rtexec_parse(const char* toml, const char* file, rtexec_error* error) {
  return pointer(
      error, [&] { return new rtexec_task_set{must(parse_task_set(not_null(toml, "toml"), not_null(file, "file")))}; });
}

void rtexec_task_set_free(rtexec_task_set* set) { delete set; }

rtexec_plan* rtexec_plan_of(const rtexec_task_set* set, const rtexec_setup* setup, rtexec_error* error) {
  return pointer(error, [&] {
    const TaskSet& tasks = not_null(set, "set")->set;
    const PlannedSet planned = must(plan(tasks, this_machine(), must(setup_of(setup, tasks)).workloads));
    return new rtexec_plan(handle_of(planned, planned.plan));
  });
}

bool rtexec_plan_proved(const rtexec_plan* plan) { return plan != nullptr && plan->plan.proved; }
const char* rtexec_plan_json(const rtexec_plan* plan) { return plan == nullptr ? nullptr : plan->json.c_str(); }
void rtexec_plan_free(rtexec_plan* plan) { delete plan; }

rtexec_code rtexec_profile(const rtexec_task_set* set, const rtexec_setup* setup, uint64_t jobs, double margin,
                           rtexec_error* error) {
  return code(error, [&] {
    measure(not_null(set, "set")->set, setup,
            {.jobs = jobs == 0 ? std::nullopt : std::optional(jobs), .margin = margin});
  });
}

rtexec_executive* rtexec_create(const rtexec_task_set* set, const rtexec_setup* setup, rtexec_error* error) {
  return pointer(error, [&] {
    const TaskSet& tasks = not_null(set, "set")->set;
    Executive created = must(Executive::create(tasks, must(setup_of(setup, tasks))));
    rtexec_plan plan = handle_of(created.set(), created.plan());
    return new rtexec_executive{std::move(created), std::move(plan), {}, {}};
  });
}

const rtexec_plan* rtexec_executive_plan(const rtexec_executive* executive) {
  return executive == nullptr ? nullptr : &executive->plan;
}

rtexec_code rtexec_start(rtexec_executive* executive, rtexec_error* error) {
  return code(error, [&] { must(not_null(executive, "executive")->executive.start()); });
}

bool rtexec_wait(rtexec_executive* executive, int64_t at_most_ns) {
  return executive == nullptr ||
         executive->executive.wait(at_most_ns < 0 ? std::nullopt : std::optional(Duration(at_most_ns)));
}

bool rtexec_trigger(rtexec_executive* executive, const char* task) {
  return executive != nullptr && task != nullptr && executive->executive.trigger(task);
}

void rtexec_request_stop(rtexec_executive* executive) {
  if (executive != nullptr) executive->executive.request_stop();
}

const char* rtexec_progress(rtexec_executive* executive, rtexec_error* error) {
  return pointer(error, [&] {
    const Report progress = not_null(executive, "executive")->executive.progress();
    executive->text = to_json(progress).dump(2);
    return executive->text.c_str();
  });
}

const char* rtexec_stop(rtexec_executive* executive, rtexec_error* error) {
  return pointer(error, [&] {
    if (!not_null(executive, "executive")->report) executive->report = executive->executive.stop();
    executive->text = to_json(*executive->report).dump(2);
    return executive->text.c_str();
  });
}

bool rtexec_deadlines_kept(const rtexec_executive* executive) {
  return executive != nullptr && executive->report && executive->report->deadlines_kept();
}

bool rtexec_bounds_kept(const rtexec_executive* executive) {
  return executive != nullptr && executive->report && executive->report->bounds_kept();
}

void rtexec_executive_free(rtexec_executive* executive) { delete executive; }

rtexec_bandwidth_locks* rtexec_bandwidth_locks_open(rtexec_error* error) {
  return pointer(error, [&] { return new rtexec_bandwidth_locks{must(BandwidthLocks::open())}; });
}

void rtexec_bandwidth_lock(rtexec_bandwidth_locks* locks) {
  if (locks != nullptr) locks->locks.lock();
}
void rtexec_bandwidth_unlock(rtexec_bandwidth_locks* locks) {
  if (locks != nullptr) locks->locks.unlock();
}
void rtexec_gpu_busy(rtexec_bandwidth_locks* locks) {
  if (locks != nullptr) locks->locks.gpu_busy();
}
void rtexec_gpu_not_busy(rtexec_bandwidth_locks* locks) {
  if (locks != nullptr) locks->locks.gpu_not_busy();
}
void rtexec_bandwidth_locks_free(rtexec_bandwidth_locks* locks) { delete locks; }
