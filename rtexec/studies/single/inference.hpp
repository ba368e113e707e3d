// A network alone on a device, outside any schedule: placed, bound and executed as the executive does it.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include <rtexec/units.hpp>
#include "hal/device_interface.hpp"
#include "tasks/engine/graph/graph.hpp"
#include "tasks/engine/graph/network.hpp"
#include "tasks/media/network_output.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rtexec::study {

struct InferenceOptions {
  std::string model;
  std::string board = "host"; // by name or path
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

  [[nodiscard]] const tasks::Network& network() const { return *network_; }
  [[nodiscard]] std::string device() const { return device_->name(); }

  /// Pictures or tensors: FILE for the only input, or NAME=FILE for each; none: seeded noise. `preprocessing`: of all
  /// pictures; bad_input where it is given and there is none.
  [[nodiscard]] Result<> fetch_inputs(std::span<const std::string> given, const Preprocessing& preprocessing = {});
  /// Executes `repeat` times on the compute engine, one right after the other: the time of each, ascending. Repeated
  /// executions begin with one that is not counted, as the executive warms up.
  [[nodiscard]] Result<std::vector<Duration>> run(int repeat);
  /// What the outputs mean; null where the network does not say.
  [[nodiscard]] Result<std::unique_ptr<tasks::OutputDecoder>> decode() const;

  /// What the model leaves open, and how it was taken.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// Of each input, in the network's order; empty: noise.
  [[nodiscard]] const std::vector<std::filesystem::path>& files() const { return files_; }
  /// How its pictures were put into the inputs.
  [[nodiscard]] const Preprocessing& preprocessing() const { return preprocessing_; }

 private:
  void bind(const Board& board, const std::function<void(std::size_t done, std::size_t of)>& tuning);

  std::unique_ptr<hal::Device> device_; // outlives the network
  std::unique_ptr<tasks::Network> network_;
  tasks::Metadata metadata_;
  std::vector<std::optional<InputRange>> ranges_; // by input of the network
  std::vector<std::string> notes_;
  std::vector<std::filesystem::path> files_;
  Preprocessing preprocessing_;
};

} // namespace rtexec::study
