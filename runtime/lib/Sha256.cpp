//===- Sha256.cpp - digests -----------------------------------------------===//

#include "remat/runtime/Sha256.h"
#include <openssl/evp.h>

using namespace remat::runtime;

struct Sha256::Implementation {
  EVP_MD_CTX *Context = EVP_MD_CTX_new();
  bool Ok = Context && EVP_DigestInit_ex(Context, EVP_sha256(), nullptr) == 1;
  ~Implementation() { EVP_MD_CTX_free(Context); }
};

Sha256::Sha256() : State(std::make_unique<Implementation>()) {}
Sha256::~Sha256() = default;

void Sha256::update(const void *Data, uint64_t Bytes) {
  State->Ok = State->Ok && EVP_DigestUpdate(State->Context, Data, Bytes) == 1;
}

std::string Sha256::finish() {
  unsigned char Digest[EVP_MAX_MD_SIZE];
  unsigned Size = 0;
  if (!State->Ok || EVP_DigestFinal_ex(State->Context, Digest, &Size) != 1)
    return "";
  State->Ok = false;
  static const char Digits[] = "0123456789abcdef";
  std::string Text;
  for (unsigned I = 0; I < Size; ++I) {
    Text += Digits[Digest[I] >> 4];
    Text += Digits[Digest[I] & 15];
  }
  return Text;
}

std::string remat::runtime::computeSha256(std::string_view Bytes) {
  Sha256 Digest;
  Digest.update(Bytes.data(), Bytes.size());
  return Digest.finish();
}
