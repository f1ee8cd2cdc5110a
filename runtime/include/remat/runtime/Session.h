//===- Session.h - a program with its memory --------------------*- C++ -*-===//
//
// A session holds one program's arena on one device and runs its steps:
//
//   auto Device = createDevice("host");
//   auto Session = Session::create(Bytes, **Device);
//   (*Session)->initialise(/*Seed=*/1);
//   (*Session)->writeArgument("x", Data, sizeof Data);
//   (*Session)->runStep();
//   float Loss;
//   (*Session)->readResult("loss", &Loss, sizeof Loss);
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_SESSION_H
#define REMAT_RUNTIME_SESSION_H

#include "remat/runtime/Device.h"
#include "remat/runtime/Parts.h"
#include "remat/runtime/Pool.h"
#include "remat/runtime/Program.h"
#include "remat/runtime/Result.h"
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace remat::runtime {

struct SessionOptions {
  PoolOptions Pool;    ///< of the session's own pool
  bool Poison = false; ///< see RunOptions
  bool Ranges = false; ///< see RunOptions
  /// Look for the first value of each step that is not finite (FiniteCheck).
  bool CheckFinite = false;
};

struct SessionStatistics {
  /// The pool's `requested` peak: the arena.
  uint64_t MeasuredPeakBytes = 0;
  /// The pool's `allocated` and `reserved` peaks.
  uint64_t AllocatedPeakBytes = 0, ReservedPeakBytes = 0;
  uint64_t Steps = 0;
  double LastStepMs = 0;   ///< from start to the end of the device's work
  double MedianStepMs = 0; ///< of all steps but the first, if there are more
};

/// Bytes that a session copies at once to or from a file.
inline constexpr uint64_t StreamBytes = uint64_t(1) << 20;

/// Sessions of one device can be used by several threads, each session by one
/// at a time.
class Session {
public:
  /// Loads and verifies `Program` (untrusted; not kept), makes it ready on
  /// `Device` (not owned, outlives the session) and allocates its arena.
  /// OutOfMemory names the op at the program's peak and the bytes; nothing is
  /// left allocated and `create` can be called again.
  static Result<std::unique_ptr<Session>>
  create(std::span<const uint8_t> Program, Device &Device,
         const SessionOptions &Options = {});
  /// The same for a program that is loaded already.
  static Result<std::unique_ptr<Session>>
  create(std::shared_ptr<const Program> Program, Device &Device,
         const SessionOptions &Options = {});
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  const Program &getProgram() const { return *TheProgram; }
  Device &getDevice() const { return TheDevice; }
  /// This rank's number; 0 where there is one.
  uint32_t getRank() const {
    return TheDevice.getRanks() ? TheDevice.getRanks()->getRank() : 0;
  }
  /// What of each batch this session's inputs are. All ranks give a function
  /// beside the program the same inputs.
  DataShare getDataShare() const {
    return Main ? DataShare() : runtime::getDataShare(*TheProgram, getRank());
  }

  /// Writes every argument but the inputs: parameters and states by their init
  /// (normal: mean 0, deviation init_value; uniform: [-init_value, init_value);
  /// zeros without one), drawn from Philox with `Seed` and an id made of the
  /// argument's name, so that they depend on neither order nor program; the
  /// seed argument is `Seed`, the step argument 0, a learning rate its init.
  /// A part of a tensor gets what the whole would have at its places.
  Status initialise(uint64_t Seed);

  /// Fills each input with random numbers that depend on `Seed`, `Draw` and its
  /// name only: floats are normal, integers uniform in [0, bound) (bound 0 is
  /// taken as 2), i1 fair. The arguments numbered in `Except` are left alone.
  /// Where ranks share a batch, each gets its rows of one tensor that has those
  /// of all, one rank's behind the other's.
  Status fillInputs(uint64_t Seed, uint64_t Draw,
                    std::span<const uint32_t> Except = {});

  /// Writes or reads a whole tensor by name; `Bytes` must be its size. `Data`
  /// is host memory and stays the caller's.
  Status writeArgument(std::string_view Name, const void *Data, uint64_t Bytes);
  /// The same, but `Data` stays as it is until the next step has ended. From
  /// memory of Device::allocateHost nothing waits for the copy.
  Status writeArgumentLater(std::string_view Name, const void *Data,
                            uint64_t Bytes);
  /// `Data` is memory of the session's device, written by what its stream waits
  /// for.
  Status writeArgumentFromDevice(std::string_view Name, const void *Data,
                                 uint64_t Bytes);
  Status readArgument(std::string_view Name, void *Data, uint64_t Bytes);
  Status readResult(std::string_view Name, void *Data, uint64_t Bytes);

  /// Where an argument or a result that holds a value lies, on the device. An
  /// argument's bytes may be written there between steps. InvalidArgument for
  /// what lies in halves, which the functions above take apart and join.
  Result<void *> getAddress(std::string_view Name, bool IsArgument) const;

  /// The same in pieces of at most StreamBytes, in order, through one buffer:
  /// `From` fills a piece that begins at byte `Offset`, `To` takes the next
  /// one. An error of either ends it; an argument that was not written to its
  /// end counts as not written.
  using Source =
      std::function<Status(uint64_t Offset, void *Data, uint64_t Bytes)>;
  using Sink = std::function<Status(const void *Data, uint64_t Bytes)>;
  Status loadArgument(std::string_view Name, const Source &From);
  Status storeArgument(std::string_view Name, const Sink &To);
  Status storeResult(std::string_view Name, const Sink &To);

  /// The same for a tensor that several ranks hold together, with the whole's
  /// bytes. All ranks call these. What is loaded is read by each rank where it
  /// needs it, and pieces may be read out of order. What is stored only `To`
  /// of rank 0 is given; an error that it has there is rank 0's only.
  Status loadWhole(std::string_view Name, const Source &From);
  Status storeWhole(std::string_view Name, const Sink &To);

  /// Runs one step and waits for it. InvalidArgument while an argument was
  /// never written, or an input that a step overwrites was not written since.
  /// After an error of a kernel the step can be run again once its cause is
  /// gone, unless donated arguments were already updated.
  Status runStep();

  /// The program's function of that name as a session over this one's arena; it
  /// lives as long as this one. Its inputs are written and its results read as
  /// here; parameters and states are this session's, and it only reads them.
  ///
  /// What of the arena does not survive a step is of one session at a time: the
  /// last that wrote an input or ran. The inputs and results of the others are
  /// lost, and count as not written.
  Result<Session *> getFunction(std::string_view Name);

  /// What the last step left that is not finite and where it came from, in
  /// words; nothing if all was finite or none was looked at.
  const std::optional<std::string> &getFirstNonfinite() const {
    return FirstNonfinite;
  }

  /// Ends the step that runs, or else the next one, with the code Interrupted,
  /// unless it has begun to change parameters or states: then it ends as it
  /// would have. On a GPU, and where several ranks run the program, that is
  /// once it has begun: all ranks end before the same step. Any thread may call
  /// this at any time.
  void interrupt() { IsInterrupted = true; }

  SessionStatistics getStatistics() const;
  /// 0 before the first step.
  double getLastStepMilliseconds() const {
    return StepMs.empty() ? 0 : StepMs.back();
  }
  const Pool &getPool() const { return Main ? Main->getPool() : *ThePool; }
  Executable &getExecutable() { return *TheExecutable; }

  /// SHA-256 (lower-case hexadecimal) over all parameters' bytes in the order
  /// of the arguments. All ranks call it and get what one that holds all of
  /// them would.
  Result<std::string> computeParametersDigest();

private:
  Session(std::shared_ptr<const Program> Program, Device &Device,
          const SessionOptions &Options);
  Session(std::shared_ptr<const Program> Function, Session &Main);
  Status prepare();
  Result<bool> takeInterrupt();
  Status addFunctions();
  Status occupy();
  void vacate();
  bool holdsValue(size_t Argument) const;
  Status checkWritten() const;
  Status checkWritable(const Argument &A) const;
  Status allocateArena();
  Status loadConstants();
  char *getAddress(uint32_t Tensor) const;
  Result<uint32_t> findArgument(std::string_view Name, uint64_t Bytes) const;
  Result<uint32_t> findValue(std::string_view Name, bool IsArgument) const;
  /// Where an argument's new value lies: on the host, perhaps until the next
  /// step has ended, or on the device.
  enum class Origin { Host, HostUntilStep, Device };
  Status write(std::string_view Name, const void *Data, uint64_t Bytes,
               Origin From);
  Status copyIn(uint32_t Tensor, const void *Data, uint64_t Bytes, Origin From);
  Status splitFromDevice(uint32_t Tensor, const void *Data, uint64_t Bytes);
  Status read(std::string_view Name, bool IsArgument, void *Data,
              uint64_t Bytes);
  Status store(std::string_view Name, bool IsArgument, const Sink &To);
  Status join(const Argument &A, const Sink &To);
  Status sendPart(const Argument &A);

  std::shared_ptr<const Program> TheProgram;
  Device &TheDevice;
  SessionOptions Options;
  std::unique_ptr<Pool> ThePool;
  std::unique_ptr<Executable> TheExecutable;
  void *Arena = nullptr;
  /// Of a function the program's session; null for that.
  Session *Main = nullptr;
  std::vector<std::unique_ptr<Session>> Functions; ///< as in the program
  /// Of the program's session: whose inputs, constants of functions and results
  /// the arena holds beside what survives a step. Null: nobody's.
  Session *Occupant = nullptr;
  std::vector<bool> Written; ///< by argument; of a function, its inputs only
  /// Of a function, by argument: its number in the program, where it is shared.
  std::vector<std::optional<uint32_t>> SharedWith;
  bool HasRun = false; ///< results hold values
  std::atomic<bool> IsInterrupted = false;
  std::vector<double> StepMs;
  std::optional<std::string> FirstNonfinite;
};

} // namespace remat::runtime

#endif // REMAT_RUNTIME_SESSION_H
