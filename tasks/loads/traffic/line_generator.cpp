#include "tasks/base/random.hpp"
#include "tasks/loads/traffic/generator.hpp"

#include <algorithm>
#include <bit>
#include <sys/mman.h>

namespace rtexec::tasks {
namespace {

// Accesses are volatile, so that the compiler neither omits nor merges accesses.
using Word = volatile std::uint32_t;
using Wide = volatile std::uint64_t;
using Link = std::byte* volatile;

constexpr std::uint32_t written = 0x5ca1ab1e;
constexpr std::uint64_t min_line = sizeof(std::uint64_t);

Word& word_at(std::byte* line) noexcept { return *reinterpret_cast<Word*>(line); }
Link& link_at(std::byte* line) noexcept { return *reinterpret_cast<Link*>(line); }

void copy_line(std::byte* to, std::byte* from, std::uint64_t line) noexcept {
  for (std::uint64_t at = 0; at < line; at += sizeof(Wide))
    *reinterpret_cast<Wide*>(to + at) = *reinterpret_cast<Wide*>(from + at);
}

} // namespace

Result<std::unique_ptr<LineGenerator>> LineGenerator::make(TrafficPattern pattern, Bytes buffer, Bytes line) {
  if (!std::has_single_bit(line.count) || line.count < min_line || line > hal::page_size())
    return fail(Errc::bad_input, "a line of " + to_string(line) + " cannot be swept: it must be a power of two, from " +
                                     to_string(Bytes{min_line}) + " to " + to_string(hal::page_size()));
  const Bytes size = round_up(buffer, hal::page_size());
  if (size < line * 2)
    return fail(Errc::bad_input,
                "a buffer of " + to_string(buffer) + " has no room for two lines of " + to_string(line));
  auto memory = hal::Mapping::anonymous(size, PROT_READ | PROT_WRITE, 0, "the buffer of a traffic generator");
  if (!memory) return Unexpected(memory.error());
  std::unique_ptr<LineGenerator> generator(new LineGenerator(pattern, std::move(*memory), line));
  generator->fill();
  return generator;
}

LineGenerator::LineGenerator(TrafficPattern pattern, hal::Mapping memory, Bytes line)
    : pattern_(pattern),
      memory_(std::move(memory)),
      line_(line.count),
      end_(pattern == TrafficPattern::copy ? memory_.size().count / 2 : memory_.size().count) {}

LineGenerator::~LineGenerator() {
  if (locked_) (void)hal::sys().munlock(memory_.base(), memory_.size().count);
}

/// Writes to every page and locks the buffer. The writes are needed: pages that were only read would all be the
/// kernel's single zero page, which stays in the cache.
void LineGenerator::fill() {
  for (std::uint64_t at = 0; at < memory_.size().count; at += hal::page_size().count)
    word_at(memory_.base() + at) = static_cast<std::uint32_t>(at / hal::page_size().count) + 1;
  locked_ = hal::sys().mlock(memory_.base(), memory_.size().count) == 0;
  if (pattern_ == TrafficPattern::latency) link();
}

/// Links all lines to one random cycle. All cycles are equally likely (Sattolo, "An algorithm to generate a random
/// cyclic permutation", 1986).
void LineGenerator::link() {
  const auto line = [&](std::uint64_t i) { return memory_.base() + i * line_; };
  const auto lines = end_ / line_;
  Random random(lines);
  for (std::uint64_t i = 0; i < lines; ++i) link_at(line(i)) = line(i);
  for (std::uint64_t i = lines - 1; i > 0; --i) {
    Link& other = link_at(line(random.next() % i));
    std::byte* const mine = link_at(line(i));
    link_at(line(i)) = other;
    other = mine;
  }
}

Bytes LineGenerator::run(Bytes bytes) noexcept {
  const auto units = bytes.count / unit().count;
  switch (pattern_) {
  case TrafficPattern::write: sweep(units, [](std::byte* line) { word_at(line) = written; }); break;
  case TrafficPattern::read:
    sweep(units, [](std::byte* line) { [[maybe_unused]] const std::uint32_t word = word_at(line); });
    break;
  case TrafficPattern::copy:
    sweep(units, [half = end_, size = line_](std::byte* line) { copy_line(line + half, line, size); });
    break;
  case TrafficPattern::latency: chase(units); break;
  }
  return {units * unit().count};
}

template <class Touch> void LineGenerator::sweep(std::uint64_t lines, Touch touch) noexcept {
  while (lines > 0) {
    const auto count = std::min(lines, (end_ - next_) / line_);
    std::byte* at = memory_.base() + next_;
    std::byte* const end = at + count * line_;
    for (; at != end; at += line_) touch(at);
    next_ += count * line_;
    if (next_ == end_) next_ = 0;
    lines -= count;
  }
}

void LineGenerator::chase(std::uint64_t lines) noexcept {
  std::byte* at = memory_.base() + next_;
  for (; lines > 0; --lines) at = link_at(at);
  next_ = static_cast<std::uint64_t>(at - memory_.base());
}

} // namespace rtexec::tasks
