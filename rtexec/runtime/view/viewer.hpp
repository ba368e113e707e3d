// A viewer of the input and the results of one task of a run. The viewer reads input and results from a picture
// observer (channels/picture_observer.hpp). The viewer serves a web page on 127.0.0.1, and optionally writes the newest
// picture to a folder.
//
// One thread without real-time priority draws and serves. This thread runs on cores that the task set does not use, if
// there are any. The run never waits for the viewer. If the viewer fails, news() reports the failure, and the run
// continues.
#pragma once

#include <rtexec/result.hpp>
#include "hal/thread.hpp"
#include "rtexec/runtime/channels/picture_observer.hpp"
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
  std::vector<unsigned> cores = {};  // the cores that the task set uses
};

class Viewer {
 public:
  /// Starts the viewer. The picture observer must be connected. Makes the folder if it does not exist. Returns refused
  /// if the port or the folder cannot be used.
  [[nodiscard]] static Result<std::unique_ptr<Viewer>> start(std::shared_ptr<channels::PictureObserver> observer,
                                                             ViewerOptions options);
  /// Ends the thread after it has finished the picture in progress.
  ~Viewer();
  Viewer(const Viewer&) = delete;
  Viewer& operator=(const Viewer&) = delete;

  [[nodiscard]] std::string url() const { return server_->url(); }
  [[nodiscard]] const std::filesystem::path& file() const noexcept { return file_; }
  /// Returns the first failure to write pictures into the folder. Returns nullopt if there was no failure, or if a
  /// previous call returned it. Called by the thread that owns the viewer.
  [[nodiscard]] std::optional<std::string> news();

 private:
  Viewer(std::shared_ptr<channels::PictureObserver> observer, std::filesystem::path file)
      : observer_(std::move(observer)), file_(std::move(file)) {}

  [[nodiscard]] Answer respond(std::string_view path);
  [[nodiscard]] std::string state();
  void look();
  void draw();
  void write_file();
  [[nodiscard]] Result<> replace_file() const;

  const std::shared_ptr<channels::PictureObserver> observer_;
  const std::filesystem::path file_; // empty: pictures are not written
  std::unique_ptr<LoopbackServer> server_;

  // The next members are used by the viewer's thread.
  std::optional<channels::PictureObserver::Seen> seen_; // the newest copy
  struct Counted {
    std::uint64_t number = 0;
    Instant taken{};
  };
  std::optional<Counted> counted_; // the copy from which the rate of copies is measured
  double rate_ = 0;                // copies per second
  tasks::Picture picture_;
  std::vector<std::byte> jpeg_;
  std::uint64_t drawn_ = 0, written_ = 0; // numbers of the last copies that were drawn and written

  std::string failure_; // the first failure to write a picture; written before failed_ is set
  std::atomic<bool> failed_{false};
  bool told_ = false; // true: news() has returned the failure; used by the owner's thread
  hal::Thread thread_;
};

} // namespace rtexec::view
