// What happened lately, as intervals: those that go on, and those that have ended and may still matter. Constant
// memory: old ones are forgotten.
#pragma once

#include <rtexec/units.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <vector>

namespace rtexec::traces {

template <class What> class History {
 public:
  struct Entry {
    What what{};
    Instant begin{};
    Instant end = Instant::max(); // that: it goes on
  };
  /// Beyond so many the oldest are forgotten, whoever may still need them.
  static constexpr std::size_t most = 200'000;

  void open(const What& what, Instant begin) { open_.push_back({what, begin}); }

  /// What goes on has ended, but for so many, and nobody knows when.
  void forget_open(std::size_t but_newest = 0) {
    if (open_.size() > but_newest) open_.erase(open_.begin(), open_.end() - static_cast<std::ptrdiff_t>(but_newest));
  }

  /// The oldest open one of which `is` holds; null where there is none. Valid until the next call.
  template <class Is> What* find_open(Is is) {
    const auto found = std::ranges::find_if(open_, is, &Entry::what);
    return found == open_.end() ? nullptr : &found->what;
  }

  /// Ends the oldest open one of which `is` holds; null where there is none. Valid until the next call.
  template <class Is> Entry* close(Is is, Instant end) {
    const auto found = std::ranges::find_if(open_, is, &Entry::what);
    if (found == open_.end()) return nullptr;
    Entry entry = *found;
    open_.erase(found);
    return add(entry.what, entry.begin, end);
  }

  Entry* add(const What& what, Instant begin, Instant end) {
    if (closed_.size() == most) closed_.pop_front();
    auto place = closed_.end();
    while (place != closed_.begin() && std::prev(place)->end > end) --place; // threads tell almost in order
    return &*closed_.insert(place, Entry{what, begin, std::max(begin, end)});
  }

  /// The one that was closed as `ended` has not ended, after all.
  void reopen(const Entry& ended) {
    const auto same = [&](const Entry& entry) { return entry.begin == ended.begin && entry.end == ended.end; };
    if (const auto found = std::find_if(closed_.rbegin(), closed_.rend(), same); found != closed_.rend())
      closed_.erase(std::prev(found.base()));
    open_.push_back({ended.what, ended.begin});
  }

  /// `see(entry)` for each that overlaps [begin, end).
  template <class See> void overlapping(Instant begin, Instant end, See see) const {
    for (const Entry& entry : open_)
      if (entry.begin < end) see(entry);
    for (auto entry = closed_.rbegin(); entry != closed_.rend() && entry->end > begin; ++entry)
      if (entry->begin < end) see(*entry);
  }

  void forget_before(Instant when) {
    while (!closed_.empty() && closed_.front().end <= when) closed_.pop_front();
  }

 private:
  std::vector<Entry> open_;
  std::deque<Entry> closed_; // by end
};

} // namespace rtexec::traces
