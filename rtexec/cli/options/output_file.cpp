#include "rtexec/cli/options/output_file.hpp"

#include "config/base/errno_text.hpp"
#include "config/base/files.hpp"
#include "config/base/output_path.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <iostream>
#include <optional>
#include <span>
#include <streambuf>
#include <system_error>
#include <unistd.h>

namespace rtexec::command {

namespace {

namespace fs = std::filesystem;

/// Returns the file descriptor that `name` means ("-" or /dev/...). Returns nullopt if `name` is the name of a file.
std::optional<int> descriptor_of(const fs::path& name) {
  return name == "-" ? STDOUT_FILENO : config::inherited_descriptor(name);
}

bool is_writable(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

} // namespace

/// A stream buffer that keeps the error numbers of system calls, which a standard stream would lose.
class OutputFile::Sink final : public std::streambuf {
 public:
  explicit Sink(fs::path name) : stream(this), name_(std::move(name)) {
    setp(buffer_.data(), buffer_.data() + buffer_.size());
  }
  ~Sink() override = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  Result<> open() {
    if (name_.empty()) return {};
    if (const auto inherited = descriptor_of(name_)) {
      descriptor_ = *inherited;
      return name_ == "-" || is_writable(descriptor_) ? Result<>() : failure(EBADF);
    }
    const auto place = config::find_output(name_);
    if (!place) return Unexpected(place.error());
    return place->found && config::discards_output(*place->found) ? open_device() : open_file();
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
  Result<> open_device() {
    auto device = config::open_output(name_, O_WRONLY);
    if (!device) return Unexpected(device.error());
    device_ = std::move(*device);
    descriptor_ = device_.get();
    return {};
  }

  Result<> open_file() {
    auto file = AtomicFile::create(name_);
    if (!file) return Unexpected(file.error());
    descriptor_ = file_.emplace(std::move(*file)).descriptor();
    return {};
  }

  [[nodiscard]] Unexpected<Error> failure(int error) const {
    return fail(Errc::refused, (name_ == "-" ? "standard output" : name_.string()) +
                                   ": error: cannot write it: " + config::errno_text(error));
  }

  bool drain() {
    if (is_wanted() && error_ == 0) error_ = write_out();
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    return error_ == 0;
  }

  /// Writes the buffer to the file. Returns 0 or errno.
  int write_out() {
    if (descriptor_ == STDOUT_FILENO) std::cout.flush();
    return config::write_all(descriptor_, std::string_view(pbase(), pptr()));
  }

  fs::path name_;
  std::optional<AtomicFile> file_;
  config::Descriptor device_;
  int descriptor_ = -1; // the descriptor of `file_` or `device_`, or a descriptor inherited from the parent
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
