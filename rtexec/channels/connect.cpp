#include "rtexec/channels/connect.hpp"

#include "config/task_channels.hpp"
#include "config/text.hpp"
#include "hal/thread.hpp"
#include "policies/chains.hpp"
#include "rtexec/channels/camera_source.hpp"
#include "rtexec/channels/file_sink.hpp"
#include "rtexec/channels/message_channels.hpp"
#include "rtexec/channels/output.hpp"
#include "rtexec/channels/task_link.hpp"
#include "tasks/dnn/input/input.hpp"
#include "tasks/fingerprint.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

namespace rtexec::channels {
namespace {

/// Pictures, tensors and noise.
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

/// An output of a task, and the inputs of others that it goes to.
struct Link {
  std::size_t producer;
  std::string tensor;
  Output output;
  struct Reader {
    std::size_t task, input;
    const TaskInput* asked;
  };
  std::vector<Reader> readers;
};

/// From the begin of a job to that of the next, where each begins by its deadline. What releases a task that has no
/// timer comes up to a period late; a program calls when it likes.
Duration longest_between_jobs(const Task& task) {
  return (task.trigger == Trigger::timer ? 1 : 2) * task.period + task.deadline;
}

class Connector {
 public:
  Connector(const TaskSet& tasks, Workloads workloads, std::map<std::string, TaskCallbacks> callbacks)
      : set_(tasks), tasks_(tasks.tasks), workloads_(workloads), callbacks_(std::move(callbacks)) {}

  Result<std::vector<std::unique_ptr<TaskIo>>> connect() {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      auto own = callbacks_.extract(tasks_[i].name);
      made_.push_back(
          std::make_unique<TaskIo>(tasks_[i].name, *workloads_[i], own ? std::move(own.mapped()) : TaskCallbacks()));
    }
    for (const auto& [name, _] : callbacks_)
      config::add_line(errors_, "callbacks were given for task '" + name + "', which the task set does not have");
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      add_inputs(i);
      add_outputs(i);
    }
    for (const Link& link : links_) add(link);
    if (!errors_.empty()) return fail(Errc::bad_input, errors_);
    return std::move(made_);
  }

 private:
  void complain(std::size_t task, const std::string& what) {
    config::add_line(errors_, "task '" + tasks_[task].name + "': " + what);
  }

  void add_inputs(std::size_t task) {
    std::vector<bool> fed(workloads_[task]->inputs().size());
    for (const TaskInput& asked : tasks_[task].inputs)
      if (const auto input = find_input(task, asked)) {
        add_input(task, *input, asked);
        fed[*input] = true;
      }
    if (made_[task]->asks_program()) return;
    if (!tasks_[task].input.empty() && fed.size() > 1)
      complain(task, "input = " + config::toml_string(tasks_[task].input.string()) +
                         ": one file or folder feeds one input, and there are " + std::to_string(fed.size()) +
                         ": name each in inputs");
    for (std::size_t input = 0; input < fed.size(); ++input)
      if (!fed[input]) add_file(task, input, tasks_[task].input, {});
  }

  /// Noise where there is no path.
  void add_file(std::size_t task, std::size_t input, const std::filesystem::path& path,
                const Preprocessing& preprocessing) {
    auto source = tasks::make_input(path, workloads_[task]->inputs()[input], preprocessing);
    if (!source) return complain(task, source.error().what);
    made_[task]->add_source(input, std::make_unique<FileSource>(std::move(*source)), OnStale::reuse, "");
  }

  /// The input that is meant; complains where there is none.
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

  /// "image from v4l2:/dev/video0"
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
      return complain(task, "from = \"program\": nobody gave on_input for it (ExecutiveSetup::callbacks)");
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
    auto link = std::ranges::find_if(
        links_, [&](const Link& known) { return known.producer == producer && known.output == *output; });
    if (link == links_.end())
      link = links_.insert(links_.end(), {.producer = producer, .tensor = tensor, .output = *output, .readers = {}});
    link->readers.push_back({task, input, &asked});
  }

  /// Boxes go to inputs of different lengths.
  void add(const Link& link) {
    const auto input = [&](const Link::Reader& reader) -> const Tensor& {
      return workloads_[reader.task]->inputs()[reader.input];
    };
    const Task& writer = tasks_[link.producer];
    const Communication communication = policies::communication_of(set_, writer.name);
    std::size_t size = 0, kept = 0;
    for (const Link::Reader& reader : link.readers) {
      size = std::max(size, size_of_values(input(reader)));
      kept = std::max(kept, values_to_keep(communication, writer, tasks_[reader.task]));
    }
    const auto latest = std::make_shared<Latest>(size, link.readers.size(), kept);
    const bool let = communication == Communication::let;
    made_[link.producer]->add_sink(
        std::make_unique<TaskSink>(latest, link.output, let ? std::optional(writer.deadline) : std::nullopt), "");
    for (std::size_t i = 0; i < link.readers.size(); ++i) {
      const Link::Reader& reader = link.readers[i];
      made_[reader.task]->add_source(reader.input, std::make_unique<TaskSource>(latest, i, communication),
                                     reader.asked->on_stale,
                                     named(reader.task, reader.input, "task:" + reader.asked->from));
    }
  }

  void add_outputs(std::size_t task) {
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

  /// Detections are in the files in any case.
  void add_files(std::size_t task, const std::optional<Output>& only, const std::string& folder) {
    std::vector<std::size_t> tensors(only ? 0 : workloads_[task]->outputs().size());
    std::iota(tensors.begin(), tensors.end(), std::size_t{0});
    if (only && !only->is_detections()) tensors.push_back(only->tensor());
    made_[task]->add_sink(std::make_unique<FileSink>(folder, tasks_[task].name, *workloads_[task], std::move(tensors)),
                          "file:" + folder);
  }

  const TaskSet& set_;
  const std::vector<Task>& tasks_;
  const Workloads workloads_;
  std::map<std::string, TaskCallbacks> callbacks_;
  std::vector<std::unique_ptr<TaskIo>> made_;
  std::vector<Link> links_;
  std::string errors_;
};

} // namespace

std::string fingerprint(const Task& task, const Workload& workload) {
  std::string text = workload.fingerprint();
  if (!task.input.empty()) text = tasks::fingerprint_with_files(text, task.input);
  for (const TaskInput& input : task.inputs) {
    if (input.source == SourceKind::files) text = tasks::fingerprint_with_files(text, input.from);
    auto [prefix, made] = tasks::Fingerprint::resumed(text);
    made.add(input.tensor).add(name(input.source));
    if (input.preprocessing != Preprocessing{}) made.add(config::text_of(input.preprocessing));
    text = prefix + made.text();
  }
  for (const TaskOutput& output : task.outputs) {
    auto [prefix, made] = tasks::Fingerprint::resumed(text);
    text = prefix + made.add(output.tensor).add(name(output.sink)).text();
  }
  return text;
}

Result<std::vector<std::unique_ptr<TaskIo>>> connect(const TaskSet& tasks, Workloads workloads,
                                                     std::map<std::string, TaskCallbacks> callbacks) {
  return Connector(tasks, workloads, std::move(callbacks)).connect();
}

} // namespace rtexec::channels
