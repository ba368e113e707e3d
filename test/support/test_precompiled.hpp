// The same for tests, with their library.
#pragma once

#include "config/precompiled.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
