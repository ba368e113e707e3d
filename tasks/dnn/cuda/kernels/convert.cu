// The way of inputs and outputs in and out, from and to host memory that the device sees, or the device's own: four
// elements for each thread, so that a warp reads and writes whole lines.
#include "tasks/dnn/cuda/kernels/items.cuh"

namespace rtexec::tasks::cuda {
namespace {

constexpr int chunk = 4;

/// A chunk of integers.
template <class T> struct Integers {
  Words<sizeof(T) * chunk / 4> words;
  DEVICE T get(int i) const;
  DEVICE void set(int i, T value);
};

template <> DEVICE unsigned char Integers<unsigned char>::get(int i) const {
  return static_cast<unsigned char>(words.word[0] >> (8 * i) & 0xffU);
}
template <> DEVICE void Integers<unsigned char>::set(int i, unsigned char value) {
  words.word[0] = (i == 0 ? 0 : words.word[0]) | static_cast<unsigned>(value) << (8 * i);
}

template <> DEVICE signed char Integers<signed char>::get(int i) const {
  return static_cast<signed char>(words.word[0] >> (8 * i) & 0xffU);
}
template <> DEVICE void Integers<signed char>::set(int i, signed char value) {
  words.word[0] = (i == 0 ? 0 : words.word[0]) | static_cast<unsigned>(static_cast<unsigned char>(value)) << (8 * i);
}

template <> DEVICE int Integers<int>::get(int i) const { return static_cast<int>(words.word[i]); }
template <> DEVICE void Integers<int>::set(int i, int value) { words.word[i] = static_cast<unsigned>(value); }

template <> DEVICE long long Integers<long long>::get(int i) const {
  const auto low = static_cast<unsigned long long>(words.word[2 * i]);
  const auto high = static_cast<unsigned long long>(words.word[2 * i + 1]);
  return static_cast<long long>(high << 32U | low);
}
template <> DEVICE void Integers<long long>::set(int i, long long value) {
  words.word[2 * i] = static_cast<unsigned>(static_cast<unsigned long long>(value));
  words.word[2 * i + 1] = static_cast<unsigned>(static_cast<unsigned long long>(value) >> 32U);
}

template <class T> struct Limits;
template <> struct Limits<unsigned char> {
  static constexpr float least = 0, above = 256;
  static constexpr unsigned char most = 255;
};
template <> struct Limits<signed char> {
  static constexpr float least = -128, above = 128;
  static constexpr signed char most = 127;
};
template <> struct Limits<int> {
  static constexpr float least = -2147483648.0F, above = 2147483648.0F;
  static constexpr int most = 2147483647;
};
template <> struct Limits<long long> {
  static constexpr float least = -9223372036854775808.0F, above = 9223372036854775808.0F;
  static constexpr long long most = 9223372036854775807LL;
};

template <class T> DEVICE T truncated(float value) {
  if (value != value) return 0;
  if (value >= Limits<T>::above) return Limits<T>::most;
  if (value <= Limits<T>::least) return static_cast<T>(-Limits<T>::most - 1);
  return static_cast<T>(value);
}

/// Elements outside of the network, alone and in chunks.
template <class T> struct Outer {
  static constexpr unsigned bytes = sizeof(Integers<T>);
  DEVICE static float load(const T* from) { return static_cast<float>(*from); }
  DEVICE static void store(T* to, float value) { *to = truncated<T>(value); }
  DEVICE static void load(float (&values)[chunk], const T* from) {
    must_be_aligned(from, bytes);
    const auto all = *reinterpret_cast<const Integers<T>*>(from);
#pragma unroll
    for (int i = 0; i < chunk; ++i) values[i] = static_cast<float>(all.get(i));
  }
  DEVICE static void store(T* to, const float (&values)[chunk]) {
    Integers<T> all;
#pragma unroll
    for (int i = 0; i < chunk; ++i) all.set(i, truncated<T>(values[i]));
    must_be_aligned(to, bytes);
    *reinterpret_cast<Integers<T>*>(to) = all;
  }
};

template <class Scalar> struct OuterFloats {
  static constexpr unsigned bytes = sizeof(Scalar) * chunk;
  DEVICE static float load(const Scalar* from) { return to_float(*from); }
  DEVICE static void store(Scalar* to, float value) { *to = from_float<Scalar>(value); }
  DEVICE static void load(float (&values)[chunk], const Scalar* from) {
    Elements<Scalar, chunk> all;
    all.load(from);
#pragma unroll
    for (int i = 0; i < chunk; ++i) values[i] = all.values[i];
  }
  DEVICE static void store(Scalar* to, const float (&values)[chunk]) {
    Elements<Scalar, chunk> all;
#pragma unroll
    for (int i = 0; i < chunk; ++i) all.values[i] = values[i];
    all.store(to);
  }
};
template <> struct Outer<float> : OuterFloats<float> {};
template <> struct Outer<Half> : OuterFloats<Half> {};

/// Whole ones, where both begin at one.
template <class T> DEVICE unsigned chunks(const ConvertArguments& p, const T* outer, const float* inner) {
  return aligned(outer, Outer<T>::bytes) && aligned(inner, 16) ? static_cast<unsigned>(p.count) / chunk : 0;
}

/// What stands there is in host memory: one thread of a block reads it.
template <class Pointer> DEVICE Pointer outer_address(Pointer known, void* const* linked) {
  if (linked == nullptr) return known;
  auto& address = shared_memory<Pointer>();
  if (thread_index() == 0) address = static_cast<Pointer>(*linked);
  barrier();
  return address;
}

template <class T> DEVICE void take_in(const ConvertArguments& p) {
  let_next_start();
  wait_for_previous();
  const T* x = static_cast<const T*>(outer_address(p.x, p.linked));
  float* y = static_cast<float*>(p.y);
  const unsigned whole = chunks(p, x, y);
  for (unsigned item = first_item(); item < whole; item += item_step()) {
    const long long at = static_cast<long long>(item) * chunk;
    Elements<float, chunk> values;
    Outer<T>::load(values.values, x + at);
    values.store(y + at);
  }
  for (unsigned i = whole * chunk + first_item(); i < static_cast<unsigned>(p.count); i += item_step())
    y[i] = Outer<T>::load(x + i);
}

template <class T> DEVICE void give_out(const ConvertArguments& p) {
  let_next_start();
  wait_for_previous();
  const float* x = static_cast<const float*>(p.x);
  T* y = static_cast<T*>(outer_address(p.y, p.linked));
  const unsigned whole = chunks(p, y, x);
  for (unsigned item = first_item(); item < whole; item += item_step()) {
    const long long at = static_cast<long long>(item) * chunk;
    Elements<float, chunk> values;
    values.load(x + at);
    Outer<T>::store(y + at, values.values);
  }
  for (unsigned i = whole * chunk + first_item(); i < static_cast<unsigned>(p.count); i += item_step())
    Outer<T>::store(y + i, x[i]);
}

} // namespace

KERNEL(from_f32, 128, ConvertArguments) { take_in<float>(arguments); }
KERNEL(from_f16, 128, ConvertArguments) { take_in<Half>(arguments); }
KERNEL(from_u8, 128, ConvertArguments) { take_in<unsigned char>(arguments); }
KERNEL(from_s8, 128, ConvertArguments) { take_in<signed char>(arguments); }
KERNEL(from_s32, 128, ConvertArguments) { take_in<int>(arguments); }
KERNEL(from_s64, 128, ConvertArguments) { take_in<long long>(arguments); }
KERNEL(to_f32, 128, ConvertArguments) { give_out<float>(arguments); }
KERNEL(to_f16, 128, ConvertArguments) { give_out<Half>(arguments); }
KERNEL(to_u8, 128, ConvertArguments) { give_out<unsigned char>(arguments); }
KERNEL(to_s8, 128, ConvertArguments) { give_out<signed char>(arguments); }
KERNEL(to_s32, 128, ConvertArguments) { give_out<int>(arguments); }
KERNEL(to_s64, 128, ConvertArguments) { give_out<long long>(arguments); }

} // namespace rtexec::tasks::cuda
