//===- MPIRanks.cpp - ranks that mpirun or srun started -------------------===//
//
// Every call of MPI that is made here returns at once. So a rank that is gone
// keeps nobody waiting longer than the time limit, whatever the MPI library
// does about it. Beside data there are notes: a rank that fails or ends says so
// to all others.
//
//===----------------------------------------------------------------------===//

#include "comm/MPIRanks.h"
#include "comm/MPIFunctions.h"
#include "remat/Support/Library.h"
#include <algorithm>
#include <cstdlib>
#include <thread>
#include <utility>

using namespace remat;
using namespace remat::runtime;

namespace {

using Clock = std::chrono::steady_clock;

/// How long news of a rank may be under way.
constexpr auto Grace = std::chrono::seconds(2);

/// Lets others run between two looks at what has not come: there may be more
/// ranks than processors. Yielding is quickest, but where something else then
/// runs for its whole turn, a short sleep comes back sooner.
class Pause {
public:
  void operator()() {
    constexpr auto Spin = std::chrono::microseconds(200);
    auto Now = Clock::now();
    if (Now - Begin < Spin && Now >= BusyUntil) {
      std::this_thread::yield();
      if (Clock::now() - Now > Turn)
        BusyUntil = Now + Memory;
      return;
    }
    std::this_thread::sleep_for(
        std::chrono::microseconds(Now - Begin < 100 * Spin ? 10 : 500));
  }

private:
  static constexpr auto Turn = std::chrono::microseconds(100);
  static constexpr auto Memory = std::chrono::milliseconds(200);
  static inline thread_local Clock::time_point BusyUntil;
  Clock::time_point Begin = Clock::now();
};

/// What a note begins with.
enum class Note : char { Failed = 'F', Ended = 'E', Waiting = 'W' };

class MPIRanks : public Ranks {
public:
  MPIRanks(const RematMPI &F, int Rank, int Size, int Local)
      : Ranks(uint32_t(Rank), uint32_t(Size), uint32_t(Local)), F(F),
        HasEnded(Size), IsWaiting(Size) {}
  ~MPIRanks() override { leave(); }

  /// Ends what this process does in MPI; nothing may be exchanged any more.
  void leave();

private:
  /// A message that is on its way.
  struct Transfer {
    uint32_t Peer;
    bool IsReceive, IsDone;
    int Bytes;
    RematMPIRequest Request;
  };

  Status run(std::span<const Send> Sends,
             std::span<const Receive> Receives) override;
  void tell(const std::string &Message) override { say(Note::Failed, Message); }

  Status start(std::span<const Send> Sends, std::span<const Receive> Receives,
               std::vector<Transfer> &Out);
  Status test(Transfer &T) const;
  Status wait(std::vector<Transfer> &All);
  Result<std::vector<uint32_t>> look(std::vector<Transfer> &All);
  Status checkTime(std::span<const uint32_t> Missing, Clock::time_point Begin,
                   bool &HasSaid);
  Status readNotes();
  void say(Note Kind, const std::string &Text);
  bool waitForEnd();

  const RematMPI &F;
  bool HasLeft = false;
  std::vector<bool> HasEnded;
  std::vector<bool> IsWaiting; ///< said since this one waits that it does too
};

} // namespace

static Error makeError(const char *Words) {
  return Error(ErrorCode::RankFailure, std::string("MPI: ") + Words);
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

/// Calls F(bytes from the first, bytes) for messages of a size that MPI counts.
template <typename Function>
static void forMessages(uint64_t Bytes, Function F) {
  constexpr uint64_t Most = 1 << 30;
  for (uint64_t At = 0; At < std::max<uint64_t>(Bytes, 1); At += Most)
    F(At, static_cast<int>(std::min(Most, Bytes - At)));
}

Status MPIRanks::start(std::span<const Send> Sends,
                       std::span<const Receive> Receives,
                       std::vector<Transfer> &Out) {
  const char *Words = nullptr;
  auto Add = [&](uint32_t Peer, bool IsReceive, int Bytes, auto Start) {
    if (Words)
      return;
    Transfer T = {Peer, IsReceive, false, Bytes, {}};
    if (!(Words = Start(&T.Request)))
      Out.push_back(T);
  };
  for (const Receive &R : Receives)
    forMessages(R.Bytes, [&](uint64_t At, int Bytes) {
      Add(R.Peer, true, Bytes, [&](RematMPIRequest *Request) {
        return F.receive(RematMPIData, static_cast<char *>(R.Data) + At, Bytes,
                         int(R.Peer), Request);
      });
    });
  for (const Send &S : Sends)
    forMessages(S.Bytes, [&](uint64_t At, int Bytes) {
      Add(S.Peer, false, Bytes, [&](RematMPIRequest *Request) {
        return F.send(RematMPIData, static_cast<const char *>(S.Data) + At,
                      Bytes, int(S.Peer), Request);
      });
    });
  if (Words)
    return makeError(Words);
  return {};
}

Status MPIRanks::test(Transfer &T) const {
  int Done = 0, Bytes = 0;
  if (const char *Words = F.test(&T.Request, &Done, &Bytes)) {
    // Too long a message is the only error that a receive itself meets.
    T.IsDone = true;
    return makeError(Words).within(
        "receiving " + std::to_string(T.Bytes) + " bytes from rank " +
        std::to_string(T.Peer) + ", which does not run the same program");
  }
  T.IsDone = Done;
  if (Done && T.IsReceive && Bytes != T.Bytes)
    return makeSizeError(T.Peer, uint64_t(Bytes), uint64_t(T.Bytes));
  return {};
}

/// The ranks that have not come yet.
Result<std::vector<uint32_t>> MPIRanks::look(std::vector<Transfer> &All) {
  std::vector<uint32_t> Missing;
  for (Transfer &T : All) {
    if (!T.IsDone)
      if (Status S = test(T); !S)
        return S.getError();
    if (!T.IsDone)
      Missing.push_back(T.Peer);
  }
  return Missing;
}

/// The error once it is too late. A rank may be missing because it waits itself
/// for the one that is gone: it says that it waits, and is given a little more
/// time to name that one.
Status MPIRanks::checkTime(std::span<const uint32_t> Missing,
                           Clock::time_point Begin, bool &HasSaid) {
  auto Waited = Clock::now() - Begin;
  if (!HasSaid && Waited >= getTimeLimit() / 4) {
    HasSaid = true;
    say(Note::Waiting, "");
  }
  if (Waited < getTimeLimit())
    return {};
  std::vector<uint32_t> Silent;
  std::ranges::copy_if(Missing, std::back_inserter(Silent),
                       [&](uint32_t Peer) { return !IsWaiting[Peer]; });
  if (!Silent.empty())
    return makeLateError(Silent);
  return Waited < getTimeLimit() + Grace ? Status() : makeLateError(Missing);
}

Status MPIRanks::wait(std::vector<Transfer> &All) {
  // What was said before is of an earlier wait.
  if (Status S = readNotes(); !S)
    return S;
  IsWaiting.assign(getSize(), false);
  auto Begin = Clock::now();
  bool HasSaid = false;
  std::optional<Clock::time_point> Ending;
  Pause Rest;
  while (true) {
    auto Missing = look(All);
    if (!Missing)
      return Missing.getError();
    if (Missing->empty())
      return {};
    if (Status S = readNotes(); !S)
      return S;
    // What a rank sent before it ended may come after the note that it has.
    auto Gone = std::ranges::find_if(
        *Missing, [&](uint32_t Peer) { return bool(HasEnded[Peer]); });
    if (Gone != Missing->end()) {
      if (!Ending)
        Ending = std::min<Clock::time_point>(Clock::now() + Grace,
                                             Begin + getTimeLimit());
      if (Clock::now() >= *Ending)
        return makeEndedError(*Gone);
    }
    if (Status S = checkTime(*Missing, Begin, HasSaid); !S)
      return S;
    Rest();
  }
}

Status MPIRanks::run(std::span<const Send> Sends,
                     std::span<const Receive> Receives) {
  std::vector<Transfer> All;
  Status Done = start(Sends, Receives, All);
  if (Done)
    Done = wait(All);
  // Nothing is written any more where it was to go.
  if (!Done)
    for (Transfer &T : All)
      if (T.IsReceive && !T.IsDone)
        (void)F.drop(&T.Request);
  return Done;
}

//===----------------------------------------------------------------------===//
// Notes
//===----------------------------------------------------------------------===//

/// Takes what notes are there. The error is what another rank failed with.
Status MPIRanks::readNotes() {
  while (true) {
    int Found = 0, Peer = 0, Bytes = 0;
    if (const char *Words = F.probe(&Found, &Peer, &Bytes))
      return makeError(Words);
    if (!Found)
      return {};
    std::string Text(Bytes, ' ');
    Transfer T = {uint32_t(Peer), true, false, Bytes, {}};
    if (const char *Words =
            F.receive(RematMPINotes, Text.data(), Bytes, Peer, &T.Request))
      return makeError(Words);
    // It has come: the receive is a copy.
    for (Pause Rest; !T.IsDone; Rest())
      if (Status S = test(T); !S)
        return S;
    if (Text.empty() || Note(Text[0]) == Note::Failed)
      return heard(Text.substr(std::min<size_t>(1, Text.size())));
    (Note(Text[0]) == Note::Ended ? HasEnded : IsWaiting)[Peer] = true;
  }
}

/// Gives a note to all others. It is short, so that MPI keeps it until they
/// look; who does not come for it is not waited for. Those that have ended are
/// about to leave MPI, and hear that nobody else will.
void MPIRanks::say(Note Kind, const std::string &Text) {
  constexpr size_t Longest = 1000;
  std::string Bytes = static_cast<char>(Kind) + Text.substr(0, Longest);
  std::vector<Transfer> All;
  for (uint32_t Peer = 0; Peer < getSize(); ++Peer) {
    Transfer T = {Peer, false, false, int(Bytes.size()), {}};
    if (Peer != getRank() &&
        !F.send(RematMPINotes, Bytes.data(), T.Bytes, int(Peer), &T.Request))
      All.push_back(T);
  }
  auto End = Clock::now() + std::chrono::seconds(1);
  auto IsDone = [&](Transfer &T) { return T.IsDone || !test(T) || T.IsDone; };
  for (Pause Rest; !std::ranges::all_of(All, IsDone) && Clock::now() < End;)
    Rest();
}

/// Whether all others are about to leave MPI too. Who leaves it waits there for
/// those that do not come, so where one failed nobody does.
bool MPIRanks::waitForEnd() {
  say(Note::Ended, "");
  Transfer T = {getRank(), false, false, 0, {}};
  if (F.startBarrier(&T.Request))
    return false;
  // The others may still be busy alone: write files, say.
  constexpr auto Least = std::chrono::minutes(10);
  auto End = Clock::now() + std::max<Clock::duration>(Least, getTimeLimit());
  for (Pause Rest; Clock::now() < End; Rest()) {
    if (!test(T))
      return false;
    if (T.IsDone)
      return true;
    if (!readNotes())
      return false;
  }
  return false;
}

void MPIRanks::leave() {
  if (!std::exchange(HasLeft, true) && !hasFailed() && waitForEnd())
    (void)F.finish();
}

/// Who never lets go of the ranks, as a Python program does not, leaves when
/// the process ends: mpirun takes a process that does not leave for a failed
/// one.
static void leaveAtExit(const std::shared_ptr<MPIRanks> &Made) {
  static std::weak_ptr<MPIRanks> Kept;
  Kept = Made;
  std::atexit([] {
    if (std::shared_ptr<MPIRanks> Left = Kept.lock())
      Left->leave();
  });
}

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

Result<std::shared_ptr<Ranks>>
remat::runtime::createMPIRanks(uint32_t Expected) {
  const std::string Name = "libremat-mpi.so";
  SharedLibrary Found = openOwnLibrary(Name);
  if (!Found.Handle)
    return Error(ErrorCode::Unavailable,
                 "no MPI for the " + std::to_string(Expected) +
                     " processes that were started together: " + Found.Why);
  auto *Get =
      reinterpret_cast<decltype(&rematGetMPI)>(Found.find(REMAT_MPI_SYMBOL));
  if (!Get)
    return Error(ErrorCode::Unavailable, Name + " is of another version");
  const RematMPI &F = *Get();
  int Rank = 0, Size = 1, Local = 0;
  if (const char *Words = F.start(&Rank, &Size, &Local))
    return Error(ErrorCode::Unavailable,
                 std::string("MPI does not start: ") + Words);
  if (uint32_t(Size) != Expected) {
    (void)F.finish();
    return Error(ErrorCode::Unavailable,
                 std::to_string(Expected) +
                     " processes were started together, MPI sees " +
                     std::to_string(Size) +
                     ": start them with the mpirun of the MPI that " + Name +
                     " was built with");
  }
  auto Made = std::make_shared<MPIRanks>(F, Rank, Size, Local);
  leaveAtExit(Made);
  return std::shared_ptr<Ranks>(std::move(Made));
}
