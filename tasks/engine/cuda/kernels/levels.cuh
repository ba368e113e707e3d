// Quantisation of floats to integers, and access to elements whose storage is known only at run time.
#pragma once

#include "tasks/engine/cuda/kernels/activation.cuh"
#include "tasks/engine/cuda/kernels/network_arguments.hpp"
#include "tasks/engine/cuda/kernels/half.cuh"

namespace rtexec::tasks::cuda {

DEVICE float to_level(float x, const Levels& to) {
  const float within = at_most(at_least(x / to.scale, to.low - to.zero), to.high - to.zero);
  return within + rounder - rounder + to.zero; // rounds to an integer, as |within| is far below 2^22; NaN stays
}

DEVICE float load_stored(const void* from, long long at, Storage storage) {
  if (storage == Storage::f32) return static_cast<const float*>(from)[at];
  if (storage == Storage::f16) return to_float(static_cast<const Half*>(from)[at]);
  return to_float(static_cast<const Byte*>(from)[at]);
}
/// Stores a value in the given storage. If the storage is s32, stores the bits of `value`. So does the overload for
/// four values.
DEVICE void store_stored(void* to, long long at, Storage storage, float value) {
  if (storage == Storage::f32 || storage == Storage::s32) static_cast<float*>(to)[at] = value;
  else if (storage == Storage::f16) static_cast<Half*>(to)[at] = from_float<Half>(value);
  else static_cast<Byte*>(to)[at] = from_float<Byte>(value);
}

/// Loads four neighbouring elements and converts them to floats. `at` must be a multiple of four.
template <class Scalar> DEVICE void load_four(float (&to)[4], const void* from, long long at) {
  Elements<Scalar, 4> elements;
  elements.load(static_cast<const Scalar*>(from) + at);
#pragma unroll
  for (int i = 0; i < 4; ++i) to[i] = elements.values[i];
}
template <class Scalar> DEVICE void store_four(void* to, long long at, const float (&values)[4]) {
  Elements<Scalar, 4> elements;
#pragma unroll
  for (int i = 0; i < 4; ++i) elements.values[i] = values[i];
  elements.store(static_cast<Scalar*>(to) + at);
}
DEVICE void load_stored(float (&to)[4], const void* from, long long at, Storage storage) {
  if (storage == Storage::f32) load_four<float>(to, from, at);
  else if (storage == Storage::f16) load_four<Half>(to, from, at);
  else load_four<Byte>(to, from, at);
}
DEVICE void store_stored(void* to, long long at, Storage storage, const float (&values)[4]) {
  if (storage == Storage::f32 || storage == Storage::s32) store_four<float>(to, at, values);
  else if (storage == Storage::f16) store_four<Half>(to, at, values);
  else store_four<Byte>(to, at, values);
}

DEVICE bool is_bytes(Storage storage) { return storage == Storage::s8 || storage == Storage::u8; }

} // namespace rtexec::tasks::cuda
