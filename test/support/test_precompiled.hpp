// The precompiled header of tests: that of the product, with GoogleTest and GoogleMock.
#pragma once

#include "config/precompiled.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
