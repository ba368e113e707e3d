// Measures the cost of a cut (the boundary between two segments of a network) on a device to which the next segment is
// submitted ahead. The result is the value `cut` of a board's file. The same network runs alternately in one piece and
// in several segments, on a device without other work. The host submits the next segment while the previous segment
// executes, as the executive does with launch_ahead.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include "hal/device_interface.hpp"
#include "tasks/engine/graph/network.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rtexec::study {

struct CutCalibrationOptions {
  unsigned jobs = 200; // number of jobs in segments, and also of jobs in one piece, for each number of segments
  double margin = 1.2; // factor by which the proposed cost exceeds the measured cost
};

/// The times of a network in `segments` segments and in one piece.
struct MeasuredCuts {
  std::uint32_t segments = 0;
  Duration whole{0}; // the median time of a job in one piece
  Duration cut{0};   // the median time of a job in segments
  Duration each{0};  // the median cost of a cut: (job in segments - preceding job in one piece) / number of cuts
  Duration worst{0}; // the 99th percentile of the cost of a cut
};

struct CutCalibration {
  std::string device;
  std::vector<MeasuredCuts> measured; // in ascending order of segments
  Duration cut{0};                    // the proposed cost of a cut: the largest `worst`, times the margin
};

/// Returns a new copy of the network in each call. The copy is neither cut nor bound to memory, and it is tuned as in a
/// run.
using MakeNetwork = std::function<Result<std::unique_ptr<tasks::Network>>()>;

/// Measures the network in 8, 16, ... 64 segments. `dispatch`: the board's time to start work on the device. Each
/// segment takes at least twice that time, because admission does not launch shorter segments ahead. Returns bad_input
/// if eight segments would be shorter, or if the network has fewer than eight layers. Returns cancelled if `going_on`
/// returned false. Also returns errors of the device.
[[nodiscard]] Result<CutCalibration> calibrate_cut(
    hal::Device& device, const MakeNetwork& make, Duration dispatch, const CutCalibrationOptions& options,
    const std::function<bool(std::size_t done, std::size_t of)>& going_on);

} // namespace rtexec::study
