#include "rtexec/command/output_file.hpp"

#include "config/files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <iostream>
#include <optional>
#include <streambuf>
#include <system_error>
#include <unistd.h>

namespace rtexec::command {

namespace {

namespace fs = std::filesystem;

/// Also what is not there yet, and a folder, which is refused as one.
bool is_file(const fs::path& path) {
  const std::string text = path.string();
  if (text == "/dev/stdout" || text == "/dev/stderr" || text.starts_with("/dev/fd/") || text.starts_with("/proc/"))
    return false;
  std::error_code unknown;
  const auto status = fs::status(path, unknown);
  return !fs::exists(status) || fs::is_regular_file(status) || fs::is_directory(status);
}

} // namespace

/// Errors of system calls are kept: a stream has none.
class OutputFile::Sink final : public std::streambuf {
 public:
  explicit Sink(fs::path name) : stream(this), name_(std::move(name)) {
    setp(buffer_.data(), buffer_.data() + buffer_.size());
  }
  ~Sink() override {
    if (is_pipe_) ::close(descriptor_);
  }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  Result<> open() {
    if (name_.empty()) return {};
    if (name_ == "-") {
      descriptor_ = STDOUT_FILENO;
    } else if (is_file(name_)) {
      auto file = AtomicFile::create(name_);
      if (!file) return Unexpected(file.error());
      descriptor_ = file_.emplace(std::move(*file)).descriptor();
    } else if (::access(name_.c_str(), W_OK) != 0) {
      return failure(errno); // opened later: a pipe that is opened waits for its reader
    }
    return {};
  }

  Result<> finish() {
    stream.flush();
    if (error_ != 0) return file_ ? file_->failure(error_) : failure(error_);
    return file_ ? file_->commit() : Result<>();
  }

  [[nodiscard]] bool is_wanted() const { return !name_.empty(); }

  std::ostream stream;

 protected:
  int_type overflow(int_type character) override {
    if (!drain()) return traits_type::eof();
    if (!traits_type::eq_int_type(character, traits_type::eof())) sputc(traits_type::to_char_type(character));
    return traits_type::not_eof(character);
  }
  int sync() override { return drain() ? 0 : -1; }

 private:
  [[nodiscard]] Unexpected<Error> failure(int error) const {
    return fail(Errc::refused, (name_ == "-" ? "standard output" : name_.string()) +
                                   ": error: cannot write it: " + std::generic_category().message(error));
  }

  bool drain() {
    if (is_wanted() && error_ == 0) error_ = write_out();
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    return error_ == 0;
  }

  /// 0 or errno.
  int write_out() {
    if (name_ == "-") std::cout.flush();
    if (descriptor_ < 0) {
      descriptor_ = ::open(name_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
      if (descriptor_ < 0) return errno;
      is_pipe_ = true;
    }
    for (const char* at = pbase(); at < pptr();) {
      const ssize_t written = ::write(descriptor_, at, static_cast<std::size_t>(pptr() - at));
      if (written < 0 && errno != EINTR) return errno;
      at += std::max<ssize_t>(written, 0);
    }
    return 0;
  }

  fs::path name_;
  std::optional<AtomicFile> file_;
  int descriptor_ = -1;
  bool is_pipe_ = false; // and so to be closed
  int error_ = 0;
  std::array<char, 1 << 16> buffer_{};
};

OutputFile::OutputFile(std::unique_ptr<Sink> sink) : sink_(std::move(sink)) {}
OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile::~OutputFile() = default;

Result<OutputFile> OutputFile::open(const fs::path& name) {
  OutputFile output(std::make_unique<Sink>(name));
  if (const auto opened = output.sink_->open(); !opened) return Unexpected(opened.error());
  return output;
}

OutputFile::operator bool() const { return sink_->is_wanted(); }
std::ostream& OutputFile::stream() { return sink_->stream; }
Result<> OutputFile::finish() { return sink_->finish(); }

Result<> OutputFile::write(std::string_view content) {
  stream() << content;
  return finish();
}

} // namespace rtexec::command
