#include "hal/open/available_memory.hpp"
#include "hal/open/open_device.hpp"
#include "tasks/make/make_workload.hpp"
#include "rtexec/runtime/channels/connect.hpp"
#include "rtexec/runtime/planning/loaded_set.hpp"

#include "rtexec/runtime/planning/task_layers.hpp"
#include "rtexec/runtime/planning/memory_choice.hpp"

#include "config/names.hpp"
#include "config/resolve.hpp"
#include "config/base/text.hpp"
#include "hal/machine_files.hpp"
#include "policies/admission/admission.hpp"
#include "rtexec/runtime/regulation/regulation.hpp"
#include "tasks/base/constant_image.hpp"
#include "tasks/base/fingerprint.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

namespace rtexec::executive {

namespace {

/// Returns the names of the tasks without a WCET in the task set: "'front', 'rear'".
std::string unmeasured(const TaskSet& tasks) {
  std::string names;
  for (const Task& task : tasks.tasks)
    if (!task.wcet) names += (names.empty() ? "'" : ", '") + task.name + "'";
  return names;
}

/// Checks that a workload without a device part needs no device memory. Returns the problem with a remedy, or an empty
/// text.
std::string problem_of_memory(const Workload& workload) {
  const Bytes asked = workload.memory().on_device();
  if (workload.uses_device() || asked == Bytes{0}) return {};
  return "its workload has no device part, but requests " + to_string(asked) +
         " of device memory; keep its data in host memory, or give it a device part";
}

/// Checks that the WCET has a device part exactly if the workload has one. Returns the problem with a remedy, or an
/// empty text.
std::string problem_of_parts(const Wcet& wcet, const Workload& workload) {
  if (wcet.uses_device() == workload.uses_device()) return {};
  const std::string found = "its wcet is " + to_string(wcet.device) + ", but its workload has ";
  return workload.uses_device()
             ? found + "a device part; give its execution time, or measure it with `rtexec profile`"
             : found + "no device part; set wcet = \"0ns\", and give its CPU times in wcet_before and wcet_after";
}

Result<> check_parts(const LoadedSet& set) {
  std::string errors;
  for (std::size_t i = 0; i < set.tasks.tasks.size(); ++i) {
    const Task& task = set.tasks.tasks[i];
    if (!task.wcet) continue; // its WCET is about to be measured
    if (const std::string problem = problem_of_parts(*task.wcet, *set.workloads[i]); !problem.empty())
      config::add_line(errors, "task '" + task.name + "': " + problem);
  }
  return errors.empty() ? Result<>() : fail(Errc::bad_input, errors);
}

/// Refuses footprints that exceed a known capacity so far that the address space of the process may be too small.
/// Planning refuses smaller excesses of the capacity, with better advice.
Result<> check_footprints(const ResolvedSet& set) {
  const Bytes capacity = set.tasks.device.capacity.value_or(set.board.capacity);
  if (capacity == Bytes{0}) return {};
  std::string errors;
  for (const Task& task : set.tasks.tasks)
    if (task.footprint && *task.footprint > std::max(capacity, tasks::ConstantImage::max_pattern))
      config::add_line(errors, "task '" + task.name + "': footprint = \"" + to_string(*task.footprint) +
                                   "\": more than the capacity, " + to_string(capacity) +
                                   "; give a smaller footprint, or a larger [device] capacity");
  return errors.empty() ? Result<>() : fail(Errc::not_proved, errors);
}

/// Queries the device for its capacity, if neither the board nor the task set states the capacity.
Result<> settle_capacity(LoadedSet& set) {
  if (set.board.capacity > Bytes{0} || set.tasks.device.capacity) return {};
  set.whole_device = true;
  if (!set.machine.here && set.machine.device_memory == Bytes{0})
    return fail(Errc::bad_input, "the device memory of board '" + set.board.name +
                                     "' is not known: the machine file does not contain it\n  write the file on that "
                                     "machine with `rtexec probe --board " +
                                     set.tasks.board + " --json FILE`, or give [device] capacity in the task set");
  if (!set.machine.here) {
    const std::uint64_t chunk = std::max<std::uint64_t>(set.chunk.count, 1);
    set.board.capacity = Bytes{set.machine.device_memory.count / chunk * chunk};
    return {};
  }
  const auto device = set.open_device({});
  if (!device)
    return fail(device.error().code,
                "the device memory of board '" + set.board.name +
                    "' is not known: its device cannot be opened on this machine: " + device.error().what +
                    "\n  to plan without it, give [device] capacity in the task set, or capacity in the board's file");
  set.board.capacity = (*device)->capacity();
  return {};
}

/// Prepares tasks with streamed constants for measuring: all of their constants are then on the device. The limit of
/// the device memory is lifted for the measurement, because only later runs need to keep this limit.
void measure_streams_whole(LoadedSet& set) {
  for (Task& task : set.tasks.tasks) {
    if (task.constants != Constants::streamed) continue;
    task.constants = Constants::automatic;
    set.measures_streams = true;
  }
  if (set.measures_streams) set.tasks.device.capacity.reset();
}

/// Returns the size of the memory for the links (tensors for other tasks on the device) that the task writes.
Bytes room_of_links(const LoadedSet& set, std::size_t task) {
  Bytes room;
  for (const channels::DeviceLink& link : set.links)
    if (link.producer == task) room += link.latest->total_size();
  return room;
}

/// Checks that the host memory suffices for reading the models. A model needs memory for its file and for its tensors.
/// Without this check, the kernel would kill the process without a message at the limit of a control group.
Result<> check_room_for_models(const TaskSet& tasks) {
  std::set<std::filesystem::path> models;
  for (const Task& task : tasks.tasks)
    if (!task.model.empty()) models.insert(task.model);
  Bytes needed;
  std::error_code missing; // a missing file is reported when the model is read
  for (const auto& model : models)
    if (const auto size = std::filesystem::file_size(model, missing); !missing) needed += Bytes{2 * size};
  if (needed == Bytes{}) return {};
  return hal::check_available_memory(needed, "the models of the set", hal::Machine());
}

/// Makes the workload of each task, connects the workloads, and applies their tuning if it is known. Reports all errors
/// of one step at once.
class Loader {
 public:
  Loader(LoadedSet& set, Setup& setup) : set_(set), setup_(setup) {}

  Result<> load() {
    if (set_.board.computes_on_core() && set_.tasks.device.completion == Completion::spin)
      complain("[device] completion = \"spin\" is for boards with device = \"cuda\"; board '" + set_.board.name +
               "' has a host device");
    if (set_.tasks.device.co_run && set_.tasks.device.completion == Completion::spin)
      complain(
          "[device] co_run = true needs completion = \"block\": two jobs' threads share the compute core, and a "
          "spinning thread would occupy it");
    for (std::size_t i = 0; i < set_.tasks.tasks.size(); ++i) make(i);
    for (const auto& [name, _] : setup_.workloads)
      complain("a workload was given for task '" + name + "', but no task of the set has this name");
    if (!errors_.empty()) return fail(Errc::bad_input, errors_);
    if (const auto chosen = choose(); !chosen) return chosen;
    if (const auto connected = connect_channels(std::move(setup_.callbacks)); !connected) return connected;
    for (std::size_t i = 0; i < set_.workloads.size(); ++i) settle(i);
    if (!errors_.empty()) return fail(Errc::bad_input, errors_);
    for (std::size_t i = 0; i < set_.workloads.size(); ++i) {
      set_.memory.push_back(set_.workloads[i]->memory());
      set_.memory.back().fixed += room_of_links(set_, i);
    }
    return {};
  }

 private:
  void complain(const std::string& what) { config::add_line(errors_, what); }

  void make(std::size_t index) {
    const Task& task = set_.tasks.tasks[index];
    const std::string who = "task '" + task.name + "': ";
    if (const std::string problem = problem_of_precision(task.precision, set_.board); !problem.empty())
      return complain(who + problem);
    auto own = setup_.workloads.extract(task.name);
    auto made = own ? Result<std::unique_ptr<Workload>>(std::move(own.mapped()))
                    : tasks::make_workload(task, set_.board.device);
    if (!made) return complain(made.error().what);
    if (!*made) return complain(who + "no workload was given");
    set_.workloads.push_back(std::move(*made));
    if (!own && open_policies(task, set_.board).size() > 1) choosing_.push_back(index);
  }

  /// Chooses a memory policy for each task that specifies neither its policy nor its WCET, unless this set is loaded
  /// for measuring.
  Result<> choose() {
    set_.policy_reasons.resize(set_.workloads.size());
    if (choosing_.empty() || setup_.tunings) return {};
    if (const auto settled = settle_capacity(set_); !settled) return settled;
    if (const auto connected = connect_channels(setup_.callbacks); !connected) return connected;
    set_.io.clear(); // the old channels belong to workloads that may be replaced
    return choose_memory(set_, choosing_);
  }

  Result<> connect_channels(std::map<std::string, TaskCallbacks> callbacks) {
    auto connected = channels::connect(set_.tasks, set_.workloads, std::move(callbacks));
    if (!connected) return Unexpected(connected.error());
    set_.io = std::move(connected->tasks);
    set_.links = std::move(connected->links);
    return {};
  }

  void settle(std::size_t index) {
    const Task& task = set_.tasks.tasks[index];
    Workload& workload = *set_.workloads[index];
    const std::string who = "task '" + task.name + "': ";
    const std::string fingerprint = channels::fingerprint(set_.tasks, index, workload, set_.links);
    auto tuned = tune(task, fingerprint, workload);
    if (!tuned) return complain(who + tuned.error().what);
    if (const std::string problem = problem_of_memory(workload); !problem.empty()) return complain(who + problem);
    if (workload.constants().size() != workload.memory().constant.count)
      return complain(who + "its workload's constants() and memory().constant differ in size");
    set_.fingerprints.push_back(with_tuning(fingerprint, *tuned));
    set_.tunings.push_back(std::move(*tuned));
  }

  /// Applies the measured tuning to the workload, and returns this tuning. Ignores a stale entry of the profile. If the
  /// WCET of a stale entry is needed, a later step reports this.
  Result<std::vector<std::string>> tune(const Task& task, const std::string& fingerprint, Workload& workload) {
    if (setup_.tunings) {
      const auto given = setup_.tunings->find(task.name);
      if (given == setup_.tunings->end() || given->second.empty()) return {};
      if (const auto used = workload.use(given->second); !used) return Unexpected(used.error());
      return given->second;
    }
    if (!set_.profile) return {};
    const ProfileEntry* const entry = entry_of(*set_.profile, task.name, task.memory_policy);
    if (entry == nullptr || entry->tuning.empty() || entry->workload != with_tuning(fingerprint, entry->tuning))
      return {};
    if (const auto used = workload.use(entry->tuning); !used)
      return fail(used.error().code, "the tuning in " + set_.profile->file.string() +
                                         " cannot be used: " + used.error().what + "\n  run `rtexec profile " +
                                         config::shell_word(set_.tasks.file.string()) + "` again");
    set_.measured_on = set_.profile->device;
    return entry->tuning;
  }

  LoadedSet& set_;
  Setup& setup_;
  std::vector<std::size_t> choosing_; // indices of the tasks that leave their memory policy open
  std::string errors_;
};

/// Takes the WCETs that are missing in the task set from the profile.
Result<> settle_wcets(LoadedSet& set) {
  const std::string names = unmeasured(set.tasks);
  if (names.empty()) return {};
  if (!set.profile)
    return fail(Errc::bad_input,
                "no execution times are known for task " + names + ": no wcet is given, and there is no profile " +
                    set.tasks.executive.profile.string() + "; measure them on this machine with `rtexec profile " +
                    config::shell_word(set.tasks.file.string()) + "`");
  if (const auto applied = apply_profile(set.tasks, *set.profile, set.fingerprints); !applied) return applied;
  set.measured_on = set.profile->device;
  return {};
}

/// Returns the name of the task from which this input gets its values by a link on the device. The host cannot read a
/// linked input. Returns an empty text if the input is not linked.
std::string linked_from(const LoadedSet& set, std::size_t task, std::size_t input) {
  for (const channels::DeviceLink& link : set.links)
    for (const auto& reader : link.readers)
      if (reader.task == task && reader.input == input) return set.tasks.tasks[link.producer].name;
  return {};
}

/// Connects the picture observer of the viewer, and adds its cost to the WCET of the task. The WCET in the task set or
/// the profile excludes the picture observer.
Result<> show(LoadedSet& set, const std::shared_ptr<channels::PictureObserver>& observer) {
  auto& tasks = set.tasks.tasks;
  const auto shown = std::ranges::find(tasks, observer->task(), &Task::name);
  if (shown == tasks.end()) {
    std::string there;
    for (const Task& task : tasks) there += (there.empty() ? "" : ", ") + task.name;
    return fail(Errc::bad_input, "there is no task '" + observer->task() + "' to be shown; expected one of " + there);
  }
  const auto number = static_cast<std::size_t>(shown - tasks.begin());
  if (const auto connected = observer->connect(*shown, *set.workloads[number]); !connected)
    return fail(connected.error().code, "task '" + observer->task() + "' cannot be shown: " + connected.error().what);
  if (const std::string from = linked_from(set, number, observer->input()); !from.empty())
    return fail(Errc::bad_input, "task '" + observer->task() + "' cannot be shown: its input is an output of '" + from +
                                     "' and stays on the device\n  show '" + from + "' instead");
  set.io[number]->add_sink(std::make_unique<channels::ObserverSink>(observer), "");
  if (!shown->wcet) return {};
  shown->wcet->after += observer->cost();
  if (const auto valid = validate(set.tasks); !valid)
    return fail(valid.error().code, "with " + to_string(observer->cost()) + " for a picture in the last part of '" +
                                        observer->task() + "' for --show: " + valid.error().what);
  return {};
}

} // namespace

std::string with_tuning(const std::string& fingerprint, std::span<const std::string> tuning) {
  if (tuning.empty()) return fingerprint;
  tasks::Fingerprint lines;
  for (const std::string& line : tuning) lines.add(line);
  return fingerprint + "-tuned-" + lines.text();
}

std::string problem_of_precision(Precision precision, const Board& board) {
  if (precision == Precision::fp32 || !board.computes_on_core()) return {};
  return "precision = \"" + std::string(spelling(precision)) + "\" is for GPUs, and board '" + board.name +
         "' has a host device, which computes in fp32; leave it out, or choose a board with device = \"cuda\"";
}

Result<std::unique_ptr<hal::Device>> LoadedSet::open_device(Bytes capacity) const {
  const Bytes asked = whole_device ? Bytes{0} : capacity;
  return open_own ? open_own(asked, chunk)
                  : hal::open_device(board, asked, chunk, tasks.device.completion, hal::Machine());
}

Result<LoadedSet> load(TaskSet tasks, Setup& setup, MachineFacts machine) {
  if (const auto valid = validate(tasks); !valid) return Unexpected(valid.error());
  auto board = setup.board ? Result<Board>(*setup.board) : read_board(tasks.board);
  if (!board) return Unexpected(board.error());
  if (machine.cores.empty()) return fail(Errc::bad_input, "machine '" + machine.name + "' has no core to run on");
  LoadedSet set;
  static_cast<ResolvedSet&>(set) = resolve(std::move(tasks), std::move(*board), std::move(machine));
  if (const auto checked = regulation::check_budgets(set); !checked) return Unexpected(checked.error());
  if (const auto checked = check_footprints(set); !checked) return Unexpected(checked.error());
  set.open_own = setup.open_device;
  if (set.machine.here)
    if (const auto room = check_room_for_models(set.tasks); !room) return Unexpected(room.error());
  const auto& file = set.tasks.executive.profile;
  if (std::error_code error; !setup.tunings && !file.empty() && std::filesystem::exists(file, error)) {
    auto profile = read_profile(file);
    if (!profile) return Unexpected(profile.error());
    set.profile = std::move(*profile);
  }
  if (const auto loaded = Loader(set, setup).load(); !loaded) return Unexpected(loaded.error());
  set.whole_jobs = setup.tunings.has_value();
  if (set.whole_jobs) measure_streams_whole(set);
  if (const auto settled = settle_capacity(set); !settled) return Unexpected(settled.error());
  if (!setup.tunings)
    if (const auto settled = settle_wcets(set); !settled) return Unexpected(settled.error());
  if (const auto checked = check_parts(set); !checked) return Unexpected(checked.error());
  if (setup.observer)
    if (const auto shown = show(set, setup.observer); !shown) return Unexpected(shown.error());
  return set;
}

namespace {

/// Returns the memory demand of the task if its device part were cut into segments after the pieces in `cuts`. A piece
/// is a group of successive layers (task_layers.hpp). `last_layer` holds the last layer of each piece. The demand
/// includes the memory of the task's links (LoadedSet::links).
Result<MemoryDemand> memory_if_cut(const LoadedSet& set, std::size_t task, std::span<const std::uint32_t> last_layer,
                                   std::span<const std::uint32_t> cuts) {
  auto asked = set.workloads[task]->memory_if_cut(as_layers(cuts, last_layer));
  if (asked) asked->fixed += room_of_links(set, task);
  return asked;
}

/// Returns the layers of each task, grouped into pieces, by task. Returns bad_input if the constants of a task must be
/// streamed, but streaming is impossible.
Result<std::vector<TaskLayers>> layers_of_all(const LoadedSet& set) {
  std::vector<TaskLayers> pieces;
  for (std::size_t i = 0; i < set.workloads.size(); ++i) {
    const Task& task = set.tasks.tasks[i];
    const ProfileEntry* entry = set.profile ? entry_of(*set.profile, task.name, task.memory_policy) : nullptr;
    TaskLayers& of_task = pieces.emplace_back(
        task_layers(task, *set.workloads[i], entry, set.chunk, set.tasks.device.launch_ahead.value_or(0)));
    if (task.constants == Constants::streamed && of_task.layered.reads.empty())
      return fail(Errc::bad_input,
                  "task '" + task.name + "': memory = \"stream\": " +
                      (of_task.obstacle.empty() ? "its constants must be read layer by layer, in several chunks"
                                                : of_task.obstacle));
    of_task.layered.memory_if_cut = [&set, i, last = of_task.last_layer](auto cuts) {
      return memory_if_cut(set, i, last, cuts);
    };
  }
  return pieces;
}

/// Makes the plan. Jobs are cut into segments if segments make the set schedulable, or if the task set requests
/// segments.
Result<Plan> plan_in_segments(const LoadedSet& set) {
  const auto pieces = layers_of_all(set);
  if (!pieces) return Unexpected(pieces.error());
  std::vector<policies::LayeredTask> layered;
  for (const TaskLayers& each : *pieces) layered.push_back(each.layered);
  auto plan = policies::make_plan(set, set.memory, layered);
  for (std::size_t i = 0; plan && i < pieces->size(); ++i)
    plan->tasks[i].cuts = as_layers(plan->tasks[i].cuts, (*pieces)[i].last_layer);
  return plan;
}

} // namespace

Result<Plan> plan(const LoadedSet& set) {
  auto plan = set.whole_jobs ? policies::make_plan(set, set.memory) : plan_in_segments(set);
  if (!plan) return plan;
  for (std::size_t i = 0; i < plan->tasks.size(); ++i) {
    plan->tasks[i].workload = set.fingerprints[i];
    plan->tasks[i].tuning = set.tunings[i];
    plan->tasks[i].memory_policy_reason = set.policy_reasons[i];
    plan->tasks[i].links += room_of_links(set, i);
  }
  if (set.measured_on) plan->measured_on = *set.measured_on + ", " + set.profile->machine;
  return plan;
}

Result<> cut(LoadedSet& set, const Plan& plan) {
  for (std::size_t i = 0; i < set.workloads.size(); ++i)
    if (const auto done = set.workloads[i]->cut(plan.tasks[i].cuts); !done)
      return fail(done.error().code, "task '" + plan.tasks[i].name + "' cannot be cut: " + done.error().what);
  return {};
}

} // namespace rtexec::executive
