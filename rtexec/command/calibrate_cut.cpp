#include "rtexec/command/calibrate_cut.hpp"

#include "config/board_writer.hpp"
#include <rtexec/board.hpp>
#include "rtexec/command/board_target.hpp"
#include "rtexec/command/command.hpp"
#include "rtexec/command/progress.hpp"
#include "rtexec/command/text.hpp"
#include "rtexec/study/cut_calibration_report.hpp"
#include "rtexec/study/measured_device.hpp"
#include "tasks/dnn/graph/passes.hpp"
#include "tasks/dnn/make_network.hpp"
#include "tasks/dnn/onnx/onnx_reader.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

namespace rtexec::command {

namespace {

struct Options {
  std::string model;
  std::string board = "host";
  std::string output, json;
  study::CutCalibrationOptions calibration;
};

study::CutCalibration measure(hal::Device& device, const tasks::Graph& graph, const Board& board,
                              const study::CutCalibrationOptions& options) {
  const StopRequest stop;
  Progress progress(&stop);
  const study::MakeNetwork make = [&] { return tasks::make_network(graph, device.kind(), Precision::fp32); };
  return must(study::calibrate_cut(device, make, board.dispatch, options, [&](std::size_t done, std::size_t of) {
    return progress("measuring", done, of, "jobs");
  }));
}

void calibrate(const Options& options) {
  OutputFile json_file = must(OutputFile::open(options.json));
  auto target = board_target(options.board, options.output);
  const Board board = must(read_board(target.board));
  auto graph = must(tasks::read_onnx(options.model));
  tasks::optimise(graph);
  std::ostream& out = text_output(options.json);
  const auto machine = must(study::measured_device(board, false));
  const auto measured = measure(*machine.device, graph, board, options.calibration);
  must(target.file.write(must(with_cut(target.toml, measured.cut))));
  out << "Measured on " << machine.where << '\n';
  for (const std::string& note : machine.notes) out << note << '\n';
  study::print(out, measured);
  out << "wrote cut = \"" << to_string(measured.cut) << "\" to " << target.output.string()
      << ": name it in task sets as board = \"./" << target.output.filename().string() << "\"\n";
  must(write_json(json_file, study::to_json(measured, target.output.string())));
}

} // namespace

Command add_calibrate_cut(const Command& calibrating) {
  const Command command = calibrating.add(
      "cut",
      "Measure what it costs to cut a network into segments of which the device has the next one ahead, and write cut "
      "into the board's file");
  const auto options = std::make_shared<Options>();
  command.option("model", options->model, "FILE.onnx", "The network that is cut, best one of the longest").required();
  command.option("board", options->board, "BOARD", "A board by name or path").default_shown();
  command.option("-o,--output", options->output, "FILE.toml",
                 "The calibrated board (default: the board's own file, or NAME.toml here for a builtin board); a file "
                 "that is there already is what is measured");
  command.option("--jobs", options->calibration.jobs, "N", "Of each number of segments, and as many in one piece")
      .default_shown()
      .within(3, 10000);
  command.option("--margin", options->calibration.margin, "FACTOR", "What is measured counts this many times")
      .default_shown()
      .within(1.0, 100.0);
  command.json(options->json);
  command.on_run([options] { calibrate(*options); });
  return command;
}

} // namespace rtexec::command
