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
  return "Execution times vary with these clocks unless they are locked. As root: nvidia-smi -pm 1 && nvidia-smi "
         "-lgc " +
         most + "," + most +
         "\nUse a lower clock if power or temperature limit it (`rtexec analyze --causes` shows that from a trace). "
         "nvidia-smi -rgc unlocks the clocks.";
}

} // namespace rtexec::bringup
