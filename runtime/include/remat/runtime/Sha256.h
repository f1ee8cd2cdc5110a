//===- Sha256.h - digests ---------------------------------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_SHA256_H
#define REMAT_RUNTIME_SHA256_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace remat::runtime {

/// SHA-256 (FIPS 180-4) over pieces, by OpenSSL's libcrypto.
class Sha256 {
public:
  Sha256();
  ~Sha256();
  void update(const void *Data, uint64_t Bytes);
  /// 64 lower-case hexadecimal digits; ends the digest. "" if the library
  /// failed.
  std::string finish();

private:
  struct Implementation;
  std::unique_ptr<Implementation> State;
};

/// Of bytes that are all there, as `Sha256::finish` gives it.
std::string computeSha256(std::string_view Bytes);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_SHA256_H
