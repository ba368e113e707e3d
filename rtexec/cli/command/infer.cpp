#include <rtexec/profile.hpp>
#include "config/names.hpp"
#include "config/base/text.hpp"
#include "rtexec/cli/options/named_board.hpp"
#include "rtexec/cli/command/command.hpp"
#include "rtexec/cli/options/given_inputs.hpp"
#include "rtexec/cli/reports/report_text.hpp"
#include "rtexec/cli/reports/inference_report.hpp"
#include "tasks/engine/onnx/onnx_reader.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

namespace rtexec::command {

namespace {

using study::Inference;

struct InferOptions {
  std::string board = "host"; // by name or path
  study::InferenceOptions network;
  std::vector<std::string> inputs;
  InputTexts given;
  std::string channels = std::string(spelling(ChannelOrder::rgb)), layout;
  std::string fit = std::string(spelling(PictureFit::letterbox));
  std::vector<double> mean, deviation, scale;
  std::string output;
  std::string precision = std::string(spelling(Precision::fp32));
  std::string memory = std::string(spelling(MemoryPolicy::device));
  bool tune = false;
  std::string profile, task;
  int repeat = 1;
  bool list_operators = false;
  std::string json;
};

template <class Enum> std::vector<std::string> all_spelled() {
  std::vector<std::string> known;
  for (const Spelling<Enum>& each : spellings<Enum>()) known.emplace_back(each.text);
  return known;
}

/// Returns the enumerator with this spelling. The spelling must be one of all_spelled().
template <class Enum> Enum spelled_as(const std::string& text) {
  return std::ranges::find(spellings<Enum>(), text, &Spelling<Enum>::text)->value;
}

Preprocessing preprocessing_of(const InferOptions& options) {
  Preprocessing preprocessing{.channels = spelled_as<ChannelOrder>(options.channels),
                              .layout = {},
                              .fit = spelled_as<PictureFit>(options.fit),
                              .mean = options.mean,
                              .deviation = options.deviation,
                              .scale = options.scale};
  if (!options.layout.empty()) preprocessing.layout = spelled_as<TensorLayout>(options.layout);
  return preprocessing;
}

/// True if `output` looks like the name of a file: it has an extension and is no existing folder. "out.v2/" has no
/// extension, and therefore names a folder to create.
bool looks_like_a_file(const std::filesystem::path& output) {
  std::error_code error;
  return output.has_extension() && !std::filesystem::is_directory(output, error);
}

bool asks_for_picture(const InferOptions& options) {
  return std::filesystem::path(options.output).extension() == ".png";
}

/// Returns the kernel choices of a task in the profile. If the options name no task, the profile must have only one
/// task.
std::vector<std::string> tuning_of(const InferOptions& options) {
  const Profile profile = must(read_profile(options.profile));
  std::string known;
  for (const ProfileEntry& entry : profile.entries) {
    if (entry.task == options.task || (options.task.empty() && profile.entries.size() == 1)) return entry.tuning;
    known += (known.empty() ? "" : ", ") + entry.task;
  }
  give_up(Errc::bad_input, options.profile +
                               (options.task.empty() ? " has several tasks" : " has no task '" + options.task + "'") +
                               ": name one of them with --task: " + known);
}

Inference load(const InferOptions& options, std::ostream& out) {
  study::InferenceOptions network = options.network;
  network.precision = spelled_as<Precision>(options.precision);
  network.memory = spelled_as<MemoryPolicy>(options.memory);
  network.given = must(given_inputs(options.given));
  if (!options.profile.empty()) network.chosen = tuning_of(options);
  const Board board = named_board(options.board);
  if (!options.tune) return must(Inference::load(network, board, {}));
  return must(Inference::load(network, board, [&out](std::size_t done, std::size_t of) {
    out << "tuning: " << done << " of " << of << " layers\n";
  }));
}

void write(const Inference& inference, const InferOptions& options, std::ostream& out) {
  if (options.output.empty()) return;
  if (!asks_for_picture(options)) return must(study::write_outputs(inference.workload(), options.output, out));
  if (inference.workload().recognises() == Recognition::nothing)
    give_up(Errc::bad_input,
            options.network.model +
                " has no meaning of its outputs (rtexec.task in its metadata): write them as tensors with -o FOLDER");
  must(study::write_picture(inference, options.output));
  out << "wrote " << options.output << '\n';
}

/// Prints the names of inputs that are all zeros and for which the user gave no file. Inputs that are indices can be
/// all zeros, because they get one value instead of noise. The results then have no meaning.
void print_zero_inputs(std::ostream& out, const Inference& inference) {
  const auto inputs = inference.workload().inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool zeros = std::ranges::all_of(inputs[i].bytes, [](std::byte each) { return each == std::byte{0}; });
    if (inference.files()[i].empty() && zeros)
      out << "Note: input " << config::quoted(inputs[i].name) << " (" << name(inputs[i].type)
          << ") is all zeros, since no file is given for it (NAME=FILE.npy)\n";
  }
}

/// Prints the operators that networks may use.
void list_operators(const InferOptions& options) {
  OutputFile json_file = must(OutputFile::open(options.json));
  std::ostream& out = text_output(options.json);
  nlohmann::json list = nlohmann::json::array();
  Table table({"operator", "opsets", "limits"}, {0, 1, 2});
  for (const auto& each : tasks::supported_operators()) {
    const auto opsets = std::to_string(each.oldest) + " to " + std::to_string(each.newest);
    table.add({std::string(each.name), opsets, std::string(each.limits)});
    list.push_back({{"name", each.name}, {"opsets", {each.oldest, each.newest}}, {"limits", each.limits}});
  }
  table.print(out);
  must(write_json(json_file, {{"operators", list}}));
}

void infer(const InferOptions& options) {
  if (options.list_operators) return list_operators(options);
  if (options.network.model.empty())
    give_up(Errc::bad_input, "the network is missing: expected rtexec infer MODEL.onnx, or --list-operators");
  if (asks_for_picture(options) && options.inputs.empty())
    give_up(Errc::bad_input,
            "-o " + options.output + " needs a picture as input, to draw on it: give one after the model");
  if (!asks_for_picture(options) && looks_like_a_file(options.output))
    give_up(Errc::bad_input, "-o " + options.output +
                                 ": expected a folder, into which outputs are written as NAME.npy (end it with '/' if "
                                 "its name has a dot), or FILE.png for the picture with recognised objects");
  OutputFile json_file = must(OutputFile::open(options.json));
  std::ostream& out = text_output(options.json);
  auto inference = load(options, out);
  for (const std::string& note : inference.workload().notes()) out << "Note: " << note << '\n';
  must(inference.fetch_inputs(options.inputs, preprocessing_of(options)));
  print_zero_inputs(out, inference);
  const auto times = must(inference.run(options.repeat));
  study::print(out, inference.workload());
  write(inference, options, out);
  study::print(out, times);
  must(write_json(json_file, to_json(inference, times)));
}

} // namespace

void add_infer(const Command& program) {
  const Command command = program.add("infer", "Execute a network on one input, without deadlines");
  const auto options = std::make_shared<InferOptions>();
  command.option("model", options->network.model, "MODEL.onnx", "Network to execute");
  command.option("input", options->inputs, "INPUT",
                 "Picture (JPEG, PNG) or tensor (.npy); for a network with several inputs NAME=FILE for each input; "
                 "default: seeded pseudo-random values");
  command.option(
      "-o,--output", options->output, "OUT",
      "FILE.png: write the picture with the detected boxes and classes; a folder: write each output as NAME.npy");
  add_given_inputs(command, options->given);
  const auto backend = command.option("--backend", options->network.backend, "BACKEND",
                                      "Inference engine: NAME for the shared object librtexec-backend-NAME.so, or the "
                                      "path ./FILE.so of a shared object (backend.h); default: the built-in engine");
  command
      .option("--arguments", options->network.arguments, "TEXT",
              "Text that is passed to the inference engine of --backend")
      .needs(backend);
  command
      .option("--board", options->board, "BOARD",
              "Board whose device executes the network: the name of a built-in board, or the path of a board file")
      .default_shown();
  command.option("--precision", options->precision, "PRECISION", "Arithmetic of matrix products on a GPU")
      .default_shown()
      .one_of(all_spelled<Precision>());
  command
      .option("--memory", options->memory, "POLICY",
              "Memory policy: device memory (D), managed memory (M), or host memory that the device reads (H)")
      .default_shown()
      .one_of({"D", "M", "H"});
  command.option("--channels", options->channels, "ORDER", "Order in which the network takes the colours of a picture")
      .default_shown()
      .one_of(all_spelled<ChannelOrder>());
  command
      .option("--layout", options->layout, "LAYOUT",
              "Order of the dimensions of a picture input, if its shape allows both (default: NCHW)")
      .one_of(all_spelled<TensorLayout>());
  command
      .option("--fit", options->fit, "FIT",
              "Scaling of a picture whose aspect ratio differs from that of the input: letterbox adds grey bars, "
              "stretch distorts the picture")
      .default_shown()
      .one_of(all_spelled<PictureFit>());
  command
      .option("--mean", options->mean, "MEAN",
              "Normalisation of pictures: each value of the input is (byte * SCALE - MEAN) / STD. One number, or three "
              "separated by commas. Default: the model's normalisation; 0 if --std or --scale is given")
      .separated_by(',');
  command
      .option("--std", options->deviation, "STD",
              "Standard deviation in the formula of --mean. Default: the model's normalisation; 1 if --mean or --scale "
              "is given")
      .separated_by(',');
  command
      .option("--scale", options->scale, "SCALE",
              "Scale in the formula of --mean. Default: the model's normalisation; 1/255 if --mean or --std is given")
      .separated_by(',');
  const auto profile = command.option(
      "--profile", options->profile, "FILE.profile.toml",
      "Use the tuned kernels of this profile, for results that are bit-identical to those of a run with it");
  command
      .option("--task", options->task, "TASK",
              "Task of the profile whose kernels are used, if the profile has several tasks")
      .needs(profile);
  command.flag("--tune", options->tune, "Before the execution, find the fastest kernel for each layer on the device")
      .excludes(profile);
  command
      .option("--repeat", options->repeat, "N",
              "Execute the network N times, and print the median and the longest execution time")
      .within(1, 100000);
  command.flag("--list-operators", options->list_operators,
               "Print the supported ONNX operators, their opsets and their restrictions");
  command.json(options->json);
  command.on_run([options] { infer(*options); });
}

} // namespace rtexec::command
