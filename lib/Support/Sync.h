//===- Sync.h - what is on the disk ------------------------------*- C++
//-*-===//

#ifndef REMAT_LIB_SUPPORT_SYNC_H
#define REMAT_LIB_SUPPORT_SYNC_H

#include <string>

namespace remat {

/// Brings what was written to the disk. Gives the error's number, or 0: some
/// file systems and all pipes have nothing to bring.
int syncFile(int Descriptor);

/// Brings the names in a folder ("": the current one) to the disk: a file whose
/// name is lost is lost. Gives the error's number, or 0.
int syncFolder(const std::string &Folder);

} // namespace remat

#endif // REMAT_LIB_SUPPORT_SYNC_H
