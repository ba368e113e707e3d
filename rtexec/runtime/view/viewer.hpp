// Shows the input and results of a task of a run (channels/tap.hpp): serves a page on 127.0.0.1, and optionally keeps
// the newest picture in a folder.
//
// Draws and serves on one thread without priority, on cores that the task set does not use, if there are any. The run
// never waits for this code. Failures are reported by news(), and the run continues.
#pragma once

#include <rtexec/result.hpp>
#include "hal/thread.hpp"
#include "rtexec/runtime/channels/tap.hpp"
#include "rtexec/runtime/view/loopback_server.hpp"
#include "tasks/media/picture.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::view {

struct ViewerOptions {
  std::uint16_t port = 0;            // 0: a free port
  std::filesystem::path folder = {}; // empty: pictures are not written
  std::vector<unsigned> cores = {};  // the cores of the task set
};

class Viewer {
 public:
  /// Starts the viewer; the tap must be connected. Makes the folder if needed. Returns refused if port or folder cannot
  /// be used.
  [[nodiscard]] static Result<std::unique_ptr<Viewer>> start(std::shared_ptr<channels::Tap> tap, ViewerOptions options);
  /// Ends the thread, at the latest after the picture in progress.
  ~Viewer();
  Viewer(const Viewer&) = delete;
  Viewer& operator=(const Viewer&) = delete;

  [[nodiscard]] std::string url() const { return server_->url(); }
  [[nodiscard]] const std::filesystem::path& file() const noexcept { return file_; }
  /// Returns the first failure to write pictures into the folder, once. Called by the caller's thread, not by the
  /// viewer's.
  [[nodiscard]] std::optional<std::string> news();

 private:
  Viewer(std::shared_ptr<channels::Tap> tap, std::filesystem::path file)
      : tap_(std::move(tap)), file_(std::move(file)) {}

  [[nodiscard]] Answer respond(std::string_view path);
  [[nodiscard]] std::string state();
  void look();
  void draw();
  void write_file();
  [[nodiscard]] Result<> replace_file() const;

  const std::shared_ptr<channels::Tap> tap_;
  const std::filesystem::path file_; // empty: none
  std::unique_ptr<LoopbackServer> server_;

  // Used by the viewer's thread.
  std::optional<channels::Tap::Seen> seen_; // the newest
  struct Counted {
    std::uint64_t number = 0;
    Instant taken{};
  };
  std::optional<Counted> counted_; // the copy from which the rate is counted
  double rate_ = 0;                // pictures a second
  tasks::Picture picture_;
  std::vector<std::byte> jpeg_;
  std::uint64_t drawn_ = 0, written_ = 0; // numbers of copies

  std::string failure_; // written before failed_
  std::atomic<bool> failed_{false};
  bool told_ = false; // used by the caller's thread
  hal::Thread thread_;
};

} // namespace rtexec::view
