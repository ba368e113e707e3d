// Recent time intervals: open intervals, and closed intervals that may still be needed. The memory is constant: old
// intervals are discarded.
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
    Instant end = Instant::max(); // max(): the interval is open
  };
  /// Maximum number of closed intervals. Beyond this number the oldest intervals are discarded, even if they are still
  /// needed.
  static constexpr std::size_t most = 200'000;

  void open(const What& what, Instant begin) { open_.push_back({what, begin}); }

  /// Discards all open intervals except the newest `but_newest`. The discarded intervals ended at an unknown time.
  void forget_open(std::size_t but_newest = 0) {
    if (open_.size() > but_newest) open_.erase(open_.begin(), open_.end() - static_cast<std::ptrdiff_t>(but_newest));
  }

  /// Returns the oldest open interval for which `is` returns true; null if there is none. Valid until the next call.
  template <class Is> What* find_open(Is is) {
    const auto found = std::ranges::find_if(open_, is, &Entry::what);
    return found == open_.end() ? nullptr : &found->what;
  }

  /// Ends the oldest open interval for which `is` returns true, and returns that interval; null if there is none. Valid
  /// until the next call.
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
    while (place != closed_.begin() && std::prev(place)->end > end) --place; // threads report almost in order
    return &*closed_.insert(place, Entry{what, begin, std::max(begin, end)});
  }

  /// Opens the closed interval `ended` again, because it turned out to continue.
  void reopen(const Entry& ended) {
    const auto same = [&](const Entry& entry) { return entry.begin == ended.begin && entry.end == ended.end; };
    if (const auto found = std::find_if(closed_.rbegin(), closed_.rend(), same); found != closed_.rend())
      closed_.erase(std::prev(found.base()));
    open_.push_back({ended.what, ended.begin});
  }

  /// Calls `see(entry)` for each interval that overlaps [begin, end).
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
  std::deque<Entry> closed_; // ordered by end
};

} // namespace rtexec::traces
