#include "rtexec/cli/command/calibrate_memory.hpp"

#include "config/board_writer.hpp"
#include <rtexec/board.hpp>
#include "rtexec/cli/options/board_target.hpp"
#include "rtexec/cli/command/command.hpp"
#include "rtexec/cli/terminal/progress.hpp"
#include "rtexec/cli/reports/report_text.hpp"
#include "rtexec/studies/calibration/measured_device.hpp"
#include "rtexec/cli/reports/memory_calibration_report.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

namespace rtexec::command {

namespace {

struct CalibrateMemoryOptions {
  BoardOptions target;
  std::string json;
  study::MemoryCalibrationOptions calibration;
};

study::MemoryCalibration measure(hal::Device& device, const Board& board,
                                 const study::MemoryCalibrationOptions& options) {
  const StopRequest stop;
  Progress progress(&stop);
  auto tasks = must(study::measure_memory(
      device, study::calibrated_kinds(board.device), board.memory_policies, options,
      [&](std::size_t done, std::size_t of) { return progress("measuring", done, of, "tasks"); }));
  return must(study::fitted(device.name(), board.memory_costs, std::move(tasks)));
}

void calibrate(const CalibrateMemoryOptions& options) {
  OutputFile json_file = must(OutputFile::open(options.json));
  auto target = board_target(options.target);
  const Board& board = target.board;
  std::ostream& out = text_output(options.json);
  const auto machine = must(study::measured_device(board, false));
  const auto measured = measure(*machine.device, board, options.calibration);
  must(target.file.write(must(with_memory_costs(target.toml, measured.fit.costs))));
  out << "Measured on " << machine.where << '\n';
  for (const std::string& note : machine.notes) out << note << '\n';
  study::print(out, measured);
  target.tell(out, "[memory_costs]");
  must(write_json(json_file, study::to_json(measured, target.output.string())));
}

} // namespace

Command add_calibrate_memory(const Command& calibrating) {
  const Command command =
      calibrating.add("memory",
                      "Measure the costs of the memory policies D, M and H by micro-benchmarks of several kinds and "
                      "sizes, report the model's error, and write [memory_costs] into the board file");
  const auto options = std::make_shared<CalibrateMemoryOptions>();
  options->target.add_to(command);
  command.option("--sizes", options->calibration.sizes, "N", "Number of problem sizes of each micro-benchmark")
      .default_shown()
      .within(2, 32);
  command
      .option("--jobs", options->calibration.jobs, "N",
              "Number of jobs of each size under each policy; the shortest job counts")
      .default_shown()
      .within(3, 10000);
  command.json(options->json);
  command.on_run([options] { calibrate(*options); });
  return command;
}

} // namespace rtexec::command
