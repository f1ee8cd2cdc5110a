//===- CUDAExecutable.h - a program made ready on a GPU ---------*- C++ -*-===//

#ifndef REMAT_RUNTIME_CUDA_CUDAEXECUTABLE_H
#define REMAT_RUNTIME_CUDA_CUDAEXECUTABLE_H

#include "cuda/Collectives.h"
#include "cuda/Cudnn.h"
#include "cuda/Driver.h"
#include "cuda/Matmul.h"
#include "remat/runtime/Device.h"
#include "remat/runtime/Loop.h"
#include <map>
#include <memory>
#include <vector>

namespace remat::runtime::cuda {

/// What the programs of one device share.
struct DeviceState {
  Driver D;
  DeviceOptions Options;
  Ordinal Device = 0;
  Context TheContext = nullptr;
  Stream TheStream = nullptr; ///< Options.Stream, or owned
  std::string Name, Arch;
  std::unique_ptr<MatmulLibrary> Matmuls; ///< loaded when first needed
  std::unique_ptr<CudnnLibrary> Cudnn;    ///< loaded when first needed
  /// Algorithms that were measured beforehand, and where others are kept if the
  /// user wants them measured.
  std::unique_ptr<MatmulCache> Shipped, Cache;
  std::unique_ptr<Collectives> TheCollectives; ///< made when first needed
  uint64_t AllocatedBytes = 0;

  /// Waits for the stream; `What` is said of an error.
  Status synchronize(const std::string &What);
  ~DeviceState();
};

/// The steps are captured once into a graph, which each run launches.
class CUDAExecutable : public Executable {
public:
  CUDAExecutable(std::shared_ptr<const Program> P,
                 std::shared_ptr<DeviceState> State)
      : TheProgram(std::move(P)), State(std::move(State)) {}
  ~CUDAExecutable() override;

  /// Loads the kernels and chooses algorithms.
  Status prepare();

  Status run(void *Arena, const RunOptions &Options) override;
  std::vector<double> getStepMilliseconds() const override { return StepMs; }
  void setProfiling(bool On) override { Profiling = On; }

private:
  /// How one step runs: by launches, or by one of the libraries.
  struct PreparedStep {
    std::shared_ptr<Matmul> Product;
    std::shared_ptr<Attention> TheAttention;
    std::shared_ptr<Convolution> TheConvolution;
    std::unique_ptr<CUDAExecutable> Body; ///< of a loop
    bool IsCollective = false;
  };

  Status checkArch();
  Status loadKernels();
  Status checkLaunch(const Launch &L) const;
  Status prepareStep(const Step &S, PreparedStep &Out);
  Status openMatmulCaches();
  Status prepareMatmul(const Step &S, PreparedStep &Out);
  Status prepareCudnn(const Step &S, PreparedStep &Out);
  Status prepareCollective(const Step &S, PreparedStep &Out);
  template <typename Prepared, typename Problem>
  Result<std::shared_ptr<Prepared>>
  prepareOnce(std::map<std::string, std::shared_ptr<Prepared>> &Known,
              Problem P);

  /// The address of a byte of the arena; in a loop's body, of its arena.
  char *locate(uint64_t Offset) const {
    return Frame ? Frame->at(Offset) : Base + Offset;
  }
  char *getAddress(uint32_t Tensor) const;
  Status runStep(size_t Index);
  Status runLaunch(const Step &S, const Launch &L);
  Status runMatmul(const Step &S, Matmul &Product);
  Status runAttention(const Step &S, Attention &A);
  Status runConvolution(const Step &S, Convolution &C);
  Status runCollective(size_t Index);
  Status joinCollectives(const Step &S);
  Status joinAllCollectives();
  void usePlaces(std::vector<std::string> &Of);
  Status start(void *Arena, const RunOptions &Options);
  Status runLoop(const Step &S, CUDAExecutable &Body);
  Status runBody(const LoopFrame &Of);
  Status copy(const std::vector<LoopFrame::Copy> &Rows);
  Status runAll(const RunOptions &Options);
  Status runProfiled(const RunOptions &Options);
  Status capture(void *Arena);
  Status captureSteps();
  Status captureBehind(const std::vector<GraphNode> &Nodes);
  Result<std::vector<GraphNode>> getCaptured();
  Status poison(const std::vector<ByteRange> &Ranges);
  void dropGraph();
  std::string describe(size_t Index) const;
  Error describeFailure(size_t Index, const Error &E) const;

  std::shared_ptr<const Program> TheProgram;
  std::shared_ptr<DeviceState> State;
  std::vector<Module> Modules;
  std::vector<Function> Functions;
  std::vector<PreparedStep> Steps;
  /// Equal problems share one product, attention or convolution.
  std::map<std::string, std::shared_ptr<Matmul>> Products;
  std::map<std::string, std::shared_ptr<Attention>> KnownAttentions;
  std::map<std::string, std::shared_ptr<Convolution>> KnownConvolutions;
  char *Base = nullptr; ///< the arena that the graph was captured for
  const LoopFrame *Frame = nullptr; ///< while this is a loop's body that runs
  bool HasEarlyStart = false;       ///< kernels wait for those before them
  bool FollowsOne = true; ///< the next launch waits for one node at most
  bool Poisons = false;
  /// Steps run beside collectives whose bytes they do not touch.
  bool Overlaps = false;
  /// Of the collectives in the graph, and in steps that run one by one.
  std::vector<std::string> Places, SinglePlaces;
  /// What a launch gives the driver; between launches all are zeros.
  std::vector<void *> Pointers;
  GraphExec TheGraph = nullptr;
  bool Profiling = false;
  std::vector<double> StepMs;
};

} // namespace remat::runtime::cuda

#endif // REMAT_RUNTIME_CUDA_CUDAEXECUTABLE_H
