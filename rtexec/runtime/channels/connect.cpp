#include "rtexec/runtime/channels/connect.hpp"

#include "config/task_channels.hpp"
#include "config/base/text.hpp"
#include "hal/thread.hpp"
#include "policies/chains/chain_bounds.hpp"
#include "rtexec/runtime/channels/camera_source.hpp"
#include "rtexec/runtime/channels/file_sink.hpp"
#include "rtexec/runtime/channels/message_channels.hpp"
#include "rtexec/runtime/channels/task_output.hpp"
#include "rtexec/runtime/channels/task_link.hpp"
#include "tasks/media/input.hpp"
#include "tasks/base/fingerprint.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

namespace rtexec::channels {
namespace {

/// A source of pictures or tensors from files, or of noise.
class FileSource final : public Source {
 public:
  explicit FileSource(std::unique_ptr<tasks::InputSource> files) : files_(std::move(files)) {}
  Expected<Sample, Errc> fetch(std::uint64_t job, Instant, const Tensor& into) noexcept override {
    if (const Status fetched = files_->fetch(job, into); !fetched) return Unexpected(fetched.error());
    return Sample{.sampled = hal::now(), .fresh = true};
  }

 private:
  std::unique_ptr<tasks::InputSource> files_;
};

/// An output of a task, with the inputs of other tasks that receive its values.
struct Link {
  std::size_t producer;
  std::string tensor;
  Output output;
  bool on_device;
  struct Reader {
    std::size_t task, input;
    const TaskInput* asked;
  };
  std::vector<Reader> readers;
};

/// Returns the longest time from the beginning of one job to the beginning of the next job, if each job begins by its
/// deadline. If a trigger instead of a timer releases the task, the result includes one further period, by which a
/// release may be late. Releases by the program (Trigger::call) may come even later, which the result does not include.
Duration longest_between_jobs(const Task& task) {
  return (task.trigger == Trigger::timer ? 1 : 2) * task.period + task.deadline;
}

constexpr std::size_t max_kept = 1024; // maximum number of values of one output that are kept

/// Returns a normal form of a folder's name, for comparisons: "out/" for "out", "./out" and "out/".
std::filesystem::path normal(const std::string& folder) {
  return (std::filesystem::path(folder) / "").lexically_normal();
}

class Connector {
 public:
  Connector(const TaskSet& tasks, Workloads workloads, std::map<std::string, TaskCallbacks> callbacks)
      : set_(tasks), tasks_(tasks.tasks), workloads_(workloads), callbacks_(std::move(callbacks)) {}

  Result<Connected> connect() {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      auto own = callbacks_.extract(tasks_[i].name);
      made_.push_back(
          std::make_unique<TaskIo>(tasks_[i].name, *workloads_[i], own ? std::move(own.mapped()) : TaskCallbacks()));
    }
    for (const auto& [name, _] : callbacks_)
      config::add_line(errors_, "callbacks were given for task '" + name + "', but no task of the set has this name");
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      add_inputs(i);
      add_outputs(i);
    }
    limit_chains();
    if (errors_.empty())
      for (const Link& link : links_) add(link);
    link_outputs();
    if (!errors_.empty()) return fail(Errc::bad_input, errors_);
    return Connected{.tasks = std::move(made_), .links = std::move(on_device_)};
  }

 private:
  void complain(std::size_t task, const std::string& what) {
    config::add_line(errors_, "task '" + tasks_[task].name + "': " + what);
  }

  const Task& task(const std::string& name) const { return *std::ranges::find(tasks_, name, &Task::name); }

  /// Adds an error for each pair of successive tasks of a chain under logical execution time (LET) in which too many
  /// output values of the first task must be kept for the second (limit_kept()). Also checks pairs that exchange no
  /// tensor, because time stamps pass between the two tasks.
  void limit_chains() {
    for (const Chain& chain : set_.chains)
      if (chain.communicate == Communication::let)
        for (std::size_t i = 0; i + 1 < chain.tasks.size(); ++i)
          limit_kept(task(chain.tasks[i]), task(chain.tasks[i + 1]));
  }

  /// Adds an error if, under logical execution time, too many values of `writer` must be kept for `reader`.
  void limit_kept(const Task& writer, const Task& reader) {
    const std::size_t kept = values_to_keep(Communication::let, writer, reader);
    if (kept <= max_kept) return;
    const std::string line =
        "task '" + writer.name + "': " + std::to_string(kept) + " of its values must be kept for '" + reader.name +
        "', which may read values that are as old as its deadline, " + to_string(reader.deadline) + " (maximum " +
        std::to_string(max_kept) + ": shorten that deadline, or set communicate = \"immediate\" in the chain)";
    if (!errors_.contains(line)) config::add_line(errors_, line);
  }

  void add_inputs(std::size_t task) {
    std::vector<bool> fed(workloads_[task]->inputs().size());
    for (const TaskInput& asked : tasks_[task].inputs)
      if (const auto input = find_input(task, asked)) {
        if (fed[*input])
          complain(task, "inputs: " + config::quoted(workloads_[task]->inputs()[*input].name) +
                             " has two sources: remove one of them");
        else add_input(task, *input, asked);
        fed[*input] = true;
      }
    if (made_[task]->asks_program()) return;
    if (!tasks_[task].input.empty() && fed.size() > 1)
      complain(task, "input = " + config::toml_string(tasks_[task].input.string()) +
                         ": one file or folder feeds one input, but the task has " + std::to_string(fed.size()) +
                         ": give a source for each in inputs");
    for (std::size_t input = 0; input < fed.size(); ++input)
      if (!fed[input]) add_file(task, input, tasks_[task].input, {});
  }

  /// Adds a source that reads files, or a noise source if `path` is empty.
  void add_file(std::size_t task, std::size_t input, const std::filesystem::path& path,
                const Preprocessing& preprocessing) {
    const Workload& workload = *workloads_[task];
    auto source = tasks::make_input(path, workload.inputs()[input], preprocessing, workload.input_range(input));
    if (!source) return complain(task, source.error().what);
    made_[task]->add_source(input, std::make_unique<FileSource>(std::move(*source)), OnStale::reuse, "");
  }

  /// Returns the number of the input that `asked` names. Adds an error and returns nullopt if the task has no such
  /// input.
  std::optional<std::size_t> find_input(std::size_t task, const TaskInput& asked) {
    const auto tensors = workloads_[task]->inputs();
    if (asked.tensor.empty() && tensors.size() == 1) return 0;
    const auto found = std::ranges::find(tensors, asked.tensor, &Tensor::name);
    if (found != tensors.end()) return static_cast<std::size_t>(found - tensors.begin());
    std::string there;
    for (const Tensor& tensor : tensors) there += (there.empty() ? "" : ", ") + tensor.name;
    complain(task, (asked.tensor.empty() ? "inputs: no tensor is named" : "it has no input '" + asked.tensor + "'") +
                       (there.empty() ? "; its workload has no inputs" : "; its workload has: " + there));
    return std::nullopt;
  }

  void add_input(std::size_t task, std::size_t input, const TaskInput& asked) {
    switch (asked.source) {
    case SourceKind::task: return add_reader(task, input, asked);
    case SourceKind::program: return answer(task);
    case SourceKind::noise:
    case SourceKind::files: return add_file(task, input, asked.from, asked.preprocessing);
    case SourceKind::camera:
      return add_outside(
          task, input, asked, "v4l2:" + asked.from,
          CameraSource::make(asked, workloads_[task]->inputs()[input], longest_between_jobs(tasks_[task])));
    case SourceKind::iceoryx:
      return add_outside(
          task, input, asked, "iceoryx:" + asked.from,
          MessageSource::make(service_of(asked.from), workloads_[task]->inputs()[input], asked.preprocessing));
    }
  }

  /// Returns the name of a channel for reports, like "image from v4l2:/dev/video0"
  std::string named(std::size_t task, std::size_t input, const std::string& from) const {
    return workloads_[task]->inputs()[input].name + " from " + from;
  }

  void add_outside(std::size_t task, std::size_t input, const TaskInput& asked, const std::string& from,
                   Result<std::unique_ptr<Source>> source) {
    if (!source) return complain(task, "from = \"" + from + "\": " + source.error().what);
    made_[task]->add_source(input, std::move(*source), asked.on_stale, named(task, input, from));
  }

  void answer(std::size_t task) {
    if (!made_[task]->asks_program())
      return complain(task, "from = \"program\": the program must give on_input for it (ExecutiveSetup::callbacks)");
    const auto first = std::ranges::find(tasks_[task].inputs, SourceKind::program, &TaskInput::source);
    made_[task]->answer_program(first->on_stale);
  }

  void add_reader(std::size_t task, std::size_t input, const TaskInput& asked) {
    const std::size_t slash = std::min(asked.from.find('/'), asked.from.size());
    const auto producer =
        static_cast<std::size_t>(std::ranges::find(tasks_, asked.from.substr(0, slash), &Task::name) - tasks_.begin());
    const std::string tensor = slash < asked.from.size() ? asked.from.substr(slash + 1) : "";
    const auto output = Output::of(*workloads_[producer], tensor);
    const std::string from = "from = \"task:" + asked.from + "\": ";
    if (!output) return complain(task, from + output.error().what);
    const Tensor& into = workloads_[task]->inputs()[input];
    if (const std::string problem = output->problem_of(*workloads_[producer], into); !problem.empty())
      return complain(task, from + problem);
    const bool on_device = stays_on_device(producer, *output, task);
    auto link = std::ranges::find_if(links_, [&](const Link& known) {
      return known.producer == producer && known.output == *output && known.on_device == on_device;
    });
    if (link == links_.end())
      link = links_.insert(
          links_.end(),
          {.producer = producer, .tensor = tensor, .output = *output, .on_device = on_device, .readers = {}});
    link->readers.push_back({task, input, &asked});
    if (policies::communication_of(set_, tasks_[producer].name) == Communication::let)
      limit_kept(tasks_[producer], tasks_[task]);
  }

  /// Returns true if values can pass from the output to the reader without leaving the device. Returns false for boxes,
  /// because the host computes them. Returns false if the reader has an on_input callback, because the program then
  /// reads all inputs of the reader.
  bool stays_on_device(std::size_t producer, const Output& output, std::size_t reader) const {
    return !output.is_detections() && workloads_[producer]->links_on_device() &&
           workloads_[reader]->links_on_device() && !made_[reader]->asks_program();
  }

  const Tensor& input_of(const Link::Reader& reader) const { return workloads_[reader.task]->inputs()[reader.input]; }

  /// Connects the output to all its readers through one mailbox. If the values are boxes, the readers' inputs may have
  /// different lengths. The mailbox then gets the greatest of these lengths.
  void add(const Link& link) {
    const Task& writer = tasks_[link.producer];
    const Communication communication = policies::communication_of(set_, writer.name);
    std::size_t size = 0, kept = 0;
    for (const Link::Reader& reader : link.readers) {
      size = std::max(size, size_of_values(input_of(reader)));
      kept = std::max(kept, values_to_keep(communication, writer, tasks_[reader.task]));
    }
    const auto latest = std::make_shared<LatestMailbox>(
        size, link.readers.size(), kept,
        link.on_device ? LatestMailbox::Where::given_memory : LatestMailbox::Where::own_memory);
    add_sink(link, latest, communication == Communication::let ? std::optional(writer.deadline) : std::nullopt);
    for (std::size_t i = 0; i < link.readers.size(); ++i) {
      const Link::Reader& reader = link.readers[i];
      made_[reader.task]->add_source(reader.input, source_of(link, latest, i, communication), reader.asked->on_stale,
                                     named(reader.task, reader.input, "task:" + reader.asked->from));
    }
  }

  void add_sink(const Link& link, const std::shared_ptr<LatestMailbox>& latest, std::optional<Duration> appears_after) {
    if (!link.on_device)
      return made_[link.producer]->add_sink(std::make_unique<TaskSink>(latest, link.output, appears_after), "");
    DeviceLink& added = on_device_.emplace_back();
    added.producer = link.producer;
    added.output = link.output.tensor();
    added.latest = latest;
    for (const Link::Reader& reader : link.readers) added.readers.push_back({reader.task, reader.input});
    made_[link.producer]->add_sink(
        std::make_unique<DeviceSink>(latest, *workloads_[link.producer], added.output, appears_after), "");
  }

  std::unique_ptr<Source> source_of(const Link& link, const std::shared_ptr<LatestMailbox>& latest, std::size_t reader,
                                    Communication communication) {
    if (!link.on_device) return std::make_unique<TaskSource>(latest, reader, communication);
    const auto [task, input, asked] = link.readers[reader];
    workloads_[task]->link_input(input);
    return std::make_unique<DeviceSource>(latest, reader, communication, *workloads_[task], input);
  }

  /// Tells each workload which of its outputs are linked to inputs of other tasks. Called when all sinks are known,
  /// because link_output() also says if code on the host reads the output.
  void link_outputs() {
    for (DeviceLink& link : on_device_) {
      link.on_host = made_[link.producer]->reads(link.output);
      workloads_[link.producer]->link_output(link.output, link.on_host);
    }
  }

  /// Adds an error if two outputs of the task name the same folder, because both would write to the same TASK.jsonl.
  void check_folders(std::size_t task) {
    std::set<std::filesystem::path> folders;
    for (const TaskOutput& asked : tasks_[task].outputs)
      if (asked.sink == SinkKind::files && !asked.to.empty() && !folders.insert(normal(asked.to)).second)
        complain(task, "outputs: \"file:" + asked.to +
                           "\" is given twice for the same files: give each a folder of its own, or leave out tensor, "
                           "which writes all outputs");
  }

  void add_outputs(std::size_t task) {
    check_folders(task);
    for (const TaskOutput& asked : tasks_[task].outputs) {
      const bool all = asked.tensor.empty() && asked.sink != SinkKind::iceoryx;
      const auto output = all ? Output() : Output::of(*workloads_[task], asked.tensor);
      if (!output) complain(task, output.error().what);
      else if (asked.sink == SinkKind::files) add_files(task, all ? std::nullopt : std::optional(*output), asked.to);
      else if (asked.sink == SinkKind::iceoryx)
        made_[task]->add_sink(std::make_unique<MessageSink>(service_of(asked.to), *workloads_[task], *output),
                              "iceoryx:" + asked.to);
    }
  }

  /// Returns the RunFolder for this name; all tasks that name the same folder share it. Returns nullptr, which means
  /// that results are discarded, if the name is empty.
  std::shared_ptr<RunFolder> run_folder(const std::string& name) {
    if (name.empty()) return nullptr;
    auto& folder = run_folders_[normal(name)];
    if (!folder) folder = std::make_shared<RunFolder>(name);
    return folder;
  }

  /// Adds a sink that writes files. `only` is the output to write; absent: all outputs. Detections are always written.
  void add_files(std::size_t task, const std::optional<Output>& only, const std::string& folder) {
    std::vector<std::size_t> tensors(only ? 0 : workloads_[task]->outputs().size());
    std::iota(tensors.begin(), tensors.end(), std::size_t{0});
    if (only && !only->is_detections()) tensors.push_back(only->tensor());
    made_[task]->add_sink(
        std::make_unique<FileSink>(run_folder(folder), tasks_[task].name, *workloads_[task], std::move(tensors)),
        "file:" + folder);
  }

  const TaskSet& set_;
  const std::vector<Task>& tasks_;
  const Workloads workloads_;
  std::map<std::string, TaskCallbacks> callbacks_;
  std::vector<std::unique_ptr<TaskIo>> made_;
  std::map<std::filesystem::path, std::shared_ptr<RunFolder>> run_folders_;
  std::vector<Link> links_;
  std::vector<DeviceLink> on_device_;
  std::string errors_;
};

} // namespace

void tell_links(Workload& workload, std::size_t index, std::span<const DeviceLink> links) {
  for (const DeviceLink& link : links) {
    if (link.producer == index) workload.link_output(link.output, link.on_host);
    for (const auto& reader : link.readers)
      if (reader.task == index) workload.link_input(reader.input);
  }
}

std::string fingerprint(const TaskSet& set, std::size_t index, const Workload& workload,
                        std::span<const DeviceLink> links) {
  const Task& task = set.tasks[index];
  std::string text = workload.fingerprint();
  const auto add = [&](std::string_view what, std::string_view how) {
    auto [prefix, made] = tasks::Fingerprint::resumed(text);
    text = prefix + made.add(what).add(how).text();
  };
  if (!task.input.empty()) text = tasks::fingerprint_with_files(text, task.input);
  for (const TaskInput& input : task.inputs) {
    if (input.source == SourceKind::files) text = tasks::fingerprint_with_files(text, input.from);
    add(input.tensor, name(input.source));
    if (input.preprocessing != Preprocessing{}) add("pictures", config::text_of(input.preprocessing));
  }
  for (const TaskOutput& output : task.outputs) add(output.tensor, name(output.sink));
  for (const DeviceLink& link : links) {
    if (link.producer == index)
      add(workload.outputs()[link.output].name, link.on_host ? "to device and host" : "to device");
    for (const auto& reader : link.readers)
      if (reader.task == index) add(workload.inputs()[reader.input].name, "from device");
  }
  return text;
}

Result<Connected> connect(const TaskSet& tasks, Workloads workloads, std::map<std::string, TaskCallbacks> callbacks) {
  return Connector(tasks, workloads, std::move(callbacks)).connect();
}

} // namespace rtexec::channels
