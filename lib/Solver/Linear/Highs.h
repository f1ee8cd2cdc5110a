//===- Highs.h - The HiGHS library, loaded at run time --------------------===//
#ifndef REMAT_LIB_SOLVER_HIGHS_H
#define REMAT_LIB_SOLVER_HIGHS_H

#include <string>

namespace remat::solver {

/// The functions of HiGHS's C interface that are used here, by their names
/// there without "Highs_". Integers are 32 bits wide, which is checked.
struct Highs {
  using Callback = void (*)(int Kind, const char *Message, const void *Out,
                            void *In, void *User);

  // NOLINTBEGIN(readability-identifier-naming): the library's names.
  void *(*create)();
  void (*destroy)(void *);
  int (*versionMajor)();
  int (*versionMinor)();
  int (*getSizeofHighsInt)(const void *);
  double (*getInfinity)(const void *);
  int (*setBoolOptionValue)(void *, const char *, int);
  int (*setIntOptionValue)(void *, const char *, int);
  int (*setDoubleOptionValue)(void *, const char *, double);
  int (*passMip)(void *, int Columns, int Rows, int Entries, int Format,
                 int Sense, double Offset, const double *Cost,
                 const double *Lower, const double *Upper,
                 const double *RowLower, const double *RowUpper,
                 const int *Start, const int *Index, const double *Value,
                 const int *Integrality);
  int (*setSolution)(void *, const double *Columns, const double *Rows,
                     const double *ColumnDuals, const double *RowDuals);
  int (*setCallback)(void *, Callback, void *User);
  int (*startCallback)(void *, int Kind);
  int (*run)(void *);
  int (*getModelStatus)(const void *);
  int (*getSolution)(const void *, double *Columns, double *ColumnDuals,
                     double *Rows, double *RowDuals);
  int (*getDoubleInfoValue)(const void *, const char *, double *);
  int (*getInt64InfoValue)(const void *, const char *, long long *);
  int (*getIntInfoValue)(const void *, const char *, int *);
  // NOLINTEND(readability-identifier-naming)

  /// The library, which stays loaded, or null with the reason.
  static const Highs *get(std::string &Why);
};

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_HIGHS_H
