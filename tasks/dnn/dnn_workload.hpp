// A network as a task's workload: input from a file or seeded noise, execution layer by layer, outputs decoded where the model
// says what they mean.
#pragma once

#include "config/result.hpp"
#include "tasks/dnn/input/input.hpp"
#include "tasks/dnn/network.hpp"
#include "tasks/dnn/output/output.hpp"
#include "tasks/workload.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace rtexec::tasks {

class DnnWorkload final : public Workload {
 public:
  /// Reads and prepares everything. Errors name the file, and the node or value that cannot be used.
  [[nodiscard]] static Result<std::unique_ptr<DnnWorkload>> load(const std::filesystem::path& model, const std::filesystem::path& input, DeviceKind kind = DeviceKind::host,
                                                                 Precision precision = Precision::fp32);

  [[nodiscard]] MemoryDemand memory() const override { return network_->memory(); }
  [[nodiscard]] std::span<const std::byte> constants() const override { return network_->constants(); }
  [[nodiscard]] std::string fingerprint() const override { return fingerprint_; }
  [[nodiscard]] std::span<const std::string> layers() const override { return network_->layers(); }

  [[nodiscard]] Result<> use(std::span<const std::string> tuning) override { return network_->use(tuning); }
  [[nodiscard]] Result<std::vector<std::string>> tune(hal::Device& device, const TuningProgress& progress) override { return network_->tune(device, progress); }
  [[nodiscard]] Result<> bind(hal::Device& device, const Memory& memory) override;
  void observe(const LayerObserver& observer) override { network_->observe(observer); }

  [[nodiscard]] Status before(std::uint64_t job) noexcept override;
  [[nodiscard]] Status execute() noexcept override;
  [[nodiscard]] Status after(std::uint64_t job) noexcept override;

  /// For whoever shows results: the network with its outputs, and the decoder (null where the model names no task).
  [[nodiscard]] const Network& network() const { return *network_; }
  [[nodiscard]] const OutputDecoder* decoder() const { return decoder_.get(); }

 private:
  DnnWorkload(std::unique_ptr<Network> network, std::unique_ptr<InputSource> source, std::unique_ptr<OutputDecoder> decoder, std::string fingerprint);

  std::unique_ptr<Network> network_;
  std::unique_ptr<InputSource> source_;
  std::unique_ptr<OutputDecoder> decoder_;
  std::vector<std::span<const float>> outputs_; // of the network, once it is bound
  std::string fingerprint_;
};

} // namespace rtexec::tasks
