//===- Folder.h - folders and their locks ------------------------*- C++
//-*-===//

#ifndef REMAT_SUPPORT_FOLDER_H
#define REMAT_SUPPORT_FOLDER_H

#include "remat/Support/File.h"
#include <string>
#include <vector>

namespace remat {

/// The names of what lies in a folder, in no order; none where there is no
/// folder.
FileFailure listFolder(const std::string &Path,
                       std::vector<std::string> &Names);

/// A folder that one process at a time has, until it ends, however it does.
class FolderLock {
public:
  FolderLock() = default;
  ~FolderLock();
  FolderLock(FolderLock &&From) noexcept;
  FolderLock &operator=(FolderLock &&From) noexcept;

  /// Makes the folder where there is none; its parent must be there. Fails
  /// where another has it. File systems without locks give it to everybody.
  FileFailure take(const std::string &Path);

  /// Whether what was taken still has this path: it may have been removed.
  bool isOf(const std::string &Path) const;

private:
  int Descriptor = -1;
};

} // namespace remat

#endif // REMAT_SUPPORT_FOLDER_H
