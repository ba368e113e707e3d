// The kernel of a machine: what it was built and booted with. All read under the machine's root. Set-up code: it may
// allocate and block.
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
  /// /proc/config.gz, or /boot/config-RELEASE; unsupported where neither is there.
  [[nodiscard]] static Result<KernelConfig> of(const Machine& machine);
  explicit KernelConfig(std::string text) : text_(std::move(text)) {}
  /// Whether "CONFIG_NAME=y" stands there.
  [[nodiscard]] bool has(std::string_view name) const;

 private:
  std::string text_;
};

/// Which threads that run in the kernel a real-time thread may preempt.
struct Preemption {
  std::string model; // "PREEMPT_RT", "full", "lazy", "voluntary", "none"; empty: nothing tells
  std::string told;  // by what
};
[[nodiscard]] Preemption preemption_of(const Machine& machine);

/// What a file that lists alternatives marks: "full" of "none voluntary (full)", "madvise" of "always [madvise] never".
[[nodiscard]] std::string in_force(const std::string& text);

/// Since 6.12.
[[nodiscard]] bool has_fair_server(const Machine& machine);

/// The words of /proc/cmdline.
[[nodiscard]] std::vector<std::string> boot_words(const Machine& machine);
/// What the last word "NAME=..." says.
[[nodiscard]] std::optional<std::string> boot_value(const std::vector<std::string>& words, std::string_view name);

} // namespace rtexec::hal
