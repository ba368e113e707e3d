// Adapts a user's workload in C (rtexec/workload.h) to the interface Workload. The C workload comes from a program that
// uses the C API, or from a shared object that a task set names.
#pragma once

#include <rtexec/task_set.hpp>
#include <rtexec/workload.h>
#include <rtexec/workload.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::tasks {

class CustomWorkload final : public Workload {
 public:
  /// Takes ownership of `workload`. The workload is destroyed with this object, or immediately if it is refused. If it
  /// is refused for its struct size, it is not destroyed. `code` is a fingerprint of the workload's code, or empty if
  /// unknown. Returns bad_input in three cases: the struct is smaller than in any version; members are missing or
  /// contradict each other; or a tensor is inconsistent.
  [[nodiscard]] static Result<std::unique_ptr<Workload>> adopt(const rtexec_workload* workload,
                                                               std::string_view code = {});
  /// Makes the workload with the shared object that `task` names. The shared object stays loaded until the process
  /// ends. Returns bad_input if the shared object cannot be loaded or does not export rtexec_workload_create(). If that
  /// function fails, returns its error.
  [[nodiscard]] static Result<std::unique_ptr<Workload>> load(const Task& task);
  ~CustomWorkload() override;

  [[nodiscard]] bool uses_device() const override {
    return workload_.execute != nullptr || workload_.execute_segment != nullptr;
  }
  [[nodiscard]] MemoryDemand memory() const override;
  [[nodiscard]] std::span<const std::byte> constants() const override;
  [[nodiscard]] std::string fingerprint() const override;
  /// Returns the names of the C workload's segments if there are several segments; otherwise returns no names.
  [[nodiscard]] std::span<const std::string> layers() const override { return layers_; }
  [[nodiscard]] Result<> use(std::span<const std::string> tuning) override;
  [[nodiscard]] Result<std::vector<std::string>> tune(Device& device, const TuningProgress& progress) override;
  [[nodiscard]] std::vector<LiveRange> live_ranges() const override;
  [[nodiscard]] std::vector<ConstantRange> constant_ranges() const override;
  [[nodiscard]] Result<> cut(std::span<const std::uint32_t> after) override;
  [[nodiscard]] Result<> bind(Device& device, const Memory& memory) override;
  void observe(const LayerObserver& observer) override { observer_ = observer; }
  [[nodiscard]] std::span<const rtexec::Tensor> inputs() const override { return inputs_; }
  [[nodiscard]] std::span<const rtexec::Tensor> outputs() const override { return outputs_; }
  [[nodiscard]] Recognition recognises() const noexcept override;
  [[nodiscard]] std::span<const Box> detections() const noexcept override;
  [[nodiscard]] std::span<const RankedClass> classes() const noexcept override;
  [[nodiscard]] bool links_on_device() const override { return workload_.link_input != nullptr; }
  void link_input(std::size_t input) override { workload_.link_input(workload_.self, input); }
  void link_output(std::size_t output, bool on_host) override {
    workload_.link_output(workload_.self, output, on_host ? 1 : 0);
  }
  void take_input(std::size_t input, const std::byte* from) noexcept override {
    workload_.take_input(workload_.self, input, from);
  }
  void give_output(std::size_t output, std::byte* to) noexcept override {
    workload_.give_output(workload_.self, output, to);
  }
  [[nodiscard]] Status before(std::uint64_t job) noexcept override;
  [[nodiscard]] Status execute() noexcept override;
  [[nodiscard]] Status execute_segment(std::uint32_t segment) noexcept override;
  [[nodiscard]] bool launches_segments() const noexcept override { return workload_.launch_segment != nullptr; }
  [[nodiscard]] Status launch_segment(std::uint32_t segment) noexcept override;
  [[nodiscard]] Status after(std::uint64_t job) noexcept override;
  void begin_to_keep() noexcept override;

 private:
  CustomWorkload(const rtexec_workload& workload, std::string_view code);
  void read_given() noexcept;
  [[nodiscard]] Result<> take_tensors();
  [[nodiscard]] Result<> enter(Device& device);
  [[nodiscard]] Result<> changed();
  [[nodiscard]] Status execute_pieces(std::size_t begin, std::size_t end) noexcept;

  const rtexec_workload& given_;
  rtexec_workload workload_{}; // members that an older version of the struct lacks are null
  std::string code_;
  std::vector<rtexec::Tensor> inputs_, outputs_;
  std::vector<std::string> layers_;
  /// The pieces of a C workload, which rtexec_workload calls segments, are the layers of this workload. cut() combines
  /// layers to segments. For each segment: the number of the first layer after the segment.
  std::vector<std::size_t> segment_ends_;
  LayerObserver observer_;
  std::string device_name_;
  rtexec_device device_{};
};

} // namespace rtexec::tasks
