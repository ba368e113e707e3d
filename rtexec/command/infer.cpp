#include "rtexec/command/command.hpp"
#include "rtexec/command/text.hpp"
#include "tasks/dnn/input/input.hpp"
#include "tasks/dnn/input/letterbox.hpp"
#include "tasks/dnn/input/picture.hpp"
#include "tasks/dnn/network.hpp"
#include "tasks/dnn/onnx_reader.hpp"
#include "tasks/dnn/output/draw.hpp"
#include "tasks/dnn/output/npy.hpp"
#include "tasks/dnn/output/output.hpp"
#include "tasks/dnn/passes.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>

namespace rtexec::command {

namespace {

namespace fs = std::filesystem;

struct Options {
  std::string model;
  std::string input;
  std::string output;
  int repeat = 1;
  std::string json;
};

/// A network with memory of its own, for use outside an executive.
class LoadedNetwork {
 public:
  static Result<LoadedNetwork> load(const fs::path& file) {
    auto graph = tasks::read_onnx(file);
    if (!graph) return std::unexpected(graph.error());
    LoadedNetwork loaded;
    loaded.metadata_ = graph->metadata;
    tasks::optimise(*graph);
    auto network = tasks::Network::build(*graph);
    if (!network) return std::unexpected(network.error());
    if (network->inputs().empty()) return fail(Errc::bad_input, file.string() + ": the network has no input");
    loaded.network_ = std::make_unique<tasks::Network>(std::move(*network));
    loaded.scratch_.reset(static_cast<std::byte*>(::operator new[](std::max<std::size_t>(loaded.network_->scratch().count, 1), alignment)));
    loaded.network_->bind(loaded.network_->constants().data(), loaded.scratch_.get());
    return loaded;
  }

  [[nodiscard]] tasks::Network& network() { return *network_; }
  [[nodiscard]] const tasks::Metadata& metadata() const { return metadata_; }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete[](memory, alignment); }
  };
  std::unique_ptr<tasks::Network> network_;
  tasks::Metadata metadata_;
  std::unique_ptr<std::byte[], Free> scratch_;
};

Result<> fetch_inputs(LoadedNetwork& loaded, const fs::path& input) {
  const auto normalization = tasks::normalization_of(loaded.metadata());
  if (!normalization) return std::unexpected(normalization.error());
  for (auto& port : loaded.network().inputs()) {
    const auto source = tasks::make_input(input, port.shape, *normalization);
    if (!source) return std::unexpected(source.error());
    if (const auto fetched = (*source)->fetch(0, port.buffer); !fetched)
      return fail(fetched.error(), "input '" + port.name + "': " + input.string() + " could not be fetched: " + name(fetched.error()));
  }
  return {};
}

std::vector<Duration> run(tasks::Network& network, int repeat) {
  std::vector<Duration> times;
  for (int i = 0; i < repeat; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    network.run();
    times.push_back(std::chrono::steady_clock::now() - begin);
  }
  std::ranges::sort(times);
  return times;
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
std::vector<tasks::Box> boxes_in(const tasks::OutputDecoder& decoder, const tasks::Picture& picture, const tasks::Shape& network) {
  const auto letterbox =
      tasks::Letterbox::fit(picture.size, {.width = static_cast<int>(network[3]), .height = static_cast<int>(network[2])});
  std::vector<tasks::Box> boxes;
  for (const tasks::Box& box : decoder.boxes()) boxes.push_back(letterbox.to_picture(box));
  return boxes;
}

Result<> write_picture(LoadedNetwork& loaded, const tasks::OutputDecoder* decoder, const Options& options, std::ostream& out) {
  if (decoder == nullptr)
    return fail(Errc::bad_input,
                options.model + " does not say what its outputs mean (rtexec.task in its metadata): write them as tensors with -o FOLDER");
  auto picture = tasks::read_picture(options.input);
  if (!picture) return std::unexpected(picture.error());
  tasks::draw(*picture, boxes_in(*decoder, *picture, loaded.network().inputs().front().shape));
  tasks::draw(*picture, decoder->classes());
  if (const auto written = tasks::write_png(*picture, options.output); !written) return written;
  out << "wrote " << options.output << '\n';
  return {};
}

Result<> write(LoadedNetwork& loaded, const tasks::OutputDecoder* decoder, const Options& options, std::ostream& out) {
  if (options.output.empty()) return {};
  if (fs::path(options.output).extension() == ".png") return write_picture(loaded, decoder, options, out);
  return write_outputs(loaded.network(), options.output, out);
}

void print(std::ostream& out, const tasks::OutputDecoder& decoder) {
  Table table({"class", "score", "left", "top", "right", "bottom"});
  const auto number = [](float value) { return std::to_string(static_cast<int>(value)); };
  const auto score = [](float value) { return std::to_string(static_cast<int>(value * 100 + 0.5F)) + "%"; };
  for (const tasks::Box& box : decoder.boxes())
    table.add({std::to_string(box.label), score(box.score), number(box.left), number(box.top), number(box.right), number(box.bottom)});
  for (const tasks::RankedClass& ranked : decoder.classes()) table.add({std::to_string(ranked.label), score(ranked.score)});
  table.print(out);
}

nlohmann::json to_json(tasks::Network& network, const tasks::OutputDecoder* decoder, const std::vector<Duration>& times) {
  nlohmann::json outputs = nlohmann::json::array(), boxes = nlohmann::json::array(), classes = nlohmann::json::array();
  for (const auto& port : network.outputs()) outputs.push_back({{"name", port.name}, {"shape", port.shape}});
  if (decoder != nullptr) {
    for (const tasks::Box& box : decoder->boxes())
      boxes.push_back(
          {{"class", box.label}, {"score", box.score}, {"left", box.left}, {"top", box.top}, {"right", box.right}, {"bottom", box.bottom}});
    for (const tasks::RankedClass& ranked : decoder->classes()) classes.push_back({{"class", ranked.label}, {"score", ranked.score}});
  }
  return {{"outputs", outputs},
          {"boxes", boxes},
          {"classes", classes},
          {"flop", network.flops()},
          {"execution_ns", {{"min", times.front().count()}, {"median", times[times.size() / 2].count()}, {"max", times.back().count()}}}};
}

int infer(const Options& options) {
  std::ostream& out = text_output(options.json);
  auto loaded = LoadedNetwork::load(options.model);
  if (!loaded) return report(loaded.error());
  tasks::Network& network = loaded->network();
  if (const auto fetched = fetch_inputs(*loaded, options.input); !fetched) return report(fetched.error());
  const auto times = run(network, options.repeat);

  const auto decoder = decode(*loaded);
  if (!decoder) return report(decoder.error());
  if (*decoder) print(out, **decoder);
  if (const auto written = write(*loaded, decoder->get(), options, out); !written) return report(written.error());
  out << "executed in " << readable(times[times.size() / 2])
      << (options.repeat > 1 ? " (median of " + std::to_string(options.repeat) + ")" : "") << '\n';
  if (const auto written = write_json(options.json, to_json(network, decoder->get(), times)); !written) return report(written.error());
  return 0;
}

} // namespace

void add_infer(CLI::App& program, int& exit_code) {
  auto* command = program.add_subcommand("infer", "Run a network once on one input, outside any schedule");
  const auto options = std::make_shared<Options>();
  command->add_option("model", options->model, "The network")->required()->type_name("MODEL.onnx");
  command->add_option("input", options->input, "A picture (JPEG, PNG) or a tensor (.npy); without it, seeded noise")->type_name("INPUT");
  command
      ->add_option("-o,--output", options->output, "FILE.png: the picture with boxes and classes drawn; a folder: each output as NAME.npy")
      ->type_name("OUT");
  command->add_option("--repeat", options->repeat, "Execute so often and print the median time")
      ->check(CLI::Range(1, 100000))
      ->type_name("N");
  add_json_option(*command, options->json);
  command->callback([options, &exit_code] { exit_code = infer(*options); });
}

} // namespace rtexec::command
