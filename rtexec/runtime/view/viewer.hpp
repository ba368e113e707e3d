// Shows what a task of a run sees (channels/tap.hpp): a page on 127.0.0.1, and where asked a picture in a folder that
// is replaced whenever there is a newer one.
//
// Draws and serves on one thread without priority, off the cores of the task set where there are others. Nothing here
// is waited for by the run: what goes wrong is told by news(), and the run goes on.
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
  std::uint16_t port = 0;            // 0: one that is free
  std::filesystem::path folder = {}; // empty: pictures are not written
  std::vector<unsigned> cores = {};  // of the task set
};

class Viewer {
 public:
  /// The tap is connected. Makes the folder where there is none. refused: port or folder cannot be had.
  [[nodiscard]] static Result<std::unique_ptr<Viewer>> start(std::shared_ptr<channels::Tap> tap, ViewerOptions options);
  /// Ends within the drawing of a picture.
  ~Viewer();
  Viewer(const Viewer&) = delete;
  Viewer& operator=(const Viewer&) = delete;

  [[nodiscard]] std::string url() const { return server_->url(); }
  [[nodiscard]] const std::filesystem::path& file() const noexcept { return file_; }
  /// What went wrong first with the pictures in the folder, once. Another thread than theirs: the caller's.
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

  // The viewer's thread.
  std::optional<channels::Tap::Seen> seen_; // the newest
  struct Counted {
    std::uint64_t number = 0;
    Instant taken{};
  };
  std::optional<Counted> counted_; // from where the rate is
  double rate_ = 0;                // pictures a second
  tasks::Picture picture_;
  std::vector<std::byte> jpeg_;
  std::uint64_t drawn_ = 0, written_ = 0; // numbers of pictures

  std::string failure_; // written before failed_
  std::atomic<bool> failed_{false};
  bool told_ = false; // the caller's
  hal::Thread thread_;
};

} // namespace rtexec::view
