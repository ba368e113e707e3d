#include "traces/reading/salvage.hpp"

#include "config/base/text.hpp"
#include "config/base/descriptor.hpp"
#include "traces/reading/packets.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>

namespace rtexec::traces {
namespace {

namespace fs = std::filesystem;

constexpr const char* metadata = "metadata";

/// Maximum time until LTTng's consumer daemon has written an event from memory to a file. With many events it may take
/// longer.
constexpr Duration written_within = std::chrono::milliseconds(1500);

/// The parts of a stream file's name. LTTng writes the file "events_7" for core 7 of channel "events". If newer files
/// overwrite older files, "events_7_2" is the third file of core 7.
struct StreamName {
  std::string channel;
  unsigned number = 0;
  bool one_of_several = false;

  static std::optional<StreamName> of(const std::string& file) {
    const auto last = split(file);
    if (!last) return std::nullopt;
    const auto before = split(last->first);
    return before ? StreamName{before->first, before->second, true} : StreamName{last->first, last->second};
  }
  static std::optional<std::pair<std::string, unsigned>> split(const std::string& file) {
    const auto place = file.rfind('_');
    if (place == std::string::npos || place == 0 || place + 1 == file.size()) return std::nullopt;
    const auto number = config::number<unsigned>(std::string_view(file).substr(place + 1));
    return number && *number < 65'536 ? std::optional(std::pair(file.substr(0, place), *number)) : std::nullopt;
  }
  [[nodiscard]] std::string file() const { return channel + "_" + std::to_string(number); }
};

struct Streams {
  std::map<std::string, StreamFile> found; // by name
  std::vector<std::string> others;         // files that belong to no channel
};

fs::path index_of(const fs::path& trace, const std::string& stream) { return trace / "index" / (stream + ".idx"); }

Streams find_streams(const fs::path& trace) {
  Streams streams;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(trace, ignored)) {
    const std::string name = entry.path().filename();
    if (name == metadata || name.starts_with('.') || fs::is_directory(entry.path(), ignored)) continue;
    StreamFile file;
    file.state = StreamFile::State::useless;
    file.what = "is not a file";
    if (fs::is_regular_file(entry.path(), ignored)) file = inspect(entry.path(), index_of(trace, name));
    else if (!fs::exists(entry.path(), ignored)) file.what = "is a link to nothing";
    if (file.state == StreamFile::State::useless && !StreamName::of(name)) streams.others.push_back(name);
    else streams.found.emplace(name, std::move(file));
  }
  return streams;
}

/// Returns the missing streams. Each channel must have a file for every core, and each stream with an index must have a
/// file.
std::vector<Gap> missing_streams(const fs::path& trace, const Streams& streams) {
  std::set<std::string> channels, found;
  unsigned cores = 0;
  const auto count = [&](const std::string& stream) {
    const auto name = StreamName::of(stream);
    if (!name) return;
    channels.insert(name->channel);
    cores = std::max(cores, name->number + 1);
  };
  for (const auto& [name, file] : streams.found) {
    count(name);
    if (const auto stream = StreamName::of(name)) found.insert(stream->file());
  }
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(trace / "index", ignored))
    if (entry.path().extension() == ".idx") count(entry.path().stem());

  std::vector<Gap> gaps;
  for (const std::string& channel : channels)
    for (unsigned core = 0; core < cores; ++core)
      if (const std::string file = StreamName{channel, core}.file(); !found.contains(file))
        gaps.push_back({file, "is missing", true});
  return gaps;
}

Unexpected<Error> no_copy(const fs::path& source, const fs::path& target) {
  return fail(Errc::refused, source.string() + " is damaged, and a repaired copy of it cannot be written to " +
                                 target.string() + ": " + std::strerror(errno) +
                                 " (make room there, or set TMPDIR to another folder)");
}

/// Copies bytes through a buffer. Used if the kernel cannot copy between the two file systems.
bool copy_by_hand(int from, int to, std::uint64_t bytes) {
  std::vector<char> buffer(std::size_t{1} << 20);
  while (bytes > 0) {
    const ssize_t got = ::read(from, buffer.data(), std::min<std::uint64_t>(bytes, buffer.size()));
    if (got <= 0 || ::write(to, buffer.data(), static_cast<std::size_t>(got)) != got) return false;
    bytes -= static_cast<std::uint64_t>(got);
  }
  return true;
}

bool copy_bytes(int from, int to, std::uint64_t bytes) {
  while (bytes > 0) {
    const ssize_t got = ::copy_file_range(from, nullptr, to, nullptr, bytes, 0);
    if (got < 0 && (errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP))
      return copy_by_hand(from, to, bytes);
    if (got <= 0) return false;
    bytes -= static_cast<std::uint64_t>(got);
  }
  return true;
}

bool write_sizes(int file, const Mend& mend) {
  constexpr std::uint64_t sizes = 48; // offset of the sizes of content and packet in an LTTng packet
  std::array<unsigned char, 16> words{};
  for (std::size_t i = 0; i < 8; ++i)
    words[mend.big_endian ? 7 - i : i] = words[8 + (mend.big_endian ? 7 - i : i)] =
        static_cast<unsigned char>(mend.bits >> (8 * i));
  return ::pwrite(file, words.data(), words.size(), static_cast<off_t>(mend.offset + sizes)) ==
         static_cast<ssize_t>(words.size());
}

Result<> copy_mended(const fs::path& source, const StreamFile& file, const fs::path& target) {
  const config::Descriptor from(::open(source.c_str(), O_RDONLY | O_CLOEXEC));
  const config::Descriptor to(::open(target.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (from.get() < 0 || to.get() < 0 || !copy_bytes(from.get(), to.get(), file.bytes) ||
      (file.mend && !write_sizes(to.get(), *file.mend)))
    return no_copy(source, target);
  return {};
}

/// Returns the instant from which the files of every core are complete. Files before this instant may have been
/// overwritten.
Instant begin_of(const Streams& streams) {
  std::map<std::string, std::vector<const StreamFile*>> files; // the files of each stream that has several
  for (const auto& [name, file] : streams.found)
    if (const auto stream = StreamName::of(name); stream && stream->one_of_several && file.first)
      files[stream->file()].push_back(&file);
  Instant from = Instant::min();
  const auto begin = [](const StreamFile* file) { return *file->first; };
  for (const auto& [name, of_stream] : files) {
    const StreamFile& earliest = *std::ranges::min(of_stream, {}, begin);
    if (earliest.before > 0) from = std::max(from, *earliest.first);
  }
  return from;
}

/// Returns the instant up to which a recording that has not ended is completely in files. This is the later of two
/// instants: the earliest end of a stream, and `written_within` before the latest end of a stream.
Instant end_of(const Streams& streams) {
  std::map<std::string, Instant> last;
  for (const auto& [name, file] : streams.found)
    if (const auto stream = StreamName::of(name)) {
      Instant& of_stream = last.try_emplace(stream->file(), Instant::min()).first->second;
      of_stream = std::max(of_stream, file.last.value_or(Instant::min()));
    }
  if (last.empty()) return Instant::min();
  const auto [first, latest] = std::ranges::minmax_element(last, {}, [](const auto& stream) { return stream.second; });
  if (latest->second == Instant::min()) return Instant::min();
  return std::max(first->second, latest->second - written_within);
}

bool one_of_several(const std::string& file) {
  const auto stream = StreamName::of(file);
  return stream && stream->one_of_several;
}

/// True if `copy` is a consistent copy of `file`, which may be overwritten at any time: both begin with the same
/// packet.
bool same_begin(const fs::path& file, const fs::path& copy) {
  constexpr std::size_t head = 64; // bytes, which include the packet's times
  std::array<char, head> of_file{}, of_copy{};
  const auto read = [](const fs::path& from, std::array<char, head>& to) {
    const config::Descriptor open(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
    return ::pread(open.get(), to.data(), head, 0) == static_cast<ssize_t>(head);
  };
  return read(file, of_file) && read(copy, of_copy) && of_file == of_copy;
}

/// Builds the temporary folder of one trace.
class Salvage {
 public:
  Salvage(const fs::path& trace, const CtfSource& source) : trace_(fs::absolute(trace)), source_(source) {}

  Result<Salvaged> run() {
    if (const std::string reason = damage_of_metadata(trace_ / metadata); !reason.empty())
      return unreadable_metadata(reason);
    Streams streams = find_streams(trace_);
    for (const std::string& other : streams.others)
      result_.notes.push_back((trace_ / config::printable(other)).string() + " is not a stream: ignored");
    result_.gaps = missing_streams(trace_, streams);
    result_.state = recording_state(trace_);
    result_.from = begin_of(streams);
    if (result_.state != RecordingState::ended) result_.to = end_of(streams);
    bool sound = streams.others.empty();
    for (const auto& [name, file] : streams.found) {
      const bool written_anew = result_.state == RecordingState::goes_on && one_of_several(name);
      // libbabeltrace2 maps files: if a mapped file were truncated, this process would end
      sound = sound && !written_anew;
      if (written_anew || is_awaited(file)) continue;
      if (file.state != StreamFile::State::whole)
        result_.gaps.push_back({name, file.what, file.state == StreamFile::State::useless});
      else if (!file.index_fits)
        result_.notes.push_back("the index of stream " + config::printable(name) + " does not match it: not used");
      sound = sound && file.state == StreamFile::State::whole && file.index_fits;
    }
    result_.folder = trace_;
    if (!sound || !source_.refusal(trace_).empty())
      if (auto mended = mend(streams); !mended) return Unexpected(mended.error());
    return std::move(result_);
  }

 private:
  Result<> mend(Streams& streams) {
    auto folder = folder_with_metadata();
    if (!folder) return Unexpected(folder.error());
    if (const std::string reason = source_.refusal(folder->path()); !reason.empty()) return unreadable_metadata(reason);
    for (const auto& [name, file] : streams.found)
      if (file.state != StreamFile::State::useless)
        if (auto added = add(name, file, folder->path()); !added) return added;
    if (result_.state == RecordingState::goes_on) forget_overwritten(streams, folder->path());
    if (!source_.refusal(folder->path()).empty())
      if (auto ok = remove_refused(folder->path()); !ok) return ok;
    result_.folder = folder->path();
    result_.temporary.emplace(std::move(*folder));
    return {};
  }

  /// True if the recording has not ended and the stream is not completely written: either the stream is still empty, or
  /// its last packet is being written. libbabeltrace2 uses the index to leave out that packet.
  [[nodiscard]] bool is_awaited(const StreamFile& file) const {
    if (result_.state == RecordingState::ended) return false;
    return file.empty || (result_.state == RecordingState::goes_on && file.last && file.has_index);
  }

  Unexpected<Error> unreadable_metadata(const std::string& reason) const {
    return fail(Errc::bad_input, (trace_ / metadata).string() +
                                     " is truncated or damaged, and the trace cannot be read without it: " + reason);
  }

  Result<TemporaryFolder> folder_with_metadata() const {
    auto folder = TemporaryFolder::make();
    if (!folder) return folder;
    if (auto linked = link(metadata, folder->path()); !linked) return Unexpected(linked.error());
    return folder;
  }

  Result<> link(const std::string& file, const fs::path& folder) const {
    std::error_code error;
    fs::create_symlink(trace_ / file, folder / file, error);
    if (error) return fail(Errc::refused, "no link can be made in " + folder.string() + ": " + error.message());
    return {};
  }

  /// Removes copies of files that were overwritten during the copying. These files contained the oldest events.
  void forget_overwritten(Streams& streams, const fs::path& folder) {
    std::erase_if(streams.found, [&](const auto& stream) {
      return one_of_several(stream.first) && !same_begin(trace_ / stream.first, folder / stream.first) &&
             (fs::remove(folder / stream.first), true);
    });
    result_.from = begin_of(streams);
  }

  Result<> add(const std::string& stream, const StreamFile& file, const fs::path& folder) const {
    std::error_code error;
    if (result_.state == RecordingState::goes_on && one_of_several(stream)) {
      // Ignores a file that was truncated during the copying
      static_cast<void>(copy_mended(trace_ / stream, file, folder / stream));
      return {};
    }
    if (file.mend || file.bytes != fs::file_size(trace_ / stream, error))
      return copy_mended(trace_ / stream, file, folder / stream);
    return link(stream, folder);
  }

  /// Removes each stream that libbabeltrace2 cannot open even as the only stream of a trace.
  Result<> remove_refused(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().filename() != metadata) names.push_back(entry.path().filename());
    for (const std::string& name : names) {
      auto alone = folder_with_metadata();
      if (!alone) return Unexpected(alone.error());
      fs::create_symlink(folder / name, alone->path() / name);
      const std::string reason = source_.refusal(alone->path());
      if (reason.empty()) continue;
      fs::remove(folder / name);
      std::erase_if(result_.gaps, [&](const Gap& gap) { return gap.stream == name; });
      result_.gaps.push_back({name, "cannot be opened: " + reason, true});
    }
    if (const std::string reason = source_.refusal(folder); !reason.empty())
      return fail(Errc::bad_input, trace_.string() + ": the trace cannot be opened: " + reason);
    return {};
  }

  fs::path trace_;
  const CtfSource& source_;
  Salvaged result_;
};

} // namespace

Result<TemporaryFolder> TemporaryFolder::make() {
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "rtexec-trace-XXXXXX").string();
  if (error || !::mkdtemp(name.data()))
    return fail(Errc::refused,
                "a damaged trace needs a temporary folder, but " + name + " cannot be created: set TMPDIR to a folder");
  return TemporaryFolder(name);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Result<Salvaged> salvage(const fs::path& trace, const CtfSource& source) { return Salvage(trace, source).run(); }

} // namespace rtexec::traces
