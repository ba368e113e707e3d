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
  [[nodiscard]] static Result<std::unique_ptr<DnnWorkload>> load(const std::filesystem::path& model, const std::filesystem::path& input);

  [[nodiscard]] MemoryDemand memory() const override { return {{constants().size()}, network_.scratch(), {}}; }
  [[nodiscard]] std::span<const std::byte> constants() const override { return network_.constants(); }
  [[nodiscard]] std::string fingerprint() const override { return fingerprint_; }
  [[nodiscard]] std::span<const std::string> layers() const override { return network_.layers(); }

  void bind(const Memory& memory) override { network_.bind(memory.constant, memory.scratch); }
  void observe(const LayerObserver& observer) override { observer_ = observer; }

  [[nodiscard]] Status before(std::uint64_t job) noexcept override;
  [[nodiscard]] Status execute() noexcept override;
  [[nodiscard]] Status after(std::uint64_t job) noexcept override;

  /// For whoever shows results: the network with its outputs, and the decoder (null where the model names no task).
  [[nodiscard]] const Network& network() const { return network_; }
  [[nodiscard]] const OutputDecoder* decoder() const { return decoder_.get(); }

 private:
  DnnWorkload(Network network, std::unique_ptr<InputSource> source, std::unique_ptr<OutputDecoder> decoder, std::string fingerprint);

  Network network_;
  std::unique_ptr<InputSource> source_;
  std::unique_ptr<OutputDecoder> decoder_;
  std::vector<std::span<const float>> outputs_; // of the network
  std::string fingerprint_;
  LayerObserver observer_;
};

} // namespace rtexec::tasks
