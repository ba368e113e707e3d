#include "hal/open/open_device.hpp"
#include "hal/thread.hpp"
#include "config/names.hpp"
#include "hal/machine.hpp"
#include "rtexec/command/command.hpp"
#include "rtexec/command/text.hpp"
#include "rtexec/executive/device_memory.hpp"
#include "rtexec/executive/loaded_set.hpp"
#include "tasks/dnn/input/input.hpp"
#include "tasks/dnn/input/letterbox.hpp"
#include "tasks/dnn/input/picture.hpp"
#include "tasks/dnn/graph/network.hpp"
#include "tasks/dnn/make_network.hpp"
#include "tasks/dnn/onnx/onnx_reader.hpp"
#include "tasks/dnn/output/draw.hpp"
#include "tasks/dnn/files/npy.hpp"
#include "tasks/dnn/output/output.hpp"
#include "tasks/dnn/graph/passes.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace rtexec::command {

namespace {

namespace fs = std::filesystem;

struct Options {
  std::string model;
  std::string input;
  std::string output;
  std::string board = "host";
  std::string precision = std::string(spelling(Precision::fp32));
  bool tune = false;
  int repeat = 1;
  std::string json;
};

std::vector<std::string> precisions() {
  std::vector<std::string> known;
  for (const Spelling<Precision>& each : spellings<Precision>()) known.emplace_back(each.text);
  return known;
}

/// Of one of precisions().
Precision precision_of(const std::string& text) {
  return std::ranges::find(spellings<Precision>(), text, &Spelling<Precision>::text)->value;
}

bool asks_for_picture(const Options& options) { return fs::path(options.output).extension() == ".png"; }

/// A network alone on a device: placed, bound and executed as the executive does it.
class LoadedNetwork {
 public:
  static Result<LoadedNetwork> load(const Options& options, std::ostream& out) {
    const auto board = read_board(options.board);
    if (!board) return Unexpected(board.error());
    const Precision precision = precision_of(options.precision);
    if (const std::string problem = executive::problem_of_precision(precision, *board); !problem.empty())
      return fail(Errc::bad_input, problem);
    auto graph = tasks::read_onnx(options.model);
    if (!graph) return Unexpected(graph.error());
    LoadedNetwork loaded;
    loaded.metadata_ = graph->metadata;
    tasks::optimise(*graph);
    auto network = tasks::make_network(*graph, board->device, precision);
    if (!network) return fail(network.error().code, options.model + ": " + network.error().what);
    if ((*network)->inputs().empty()) return fail(Errc::bad_input, options.model + ": the network has no input");
    loaded.network_ = std::move(*network);
    if (const auto bound = loaded.bind(*board, options.tune, out); !bound) return Unexpected(bound.error());
    return loaded;
  }

  [[nodiscard]] tasks::Network& network() { return *network_; }
  [[nodiscard]] const tasks::Metadata& metadata() const { return metadata_; }
  [[nodiscard]] std::string device() const { return device_->name(); }

  /// Executes `repeat` times on the compute engine, one right after the other: the time of each. Repeated executions
  /// begin with one that is not counted, as the executive rehearses.
  Result<std::vector<Duration>> run(int repeat) {
    std::vector<Duration> times(static_cast<std::size_t>(repeat));
    const auto executed = device_->engine(hal::EngineKind::compute).call([&]() noexcept -> Status {
      if (repeat > 1)
        if (const auto rehearsed = network_->run(); !rehearsed) return rehearsed;
      for (Duration& time : times) {
        const Instant begin = hal::now();
        if (const auto done = network_->run(); !done) return done;
        time = hal::now() - begin;
      }
      return {};
    });
    if (executed.outcome) return times;
    const auto fault = device_->fault();
    return fail(executed.outcome.error(), "device '" + device_->name() + "': the execution failed: " +
                                              (fault ? fault->what : std::string(name(executed.outcome.error()))));
  }

 private:
  Result<> bind(const Board& board, bool tune, std::ostream& out) {
    // Tuning needs room beside what the network will take.
    const Bytes needed =
        round_up(network_->memory().constant, board.chunk) + round_up(network_->memory().scratch, board.chunk);
    auto device = hal::open_device(board, tune ? Bytes{0} : std::max(needed, board.chunk), board.chunk);
    if (!device) return Unexpected(device.error());
    device_ = std::move(*device);
    if (tune) {
      const auto tuned = network_->tune(*device_, [&](std::size_t done, std::size_t wanted) {
        out << "tuning: " << done << " of " << wanted << " layers\n";
        return true;
      });
      if (!tuned) return Unexpected(tuned.error());
    }
    const auto tenant = executive::resident_tenant(network_->memory(), network_->constants(), device_->chunk_size());
    const auto memory = executive::DeviceMemory::lay_out(*device_, {&tenant, 1}, {});
    if (!memory) return Unexpected(memory.error());
    return network_->bind(*device_, (*memory)->addresses().front());
  }

  std::unique_ptr<hal::Device> device_; // outlives the network
  std::unique_ptr<tasks::Network> network_;
  tasks::Metadata metadata_;
};

Result<> fetch_inputs(LoadedNetwork& loaded, const fs::path& input) {
  const auto normalization = tasks::normalization_of(loaded.metadata());
  if (!normalization) return Unexpected(normalization.error());
  for (const auto& port : loaded.network().inputs()) {
    const auto source = tasks::make_input(input, port.shape, *normalization);
    if (!source) return Unexpected(source.error());
    if (const auto fetched = (*source)->fetch(0, port.buffer); !fetched)
      return fail(fetched.error(),
                  "input '" + port.name + "': " + input.string() + " could not be fetched: " + name(fetched.error()));
  }
  return {};
}

/// The least of the sorted `times` that at least `share` of them do not exceed.
Duration percentile(const std::vector<Duration>& times, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(times.size())));
  return times[std::clamp<std::size_t>(rank, 1, times.size()) - 1];
}

/// File names made of an output's name: what a file name cannot hold becomes '_'.
std::string file_name(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return c == '/' || c == '\0'; }, '_');
  return name + ".npy";
}

Result<> write_outputs(const tasks::Network& network, const fs::path& folder, std::ostream& out) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail(Errc::refused, "cannot make the folder '" + folder.string() + "': " + error.message());
  for (const auto& port : network.outputs()) {
    const fs::path file = folder / file_name(port.name);
    if (const auto written = tasks::write_npy(file, port.shape, port.buffer); !written) return written;
    out << "wrote " << file.string() << " (" << tasks::to_string(port.shape) << ")\n";
  }
  return {};
}

/// Null where the network does not say what its outputs mean.
Result<std::unique_ptr<tasks::OutputDecoder>> decode(LoadedNetwork& loaded) {
  std::vector<tasks::Shape> shapes;
  std::vector<std::span<const float>> values;
  for (const auto& port : loaded.network().outputs()) {
    shapes.push_back(port.shape);
    values.emplace_back(port.buffer);
  }
  auto decoder = tasks::make_decoder(loaded.metadata(), loaded.network().inputs().front().shape, shapes);
  if (decoder && *decoder) (*decoder)->decode(values);
  return decoder;
}

/// Boxes in pixels of the picture that was put into the network.
std::vector<tasks::Box> boxes_in(const tasks::OutputDecoder& decoder, const tasks::Picture& picture,
                                 const tasks::Shape& network) {
  const auto letterbox = tasks::Letterbox::fit(
      picture.size, {.width = static_cast<int>(network[3]), .height = static_cast<int>(network[2])});
  std::vector<tasks::Box> boxes;
  for (const tasks::Box& box : decoder.boxes()) boxes.push_back(letterbox.to_picture(box));
  return boxes;
}

Result<> write_picture(LoadedNetwork& loaded, const tasks::OutputDecoder* decoder, const Options& options,
                       std::ostream& out) {
  if (decoder == nullptr)
    return fail(
        Errc::bad_input,
        options.model +
            " does not say what its outputs mean (rtexec.task in its metadata): write them as tensors with -o FOLDER");
  auto picture = tasks::read_picture(options.input);
  if (!picture) return Unexpected(picture.error());
  tasks::draw(*picture, boxes_in(*decoder, *picture, loaded.network().inputs().front().shape));
  tasks::draw(*picture, decoder->classes());
  if (const auto written = tasks::write_png(*picture, options.output); !written) return written;
  out << "wrote " << options.output << '\n';
  return {};
}

Result<> write(LoadedNetwork& loaded, const tasks::OutputDecoder* decoder, const Options& options, std::ostream& out) {
  if (options.output.empty()) return {};
  if (asks_for_picture(options)) return write_picture(loaded, decoder, options, out);
  return write_outputs(loaded.network(), options.output, out);
}

void print(std::ostream& out, const tasks::OutputDecoder& decoder) {
  Table table({"class", "score", "left", "top", "right", "bottom"});
  const auto number = [](float value) { return std::to_string(static_cast<int>(value)); };
  const auto score = [](float value) { return std::to_string(static_cast<int>(value * 100 + 0.5F)) + "%"; };
  for (const tasks::Box& box : decoder.boxes())
    table.add({std::to_string(box.label), score(box.score), number(box.left), number(box.top), number(box.right),
               number(box.bottom)});
  for (const tasks::RankedClass& ranked : decoder.classes())
    table.add({std::to_string(ranked.label), score(ranked.score)});
  table.print(out);
}

nlohmann::json to_json(LoadedNetwork& loaded, const tasks::OutputDecoder* decoder, const std::vector<Duration>& times) {
  nlohmann::json outputs = nlohmann::json::array(), boxes = nlohmann::json::array(), classes = nlohmann::json::array();
  for (const auto& port : loaded.network().outputs()) outputs.push_back({{"name", port.name}, {"shape", port.shape}});
  if (decoder != nullptr) {
    for (const tasks::Box& box : decoder->boxes())
      boxes.push_back({{"class", box.label},
                       {"score", box.score},
                       {"left", box.left},
                       {"top", box.top},
                       {"right", box.right},
                       {"bottom", box.bottom}});
    for (const tasks::RankedClass& ranked : decoder->classes())
      classes.push_back({{"class", ranked.label}, {"score", ranked.score}});
  }
  return {{"outputs", outputs},
          {"boxes", boxes},
          {"classes", classes},
          {"device", loaded.device()},
          {"flop", loaded.network().flops()},
          {"execution_ns",
           {{"min", times.front().count()},
            {"median", times[times.size() / 2].count()},
            {"p50", percentile(times, 0.5).count()},
            {"p99", percentile(times, 0.99).count()},
            {"p999", percentile(times, 0.999).count()},
            {"max", times.back().count()}}}};
}

void print(std::ostream& out, const std::vector<Duration>& times) {
  out << "executed in " << readable(times[times.size() / 2]);
  if (times.size() > 1)
    out << " (median of " << times.size() << "; p99 " << readable(percentile(times, 0.99)) << ", p99.9 "
        << readable(percentile(times, 0.999)) << ", longest " << readable(times.back()) << ")";
  out << '\n';
}

int infer(const Options& options) {
  if (asks_for_picture(options) && options.input.empty())
    return report({Errc::bad_input, "-o " + options.output +
                                        " draws on the picture that the network is given: give one behind the model"});
  std::ostream& out = text_output(options.json);
  auto loaded = LoadedNetwork::load(options, out);
  if (!loaded) return report(loaded.error());
  if (const auto fetched = fetch_inputs(*loaded, options.input); !fetched) return report(fetched.error());
  auto times = loaded->run(options.repeat);
  if (!times) return report(times.error());
  std::ranges::sort(*times);

  const auto decoder = decode(*loaded);
  if (!decoder) return report(decoder.error());
  if (*decoder) print(out, **decoder);
  if (const auto written = write(*loaded, decoder->get(), options, out); !written) return report(written.error());
  print(out, *times);
  if (const auto written = write_json(options.json, to_json(*loaded, decoder->get(), *times)); !written)
    return report(written.error());
  return 0;
}

} // namespace

void add_infer(CLI::App& program, int& exit_code) {
  auto* command = program.add_subcommand("infer", "Run a network once on one input, outside any schedule");
  const auto options = std::make_shared<Options>();
  command->add_option("model", options->model, "The network")->required()->type_name("MODEL.onnx");
  command->add_option("input", options->input, "A picture (JPEG, PNG) or a tensor (.npy); without it, seeded noise")
      ->type_name("INPUT");
  command
      ->add_option("-o,--output", options->output,
                   "FILE.png: the picture with boxes and classes drawn; a folder: each output as NAME.npy")
      ->type_name("OUT");
  command->add_option("--board", options->board, "The board whose device executes it: a name or a file")
      ->capture_default_str()
      ->type_name("BOARD");
  command->add_option("--precision", options->precision, "Arithmetic on a GPU")
      ->capture_default_str()
      ->check(CLI::IsMember(precisions()))
      ->type_name("PRECISION");
  command->add_flag("--tune", options->tune, "First find the fastest way to compute each layer on the device");
  command->add_option("--repeat", options->repeat, "Execute so often, and print the median time and the longest ones")
      ->check(CLI::Range(1, 100000))
      ->type_name("N");
  add_json_option(*command, options->json);
  command->callback([options, &exit_code] { exit_code = infer(*options); });
}

} // namespace rtexec::command
