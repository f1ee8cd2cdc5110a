//===- Arithmetic.h - functions of two numbers ------------------*- C++ -*-===//
//
// Each is a struct with a function `of` two numbers of one type; those of bits
// are of integers only. Integers wrap around.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_OPS_ARITHMETIC_H
#define REMAT_RUNTIME_OPS_ARITHMETIC_H

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace remat::runtime {

/// The type whose arithmetic wraps around.
template <typename T> struct Wrap {
  using Type = T;
};
template <> struct Wrap<int32_t> {
  using Type = uint32_t;
};
template <> struct Wrap<int64_t> {
  using Type = uint64_t;
};

struct Add {
  template <typename T, typename U = typename Wrap<T>::Type>
  static T of(T A, T B) {
    return T(U(A) + U(B));
  }
};
struct Sub {
  template <typename T, typename U = typename Wrap<T>::Type>
  static T of(T A, T B) {
    return T(U(A) - U(B));
  }
};
struct Mul {
  template <typename T, typename U = typename Wrap<T>::Type>
  static T of(T A, T B) {
    return T(U(A) * U(B));
  }
};
struct Div {
  template <typename T, typename U = typename Wrap<T>::Type>
  static T of(T A, T B) {
    if constexpr (std::is_integral_v<T>) {
      if (B == 0)
        return 0;
      if (B == -1) // the least integer has no positive counterpart
        return T(U(0) - U(A));
    }
    return A / B;
  }
};
/// With the sign of B.
struct Remainder {
  template <typename T> static T of(T A, T B) {
    T Rest = 0;
    if constexpr (std::is_floating_point_v<T>)
      Rest = std::fmod(A, B);
    else if (B != 0 && B != -1) // the least integer by -1 overflows
      Rest = A % B;
    return Rest != 0 && (Rest < 0) != (B < 0) ? Rest + B : Rest;
  }
};
struct Max {
  template <typename T> static T of(T A, T B) {
    return A > B || A != A ? A : B;
  }
};
struct Min {
  template <typename T> static T of(T A, T B) {
    return A < B || A != A ? A : B;
  }
};
struct BitAnd {
  template <typename T> static T of(T A, T B) { return A & B; }
};
struct BitOr {
  template <typename T> static T of(T A, T B) { return A | B; }
};
struct BitXor {
  template <typename T> static T of(T A, T B) { return A ^ B; }
};
struct ShiftLeft {
  template <typename T, typename U = typename Wrap<T>::Type>
  static T of(T A, T B) {
    return U(B) < 8 * sizeof(T) ? T(U(A) << U(B)) : T(0);
  }
};
struct ShiftRight {
  template <typename T, typename U = typename Wrap<T>::Type>
  static T of(T A, T B) {
    return U(B) < 8 * sizeof(T) ? T(U(A) >> U(B)) : T(0);
  }
};

} // namespace remat::runtime

#endif // REMAT_RUNTIME_OPS_ARITHMETIC_H
