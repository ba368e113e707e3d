#include "rtexec/cli/command/command.hpp"
#include "rtexec/cli/reports/report_text.hpp"
#include "tasks/engine/models/models.hpp"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace rtexec::command {

namespace {

struct ModelOptions {
  std::string name;
  std::string output;
  tasks::ModelOptions model;
  std::string json;
};

void list_models(const ModelOptions& options, OutputFile& json_file) {
  Table table({"model", "size", "classes", ""}, {0, 3});
  nlohmann::json json = nlohmann::json::array();
  for (const tasks::ModelInfo& model : tasks::models()) {
    table.add({std::string(model.name), std::to_string(model.size), std::to_string(model.classes),
               std::string(model.description)});
    json.push_back(
        {{"name", model.name}, {"size", model.size}, {"classes", model.classes}, {"description", model.description}});
  }
  table.print(text_output(options.json), "");
  must(write_json(json_file, json));
}

void model(const ModelOptions& options) {
  OutputFile json_file = must(OutputFile::open(options.json));
  if (options.name.empty()) return list_models(options, json_file);
  const std::filesystem::path file = options.output.empty() ? options.name + ".onnx" : options.output;
  must(tasks::write_model(options.name, options.model, file));
  const auto size = std::filesystem::file_size(file);
  text_output(options.json) << "wrote " << file.string() << " (" << readable(Bytes{size}) << ")\n";
  const nlohmann::json json = {{"name", options.name}, {"file", file.string()}, {"bytes", size}};
  must(write_json(json_file, json));
}

} // namespace

void add_model(const Command& program) {
  const Command command = program.add(
      "model",
      "Write a well-known network with seeded random weights as an ONNX file; without a name, list the networks");
  const auto options = std::make_shared<ModelOptions>();
  command.option("name", options->name, "NETWORK", "Name of the network; without it, all networks are listed");
  command.option("-o,--output", options->output, "FILE.onnx", "File to write (default: NAME.onnx)");
  command
      .option("--size", options->model.size, "PIXELS", "Height and width of the input in pixels (default: as listed)")
      .within(1, 4096);
  command.option("--classes", options->model.classes, "N", "Number of classes (default: as listed)").within(1, 100000);
  command.option("--seed", options->model.seed, "N", "Seed of the random weights: the same seed gives the same file");
  command.json(options->json);
  command.on_run([options] { model(*options); });
}

} // namespace rtexec::command
