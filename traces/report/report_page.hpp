// The contents of report_page.html, .css and .js of this folder, embedded by the build.
#pragma once

#include <string_view>

namespace rtexec::traces {

struct PageFiles {
  std::string_view html; // contains the marks @STYLE@, @DATA@ and @SCRIPT@, once each and in this order
  std::string_view css;
  std::string_view js;
};

[[nodiscard]] PageFiles page_files();

} // namespace rtexec::traces
