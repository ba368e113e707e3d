#include "rtexec/runtime/channels/file_sink.hpp"

#include "config/base/errno_text.hpp"
#include "config/base/file_names.hpp"
#include "config/base/files.hpp"
#include "config/base/output_path.hpp"
#include "rtexec/runtime/channels/box_json.hpp"
#include "rtexec/runtime/channels/bytes.hpp"
#include "rtexec/runtime/channels/task_output.hpp"
#include "tasks/media/npy.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <system_error>

namespace rtexec::channels {
namespace {

constexpr std::size_t max_kept = 8; // maximum number of jobs whose results wait to be written

Unexpected<Error> io_error(const std::filesystem::path& file, int number) {
  return fail(Errc::io_error, file.string() + ": " + config::errno_text(number));
}

std::vector<std::string> file_names_of(const Workload& workload, const std::vector<std::size_t>& tensors) {
  std::vector<std::string> names;
  for (const std::size_t tensor : tensors) names.push_back(workload.outputs()[tensor].name);
  return config::file_names(names);
}

std::int64_t ns(Instant at) { return at.time_since_epoch().count(); }

} // namespace

FileSink::FileSink(std::shared_ptr<RunFolder> folder, std::string task, const Workload& workload,
                   std::vector<std::size_t> tensors)
    : folder_(std::move(folder)),
      task_(std::move(task)),
      workload_(workload),
      tensors_(std::move(tensors)),
      file_names_(file_names_of(workload_, tensors_)),
      kept_(max_kept) {}

void FileSink::close() {
  ending_.store(true);
  news_.raise();
  thread_.join();
}

Result<> FileSink::open() {
  if (folder_)
    if (const auto made = make_files(); !made) return made;
  for (Kept& kept : kept_) {
    kept.detections.resize(max_boxes);
    for (const std::size_t tensor : tensors_) kept.tensors.emplace_back(workload_.outputs()[tensor].bytes.size());
  }
  auto thread = hal::Thread::start({.name = "results", .core = {}, .reservation = {}}, [this] { write_all(); });
  if (!thread) return Unexpected(thread.error());
  thread_ = std::move(*thread);
  return {};
}

std::optional<Result<>> FileSink::try_out() {
  if (!folder_) return std::nullopt;
  return folder_->check();
}

Result<> FileSink::make_files() {
  if (auto made = folder_->make(); !made) return made;
  if (const auto made = config::make_output_folder(folder_->path() / task_); !made) return Unexpected(made.error());
  auto lines = config::open_output(lines_file(), O_WRONLY | O_CREAT | O_EXCL);
  if (!lines) return Unexpected(lines.error());
  lines_ = std::move(*lines);
  return {};
}

bool FileSink::put(const OutputJob& results) noexcept {
  const std::uint64_t next = taken_.load(std::memory_order_relaxed);
  if (failed_.load() || next - written_.load(std::memory_order_acquire) == kept_.size()) return false;
  Kept& kept = kept_[next % kept_.size()];
  kept.job = results.job;
  kept.release = results.release;
  kept.sampled = results.sampled;
  kept.boxes = std::min(results.detections.size(), kept.detections.size());
  std::ranges::copy(results.detections.first(kept.boxes), kept.detections.begin());
  for (std::size_t i = 0; i < tensors_.size(); ++i) copy_bytes(results.outputs[tensors_[i]].bytes, kept.tensors[i]);
  taken_.store(next + 1, std::memory_order_release);
  news_.raise();
  return true;
}

void FileSink::write_all() {
  for (std::uint64_t done = 0;;) {
    const std::uint32_t seen = news_.value();
    const bool ending = ending_.load();
    for (; done < taken_.load(std::memory_order_acquire); written_.store(++done, std::memory_order_release)) {
      if (!folder_) continue;
      if (!failed_.load()) {
        const auto wrote = write(kept_[done % kept_.size()]);
        if (wrote) continue;
        failure_ = wrote.error().what + ": results of later jobs are not written";
        failed_.store(true);
      }
      lost_.fetch_add(1, std::memory_order_relaxed);
    }
    if (ending) return;
    news_.wait(seen);
  }
}

Result<> FileSink::write(const Kept& kept) {
  nlohmann::json line = {{"job", kept.job}, {"release_ns", ns(kept.release)}, {"sampled_ns", ns(kept.sampled)}};
  line["detections"] = nlohmann::json::array();
  for (std::size_t box = 0; box < kept.boxes; ++box) line["detections"].push_back(box_json(kept.detections[box]));
  line["tensors"] = nlohmann::json::object();
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& tensor = workload_.outputs()[tensors_[i]];
    const std::string file = task_ + "/" + std::to_string(kept.job) + "." + file_names_[i] + ".npy";
    if (const auto wrote = tasks::write_npy(folder_->path() / file, tensor.shape, tensor.type, kept.tensors[i]); !wrote)
      return wrote;
    line["tensors"][tensor.name] = file;
  }
  const int error = config::write_all(lines_.get(), line.dump() + "\n");
  return error == 0 ? Result<>() : io_error(lines_file(), error);
}

std::string FileSink::failure() const { return failed_.load() ? failure_ : ""; }

} // namespace rtexec::channels
