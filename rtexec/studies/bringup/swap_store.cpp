#include "rtexec/studies/bringup/swap_store.hpp"

#include "config/base/must.hpp"
#include "config/base/output_path.hpp"
#include "config/base/text.hpp"
#include "hal/backing_store.hpp"
#include "hal/resources.hpp"
#include "hal/thread.hpp"
#include "rtexec/studies/bringup/answers.hpp"
#include "rtexec/studies/bringup/measured_items.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace rtexec::bringup {
namespace {

using hal::EngineKind;

constexpr double min_ratio = 0.8;
constexpr Bytes wanted{std::uint64_t{64} << 20}; // bytes written and read in each round
constexpr std::size_t min_chunks = 4, min_rounds = 4, max_rounds = 50;

std::size_t chunks_of(Bytes chunk) { return std::max<std::size_t>(min_chunks, wanted.count / chunk.count); }

// ---- measuring ----

/// A file for plain reads and writes of chunks. It is unlinked, so that it is deleted with this object.
class PlainFile {
 public:
  /// Creates the file. Throws Failed.
  PlainFile(const std::filesystem::path& name, std::size_t chunks, Bytes chunk)
      : chunks_(chunks),
        chunk_(chunk),
        buffer_(must(hal::Mapping::anonymous(chunk, PROT_READ | PROT_WRITE, MAP_POPULATE, "a buffer to write from"))) {
    file_ = must(config::open_output(name, O_RDWR | O_CREAT | O_EXCL, 0600));
    direct_ = ::fcntl(file_.get(), F_SETFL, O_DIRECT) == 0;
    ::unlink(name.c_str());
  }
  [[nodiscard]] bool direct() const { return direct_; }
  void write() {
    each([this](std::byte* at, off_t to) { return ::pwrite(file_.get(), at, chunk_.count, to); }, "written");
  }
  void read() {
    each([this](std::byte* at, off_t from) { return ::pread(file_.get(), at, chunk_.count, from); }, "read");
  }

 private:
  template <class Move> void each(Move move, const char* what) {
    for (std::size_t i = 0; i < chunks_; ++i)
      if (move(buffer_.base(), static_cast<off_t>(i * chunk_.count)) != static_cast<ssize_t>(chunk_.count))
        give_up(Errc::io_error, std::string("a plain file cannot be ") + what + ": " + hal::errno_text(errno));
  }

  std::size_t chunks_;
  Bytes chunk_;
  hal::Mapping buffer_;
  config::Descriptor file_;
  bool direct_ = false;
};

/// The times of the swap store and of plain file access for the same data. Each round measures both. The store is first
/// in one round, and plain access is first in the next round.
class Pair {
 public:
  template <class Ours, class Plain> void add(Ours ours, Plain plain) {
    if (rounds_++ % 2 == 0) ours_.push_back(seconds(ours)), plain_.push_back(seconds(plain));
    else plain_.push_back(seconds(plain)), ours_.push_back(seconds(ours));
  }
  // Return bytes per second, computed from the median time. The first round is left out, because the disk space of the
  // file was allocated in it.
  [[nodiscard]] double ours(Bytes moved) const { return static_cast<double>(moved.count) / median(ours_); }
  [[nodiscard]] double plain(Bytes moved) const { return static_cast<double>(moved.count) / median(plain_); }
  [[nodiscard]] double ratio() const {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < ours_.size(); ++i) ratios.push_back(plain_[i] / ours_[i]);
    return median(std::move(ratios));
  }

 private:
  template <class Move> static double seconds(Move move) {
    const Instant begin = hal::now();
    move();
    return std::chrono::duration<double>(hal::now() - begin).count();
  }
  static double median(std::vector<double> values) {
    values.erase(values.begin());
    std::ranges::sort(values);
    return values[values.size() / 2];
  }

  std::size_t rounds_ = 0;
  std::vector<double> ours_, plain_; // in seconds
};

/// Measures the store and plain file access alternately. Throws Failed.
StoreRates measure(hal::Device& device, const Subject& subject) {
  const Bytes chunk = device.chunk_size();
  const std::size_t count = chunks_of(chunk);
  const hal::Chunk window = must(device.create_chunks(1)).front();
  const auto store = must(hal::open_file_store(device, count, subject.folder / "swap"));
  PlainFile plain(subject.folder / "plain", count, chunk);
  std::byte* const at = device.window(window);
  const auto save = [&](std::size_t i) noexcept { return store->save(i, at, {}); };
  const auto load = [&](std::size_t i) noexcept { return store->load(i, at, {}); };
  const auto put = [&](const std::vector<std::byte>& contents) {
    if (!copy_in(device, at, contents)) give_up(Errc::device_fault, "a copy to the device failed");
  };
  const auto move_one = [&](EngineKind engine, auto move, std::size_t i) {
    if (!device.engine(engine).call([&]() noexcept { return move(i); }).outcome)
      give_up(Errc::io_error, "the swap store failed: " + store->failure());
  };
  const auto move_all = [&](EngineKind engine, auto move) {
    for (std::size_t i = 0; i < count; ++i) move_one(engine, move, i);
  };
  // Replaces the contents of each chunk by different contents.
  for (std::size_t i = 0; i < count; ++i) {
    put(pattern(chunk, static_cast<unsigned>(i)));
    move_one(EngineKind::copy_out, save, i);
  }
  for (std::size_t i = 0; i < count; ++i) {
    put(std::vector<std::byte>(chunk.count));
    move_one(EngineKind::copy_in, load, i);
    std::vector<std::byte> back(chunk.count);
    if (!copy_out(device, back, at) || back != pattern(chunk, static_cast<unsigned>(i)))
      give_up(Errc::corrupted, "swapped data came back with other contents");
  }
  Pair out, in;
  const Instant end = hal::now() + 2 * subject.length;
  for (std::size_t round = 0; round < min_rounds || (hal::now() < end && round < max_rounds); ++round) {
    if (!subject.going_on()) give_up(Errc::cancelled, "cancelled");
    out.add([&] { move_all(EngineKind::copy_out, save); }, [&] { plain.write(); });
    in.add([&] { move_all(EngineKind::copy_in, load); }, [&] { plain.read(); });
  }
  const Bytes moved = chunk * count;
  return {.saved = out.ours(moved),
          .loaded = in.ours(moved),
          .written = out.plain(moved),
          .read = in.plain(moved),
          .out_ratio = out.ratio(),
          .in_ratio = in.ratio(),
          .store = store->description(),
          .fallback = store->fallback(),
          .direct = plain.direct(),
          .chunk = chunk};
}

// ---- interpretation ----

std::string ratio_text(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", ratio);
  return text;
}

} // namespace

Answer judge(const StoreRates& rates, const Subject& subject) {
  const double out = rates.out_ratio, in = rates.in_ratio;
  std::vector<Figure> figures{{"out", rates.saved * 1e-6, "MB/s", true},
                              {"in", rates.loaded * 1e-6, "MB/s", true},
                              {"plain writes", rates.written * 1e-6, "MB/s", true},
                              {"plain reads", rates.read * 1e-6, "MB/s", true},
                              {"out to plain writes", out, "", true},
                              {"in to plain reads", in, "", true}};
  std::string state = rates.store + ": chunks of " + to_string(rates.chunk) + " out at " + rate_text(rates.saved) +
                      " and in at " + rate_text(rates.loaded) + ", which is " + ratio_text(out) + " and " +
                      ratio_text(in) + " times plain writes and reads" +
                      (rates.direct ? " with O_DIRECT" : " through the page cache, since O_DIRECT is refused here");
  std::string without = rates.fallback;
  std::ranges::replace(without, '\n', ';');
  if (!without.empty()) state += "; not available: " + without;
  if (out >= min_ratio && in >= min_ratio)
    return unless_emulated(subject, passed(std::move(state), std::move(figures)));
  const std::string advice =
      without.empty() ? "Other programs use the disk: end them. Or the chunk is small: a GPU's last parts are copied "
                        "only after all have been read, for which plain reads do not wait; a larger chunk in " +
                            file_of(subject.board) + " reduces that"
                      : "Make available to the store: " + without;
  return unless_emulated(subject, failed(std::move(state), advice, std::move(figures)));
}

Answer measure_store(const Subject& subject, const executive::OpenDevice& open) {
  const Bytes chunk = chunk_of(subject.board);
  const Bytes needed = chunk * chunks_of(chunk) * 2 + wanted;
  std::error_code error;
  const auto room = std::filesystem::space(subject.folder, error);
  if (error) return skipped(subject.folder.string() + ": " + error.message());
  if (room.available < needed.count)
    return skipped("the disk of " + subject.folder.string() + " has " + readable(Bytes{room.available}) +
                   " free, and " + readable(needed) + " are needed");
  return ask_device(subject, open, 1, [&](hal::Device& device) {
    const auto rates = caught([&] { return measure(device, subject); });
    if (rates) return judge(*rates, subject);
    if (rates.error().code == Errc::cancelled) return skipped("cancelled");
    return failed(rates.error(), "The disk or its file system failed: see `dmesg`");
  });
}

Answer swap_store(const Subject& subject) { return measure_store(subject, device_of(subject.board)); }

} // namespace rtexec::bringup
