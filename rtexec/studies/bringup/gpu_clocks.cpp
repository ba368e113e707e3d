#include "rtexec/studies/bringup/gpu_clocks.hpp"

#include "traces/analysis/analysis.hpp"

namespace rtexec::bringup {

std::string clocks_text(const hal::DeviceClocks& clocks) {
  std::string text = "cores at " + readable(clocks.cores) + " now, " + readable(clocks.most) + " at most; memory at " +
                     readable(clocks.memory);
  for (const std::string& limit : traces::names_of_limits(clocks.limits)) text += ", limited by " + limit;
  return text;
}

std::string how_to_lock(const hal::DeviceClocks& clocks) {
  const std::string most = std::to_string(clocks.most.hertz / 1'000'000);
  return "Execution times vary with them unless they are locked. As root: nvidia-smi -pm 1 && nvidia-smi -lgc " + most +
         "," + most +
         "\nTake less where power or temperature limit that clock: `rtexec analyze --causes` tells from a trace. "
         "nvidia-smi -rgc gives them back.";
}

} // namespace rtexec::bringup
