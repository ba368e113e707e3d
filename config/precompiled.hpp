// What most files include of the standard library, parsed once for a build instead of once for each file. The compiler
// puts it before each file by itself: every file names what it uses all the same, and builds under sanitizers, which do
// without this, find who does not.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>
