// The kernel of a machine: its build configuration and boot parameters. All files are read under the machine's root.
// Set-up code: it may allocate and block.
#pragma once

#include <rtexec/result.hpp>
#include "hal/machine_files.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::hal {

class KernelConfig {
 public:
  /// Reads /proc/config.gz or /boot/config-RELEASE. Returns unsupported if neither exists.
  [[nodiscard]] static Result<KernelConfig> of(const Machine& machine);
  explicit KernelConfig(std::string text) : text_(std::move(text)) {}
  /// True if the configuration has "CONFIG_NAME=y".
  [[nodiscard]] bool has(std::string_view name) const;

 private:
  std::string text_;
};

/// The preemption model: the extent to which a real-time thread may preempt threads inside the kernel.
struct Preemption {
  std::string model; // "PREEMPT_RT", "full", "lazy", "voluntary", "none"; empty: unknown
  std::string told;  // the source of `model`
};
[[nodiscard]] Preemption preemption_of(const Machine& machine);

/// Returns the alternative that stands in brackets in the text of a file: "full" in "none voluntary (full)", "madvise"
/// in "always [madvise] never".
[[nodiscard]] std::string in_force(const std::string& text);

/// True if the kernel has the fair server (Linux 6.12 and later).
[[nodiscard]] bool has_fair_server(const Machine& machine);

/// Returns the words of /proc/cmdline.
[[nodiscard]] std::vector<std::string> boot_words(const Machine& machine);
/// Returns the value of the last word "NAME=...", or nullopt if there is no such word.
[[nodiscard]] std::optional<std::string> boot_value(const std::vector<std::string>& words, std::string_view name);

} // namespace rtexec::hal
