// A neural network as a task's workload. It executes layer by layer, and decodes the outputs if the model's metadata
// define their meaning. The caller fills the inputs, except inputs with recurrent state. An input with recurrent state
// holds an output of the previous job, and is not an input of the task. A footprint is an optional total memory demand
// that is larger than the network's own demand. The unused rest of the footprint represents the larger demand of
// another framework for the same network.
#pragma once

#include <rtexec/result.hpp>
#include "tasks/base/constant_image.hpp"
#include "tasks/engine/graph/network.hpp"
#include "tasks/media/network_output.hpp"
#include <rtexec/workload.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::tasks {

class DnnWorkload final : public Workload {
 public:
  /// The total device memory that the workload demands.
  struct Footprint {
    Bytes size;
    // The part of `size` that can be swapped. The rest is fixed, and is a part of the memory that the footprint adds to
    // the network's own demand.
    Bytes swappable;
    MemoryClass kind = MemoryClass::state; // class of the added swappable memory
  };

  /// The properties that the user supplies because the model's file does not specify them.
  struct Given {
    GivenInputs inputs;
    std::map<std::string, std::string> state; // maps the name of an input to the name of the output that it holds
  };

  /// Reads and prepares a model. Errors name the file, and the node or value that is unusable. Without a footprint the
  /// workload demands the network's own memory. Returns bad_input if the network needs more than the footprint, or if
  /// the footprint's swappable part is smaller than the network's constants, scratch and state. Returns bad_input also
  /// for a footprint under memory policies M (managed) and H (host).
  [[nodiscard]] static Result<std::unique_ptr<DnnWorkload>> load(const std::filesystem::path& model,
                                                                 DeviceKind kind = DeviceKind::host,
                                                                 Precision precision = Precision::fp32,
                                                                 const std::optional<Footprint>& footprint = {},
                                                                 MemoryPolicy policy = MemoryPolicy::device,
                                                                 const Given& given = {});

  [[nodiscard]] MemoryDemand memory() const override { return demand(network_->memory(), padding_); }
  /// Returns the network's image, followed by zeros for the constants that a footprint adds.
  [[nodiscard]] std::span<const std::byte> constants() const override {
    return image_.bytes().empty() ? network_->constants() : image_.bytes();
  }
  [[nodiscard]] std::string fingerprint() const override { return fingerprint_; }
  [[nodiscard]] std::span<const std::string> notes() const override { return notes_; }
  [[nodiscard]] std::span<const std::string> layers() const override { return network_->layers(); }

  /// Applies tuning choices. Returns bad_input if the tuned network does not fit into the footprint; the choices remain
  /// in effect nevertheless.
  [[nodiscard]] Result<> use(std::span<const std::string> tuning) override;
  [[nodiscard]] Result<std::vector<std::string>> tune(Device& device, const TuningProgress& progress) override;
  [[nodiscard]] std::vector<LiveRange> live_ranges() const override { return network_->live_ranges(); }
  /// Returns the constant ranges of the network alone. No layer reads the constants that a footprint adds.
  [[nodiscard]] std::vector<ConstantRange> constant_ranges() const override { return network_->constant_ranges(); }
  /// Cuts the network into segments. Returns bad_input if the network with these cuts does not fit into the footprint,
  /// since the carry (memory preserved across preemption) is not swappable. The cuts remain in effect nevertheless.
  [[nodiscard]] Result<> cut(std::span<const std::uint32_t> after) override;
  [[nodiscard]] Result<MemoryDemand> memory_if_cut(std::span<const std::uint32_t> after) const override;
  [[nodiscard]] Result<> bind(Device& device, const Memory& memory) override;
  void observe(const LayerObserver& observer) override { network_->observe(observer); }
  void observe_contents(const initialise::Observer& observer) override { network_->observe_contents(observer); }

  [[nodiscard]] std::span<const rtexec::Tensor> inputs() const override { return inputs_; }
  [[nodiscard]] std::span<const rtexec::Tensor> outputs() const override { return network_->outputs(); }
  [[nodiscard]] std::span<const Box> detections() const noexcept override {
    return decoder_ ? decoder_->boxes() : std::span<const Box>();
  }
  [[nodiscard]] Recognition recognises() const noexcept override {
    if (!decoder_) return Recognition::nothing;
    return decoder_->detects() ? Recognition::boxes : Recognition::classes;
  }
  [[nodiscard]] std::span<const RankedClass> classes() const noexcept override {
    return decoder_ ? decoder_->classes() : std::span<const RankedClass>();
  }

  [[nodiscard]] bool links_on_device() const override { return true; }
  void link_input(std::size_t input) override { network_->link_input(fed_[input]); }
  /// Links the output as Workload declares. If outputs are decoded, a linked output stays readable on the host, where
  /// the decoder reads it.
  void link_output(std::size_t output, bool on_host) override { network_->link_output(output, on_host || decoder_); }
  void take_input(std::size_t input, const std::byte* from) noexcept override {
    network_->take_input(fed_[input], from);
  }
  void give_output(std::size_t output, std::byte* to) noexcept override { network_->give_output(output, to); }

  [[nodiscard]] Status before(std::uint64_t) noexcept override { return {}; }
  [[nodiscard]] Status execute() noexcept override;
  [[nodiscard]] Status execute_segment(std::uint32_t segment) noexcept override {
    return network_->run_segment(segment);
  }
  [[nodiscard]] bool launches_segments() const noexcept override { return network_->launches_segments(); }
  [[nodiscard]] Status launch_segment(std::uint32_t segment) noexcept override {
    return network_->launch_segment(segment);
  }
  [[nodiscard]] Status after(std::uint64_t job) noexcept override;
  void begin_to_keep() noexcept override { keeps_ = true; }
  [[nodiscard]] std::optional<InputRange> input_range(std::size_t input) const override { return ranges_[fed_[input]]; }

 private:
  DnnWorkload(std::unique_ptr<Network> network, const Normalization& normalization,
              std::unique_ptr<OutputDecoder> decoder, std::string fingerprint);

  /// The memory that a footprint adds to the network's own memory.
  struct Padding {
    Bytes fixed;
    Bytes added; // swappable
  };
  [[nodiscard]] Result<Padding> padding_for(const MemoryDemand& own) const;
  [[nodiscard]] MemoryDemand demand(MemoryDemand own, const Padding& padding) const;
  [[nodiscard]] Result<> fit();

  std::unique_ptr<Network> network_;
  std::vector<rtexec::Tensor> inputs_; // the network's inputs without states, with their picture normalisation
  std::vector<std::size_t> fed_;       // for each element of `inputs_`, its index among all inputs of the network
  std::vector<std::optional<InputRange>> ranges_; // a range for each input of the network
  bool keeps_ = false;                            // true: each job commits its state for the next job
  std::unique_ptr<OutputDecoder> decoder_;
  std::string fingerprint_;
  std::vector<std::string> notes_;
  std::optional<Footprint> footprint_;
  Padding padding_;
  ConstantImage image_; // set if the footprint adds constants
};

} // namespace rtexec::tasks
