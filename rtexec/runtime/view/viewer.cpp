#include "rtexec/runtime/view/viewer.hpp"

#include "config/base/files.hpp"
#include "config/base/output_path.hpp"
#include "hal/machine_files.hpp"
#include "rtexec/runtime/view/viewer_page.hpp"
#include "tasks/media/draw.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

namespace rtexec::view {
namespace {

/// Returns the settings of the viewer's thread. The thread runs on cores outside of `cores`, if the machine has such
/// cores.
hal::ThreadSettings beside(const std::vector<unsigned>& cores) {
  hal::ThreadSettings settings{.name = "show", .core = {}, .reservation = {}};
  for (const unsigned core : hal::Machine().online_cores())
    if (std::ranges::find(cores, core) == cores.end()) settings.among.push_back(core);
  return settings;
}

double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

} // namespace

Result<std::unique_ptr<Viewer>> Viewer::start(std::shared_ptr<channels::PictureObserver> observer,
                                              ViewerOptions options) {
  std::filesystem::path file;
  if (!options.folder.empty()) {
    if (const auto made = config::make_output_folder(options.folder); !made) return Unexpected(made.error());
    file = options.folder / (observer->task() + ".jpg");
    if (const auto writable = AtomicFile::create(file); !writable) return Unexpected(writable.error());
  }
  std::unique_ptr<Viewer> viewer(new Viewer(std::move(observer), std::move(file)));
  auto server = LoopbackServer::open(options.port, [self = viewer.get()](auto path) { return self->respond(path); });
  if (!server) return Unexpected(server.error());
  viewer->server_ = std::move(*server);
  const auto body = [self = viewer.get()] {
    self->server_->run(channels::PictureObserver::interval, [self] {
      self->look();
      self->write_file();
    });
  };
  auto thread = hal::Thread::start(beside(options.cores), body);
  if (!thread) return Unexpected(thread.error());
  viewer->thread_ = std::move(*thread);
  return viewer;
}

Viewer::~Viewer() {
  if (server_) server_->stop();
  thread_.join();
}

std::optional<std::string> Viewer::news() {
  if (!failed_.load() || std::exchange(told_, true)) return std::nullopt;
  return failure_;
}

Answer Viewer::respond(std::string_view path) {
  look();
  if (path == "/") return {.type = "text/html", .body = std::string(page)};
  if (path == "/state.json") return {.type = "application/json", .body = state()};
  if (path != "/picture.jpg") return {.status = 404, .body = "Not found: expected /, /picture.jpg or /state.json.\n"};
  if (!seen_) return {.status = 503, .body = "No picture yet.\n"};
  draw();
  return {.type = "image/jpeg", .body = std::string(reinterpret_cast<const char*>(jpeg_.data()), jpeg_.size())};
}

std::string Viewer::state() {
  nlohmann::json state = {{"task", observer_->task()}, {"picture", 0}, {"job", 0}, {"age_ms", 0}, {"rate", rate_}};
  if (seen_) {
    state["picture"] = seen_->number;
    state["job"] = seen_->job;
    state["age_ms"] = std::chrono::duration_cast<std::chrono::milliseconds>(hal::now() - seen_->sampled).count();
    state["boxes"] = seen_->boxes.size();
  }
  if (failed_.load()) state["failure"] = failure_;
  return state.dump();
}

/// Reads the newest copy from the picture observer, and updates the rate of copies, which is measured over a second or
/// more.
void Viewer::look() {
  seen_ = observer_->newest();
  if (!seen_) return;
  const Counted now{.number = seen_->number, .taken = seen_->taken};
  if (!counted_) counted_ = now;
  const Duration passed = now.taken - counted_->taken;
  if (passed < std::chrono::seconds(1)) return;
  rate_ = static_cast<double>(now.number - counted_->number) / seconds(passed);
  counted_ = now;
}

/// Draws the newest copy, unless it is already drawn.
void Viewer::draw() {
  if (std::exchange(drawn_, seen_->number) == seen_->number) return;
  observer_->pictures().read(seen_->input, picture_);
  tasks::draw(picture_, seen_->boxes);
  tasks::draw(picture_, seen_->classes);
  tasks::encode_jpeg(picture_, jpeg_);
}

/// Writes the newest picture to the file, if there is one. Tries again after a failure, which may be temporary.
void Viewer::write_file() {
  if (file_.empty() || !seen_ || std::exchange(written_, seen_->number) == seen_->number) return;
  draw();
  const auto replaced = replace_file();
  if (replaced || failed_.load()) return;
  failure_ = replaced.error().what + "\n  The run continues, and tries again to write it.";
  failed_.store(true);
}

Result<> Viewer::replace_file() const {
  auto file = AtomicFile::create(file_);
  if (!file) return Unexpected(file.error());
  if (const auto written = file->write(jpeg_); !written) return written;
  return file->replace();
}

} // namespace rtexec::view
