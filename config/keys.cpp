#include "config/keys.hpp"

#include "config/toml_readers.hpp"

#include <utility>

namespace rtexec {

std::span<const KeyDoc> documented_keys(FileKind kind) {
  switch (kind) {
  case FileKind::task_set: return config::task_set_keys();
  case FileKind::board: return config::board_keys();
  case FileKind::profile: return config::profile_keys();
  case FileKind::daemon: return config::daemon_keys();
  }
  std::unreachable();
}

} // namespace rtexec
