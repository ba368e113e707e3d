#include "config/base/errno_text.hpp"

#include <cerrno>
#include <sys/resource.h>
#include <system_error>

namespace rtexec::config {

std::string errno_text(int error) {
  std::string text = std::generic_category().message(error);
  rlimit limit{};
  if (error == EMFILE && ::getrlimit(RLIMIT_NOFILE, &limit) == 0)
    text += "\nThe limit of this process is " + std::to_string(limit.rlim_cur) +
            " open files: raise it with `ulimit -n`, or LimitNOFILE= of systemd.";
  return text;
}

bool is_shortage(int error) { return error == EMFILE || error == ENFILE || error == ENOMEM; }

} // namespace rtexec::config
