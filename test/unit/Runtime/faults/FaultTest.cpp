//===- FaultTest.cpp - every allocation and file call fails once ----------===//
//
// A scenario uses all of the runtime. It is run with its first call failing,
// then its second, and so on until it makes no more: each time there is an
// error, nothing leaks, no file is left over, and the next run works.
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"
#include "lib/Data/TokenBatches.h"
#include "lib/Guard.h"
#include "ops/Op.h"
#include "remat/runtime/Checkpoint.h"
#include "remat/runtime/Safetensors.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

using namespace remat;
using namespace remat::runtime;
using namespace remat::runtime::test;
namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// Calls that fail
//===----------------------------------------------------------------------===//

namespace {

enum class Kind { None, New, Memory, File };

std::atomic<Kind> Failing{Kind::None};
std::atomic<bool> AllBehind{false}; ///< fail not one call, but all from it on
std::atomic<int64_t> Left{0};       ///< calls until one fails
std::atomic<bool> Failed{false};
std::atomic<int64_t> Live{0}; ///< allocations

bool fails(Kind Of) {
  if (Failing != Of)
    return false;
  int64_t Before = Left.fetch_sub(1);
  if (Before > 0 || (Before < 0 && !AllBehind))
    return false;
  Failed = true;
  return true;
}

} // namespace

void *operator new(size_t Bytes) {
  void *Memory = fails(Kind::New) ? nullptr : std::malloc(Bytes ? Bytes : 1);
  if (!Memory)
    throw std::bad_alloc();
  ++Live;
  return Memory;
}
void operator delete(void *Memory) noexcept {
  Live -= Memory != nullptr;
  std::free(Memory);
}
void operator delete(void *Memory, size_t) noexcept { operator delete(Memory); }

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names
#define WRAP(Type, Name, Parameters, Arguments, Of, Result, Number)            \
  Type __real_##Name Parameters;                                               \
  Type __wrap_##Name Parameters {                                              \
    if (!fails(Of))                                                            \
      return __real_##Name Arguments;                                          \
    errno = Number;                                                            \
    return Result;                                                             \
  }
WRAP(ssize_t, write, (int F, const void *D, size_t N), (F, D, N), Kind::File,
     -1, ENOSPC)
WRAP(ssize_t, read, (int F, void *D, size_t N), (F, D, N), Kind::File, -1, EIO)
WRAP(ssize_t, pread, (int F, void *D, size_t N, off_t At), (F, D, N, At),
     Kind::File, -1, EIO)
WRAP(int, fsync, (int F), (F), Kind::File, -1, EIO)
WRAP(int, fchmod, (int F, mode_t M), (F, M), Kind::File, -1, EPERM)
WRAP(int, rename, (const char *A, const char *B), (A, B), Kind::File, -1, EIO)
WRAP(void *, aligned_alloc, (size_t A, size_t N), (A, N), Kind::Memory, nullptr,
     ENOMEM)
WRAP(void *, mmap,
     (void *At, size_t N, int P, int Flags, int File, off_t Offset),
     (At, N, P, Flags, File, Offset), Kind::Memory, MAP_FAILED, ENOMEM)

int __real_close(int F);
int __wrap_close(int F) {
  int Done = __real_close(F); // a failing close closes all the same
  if (!fails(Kind::File))
    return Done;
  errno = EIO;
  return -1;
}

int __real_open(const char *Path, int Flags, ...);
int __wrap_open(const char *Path, int Flags, ...) {
  va_list Rest;
  va_start(Rest, Flags);
  mode_t Mode = Flags & O_CREAT ? va_arg(Rest, mode_t) : 0;
  va_end(Rest);
  if (!fails(Kind::File))
    return __real_open(Path, Flags, Mode);
  errno = EACCES;
  return -1;
}
// NOLINTEND(bugprone-reserved-identifier)
}

//===----------------------------------------------------------------------===//
// The scenario
//===----------------------------------------------------------------------===//

namespace {

/// loss = mean of x w, w less a tenth of its gradient; in bf16 too, so that
/// the kernels of the host use scratch.
std::vector<uint8_t> makeProgram() {
  ProgramMaker P;
  uint32_t X = P.argument("x", bf16({4, 2}));
  uint32_t W = P.argument("w", f32({2, 3}), program::Role::Parameter, 1);
  P.Program.arguments.back()->init_kind = "normal";
  P.Program.arguments.back()->init_value = 1;
  uint32_t Rate = P.argument("rate", f32({}), program::Role::LearningRate);
  uint32_t N = P.tensor(bf16({2, 3})), Y = P.tensor(bf16({4, 3}));
  uint32_t E = P.tensor(f32({4, 3})), Z = P.tensor(f32({4, 3}));
  uint32_t Loss = P.tensor(f32({})), G = P.tensor(f32({2, 3}));
  uint32_t XF = P.tensor(f32({4, 2}));
  uint32_t New = P.tensor(f32({2, 3}), int64_t(offsetOf(P, W)));
  P.step("cast", {W}, {N});
  P.step("matmul", {X, N, NoTensor}, {Y});
  P.step("cast", {Y}, {E});
  P.kernel({E}, {Z}, {{"exp", {0}, f32({4, 3})}, {"add", {1, 0}, f32({4, 3})}},
           {2});
  P.step("reduce", {Z}, {Loss}, {text("kind", "mean"), ints("dims", {0, 1})});
  P.step("cast", {X}, {XF});
  P.step("matmul", {XF, Z, NoTensor}, {G}, {flag("transpose_lhs")});
  P.step("sgd", {W, G, NoTensor, Rate, NoTensor}, {New});
  P.result("loss", Loss, program::Role::Loss);
  P.result("w", New, program::Role::Parameter);
  return P.finish();
}

class FaultTest : public ::testing::Test {
protected:
  void SetUp() override {
    // In memory where that is possible: each run brings its files to the disk.
    Folder = (fs::is_directory("/dev/shm") ? fs::path("/dev/shm")
                                           : fs::temp_directory_path()) /
             ("remat-faults-" + std::to_string(::getpid()));
    fs::create_directories(Folder);
    Program = makeProgram();
    Header.Tensors = {{"w", DType::F32, {2, 3}, 0, 24}};
    std::vector<uint8_t> Tokens = *formatTokens(std::vector<uint16_t>(65, 1));
    TokenPath = Folder / "tokens";
    Saved = Folder / "saved";
    CheckpointPath = Folder / "checkpoints";
    ASSERT_EQ(writeWholeFile(TokenPath, Tokens.data(), Tokens.size()),
              std::nullopt);
    ASSERT_EQ(messageOf(runAll()), ""); // and what is made once is made
  }
  void TearDown() override { fs::remove_all(Folder); }

  Status runAll();
  Status save(Session &S);
  Status load(Session &S);
  Status readTokens();
  Status saveCheckpoints(Session &S);
  Status resume(Session &S);
  /// All that lies there, but for the older checkpoint: it is removed by the
  /// last call of a run.
  size_t countFiles() const {
    auto IsThere = [](const fs::directory_entry &Entry) {
      return Entry.path().filename() != "step-0000000001.safetensors";
    };
    return std::count_if(fs::recursive_directory_iterator(Folder),
                         fs::recursive_directory_iterator(), IsThere);
  }
  int64_t failEach(Kind Of, bool All);

  fs::path Folder;
  SafetensorsHeader Header;
  std::string TokenPath, Saved, CheckpointPath;
  RunFacts Facts = {{"--seed", "1"}};
  int Survived = 0; ///< runs that needed the failed call not
  std::vector<uint8_t> Program;
};

Status FaultTest::save(Session &S) {
  Result<TensorWriter> Writer = TensorWriter::create(Saved, Header);
  if (!Writer)
    return Writer.getError();
  REMAT_TRY(S.storeArgument("w", [&](const void *Data, uint64_t Bytes) {
    return Writer->write(Data, Bytes);
  }));
  return Writer->finish();
}

Status FaultTest::load(Session &S) {
  Result<TensorReader> Reader = TensorReader::open(Saved);
  if (!Reader)
    return Reader.getError();
  const TensorEntry *W = Reader->getHeader().find("w");
  return S.loadArgument("w", [&](uint64_t At, void *Data, uint64_t Bytes) {
    return Reader->read(*W, At, Data, Bytes);
  });
}

Status FaultTest::readTokens() {
  return guard([&]() -> Status {
    auto File = TokenFile::open(TokenPath);
    if (!File)
      return File.getError();
    std::vector<TokenFile> Files;
    Files.push_back(std::move(*File));
    auto Batches = TokenBatches::create(
        std::move(Files), {.Batch = 2, .Length = 4, .Bound = 9}, /*Seed=*/1);
    if (!Batches)
      return Batches.getError();
    int64_t Ids[8];
    return (*Batches)->get(0, Ids, {});
  });
}

Status FaultTest::saveCheckpoints(Session &S) {
  auto Writing = CheckpointFolder::open(CheckpointPath);
  if (!Writing)
    return Writing.getError();
  for (uint64_t Steps : {1, 2}) {
    auto Path = Writing->save(S, Steps, Facts, /*Keep=*/1);
    if (!Path)
      return Path.getError();
  }
  return {};
}

Status FaultTest::resume(Session &S) {
  auto Search = findCheckpoint(CheckpointPath);
  if (!Search)
    return Search.getError();
  if (!Search->Newest)
    return Error(ErrorCode::InvalidFile, "none is there");
  return loadCheckpoint(S, *Search->Newest);
}

/// All of it throws nothing; what the test itself needs was made before.
Status FaultTest::runAll() {
  auto D = createDevice("host", {.Threads = 2});
  if (!D)
    return D.getError();
  auto S = Session::create(Program, **D);
  if (!S)
    return S.getError();
  REMAT_TRY((*S)->initialise(1));
  REMAT_TRY((*S)->fillInputs(1, 0));
  REMAT_TRY((*S)->runStep());
  float Loss = 0;
  REMAT_TRY((*S)->readResult("loss", &Loss, sizeof Loss));
  REMAT_TRY(save(**S));
  REMAT_TRY(load(**S));
  REMAT_TRY(saveCheckpoints(**S));
  REMAT_TRY(resume(**S));
  auto Whole = readSafetensors(Saved);
  if (!Whole)
    return Whole.getError();
  REMAT_TRY(writeSafetensors(Saved, *Whole));
  REMAT_TRY(readTokens());
  auto Digest = (*S)->computeParametersDigest();
  return Digest ? Status() : Status(Digest.getError());
}

/// Runs the scenario with each call of a kind failing; gives how many there
/// are.
int64_t FaultTest::failEach(Kind Of, bool All) {
  AllBehind = All;
  for (int64_t Call = 0; Call < 100000; ++Call) {
    int64_t Before = Live;
    {
      Failed = false;
      Left = Call;
      Failing = Of;
      Status Done = runAll();
      Failing = Kind::None;
      if (!Failed) {
        EXPECT_EQ(messageOf(Done), "");
        return Call;
      }
      // A thread that cannot be made is done without, and what is read is read
      // whether it can be closed or not.
      if (Done)
        ++Survived;
    }
    EXPECT_EQ(Live, Before) << "leaked when call " << Call << " failed";
    EXPECT_EQ(countFiles(), 4u) << "when call " << Call << " failed";
    // Whatever fails, the newest checkpoint is there and whole.
    auto Search = findCheckpoint(CheckpointPath);
    EXPECT_TRUE(Search && Search->Newest && Search->Newest->Steps == 2)
        << messageOf(Search) << " when call " << Call << " failed";
    EXPECT_EQ(messageOf(runAll()), "") << "behind call " << Call;
    if (HasFailure())
      return Call;
  }
  ADD_FAILURE() << "the scenario has no end";
  return 0;
}

TEST_F(FaultTest, Allocations) {
  // Half a dozen of the scenario's several hundred can be done without: those
  // of threads.
  Survived = 0;
  int64_t Calls = failEach(Kind::New, false);
  EXPECT_GT(Calls, 300);
  EXPECT_LT(Survived, 10);
}

TEST_F(FaultTest, AllAllocationsFromOneOn) {
  EXPECT_GT(failEach(Kind::New, true), 300);
}

TEST_F(FaultTest, Blocks) {
  // The arena and the scratch of each of two workers at least.
  EXPECT_GE(failEach(Kind::Memory, false), 3);
}

TEST_F(FaultTest, Files) {
  // Five files are read and four written: open, write, fsync, rename, close,
  // and the folder's own open and fsync.
  EXPECT_GE(failEach(Kind::File, false), 47);
  EXPECT_GE(failEach(Kind::File, true), 47);
}

} // namespace
