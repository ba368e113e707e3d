#include "config/task_channels.hpp"

#include "config/base/files.hpp"

#include <algorithm>
#include <array>

namespace rtexec::config {
namespace {

/// The kind of a source or sink, and the text that follows its prefix.
template <class Kind> struct Choice {
  Kind kind{};
  std::string of;
};

template <class Kind> struct Scheme {
  std::string_view prefix; // "v4l2:"; a whole word if no text follows the prefix; empty: a path
  Kind kind;
  std::string_view what; // name in messages for the text after the prefix
};

constexpr std::array sources{Scheme<SourceKind>{"noise", SourceKind::noise, ""},
                             Scheme<SourceKind>{"program", SourceKind::program, ""},
                             Scheme<SourceKind>{"v4l2:", SourceKind::camera, "DEVICE"},
                             Scheme<SourceKind>{"iceoryx:", SourceKind::iceoryx, "SERVICE/INSTANCE/EVENT"},
                             Scheme<SourceKind>{"task:", SourceKind::task, "TASK/TENSOR"},
                             Scheme<SourceKind>{"", SourceKind::files, "PATH"}};
constexpr std::array sinks{Scheme<SinkKind>{"null", SinkKind::none, ""},
                           Scheme<SinkKind>{"file:", SinkKind::files, "FOLDER"},
                           Scheme<SinkKind>{"iceoryx:", SinkKind::iceoryx, "SERVICE/INSTANCE/EVENT"}};

template <class Kind> std::string listed(std::span<const Scheme<Kind>> schemes) {
  std::vector<std::string> spelled;
  for (const auto& scheme : schemes)
    spelled.push_back(toml_string(std::string(scheme.prefix) + std::string(scheme.what)));
  return alternatives(std::vector<std::string_view>(spelled.begin(), spelled.end()));
}

std::size_t names_in(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t begin = 0; begin <= text.size(); ++count) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    if (!is_identifier(text.substr(begin, end - begin))) return 0;
    begin = end + 1;
  }
  return count;
}

constexpr const char* three_names = "expected SERVICE/INSTANCE/EVENT: three names of A-Z a-z 0-9 _ . -, separated by /";

std::string problem_of(SourceKind kind, const std::string& of) {
  switch (kind) {
  case SourceKind::noise:
  case SourceKind::program: return of.empty() ? "" : "no text may follow";
  case SourceKind::files:
  case SourceKind::camera: return path().problem(of);
  case SourceKind::iceoryx: return names_in(of) == 3 ? "" : three_names;
  case SourceKind::task:
    return names_in(of) == 1 || names_in(of) == 2 ? "" : "expected TASK or TASK/TENSOR, such as \"task:front/boxes\"";
  }
  return "unknown";
}

std::string problem_of(SinkKind kind, const std::string& of) {
  switch (kind) {
  case SinkKind::none: return of.empty() ? "" : "no text may follow";
  case SinkKind::files: return path().problem(of);
  case SinkKind::iceoryx: return names_in(of) == 3 ? "" : three_names;
  }
  return "unknown";
}

template <class Kind> Type<Choice<Kind>> choice(std::span<const Scheme<Kind>> schemes) {
  return {
      .name = listed(schemes),
      .read = [=](const Value& value) -> Read<Choice<Kind>> {
        const auto given = detail::read_string(value);
        if (!given) return Unexpected(given.error() + ": use " + listed(schemes));
        for (const auto& [prefix, kind, what] : schemes) {
          if (what.empty() ? *given != prefix : !given->starts_with(prefix)) continue;
          if (prefix.empty() && given->contains("://"))
            return Unexpected(given->substr(0, given->find("://")) + ":// is not supported: use " + listed(schemes));
          std::string of = what.empty() ? "" : given->substr(prefix.size());
          if (!what.empty() && of.empty())
            return Unexpected("the part after the colon is missing: use " + listed(schemes));
          return Choice<Kind>{kind, std::move(of)};
        }
        return Unexpected("use " + listed(schemes));
      },
      .write =
          [=](const Choice<Kind>& chosen) {
            const auto scheme = std::ranges::find(schemes, chosen.kind, &Scheme<Kind>::kind);
            return toml_string((scheme == schemes.end() ? "?" : std::string(scheme->prefix)) + chosen.of);
          },
      .problem = [](const Choice<Kind>& chosen) { return problem_of(chosen.kind, chosen.of); }};
}

template <class S, class Kind>
Key<S> choice_key(std::string_view name, std::span<const Scheme<Kind>> schemes, std::string_view meaning, Kind S::*kind,
                  std::string S::*of) {
  return key<S>(
      name, choice<Kind>(schemes), required, meaning,
      [=](const S& channel) {
        return std::optional(Choice<Kind>{channel.*kind, channel.*of});
      },
      [=](S& channel, const Choice<Kind>& chosen) {
        channel.*kind = chosen.kind;
        channel.*of = chosen.of;
      });
}

/// The type of a picture size such as "640x480".
Type<PictureSize> picture_size() {
  constexpr unsigned largest = 16384;
  const auto shown = [](const PictureSize& size) {
    return std::to_string(size.width) + "x" + std::to_string(size.height);
  };
  return {.name = "size in pixels, \"640x480\"",
          .read = [](const Value& value) -> Read<PictureSize> {
            const auto text = detail::read_string(value);
            if (!text) return Unexpected(text.error());
            const std::size_t cross = std::min(text->find('x'), text->size());
            const auto width = number<unsigned>(std::string_view(*text).substr(0, cross));
            const auto height = number<unsigned>(std::string_view(*text).substr(std::min(cross + 1, text->size())));
            if (!width || !height) return Unexpected("expected WIDTHxHEIGHT in pixels");
            return PictureSize{*width, *height};
          },
          .write = [=](const PictureSize& size) { return toml_string(shown(size)); },
          .problem =
              [](const PictureSize& size) {
                return detail::problem_of_range(
                    std::min(size.width, size.height) >= 1 && std::max(size.width, size.height) <= largest, "1x1",
                    std::to_string(largest) + "x" + std::to_string(largest));
              }};
}

/// The type of a value for the three channels of a picture: one number for all channels, or a list of three numbers.
Type<std::vector<double>> of_channels(double least, double most) {
  constexpr std::size_t channels = 3;
  const Type<double> one = real(least, most);
  const Type<std::vector<double>> several = list_of(one);
  return {.name = one.name + "; or a list of three",
          .read = [=](const Value& value) -> Read<std::vector<double>> {
            if (std::holds_alternative<Array>(value.content)) return several.read(value);
            const auto number = one.read(value);
            if (!number) return Unexpected(number.error() + ", nor a list of three");
            return std::vector{*number};
          },
          .write =
              [=](const std::vector<double>& values) {
                std::string list;
                for (const double value : values) list += (list.empty() ? "" : ", ") + one.write(value);
                return values.size() == 1 ? list : "[" + list + "]";
              },
          .problem = [=](const std::vector<double>& values) -> std::string {
            if (values.size() != 1 && values.size() != channels)
              return std::to_string(values.size()) + " numbers: must be one, or one for each of the three channels";
            return values.size() == 1 ? one.problem(values[0]) : several.problem(values);
          }};
}

/// Makes a key whose value is a list: the member `member` of `preprocessing` in the settings S of an input. If the file
/// lacks the key, the list stays empty.
template <class S>
Key<S> channels_key(std::string_view name, const Type<std::vector<double>>& type, std::string_view fallback,
                    std::string_view meaning, std::vector<double> Preprocessing::*member) {
  return key<S>(
      name, type, fallback, meaning,
      [=](const S& input) {
        const std::vector<double>& values = input.preprocessing.*member;
        return values.empty() ? std::nullopt : std::optional(values);
      },
      [=](S& input, const std::vector<double>& values) { input.preprocessing.*member = values; });
}

std::vector<Key<TaskInput>> preprocessing_keys() {
  using I = TaskInput;
  const auto of = [](auto member) {
    return [=](auto&& input) -> auto& { return input.preprocessing.*member; };
  };
  constexpr double least = 1e-9, most = 1e9;
  return {key<I>("channels", one_of<ChannelOrder>(), "order in which the network takes the colours of a picture",
                 of(&Preprocessing::channels)),
          key<I>("layout", one_of<TensorLayout>(), "from the tensor's shape; NCHW if the shape allows both",
                 "order of the tensor's dimensions: NCHW: [1, 3, height, width]; NHWC: [1, height, width, 3]",
                 of(&Preprocessing::layout)),
          key<I>("fit", one_of<PictureFit>(),
                 "how a picture is scaled to the tensor if its aspect ratio differs: letterbox: it keeps its ratio, "
                 "centred between grey bars; stretch: it is stretched to the tensor's width and height",
                 of(&Preprocessing::fit)),
          channels_key<I>("mean", of_channels(-most, most), "the model's value; 0 if std or scale is given",
                          "mean in the normalisation of pictures: a float of the tensor is (byte * scale - mean) / "
                          "std. One number for all channels, or three in the order of the key channels",
                          &Preprocessing::mean),
          channels_key<I>(
              "std", of_channels(least, most), "the model's value; 1 if mean or scale is given",
              "standard deviation in the normalisation of pictures, see mean. One number, or three in the order of the "
              "key channels. With the default scale, mean and std are for values from 0 to 1, as in torchvision",
              &Preprocessing::deviation),
          channels_key<I>(
              "scale", of_channels(least, most), "1/255",
              "factor for each byte in the normalisation of pictures, see mean. One number, or three in the order of "
              "the key channels. With scale = 1, mean and std are for values from 0 to 255, as in Caffe and OpenVINO",
              &Preprocessing::scale)};
}

/// Returns the reason why this source delivers no pictures; empty if it may deliver pictures.
std::string_view without_pictures(const TaskInput& input) {
  switch (input.source) {
  case SourceKind::noise: return "noise is not a picture";
  case SourceKind::task: return "an output of a task is not converted";
  case SourceKind::program: return "data of a program are not converted";
  case SourceKind::files:
    return lower_extension(input.from) == ".npy" ? "the values of a .npy file are not converted" : "";
  case SourceKind::camera:
  case SourceKind::iceoryx: return "";
  }
  return "";
}

/// True if the source may have no new data when a job reads it.
bool can_be_stale(SourceKind kind) { return kind != SourceKind::noise && kind != SourceKind::files; }

bool has_tensors(const Task& task) {
  return task.workload == WorkloadKind::dnn || task.workload == WorkloadKind::custom;
}

/// Checks that no tensor name occurs twice, and that at most one channel has no tensor name.
template <class Channel>
void check_tensors(const std::vector<Channel>& channels, const char* table, std::size_t task, Report& report) {
  for (std::size_t i = 1; i < channels.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (channels[i].tensor == channels[k].tensor)
        report.relation({{.table = table, .index = i, .key = "tensor", .around = task}},
                        channels[i].tensor.empty() ? "tensor: needs a name, since the task has several without one"
                                                   : "tensor = " + toml_string(channels[i].tensor) +
                                                         ": already listed; each tensor must have one entry");
}

void check_file(const TaskInput& input, const Rules& rules) {
  std::error_code error;
  if (!std::filesystem::exists(input.from, error))
    rules.broken({"from"}, "from = " + toml_string(input.from) +
                               ": no such file or folder; other sources: " + listed<SourceKind>(sources));
}

void check_producer(const TaskSet& set, const Task& task, const TaskInput& input, const Rules& rules) {
  const std::string name = input.from.substr(0, input.from.find('/'));
  const std::string shown = "from = " + toml_string("task:" + input.from) + ": ";
  if (name == task.name)
    rules.broken({"from"}, shown +
                               "a task cannot read its own output: use state = { INPUT = \"OUTPUT\" } for a network; a "
                               "workload of your own keeps its state");
  const auto producer = std::ranges::find(set.tasks, name, &Task::name);
  if (producer == set.tasks.end()) rules.broken({"from"}, shown + "no task has this name");
  else if (!has_tensors(*producer))
    rules.broken({"from"}, shown + "a " + std::string(spelling(producer->workload)) + " task has no outputs");
}

} // namespace

std::vector<Key<TaskInput>> task_input_keys() {
  using I = TaskInput;
  std::vector<Key<I>> keys = {
      optional_text<I>("tensor", "the task's only input",
                       "name of the input tensor in the model or workload; required if the task has several inputs",
                       &I::tensor),
      choice_key<I, SourceKind>(
          "from", sources,
          "source of the tensor's values: noise: seeded pseudo-random values, different in each job; program: the "
          "on_input callback of the program that runs the set; v4l2: the newest frame of a camera; iceoryx: the newest "
          "sample that another process publishes; task: an output of another task of this set (TENSOR may be left out "
          "if it has only one); PATH: a picture, a folder of pictures, or a .npy file",
          &I::source, &I::from),
      key<I>("on_stale", one_of<OnStale>(),
             "what a job does if this input has no new data: reuse: it reads the previous data; skip: it is dropped "
             "and counted; miss: it fails",
             &I::on_stale),
      key<I>("size", picture_size(), "the size of the tensor",
             "v4l2: size of the camera's pictures; the camera's nearest size is used", &I::size),
      key<I>("format", one_of<PixelFormat>(), "the first of these formats that the camera has",
             "v4l2: pixel format of the camera's pictures", &I::format),
      key<I>("interval", period(std::chrono::milliseconds(1), longest_interval), "the camera's default",
             "v4l2: time between two pictures of the camera, or their frequency (\"30Hz\")", &I::interval)};
  for (auto& key : preprocessing_keys()) keys.push_back(std::move(key));
  return keys;
}

std::string problem_of(const Preprocessing& preprocessing) {
  TaskInput input;
  input.preprocessing = preprocessing;
  for (const Key<TaskInput>& key : preprocessing_keys())
    if (const std::string problem = key.problem(input); !problem.empty())
      return std::string(key.name) + " = " + *key.show(input) + ": " + problem;
  return {};
}

std::string text_of(const Preprocessing& preprocessing) {
  TaskInput input;
  input.preprocessing = preprocessing;
  return detail::write_keys(input, preprocessing_keys());
}

std::vector<Key<TaskOutput>> task_output_keys() {
  using O = TaskOutput;
  return {optional_text<O>("tensor", "all outputs",
                           "name of the output tensor in the model or workload; detections: the boxes of a detector, "
                           "each with left, top, right, bottom, score and class",
                           &O::tensor),
          choice_key<O, SinkKind>(
              "to", sinks,
              "destination of the tensor's values: file: this folder, with one line of JSON for each job and one .npy "
              "file for each tensor; iceoryx: all subscribers of this service; null: the values are discarded",
              &O::sink, &O::to)};
}

void check_channels(const TaskSet& set, std::size_t index, Report& report) {
  const Task& task = set.tasks[index];
  check_tensors(task.inputs, "task.inputs", index, report);
  check_tensors(task.outputs, "task.outputs", index, report);
  const Rules of_task(report, "task", index);
  const std::string kind = "a " + std::string(spelling(task.workload)) + " task has no tensors";
  if (!has_tensors(task) && !task.inputs.empty()) of_task.broken({"workload"}, "inputs: " + kind);
  if (!has_tensors(task) && !task.outputs.empty()) of_task.broken({"workload"}, "outputs: " + kind);
  if (!task.input.empty() && !task.inputs.empty())
    of_task.broken({"input"},
                   "input = " + toml_string(task.input.string()) + ": inputs is given too; give this input there");
  for (std::size_t i = 0; i < task.inputs.size(); ++i) {
    const TaskInput& input = task.inputs[i];
    const Rules rules(report, "task.inputs", i, index);
    if (input.source == SourceKind::files) check_file(input, rules);
    if (input.source == SourceKind::task) check_producer(set, task, input, rules);
    if ((input.size || input.format || input.interval) && input.source != SourceKind::camera)
      rules.broken({"size", "format", "interval", "from"}, "size, format and interval are only for cameras");
    if (const std::string_view why = without_pictures(input); !why.empty() && input.preprocessing != Preprocessing{})
      rules.broken({"channels", "layout", "fit", "mean", "std", "scale", "from"},
                   "channels, layout, fit, mean, std and scale are for pictures, and " + std::string(why));
    if (input.on_stale != OnStale::reuse && !can_be_stale(input.source))
      rules.broken({"on_stale", "from"},
                   "on_stale = " + toml_string(spelling(input.on_stale)) +
                       ": only for cameras, programs, iceoryx and tasks; noise and files always have new data");
  }
}

void resolve_channel_paths(Task& task, const std::filesystem::path& folder) {
  const auto resolve = [&](std::string& path) { path = (folder / path).lexically_normal().string(); };
  for (TaskInput& input : task.inputs)
    if (input.source == SourceKind::files) resolve(input.from);
  for (TaskOutput& output : task.outputs)
    if (output.sink == SinkKind::files) resolve(output.to);
}

} // namespace rtexec::config
