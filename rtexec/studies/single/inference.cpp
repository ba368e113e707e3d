#include "rtexec/studies/single/inference.hpp"

#include <rtexec/board.hpp>
#include "config/base/must.hpp"
#include "config/task_channels.hpp"
#include "config/base/text.hpp"
#include "hal/open/open_device.hpp"
#include "hal/thread.hpp"
#include "rtexec/runtime/executive/device_memory.hpp"
#include "rtexec/runtime/planning/loaded_set.hpp"
#include "rtexec/studies/calibration/measured_device.hpp"
#include "tasks/make/make_workload.hpp"
#include "tasks/media/input.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace rtexec::study {

namespace {

namespace fs = std::filesystem;
using Ports = std::span<const Tensor>;

std::string names_of(Ports inputs) {
  std::string names;
  for (const auto& input : inputs) names += (names.empty() ? "" : ", ") + config::quoted(input.name);
  return names;
}

/// Returns the input that `given` (NAME=FILE) names. Returns null if there is no such input.
const Tensor* named_in(const std::string& given, Ports inputs) {
  const Tensor* named = nullptr; // of several matching names the longest is taken, since names may contain '='
  for (const auto& input : inputs)
    if (given.starts_with(input.name + "=") && (named == nullptr || named->name.size() < input.name.size()))
      named = &input;
  return named;
}

Result<std::vector<fs::path>> files_of(Ports inputs, std::span<const std::string> given) {
  std::vector<fs::path> files(inputs.size());
  const auto refuse = [&](const std::string& why) {
    return fail(Errc::bad_input, why + "; give a file for each input as NAME=FILE: " + names_of(inputs));
  };
  if (inputs.empty() && !given.empty()) return fail(Errc::bad_input, given.front() + ": the network has no input");
  for (const std::string& each : given) {
    const auto* input = named_in(each, inputs);
    if (input == nullptr && inputs.size() > 1)
      return refuse(each + ": the network has " + std::to_string(inputs.size()) + " inputs");
    if (std::error_code error; input == nullptr && each.contains('=') && !fs::exists(each, error))
      return refuse(each + ": no such file, and no input has this name");
    fs::path& file = input == nullptr ? files.front() : files[static_cast<std::size_t>(input - inputs.data())];
    if (!file.empty()) return refuse(each + ": this input already has a file");
    file = input == nullptr ? each : each.substr(input->name.size() + 1);
  }
  for (std::size_t i = 0; i < inputs.size() && !given.empty(); ++i)
    if (files[i].empty()) return refuse("input " + config::quoted(inputs[i].name) + " has no file");
  return files;
}

} // namespace

Result<Inference> Inference::load(const InferenceOptions& options, const Board& board,
                                  const std::function<void(std::size_t done, std::size_t of)>& tuning) {
  return caught([&] {
    if (const std::string problem = executive::problem_of_precision(options.precision, board); !problem.empty())
      give_up(Errc::bad_input, problem);
    Task task;
    task.name = "infer";
    task.workload = WorkloadKind::dnn;
    task.model = options.model;
    task.backend = options.backend;
    task.arguments = options.arguments;
    task.shape = options.given.shapes;
    task.constant = options.given.constants;
    task.precision = options.precision;
    task.memory_policy = options.memory;
    Inference inference;
    inference.workload_ = must(must(tasks::backend_of(task))->open(task, board.device));
    if (const auto used = inference.workload_->use(options.chosen); !used)
      give_up(used.error().code, options.model + ": " + used.error().what);
    inference.bind(board, tuning);
    return inference;
  });
}

void Inference::bind(const Board& board, const std::function<void(std::size_t done, std::size_t of)>& tuning) {
  // Tuning needs additional memory besides the model's.
  const auto demand = workload_->memory();
  Bytes needed;
  for (const Bytes part : {demand.constant, demand.scratch, demand.state, demand.fixed, demand.carry})
    needed += round_up(part, board.chunk);
  device_ = must(hal::open_device(board, tuning ? Bytes{0} : std::max(needed, board.chunk), board.chunk));
  if (tuning)
    must(workload_->tune(*device_, [&](std::size_t done, std::size_t of) {
      tuning(done, of);
      return true;
    }));
  const auto task_memory =
      executive::resident_memory(workload_->memory(), workload_->constants(), device_->chunk_size());
  const auto memory = must(executive::DeviceMemory::lay_out(*device_, {&task_memory, 1}, {}));
  must(workload_->bind(*device_, memory->addresses().front()));
}

Result<> Inference::fetch_inputs(std::span<const std::string> given, const Preprocessing& preprocessing) {
  if (const std::string problem = config::problem_of(preprocessing); !problem.empty())
    return fail(Errc::bad_input, problem);
  const auto inputs = workload_->inputs();
  auto files = files_of(inputs, given);
  if (!files) return Unexpected(files.error());
  files_ = std::move(*files);
  preprocessing_ = preprocessing;
  if (preprocessing != Preprocessing{} && std::ranges::none_of(files_, tasks::are_pictures))
    return fail(Errc::bad_input, "channels, layout, fit, mean, std and scale need a picture as input");
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const auto source = tasks::make_input(files_[i], inputs[i], preprocessing, workload_->input_range(i));
    if (!source) return Unexpected(source.error());
    if (const auto fetched = (*source)->fetch(0, inputs[i]); !fetched)
      return fail(fetched.error(), "input " + config::quoted(inputs[i].name) + ": " + files_[i].string() +
                                       " could not be fetched: " + name(fetched.error()));
  }
  return {};
}

Result<std::vector<Duration>> Inference::run(int repeat) {
  std::vector<Duration> times(static_cast<std::size_t>(repeat));
  const auto run_job = [&](std::uint64_t job, Duration& time) noexcept -> Status {
    if (const auto prepared = workload_->before(job); !prepared) return prepared;
    const Instant begin = hal::now();
    if (const auto executed = workload_->execute(); !executed) return executed;
    time = hal::now() - begin;
    return workload_->after(job);
  };
  const auto executed = device_->engine(hal::EngineKind::compute).call([&]() noexcept -> Status {
    if (repeat > 1)
      if (const auto warmed_up = run_job(0, times.front()); !warmed_up) return warmed_up;
    for (std::size_t job = 0; job < times.size(); ++job)
      if (const auto done = run_job(job, times[job]); !done) return done;
    return {};
  });
  std::ranges::sort(times);
  if (executed.outcome) return times;
  return Unexpected(device_error(*device_, executed.outcome.error(), "the execution"));
}

} // namespace rtexec::study
