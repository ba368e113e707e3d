// A network as a task's workload: execution layer by layer, outputs decoded where the model says what they mean.
// Whoever runs it fills its inputs, save those that are state: they hold what the job before left in an output, and are
// no inputs of the task. A footprint adds memory that nobody touches, to stand for what
// another framework would take for the same network.
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
  /// Device memory in all.
  struct Footprint {
    Bytes size;
    Bytes swappable; // the rest of `size` is fixed, and part of what is added to the network's own memory
    MemoryClass kind = MemoryClass::state; // of what is added and swappable
  };

  /// What the model's file leaves to its user.
  struct Given {
    GivenInputs inputs;
    std::map<std::string, std::string> state; // inputs, and the outputs of the job before that they hold
  };

  /// Reads and prepares everything. Errors name the file, and the node or value that cannot be used. Without a
  /// footprint, the network's own memory; bad_input where that is more than the footprint, or leaves less than is to be
  /// fixed, or where there is one under M or H.
  [[nodiscard]] static Result<std::unique_ptr<DnnWorkload>> load(const std::filesystem::path& model,
                                                                 DeviceKind kind = DeviceKind::host,
                                                                 Precision precision = Precision::fp32,
                                                                 const std::optional<Footprint>& footprint = {},
                                                                 MemoryPolicy policy = MemoryPolicy::device,
                                                                 const Given& given = {});

  [[nodiscard]] MemoryDemand memory() const override { return demand(network_->memory(), beside_); }
  /// The network's image, and zeros behind it for added constants.
  [[nodiscard]] std::span<const std::byte> constants() const override {
    return image_.bytes().empty() ? network_->constants() : image_.bytes();
  }
  [[nodiscard]] std::string fingerprint() const override { return fingerprint_; }
  [[nodiscard]] std::span<const std::string> notes() const override { return notes_; }
  [[nodiscard]] std::span<const std::string> layers() const override { return network_->layers(); }

  /// As it is tuned, too, the network must fit into the footprint: otherwise bad_input, and the choices stay.
  [[nodiscard]] Result<> use(std::span<const std::string> tuning) override;
  [[nodiscard]] Result<std::vector<std::string>> tune(Device& device, const TuningProgress& progress) override;
  [[nodiscard]] std::vector<LiveRange> live_ranges() const override { return network_->live_ranges(); }
  /// What a footprint adds is read by none.
  [[nodiscard]] std::vector<ConstantRange> constant_ranges() const override { return network_->constant_ranges(); }
  /// As it is cut, too, the network must fit into the footprint, of which the carry is not swappable: otherwise
  /// bad_input, and the cuts stay.
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
  /// Boxes are made of what is on the host.
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

  /// What a footprint has beside the memory of the network.
  struct Beside {
    Bytes fixed;
    Bytes added; // and swappable
  };
  [[nodiscard]] Result<Beside> beside(const MemoryDemand& own) const;
  [[nodiscard]] MemoryDemand demand(MemoryDemand own, const Beside& beside) const;
  [[nodiscard]] Result<> fit();

  std::unique_ptr<Network> network_;
  std::vector<rtexec::Tensor> inputs_;            // the network's that are fed, with how pictures are normalised for it
  std::vector<std::size_t> fed_;                  // their numbers in the network
  std::vector<std::optional<InputRange>> ranges_; // by input of the network
  bool keeps_ = false;                            // jobs leave their state to the next one
  std::unique_ptr<OutputDecoder> decoder_;
  std::string fingerprint_;
  std::vector<std::string> notes_;
  std::optional<Footprint> footprint_;
  Beside beside_;
  ConstantImage image_; // where constants are added
};

} // namespace rtexec::tasks
