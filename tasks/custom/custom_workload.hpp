// Workloads of the user's own, written in C (rtexec/workload.h), as any other workload: given by a program, or made by
// the shared object that a task set names.
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
  /// Takes `workload` over: it is destroyed in the end, or where it is refused. `code` changes when what it runs does,
  /// where that is known. bad_input: its size is none that any version had, constants, fingerprint or pieces are
  /// missing, or a tensor contradicts itself.
  [[nodiscard]] static Result<std::unique_ptr<Workload>> adopt(const rtexec_workload* workload,
                                                               std::string_view code = {});
  /// Made by the shared object that `task` names, which stays loaded until the process ends. bad_input: it cannot be
  /// loaded, or lacks rtexec_workload_create(); and what that says.
  [[nodiscard]] static Result<std::unique_ptr<Workload>> load(const Task& task);
  ~CustomWorkload() override;

  [[nodiscard]] bool uses_device() const override {
    return workload_.execute != nullptr || workload_.execute_segment != nullptr;
  }
  [[nodiscard]] MemoryDemand memory() const override;
  [[nodiscard]] std::span<const std::byte> constants() const override;
  [[nodiscard]] std::string fingerprint() const override;
  /// Its pieces, where there are several.
  [[nodiscard]] std::span<const std::string> layers() const override { return layers_; }
  [[nodiscard]] std::vector<LiveRange> live_ranges() const override;
  [[nodiscard]] Result<> cut(std::span<const std::uint32_t> after) override;
  [[nodiscard]] Result<> bind(Device& device, const Memory& memory) override;
  void observe(const LayerObserver& observer) override { observer_ = observer; }
  [[nodiscard]] std::span<const rtexec::Tensor> inputs() const override { return inputs_; }
  [[nodiscard]] std::span<const rtexec::Tensor> outputs() const override { return outputs_; }
  [[nodiscard]] Status before(std::uint64_t job) noexcept override;
  [[nodiscard]] Status execute() noexcept override;
  [[nodiscard]] Status execute_segment(std::uint32_t segment) noexcept override;
  [[nodiscard]] Status after(std::uint64_t job) noexcept override;

 private:
  CustomWorkload(const rtexec_workload& workload, std::string_view code);
  [[nodiscard]] Result<> take_tensors();
  [[nodiscard]] Status execute_pieces(std::size_t begin, std::size_t end) noexcept;

  rtexec_workload workload_; // of this version: what an older one lacks is null
  std::string code_;
  std::vector<rtexec::Tensor> inputs_, outputs_;
  std::vector<std::string> layers_;
  std::vector<std::size_t> segment_ends_; // the piece behind each
  LayerObserver observer_;
  std::string device_name_;
  rtexec_device device_{};
};

} // namespace rtexec::tasks
