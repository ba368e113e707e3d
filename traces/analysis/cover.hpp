// Divides a time interval among pieces. Pieces are intervals with a rank, and may overlap. Each instant belongs to the
// piece with the smallest rank at that instant.
#pragma once

#include <rtexec/units.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rtexec::traces {

/// Divides one interval at a time and reuses its memory. Not thread-safe.
template <class Payload> class Cover {
 public:
  void start(Instant begin, Instant end) {
    begin_ = begin;
    end_ = end;
    pieces_.clear();
  }

  /// Adds a piece, clipped to the interval. A piece without overlap has no effect.
  void add(Instant begin, Instant end, std::uint64_t rank, const Payload& payload) {
    begin = std::max(begin, begin_);
    end = std::min(end, end_);
    if (begin < end) pieces_.push_back({begin, end, rank, payload});
  }

  /// Calls `own(payload, time)` for each part of the interval that belongs to a piece, in order of time. Returns the
  /// time that belongs to no piece.
  template <class Own> [[nodiscard]] Duration divide(Own own) {
    std::ranges::sort(pieces_, {}, &Piece::begin);
    Duration nobody{0};
    std::size_t next = 0;
    active_.clear();
    for (Instant now = begin_; now < end_;) {
      while (next < pieces_.size() && pieces_[next].begin <= now) active_.push_back(pieces_[next++]);
      std::erase_if(active_, [now](const Piece& piece) { return piece.end <= now; });
      const auto first = std::ranges::min_element(active_, {}, &Piece::rank);
      Instant until = next < pieces_.size() ? pieces_[next].begin : end_;
      for (const Piece& piece : active_) until = std::min(until, piece.end);
      if (first == active_.end()) nobody += until - now;
      else own(first->payload, until - now);
      now = until;
    }
    return nobody;
  }

 private:
  struct Piece {
    Instant begin{}, end{};
    std::uint64_t rank = 0;
    Payload payload{};
  };
  Instant begin_{}, end_{};
  std::vector<Piece> pieces_, active_;
};

} // namespace rtexec::traces
