//===- SessionFiles.h - tensors between sessions and files ------*- C++ -*-===//

#ifndef REMAT_RUNTIME_SESSIONFILES_H
#define REMAT_RUNTIME_SESSIONFILES_H

#include "remat/runtime/Safetensors.h"
#include "remat/runtime/Session.h"
#include <initializer_list>
#include <string>

namespace remat::runtime {

// Files hold whole tensors. Where several ranks run the program all of them
// call these functions: each reads what it holds, and rank 0 writes.

/// Reads a safetensors file into a session: the parameters and the graph's
/// states, each of which must be there with its element type and shape; what
/// the optimizer remembers (its states, the count of steps) where the file
/// holds it, all or none. Other tensors of the file are ignored. Nothing is
/// written unless all of it fits.
Status loadWeights(Session &Session, const std::string &Path);

/// What of a session is saved.
enum class Saved {
  Model,    ///< parameters and the graph's states
  Averages, ///< the same with the averages of --ema, where the program keeps
            ///< them, under the parameters' names and in their types
  Training, ///< what the optimizer remembers too: training goes on from there
};

/// The state in which a program keeps the average of a parameter; null for
/// other arguments and where it keeps none.
const Argument *findAverage(const Program &Program, const Argument &Parameter);
bool hasAverages(const Program &Program);
/// Whether these are averages of something: they begin with the first step that
/// is not skipped.
Result<bool> haveAveragesBegun(Session &Session);

/// Saves arguments, in the program's order; averages only once they have begun.
Status saveWeights(Session &Session, const std::string &Path, Saved What);

/// Writes those inputs that `File` holds; every tensor of it must be an input.
/// Ranks that share a batch take their rows of it: the file has the rows of all
/// (DataShare), along the first dimension or along one more before it.
Status writeInputs(Session &Session, const TensorFile &File);

/// Saves the results of these roles. InvalidArgument if there is none.
Status saveResults(Session &Session, const std::string &Path,
                   std::initializer_list<Role> Roles);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_SESSIONFILES_H
