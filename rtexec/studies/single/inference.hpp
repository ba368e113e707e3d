// A model alone on a device, outside any schedule: placed, bound and executed as the executive does it.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include <rtexec/units.hpp>
#include <rtexec/workload.hpp>
#include "hal/device_interface.hpp"
#include "tasks/engine/graph/graph.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rtexec::study {

struct InferenceOptions {
  std::string model;
  std::string board = "host"; // by name or path
  std::string backend{};      // as Task::backend; empty: the built-in one
  std::string arguments{};    // for the back end of others
  Precision precision = Precision::fp32;
  MemoryPolicy memory = MemoryPolicy::device;
  /// Of inputs whose dimensions the file leaves open.
  tasks::GivenInputs given{};
  /// Choices that a tuning made, which are used: as Workload::use().
  std::vector<std::string> chosen{};
};

class Inference {
 public:
  /// `tuning`: where given, the fastest way to compute each layer is found first, and it is told how far that is.
  [[nodiscard]] static Result<Inference> load(const InferenceOptions& options,
                                              const std::function<void(std::size_t done, std::size_t of)>& tuning);

  /// Detections and classes are those of the last job that run() executed.
  [[nodiscard]] const Workload& workload() const { return *workload_; }
  [[nodiscard]] std::string device() const { return device_->name(); }

  /// Pictures or tensors: FILE for the only input, or NAME=FILE for each; none: seeded noise. `preprocessing`: of all
  /// pictures; bad_input where it is given and there is none.
  [[nodiscard]] Result<> fetch_inputs(std::span<const std::string> given, const Preprocessing& preprocessing = {});
  /// Executes `repeat` jobs on the compute engine, one right after the other: how long the part on the device of each
  /// took, ascending. Repeated jobs begin with one that is not counted, as the executive warms up.
  [[nodiscard]] Result<std::vector<Duration>> run(int repeat);

  /// Of each input, in the model's order; empty: noise.
  [[nodiscard]] const std::vector<std::filesystem::path>& files() const { return files_; }
  /// How its pictures were put into the inputs.
  [[nodiscard]] const Preprocessing& preprocessing() const { return preprocessing_; }

 private:
  void bind(const Board& board, const std::function<void(std::size_t done, std::size_t of)>& tuning);

  std::unique_ptr<hal::Device> device_; // outlives the workload
  std::unique_ptr<Workload> workload_;
  std::vector<std::filesystem::path> files_;
  Preprocessing preprocessing_;
};

} // namespace rtexec::study
