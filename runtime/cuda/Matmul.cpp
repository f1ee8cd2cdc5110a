//===- Matmul.cpp - matrix products by cuBLASLt ---------------------------===//

#include "cuda/Matmul.h"
#include "cuda/LtMatmul.h"

using namespace remat::runtime;
using namespace remat::runtime::cuda;

namespace {

class LtLibrary : public MatmulLibrary {
public:
  LtLibrary(const Lt &L, LtHandle Handle) : L(L), Handle(Handle) {}
  ~LtLibrary() override { L.Destroy(Handle); }

  remat::runtime::Result<std::unique_ptr<Matmul>>
  prepare(const MatmulProblem &P, const MatmulCache &Shipped,
          MatmulCache *Cache, const Driver &D, Stream S) override;
  size_t getVersion() const override { return L.GetVersion(); }

private:
  Lt L;
  LtHandle Handle;
};

} // namespace

/// What was measured for the problem, else for the same without an addend:
/// reading one more tensor changes little of what is fastest.
static std::optional<Algorithm> findShipped(const MatmulCache &Shipped,
                                            MatmulProblem P) {
  std::optional<Algorithm> Known = Shipped.find(P.getKey());
  if (Known || !P.HasAddend)
    return Known;
  P.HasAddend = false;
  return Shipped.find(P.getKey());
}

Result<std::unique_ptr<Matmul>> LtLibrary::prepare(const MatmulProblem &P,
                                                   const MatmulCache &Shipped,
                                                   MatmulCache *Cache,
                                                   const Driver &D, Stream S) {
  auto Made = std::make_unique<LtMatmul>(L, Handle, P);
  if (Status Described = Made->describe(); !Described)
    return Described.getError();
  std::optional<Algorithm> Known;
  if (Cache)
    Known = Cache->find(P.getKey());
  if (!Known || !Made->accepts(*Known))
    Known = findShipped(Shipped, P);
  if (Known && Made->accepts(*Known)) {
    Made->use(*Known);
    return std::unique_ptr<Matmul>(std::move(Made));
  }
  if (Cache) {
    if (Status Measured = Made->measure(D, S); !Measured)
      return Measured.getError();
    if (Status Added = Cache->add(P.getKey(), Made->getChosen()); !Added)
      return Added.getError();
    return std::unique_ptr<Matmul>(std::move(Made));
  }
  std::vector<LtHeuristic> First;
  if (Status Asked = Made->suggest(1, First); !Asked)
    return Asked.getError();
  Made->use(First.front().Value);
  return std::unique_ptr<Matmul>(std::move(Made));
}

Result<std::unique_ptr<MatmulLibrary>> MatmulLibrary::load() {
  Result<Lt> L = Lt::load();
  if (!L)
    return L.getError();
  LtHandle Handle = nullptr;
  if (Status Made = L->check(L->Create(&Handle), "cannot start cuBLASLt");
      !Made)
    return Made.getError();
  return std::unique_ptr<MatmulLibrary>(
      std::make_unique<LtLibrary>(*L, Handle));
}
