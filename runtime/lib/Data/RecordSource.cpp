//===- RecordSource.cpp - batches of records ------------------------------===//

#include "lib/Data/RecordSource.h"
#include "ops/Op.h"
#include <algorithm>

using namespace remat::runtime;

static constexpr uint64_t ShuffleId = 0x7265636f726473; // "records"

static Error invalid(const std::string &Why) {
  return Error(ErrorCode::InvalidArgument, Why);
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

RecordSource::RecordSource(std::vector<FilledInput> TheInputs,
                           uint64_t NumRecords, uint64_t Rows, uint64_t Seed,
                           const DataShare &Share)
    : BatchSource(Share), Inputs(std::move(TheInputs)), NumRecords(NumRecords),
      Rows(Rows), Order(NumRecords, Seed, ShuffleId) {
  for (const FilledInput &I : Inputs)
    Arguments.push_back(I.Argument);
}

Result<std::unique_ptr<BatchSource>>
RecordSource::create(const Program &P, std::vector<FilledInput> Inputs,
                     uint64_t Seed, const DataShare &Share) {
  auto GetName = [&](const FilledInput &I) -> std::string {
    return "'" + P.Arguments[I.Argument].Name + "'";
  };
  if (Inputs.empty())
    return invalid("there is no data");
  uint64_t Records = Inputs.front().From->getNumRecords(), Rows = 0;
  std::vector<uint64_t> RowBytes;
  for (const FilledInput &I : Inputs) {
    const Tensor &T = P.Tensors[P.Arguments[I.Argument].Tensor];
    uint64_t Here =
        T.Shape.empty() ? 0 : static_cast<uint64_t>(T.Shape.front());
    if (Here == 0)
      return invalid("input " + GetName(I) + " has no rows for records");
    if (Rows && Here != Rows)
      return invalid("input " + GetName(I) + " has " + std::to_string(Here) +
                     " rows, input " + GetName(Inputs.front()) + " has " +
                     std::to_string(Rows));
    Rows = Here;
    RowBytes.push_back(T.Bytes / Rows);
    if (I.From->getNumRecords() != Records)
      return invalid("input " + GetName(I) + " is given " +
                     std::to_string(I.From->getNumRecords()) +
                     " records, input " + GetName(Inputs.front()) + " " +
                     std::to_string(Records));
  }
  if (Records < Rows * Share.Count)
    return invalid(std::to_string(Records) + " records fill no batch of " +
                   std::to_string(Rows * Share.Count));
  std::unique_ptr<RecordSource> Made(
      new RecordSource(std::move(Inputs), Records, Rows, Seed, Share));
  Made->RowBytes = std::move(RowBytes);
  return std::unique_ptr<BatchSource>(std::move(Made));
}

Status RecordSource::fill(uint64_t Step, uint64_t Number, Batch &To) const {
  uint64_t First = Number * Rows; // of this share
  uint64_t PerEpoch = getBatchesPerEpoch();
  std::vector<uint64_t> Records(Rows);
  Order.get(Step / PerEpoch, Step % PerEpoch * Rows * Share.Count + First,
            Records);
  for (size_t I = 0; I < Inputs.size(); ++I) {
    To[I].Bytes.resize(RowBytes[I] * Rows);
    auto *At = reinterpret_cast<char *>(To[I].Bytes.data());
    for (uint64_t Row = 0; Row < Rows; ++Row, At += RowBytes[I])
      REMAT_TRY(Inputs[I].From->read(Records[Row], Step, First + Row, At));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Which inputs are filled
//===----------------------------------------------------------------------===//

static std::string listInputs(const Program &P) {
  std::string List;
  for (const Argument &A : P.Arguments)
    if (A.Role == Role::Input)
      List += (List.empty() ? "'" : ", '") + A.Name + "'";
  return List;
}

Result<uint32_t> remat::runtime::findInput(const Program &P,
                                           const std::string &Name,
                                           const std::string &Where) {
  std::optional<uint32_t> Number = P.findArgument(Name);
  if (Number && P.Arguments[*Number].Role == Role::Input)
    return *Number;
  return invalid(Where + ": the graph has no input '" + Name +
                 "'; its inputs are " + listInputs(P) +
                 ", and INPUT=FILE or INPUT=FILE:ARRAY names one");
}

Status remat::runtime::checkInputs(const Program &P,
                                   const std::vector<FilledInput> &Inputs,
                                   const std::vector<std::string> &Others) {
  for (uint32_t I = 0; I < P.Arguments.size(); ++I) {
    const Argument &A = P.Arguments[I];
    if (A.Role != Role::Input)
      continue;
    auto Times = std::ranges::count(Inputs, I, &FilledInput::Argument) +
                 std::ranges::count(Others, A.Name);
    if (Times > 1)
      return invalid("input '" + A.Name + "' is given twice");
    if (Times == 0)
      return invalid("input '" + A.Name +
                     "' is given no data, and would be random; name it by "
                     "INPUT=FILE or INPUT=FILE:ARRAY");
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Columns of arrays
//===----------------------------------------------------------------------===//

namespace {

class ArrayColumn final : public Column {
public:
  ArrayColumn(Array TheFrom, DType Type, int64_t Bound)
      : From(std::move(TheFrom)), Type(Type), Bound(Bound) {}

  uint64_t getNumRecords() const override { return From.getNumRecords(); }
  Status read(uint64_t Record, uint64_t, uint64_t, char *To) const override;

private:
  Array From;
  DType Type;
  int64_t Bound;
};

} // namespace

Status ArrayColumn::read(uint64_t Record, uint64_t, uint64_t, char *To) const {
  std::vector<char> Bytes(From.getRecordBytes());
  REMAT_TRY(From.read(Record, Bytes));
  Status Made = convertElements(From.Type, Bytes.data(), Type, To,
                                From.getRecordElements(), Bound);
  if (Made)
    return {};
  return Made.getError().within(From.Path + ": record " +
                                std::to_string(Record) + " of '" + From.Name +
                                "'");
}

Result<FilledInput>
remat::runtime::makeArrayInput(const Program &P, uint32_t Number, Array From) {
  const Argument &A = P.Arguments[Number];
  const Tensor &T = P.Tensors[A.Tensor];
  std::string Where = From.Path + ": '" + From.Name + "', " + From.describe();
  if (T.Shape.empty() || From.Shape.empty() ||
      !std::equal(T.Shape.begin() + 1, T.Shape.end(), From.Shape.begin() + 1,
                  From.Shape.end())) {
    std::string Wanted = "N";
    for (size_t I = 1; I < T.Shape.size(); ++I)
      Wanted += "x" + std::to_string(T.Shape[I]);
    return invalid(Where + " does not fit input '" + A.Name +
                   "', whose records are of tensor<" + Wanted + "x" +
                   std::string(getName(T.Type)) + ">");
  }
  if (std::optional<std::string> Why = explainConversion(From.Type, T.Type))
    return invalid(Where + " for input '" + A.Name + "': " + *Why);
  return FilledInput{
      Number, std::make_unique<ArrayColumn>(std::move(From), T.Type, A.Bound)};
}
