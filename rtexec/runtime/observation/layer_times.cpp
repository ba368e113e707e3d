#include "rtexec/runtime/observation/layer_times.hpp"

#include "hal/thread.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace rtexec::executive {

LayerObserver LayerTimes::observer() noexcept {
  return {
      .begin = [](void* self, std::uint32_t, Instant at) noexcept { static_cast<LayerTimes*>(self)->layer_begins(at); },
      .end = [](void* self, std::uint32_t layer,
                Instant at) noexcept { static_cast<LayerTimes*>(self)->layer_ends(layer, at); },
      .self = this};
}

Duration LayerTimes::time(Instant at) const noexcept {
  return clock_ == Clock::thread ? hal::execution_time() : at.time_since_epoch();
}

void LayerTimes::execution_begins() noexcept {
  executing_ = true;
  in_layers_ = in_piece_ = Duration(0);
}

void LayerTimes::execution_ends(Duration executed) noexcept {
  executing_ = false;
  longest_rest_ = std::max(longest_rest_, executed - in_layers_);
  shortest_ = std::min(shortest_.value_or(executed), executed);
}

void LayerTimes::layer_begins(Instant at) noexcept { layer_begun_ = time(at); }

void LayerTimes::layer_ends(std::uint32_t layer, Instant at) noexcept {
  if (!executing_ || layer >= longest_.size()) return;
  const Duration took = time(at) - layer_begun_;
  in_layers_ += took;
  in_piece_ += took;
  if (!shortest_) last_[layer] = in_piece_ >= min_piece || layer + 1 == last_.size();
  if (last_[layer]) longest_[layer] = std::max(longest_[layer], std::exchange(in_piece_, Duration(0)));
}

std::vector<MeasuredLayers::Piece> LayerTimes::pieces() const {
  std::vector<MeasuredLayers::Piece> pieces;
  for (std::uint32_t layer = 0; layer < last_.size(); ++layer)
    if (last_[layer]) pieces.push_back({layer, longest_[layer]});
  return pieces;
}

Duration LayerTimes::sum_of_longest() const noexcept {
  return std::accumulate(longest_.begin(), longest_.end(), longest_rest_);
}

} // namespace rtexec::executive
