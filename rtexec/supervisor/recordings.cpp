#include "rtexec/supervisor/recordings.hpp"

#include <cstdio>
#include <ftw.h>
#include <sys/stat.h>

namespace rtexec::supervisor {
namespace {

std::string folder_of(const std::string& data, unsigned start) { return data + "/recordings/" + std::to_string(start); }

void remove_all(const std::string& folder) {
  const auto remove = [](const char* path, const struct stat*, int, FTW*) {
    static_cast<void>(std::remove(path));
    return 0;
  };
  static_cast<void>(::nftw(folder.c_str(), remove, 16, FTW_DEPTH | FTW_PHYS));
}

} // namespace

std::string recording(const std::string& data, unsigned start) {
  ::mkdir((data + "/recordings").c_str(), 0755);
  if (start > kept_recordings) remove_all(folder_of(data, start - kept_recordings));
  const std::string folder = folder_of(data, start);
  remove_all(folder); // removes the folder of a start that was never counted
  return folder;
}

} // namespace rtexec::supervisor
