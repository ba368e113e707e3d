// Runs a model alone on a device, without a schedule. The model is placed in memory, bound and executed as in the
// executive.
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
  std::string backend{};   // as Task::backend; empty: the built-in back end
  std::string arguments{}; // arguments for a back end other than the built-in one
  Precision precision = Precision::fp32;
  MemoryPolicy memory = MemoryPolicy::device;
  /// Sizes of those input dimensions that the model's file does not fix.
  tasks::GivenInputs given{};
  /// Choices of an earlier tuning, for Workload::use().
  std::vector<std::string> chosen{};
};

class Inference {
 public:
  /// Loads the model for the device of `board`. If `tuning` is set, first finds the fastest implementation of each
  /// layer, and calls `tuning` with the progress.
  [[nodiscard]] static Result<Inference> load(const InferenceOptions& options, const Board& board,
                                              const std::function<void(std::size_t done, std::size_t of)>& tuning);

  /// Returns the workload. The detections and classes of the workload are the results of the last job of run().
  [[nodiscard]] const Workload& workload() const { return *workload_; }
  [[nodiscard]] std::string device() const { return device_->name(); }

  /// Reads the inputs from pictures or tensors. `given`: FILE for a single input, or NAME=FILE for each input. If
  /// `given` is empty, inputs are noise with a fixed seed. `preprocessing` applies to all pictures. Returns bad_input
  /// if `preprocessing` is set and no input is a picture.
  [[nodiscard]] Result<> fetch_inputs(std::span<const std::string> given, const Preprocessing& preprocessing = {});
  /// Executes `repeat` jobs on the compute engine, one immediately after the other. Returns the times of their device
  /// parts, in ascending order. If `repeat` is above 1, an additional job is executed first, as a warm-up.
  [[nodiscard]] Result<std::vector<Duration>> run(int repeat);

  /// Returns the file of each input, in the model's order. Returns an empty list if the inputs are noise.
  [[nodiscard]] const std::vector<std::filesystem::path>& files() const { return files_; }
  /// Returns the preprocessing of the pictures.
  [[nodiscard]] const Preprocessing& preprocessing() const { return preprocessing_; }

 private:
  void bind(const Board& board, const std::function<void(std::size_t done, std::size_t of)>& tuning);

  std::unique_ptr<hal::Device> device_; // must outlive the workload
  std::unique_ptr<Workload> workload_;
  std::vector<std::filesystem::path> files_;
  Preprocessing preprocessing_;
};

} // namespace rtexec::study
