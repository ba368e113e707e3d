#include "traces/reading/salvage.hpp"

#include "config/text.hpp"
#include "config/descriptor.hpp"
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

/// Of "events_7", the file that LTTng writes for core 7 of channel "events".
struct StreamName {
  std::string channel;
  unsigned number = 0;

  static std::optional<StreamName> of(const std::string& file) {
    const auto split = file.rfind('_');
    if (split == std::string::npos || split == 0 || split + 1 == file.size()) return std::nullopt;
    const auto number = config::number<unsigned>(std::string_view(file).substr(split + 1));
    return number && *number < 65'536 ? std::optional(StreamName{file.substr(0, split), *number}) : std::nullopt;
  }
  [[nodiscard]] std::string file() const { return channel + "_" + std::to_string(number); }
};

struct Streams {
  std::map<std::string, StreamFile> found; // by name
  std::vector<std::string> others;         // files that no channel writes
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

/// Each channel has a file for every core, and each stream that has an index has, or had, a file.
std::vector<Gap> missing_streams(const fs::path& trace, const Streams& streams) {
  std::set<std::string> channels;
  unsigned cores = 0;
  const auto count = [&](const std::string& stream) {
    if (const auto name = StreamName::of(stream)) {
      channels.insert(name->channel);
      cores = std::max(cores, name->number + 1);
    }
  };
  for (const auto& [name, file] : streams.found) count(name);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(trace / "index", ignored))
    if (entry.path().extension() == ".idx") count(entry.path().stem());

  std::vector<Gap> gaps;
  for (const std::string& channel : channels)
    for (unsigned core = 0; core < cores; ++core)
      if (const std::string file = StreamName{channel, core}.file(); !streams.found.contains(file))
        gaps.push_back({file, "is missing", true});
  return gaps;
}

Unexpected<Error> no_copy(const fs::path& source, const fs::path& target) {
  return fail(Errc::refused, source.string() + " is damaged, and a mended copy of it cannot be written to " +
                                 target.string() + ": " + std::strerror(errno) +
                                 " (make room there, or set TMPDIR to another folder)");
}

/// Through a buffer, where the kernel does not copy between these file systems.
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
  constexpr std::uint64_t sizes = 48; // of content and packet, within an LTTng packet
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

/// Builds the temporary folder of one trace.
class Salvage {
 public:
  Salvage(const fs::path& trace, const CtfSource& source) : trace_(fs::absolute(trace)), source_(source) {}

  Result<Salvaged> run() {
    if (const std::string reason = damage_of_metadata(trace_ / metadata); !reason.empty())
      return unreadable_metadata(reason);
    Streams streams = find_streams(trace_);
    for (const std::string& other : streams.others)
      result_.notes.push_back((trace_ / other).string() + " is not a stream: ignored");
    result_.gaps = missing_streams(trace_, streams);
    bool sound = streams.others.empty();
    for (const auto& [name, file] : streams.found) {
      if (file.state != StreamFile::State::whole)
        result_.gaps.push_back({name, file.what, file.state == StreamFile::State::useless});
      else if (!file.index_fits) result_.notes.push_back("the index of stream " + name + " does not fit it: not used");
      sound = sound && file.state == StreamFile::State::whole && file.index_fits;
    }
    result_.folder = trace_;
    if (!sound || !source_.refusal(trace_).empty())
      if (auto mended = mend(streams); !mended) return Unexpected(mended.error());
    return std::move(result_);
  }

 private:
  Result<> mend(const Streams& streams) {
    auto folder = folder_with_metadata();
    if (!folder) return Unexpected(folder.error());
    if (const std::string reason = source_.refusal(folder->path()); !reason.empty()) return unreadable_metadata(reason);
    for (const auto& [name, file] : streams.found)
      if (file.state != StreamFile::State::useless)
        if (auto added = add(name, file, folder->path()); !added) return added;
    if (!source_.refusal(folder->path()).empty())
      if (auto ok = remove_refused(folder->path()); !ok) return ok;
    result_.folder = folder->path();
    result_.temporary.emplace(std::move(*folder));
    return {};
  }

  Unexpected<Error> unreadable_metadata(const std::string& reason) const {
    return fail(Errc::bad_input,
                (trace_ / metadata).string() + " is cut off or damaged, and nothing can be read without it: " + reason);
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

  Result<> add(const std::string& stream, const StreamFile& file, const fs::path& folder) const {
    std::error_code error;
    if (file.mend || file.bytes != fs::file_size(trace_ / stream, error))
      return copy_mended(trace_ / stream, file, folder / stream);
    return link(stream, folder);
  }

  /// Those streams that cannot even be opened alone.
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
    return fail(Errc::refused, "a temporary folder is needed to read a damaged trace, and " + name +
                                   " cannot be made: set TMPDIR to a folder");
  return TemporaryFolder(name);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Result<Salvaged> salvage(const fs::path& trace, const CtfSource& source) { return Salvage(trace, source).run(); }

} // namespace rtexec::traces
