// Writes results to files: a line of JSON for each job in RUN/TASK.jsonl, and its tensors as RUN/TASK/JOB.TENSOR.npy.
// RUN is the folder of the run. A thread without real-time priority writes the files. The sink drops results if all its
// buffers are in use.
#pragma once

#include <rtexec/workload.hpp>
#include "config/base/descriptor.hpp"
#include "hal/thread.hpp"
#include "rtexec/runtime/channels/run_folder.hpp"
#include "rtexec/runtime/channels/sink.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::channels {

class FileSink final : public Sink {
 public:
  /// The sinks of a run share `folder`. If `folder` is nullptr, results are discarded. `tensors` are the outputs of
  /// `workload` to write. The detections of `workload` are written in each line. `workload` must outlive this object.
  FileSink(std::shared_ptr<RunFolder> folder, std::string task, const Workload& workload,
           std::vector<std::size_t> tensors);
  ~FileSink() override { close(); }

  /// Returns the errors of RunFolder::make().
  [[nodiscard]] Result<> open() override;
  [[nodiscard]] std::optional<Result<>> try_out() override;
  [[nodiscard]] bool put(const OutputJob& results) noexcept override;
  [[nodiscard]] bool reads(std::size_t output) const override {
    return std::ranges::find(tensors_, output) != tensors_.end();
  }
  void close() override;
  [[nodiscard]] std::uint64_t lost() const noexcept override { return lost_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::string failure() const override;

 private:
  /// A buffer with a copy of one job's results.
  struct Kept {
    std::uint64_t job = 0;
    Instant release{}, sampled{};
    std::vector<std::vector<std::byte>> tensors;
    std::vector<Box> detections;
    std::size_t boxes = 0;
  };

  [[nodiscard]] Result<> make_files();
  void write_all();
  [[nodiscard]] Result<> write(const Kept& kept);
  [[nodiscard]] std::filesystem::path lines_file() const { return folder_->path() / (task_ + ".jsonl"); }

  const std::shared_ptr<RunFolder> folder_;
  const std::string task_;
  const Workload& workload_;
  const std::vector<std::size_t> tensors_;
  const std::vector<std::string> file_names_; // file names of `tensors_`
  std::vector<Kept> kept_;
  std::atomic<std::uint64_t> taken_{0}, written_{0}, lost_{0};
  std::atomic<bool> ending_{false}, failed_{false};
  std::string failure_; // the last failure; written before failed_ is set
  config::Descriptor lines_;
  hal::Signal news_;
  hal::Thread thread_;
};

} // namespace rtexec::channels
