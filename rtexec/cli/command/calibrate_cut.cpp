#include "rtexec/cli/command/calibrate_cut.hpp"

#include "config/board_writer.hpp"
#include <rtexec/board.hpp>
#include "rtexec/cli/options/board_target.hpp"
#include "rtexec/cli/command/command.hpp"
#include "rtexec/cli/terminal/progress.hpp"
#include "rtexec/cli/options/given_inputs.hpp"
#include "rtexec/cli/reports/report_text.hpp"
#include "rtexec/cli/reports/cut_calibration_report.hpp"
#include "rtexec/studies/calibration/measured_device.hpp"
#include "tasks/engine/graph/passes.hpp"
#include "tasks/engine/make_network.hpp"
#include "tasks/engine/onnx/onnx_reader.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

namespace rtexec::command {

namespace {

struct CalibrateCutOptions {
  std::string model;
  InputTexts inputs;
  BoardOptions target;
  std::string json;
  study::CutCalibrationOptions calibration;
};

/// Finds the fastest kernel for each layer on the device. Returns the choices in the format of profiles.
std::vector<std::string> tuned(hal::Device& device, const tasks::Graph& graph, const StopRequest& stop) {
  Progress progress(&stop);
  const auto network = must(tasks::make_network(graph, device.kind(), Precision::fp32));
  return must(
      network->tune(device, [&](std::size_t done, std::size_t of) { return progress("tuning", done, of, "layers"); }));
}

Result<std::unique_ptr<tasks::Network>> make_tuned(const tasks::Graph& graph, DeviceKind kind,
                                                   const std::vector<std::string>& tuning) {
  auto network = tasks::make_network(graph, kind, Precision::fp32);
  if (!network) return network;
  if (auto used = (*network)->use(tuning); !used) return Unexpected(used.error());
  return network;
}

study::CutCalibration measure(hal::Device& device, const tasks::Graph& graph, const Board& board,
                              const study::CutCalibrationOptions& options) {
  const StopRequest stop;
  const auto tuning = tuned(device, graph, stop);
  const study::MakeNetwork make = [&] { return make_tuned(graph, device.kind(), tuning); };
  Progress progress(&stop);
  return must(study::calibrate_cut(device, make, board.dispatch, options, [&](std::size_t done, std::size_t of) {
    return progress("measuring", done, of, "jobs");
  }));
}

void calibrate(const CalibrateCutOptions& options) {
  OutputFile json_file = must(OutputFile::open(options.json));
  auto target = board_target(options.target);
  const Board& board = target.board;
  auto graph = must(tasks::read_onnx(options.model, must(given_inputs(options.inputs))));
  tasks::optimise(graph);
  std::ostream& out = text_output(options.json);
  const auto machine = must(study::measured_device(board, false));
  const auto measured = measure(*machine.device, graph, board, options.calibration);
  must(target.file.write(must(with_cut(target.toml, measured.cut))));
  out << "Measured on " << machine.where << '\n';
  for (const std::string& note : machine.notes) out << note << '\n';
  study::print(out, measured);
  target.tell(out, "cut = \"" + to_string(measured.cut) + "\"");
  must(write_json(json_file, study::to_json(measured, target.output.string())));
}

} // namespace

Command add_calibrate_cut(const Command& calibrating) {
  const Command command = calibrating.add("cut",
                                          "Measure the cost of dividing a network into segments, with one segment "
                                          "launched ahead, and write the key cut into the board file");
  const auto options = std::make_shared<CalibrateCutOptions>();
  command
      .option("model", options->model, "FILE.onnx",
              "Network that is divided into segments, preferably one with a long execution time")
      .required();
  add_given_inputs(command, options->inputs);
  options->target.add_to(command);
  command
      .option("--jobs", options->calibration.jobs, "N",
              "Number of jobs for each number of segments, and without segments")
      .default_shown()
      .within(3, 10000);
  command
      .option("--margin", options->calibration.margin, "FACTOR",
              "Safety factor by which the measured costs are multiplied")
      .default_shown()
      .within(1.0, 100.0);
  command.json(options->json);
  command.on_run([options] { calibrate(*options); });
  return command;
}

} // namespace rtexec::command
