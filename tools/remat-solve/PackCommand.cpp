//===- PackCommand.cpp - remat-solve pack ---------------------------------===//
#include "Commands.h"
#include "remat/Solver/JSON.h"
#include "remat/Support/Numbers.h"

#include <chrono>
#include <cstdio>
#include <sstream>

using namespace remat;
using namespace remat::solver;

namespace {

/// A CSV of buffers: a header that names id, lower, upper, size and, where
/// wanted, alignment and fixed; one buffer a line.
struct BufferFile {
  std::vector<Buffer> Buffers;
  std::vector<std::string> Ids;
  std::string Error;
};

std::vector<std::string> split(const std::string &Line) {
  std::vector<std::string> Out(1);
  for (char C : Line)
    if (C == ',')
      Out.emplace_back();
    else if (C != '\r' && C != ' ' && C != '\t')
      Out.back() += C;
  return Out;
}

BufferFile parse(const std::string &Text) {
  BufferFile F;
  std::istringstream In(Text);
  std::string Line;
  std::vector<std::string> Header;
  for (int Number = 1; std::getline(In, Line); ++Number) {
    std::vector<std::string> Cells = split(Line);
    std::string Here = "line " + std::to_string(Number);
    if (Cells.size() == 1 && Cells[0].empty())
      continue;
    if (Header.empty()) {
      Header = Cells;
      for (const char *Needed : {"id", "lower", "upper", "size"})
        if (std::count(Header.begin(), Header.end(), Needed) != 1)
          F.Error = Here + ": the header must name '" + Needed + "' once";
      for (const std::string &H : Header)
        if (H != "id" && H != "lower" && H != "upper" && H != "size" &&
            H != "alignment" && H != "fixed")
          F.Error = Here + ": unknown column '" + H + "'";
      if (!F.Error.empty())
        return F;
      continue;
    }
    if (Cells.size() != Header.size()) {
      F.Error = Here + ": expected " + std::to_string(Header.size()) +
                " cells, found " + std::to_string(Cells.size());
      return F;
    }
    Buffer B;
    for (size_t I = 0; I < Cells.size(); ++I) {
      const std::string &H = Header[I];
      if (H == "id") {
        F.Ids.push_back(Cells[I]);
        continue;
      }
      if (H == "fixed" && Cells[I].empty())
        continue;
      std::optional<int64_t> N = parseNumber<int64_t>(Cells[I]);
      if (!N) {
        F.Error = Here + ": '" + Cells[I] + "' is not a number";
        return F;
      }
      if (H == "fixed")
        B.Fixed = N;
      else
        (H == "lower"   ? B.Lower
         : H == "upper" ? B.Upper
         : H == "size"  ? B.Size
                        : B.Alignment) = *N;
    }
    F.Buffers.push_back(B);
  }
  if (Header.empty())
    F.Error = "no header";
  return F;
}

std::string csvOf(const BufferFile &F, const std::vector<int64_t> &Offsets) {
  std::string Out = "id,lower,upper,size,offset\n";
  for (size_t I = 0; I < F.Buffers.size(); ++I) {
    const Buffer &B = F.Buffers[I];
    Out += F.Ids[I] + "," + std::to_string(B.Lower) + "," +
           std::to_string(B.Upper) + "," + std::to_string(B.Size) + "," +
           std::to_string(Offsets[I]) + "\n";
  }
  return Out;
}

} // namespace

int remat::solver::runPack(const PackArgs &A) {
  if (!canWrite({{"-o", A.OutFile}}))
    return ExitError;
  std::optional<std::string> Text = readFile(A.File);
  if (!Text)
    return ExitError;
  BufferFile F = parse(*Text);
  if (!F.Error.empty())
    return badInput(A.File + ": " + F.Error);
  PackOptions O;
  O.Capacity = A.Capacity;
  O.TimeLimit = A.TimeLimit;
  O.NodeLimit = A.NodeLimit;
  O.Interrupt = &Interrupted;
  auto Start = std::chrono::steady_clock::now();
  PackResult R = pack(F.Buffers, O);
  double Seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - Start)
          .count();
  if (!R.Error.empty())
    return badInput(A.File + ": " + R.Error);
  // A file is the last thing that can fail, so that no error leaves one behind.
  std::string Line = writePacking(R, Seconds, F.Ids);
  if (R.Feasible && !A.OutFile.empty() &&
      !writeFile(A.OutFile, csvOf(F, R.Offsets)))
    return ExitError;
  std::printf("%s\n", Line.c_str());
  return R.Feasible ? ExitDone : ExitRefused;
}
