//===- Machine.cpp - what ranks of one machine share ----------------------===//

#include "remat/runtime/Machine.h"
#include <algorithm>
#include <fstream>
#include <sched.h>
#include <thread>
#include <unistd.h>

using namespace remat::runtime;

/// The same text in all processes of a machine, and in no others. Containers
/// count as one machine, as they have its processors and memory.
static std::string nameMachine() {
  std::string Name;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), Name);
  if (Name.empty()) {
    Name.resize(256);
    if (gethostname(Name.data(), Name.size() - 1))
      Name.clear();
  }
  return Name;
}

/// A byte for each processor by number: 1 where this process may run on it.
static std::string listProcessors() {
  constexpr int Most = 8192;
  std::string List(Most, 0);
  cpu_set_t *Set = CPU_ALLOC(Most);
  size_t Bytes = CPU_ALLOC_SIZE(Most);
  if (Set && !sched_getaffinity(0, Bytes, Set))
    for (int Number = 0; Number < Most; ++Number)
      List[Number] = CPU_ISSET_S(Number, Bytes, Set) != 0;
  if (Set)
    CPU_FREE(Set);
  List.resize(List.find_last_not_of('\0') + 1);
  return List.empty() ? std::string(std::thread::hardware_concurrency(), 1)
                      : List;
}

unsigned remat::runtime::shareProcessors(const std::string &Own,
                                         std::span<const std::string> All) {
  double Sum = 0;
  for (size_t Number = 0; Number < Own.size(); ++Number) {
    auto MayRun = [Number](const std::string &List) {
      return Number < List.size() && List[Number];
    };
    if (MayRun(Own))
      Sum += 1.0 / double(std::ranges::count_if(All, MayRun));
  }
  return std::max(1u, static_cast<unsigned>(Sum + 1e-6));
}

Result<MachineShare> remat::runtime::shareMachine(Ranks *R) {
  std::string Name = nameMachine() + '\n', Own = listProcessors();
  std::vector<std::string> Lists = {Own};
  if (R) {
    auto All = allGather(*R, Name + Own);
    if (!All)
      return All.getError();
    Lists.clear();
    for (const std::string &Said : *All)
      if (Said.starts_with(Name))
        Lists.push_back(Said.substr(Name.size()));
  }
  return MachineShare{static_cast<uint32_t>(Lists.size()),
                      shareProcessors(Own, Lists)};
}
