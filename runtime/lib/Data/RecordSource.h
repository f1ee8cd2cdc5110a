//===- RecordSource.h - batches of records ----------------------*- C++ -*-===//

#ifndef REMAT_RUNTIME_LIB_DATA_RECORDSOURCE_H
#define REMAT_RUNTIME_LIB_DATA_RECORDSOURCE_H

#include "lib/Data/Array.h"
#include "lib/Data/Shuffle.h"
#include "remat/runtime/Data/BatchSource.h"

namespace remat::runtime {

/// What of each record one input holds.
class Column {
public:
  virtual ~Column() = default;
  virtual uint64_t getNumRecords() const = 0;
  /// Writes row `Row` of the batch of a step, counted over all shares, as the
  /// program stores it. Several threads may call it at once.
  virtual Status read(uint64_t Record, uint64_t Step, uint64_t Row,
                      char *To) const = 0;
};

/// A column and the argument that it fills.
struct FilledInput {
  uint32_t Argument = 0;
  std::unique_ptr<Column> From;
};

/// Batches of records: row r of every input is from the same record. Each epoch
/// visits all records once in an order drawn from (seed, epoch), and a rest
/// smaller than a batch is left out.
class RecordSource final : public BatchSource {
public:
  /// InvalidArgument unless the columns have equally many records, which fill a
  /// batch, and the inputs equally many rows.
  static Result<std::unique_ptr<BatchSource>>
  create(const Program &Program, std::vector<FilledInput> Inputs, uint64_t Seed,
         const DataShare &Share);

  uint64_t getBatchesPerEpoch() const override {
    return NumRecords / (Rows * Share.Count);
  }

protected:
  Status fill(uint64_t Step, uint64_t Number, Batch &To) const override;

private:
  RecordSource(std::vector<FilledInput> Inputs, uint64_t NumRecords,
               uint64_t Rows, uint64_t Seed, const DataShare &Share);

  std::vector<FilledInput> Inputs;
  std::vector<uint64_t> RowBytes; ///< by input
  uint64_t NumRecords, Rows;
  Shuffle Order;
};

/// The number of an input by its name, which `Where` gives; an error that lists
/// the inputs.
Result<uint32_t> findInput(const Program &Program, const std::string &Name,
                           const std::string &Where);

/// Every input must be there once, in `Inputs` or in `Others`: an input that is
/// forgotten would be random.
Status checkInputs(const Program &Program,
                   const std::vector<FilledInput> &Inputs,
                   const std::vector<std::string> &Others);

/// A column of an array for an input; the shapes behind the first dimension
/// must be the same, and the elements be convertible.
Result<FilledInput> makeArrayInput(const Program &Program, uint32_t Argument,
                                   Array From);

/// What is done to pictures, and the seed of its chance.
struct PictureOptions {
  std::string Augment;  ///< see Augmentation::parse; "": nothing
  bool ByChance = true; ///< else as Augmentation::withoutChance
  uint64_t Seed = 0;
};

/// Whether an array may be pictures for an input: bytes, and floats of two or
/// three dimensions in each row.
bool holdsPictures(const Program &Program, uint32_t Argument,
                   const Array &From);
Result<FilledInput> makePictureInput(const Program &Program, uint32_t Argument,
                                     Array From, const PictureOptions &Options);

/// Whether a folder has folders in it: one for each class of pictures.
bool isPictureFolder(const std::string &Path);
/// The pictures of a folder for the one input that they fit, and the numbers of
/// their classes, which are the folders' in the order of their names, for the
/// one input of a number in each row, if there is one.
Result<std::vector<FilledInput>>
openPictureFolder(const Program &Program, const std::string &Path,
                  const PictureOptions &Options);

} // namespace remat::runtime

#endif // REMAT_RUNTIME_LIB_DATA_RECORDSOURCE_H
