//===- Checkpoint.cpp - a training that can go on later -------------------===//

#include "remat/runtime/Checkpoint.h"
#include "Session.h"

using namespace remat;
using namespace remat::capi;

struct RematCheckpoint_ {
  runtime::Checkpoint Found;
  std::vector<std::string> Skipped;
};

RematStatus rematSessionSaveCheckpoint(RematSession Session, const char *Folder,
                                       uint64_t Steps, uint64_t Keep) {
  return use(Session, Folder, "session and folder",
             [&](runtime::Session &S) -> runtime::Status {
               auto Writing = runtime::CheckpointFolder::open(Folder);
               if (!Writing)
                 return Writing.getError();
               auto Path = Writing->save(S, Steps, {}, Keep);
               return Path ? runtime::Status() : Path.getError();
             });
}

RematStatus rematCheckpointFind(const char *Folder,
                                RematCheckpoint *Checkpoint) {
  return guard([&]() -> RematStatus {
    if (!Folder || !Checkpoint)
      return makeNullError("folder and checkpoint");
    *Checkpoint = nullptr;
    auto Search = runtime::findCheckpoint(Folder);
    if (!Search)
      return makeStatus(Search.getError());
    if (Search->Newest)
      *Checkpoint = new RematCheckpoint_{std::move(*Search->Newest),
                                         std::move(Search->Skipped)};
    return nullptr;
  });
}

void rematCheckpointDestroy(RematCheckpoint Checkpoint) { delete Checkpoint; }

const char *rematCheckpointGetPath(RematCheckpoint Checkpoint) {
  return Checkpoint ? Checkpoint->Found.Path.c_str() : nullptr;
}

uint64_t rematCheckpointGetSteps(RematCheckpoint Checkpoint) {
  return Checkpoint ? Checkpoint->Found.Steps : 0;
}

const char *rematCheckpointGetSkipped(RematCheckpoint Checkpoint,
                                      size_t Number) {
  return Checkpoint && Number < Checkpoint->Skipped.size()
             ? Checkpoint->Skipped[Number].c_str()
             : nullptr;
}

RematStatus rematSessionLoadCheckpoint(RematSession Session,
                                       RematCheckpoint Checkpoint) {
  return use(Session, Checkpoint, "session and checkpoint",
             [&](runtime::Session &S) {
               return runtime::loadCheckpoint(S, Checkpoint->Found);
             });
}
