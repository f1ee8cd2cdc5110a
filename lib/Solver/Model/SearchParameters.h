//===- SearchParameters.h - Every number that the search was tuned with ---===//
//
// Each with its unit and the reason why it is as it is. "Changes" are changes
// to a schedule, about a microsecond each on a few hundred ops: work is counted
// in them, never in seconds. "Part of" is a factor of what is named. Numbers
// that a proof rests on (scales, infinities, rounding) stand at the proof.
//
//===----------------------------------------------------------------------===//
#ifndef REMAT_LIB_SOLVER_SEARCHPARAMETERS_H
#define REMAT_LIB_SOLVER_SEARCHPARAMETERS_H

#include <cstddef>
#include <cstdint>

namespace remat::solver {

struct SearchParameters {
  /// Where the work changes with the size of the problem; ops.
  struct {
    /// Below so many, a call takes less time than it takes to start threads,
    /// and makes no use of them unless it is told how many.
    size_t Tiny = 64;
    /// Up to so many, exchanges are cheap beside the annealing, calls search at
    /// the grid of budgets, and repairs try all that they may: with looks in
    /// place of tries, plans there cost more, by 1 % at some budgets of one
    /// graph.
    int32_t Few = 300;
    /// From so many on, what looks at the whole schedule (an exchange, but for
    /// anchors a crossing too) takes longer than it is worth.
    int32_t Many = 3000;
    /// Beyond so many, work for each op falls; see `Model::sizeFactor`.
    int32_t Large = 20'000;
  } Size;

  /// What a call may do.
  struct {
    /// Changes of effort 1; each step of effort doubles them. About 0.4 s.
    int64_t OfEffort = 400'000;
    /// Changes of one long squeeze: with fewer, large traces stop above the
    /// lowest peak that they reach.
    int64_t OfSqueeze = 1'200'000;
    /// Changes of the moves that make the calm order; most graphs need less.
    int64_t OfCalm = 150'000;
    /// Changes of one repair where `sizeFactor` is above 1, so that a repair
    /// from afar ends.
    int64_t OfFit = 400'000;
    /// Least changes of the exchanges after an annealing: a few exchanges on a
    /// small problem.
    int64_t OfExchange = 40'000;
    /// Least changes of the annealing of a crossed plan, and for each op.
    int32_t OfCrossed = 5000, OfCrossedPerOp = 10;
    /// Reads of the mean op that make a change no longer. Steps of networks
    /// have 2.4, where a change takes 0.3 us; random graphs have 4.9 and 5.9,
    /// where it takes 0.8 and 1 us.
    int32_t FreeReads = 2;
  } Work;

  /// Differences that are taken for none; parts of the base time.
  struct {
    /// Sums of the same times in another order differ by less.
    double Rounding = 1e-9;
    /// A plan this close to the bound is not searched on from.
    double OfBound = 1e-4;
    /// Plans whose costs are closer are taken for the same plan.
    double Same = 1e-4;
    /// A plan this close to the bound is as good as proven: a little less than
    /// the 0.1 % by which neighbouring budgets may differ.
    double Open = 8e-4;
    /// Where repaired seeds leave more open at a coarse budget, the search
    /// there is cut short.
    double Promising = 1e-2;
    /// An annealing that ends so close to the best plan is worth an exchange.
    double WorthExchange = 1e-3;
  } Near;

  /// Plans to begin with.
  struct {
    /// Points of the parametric cut, and of the segments' range of peaks.
    int32_t CutPoints = 40, SegmentLevels = 24;
    /// Counts of segments that `sqrt` tries, plans that `greedy` emits.
    int32_t SqrtCounts = 40, GreedyPlans = 64;
    /// Cut points that segments take their patterns from: closer ones give
    /// nearly the same groups.
    int64_t Patterns = 12;
    /// Segments: more only take time.
    int32_t Segments = 256;
    /// A segment that makes more than `LargeParts` of so many equal parts of
    /// all bytes is cut once more.
    int32_t Parts = 48, LargeParts = 6;
    /// A segment begins to be read where this part of its bytes has been: a
    /// few small values that are read early do not count. One of so many.
    int64_t EarlyPart = 8;
    /// Steps of kept bytes that the dynamic program tells apart.
    int32_t KeptSlots = 128;
    /// Ops looked at to find what groups cost; longer groups are left out.
    int64_t GroupVisits = 12'000'000;
    /// Halvings of the range in which the least limit lies.
    int32_t Halvings = 12;
  } Seeds;

  /// Lowering the peak where nothing fits.
  struct {
    /// Seeds with a short try, and plans with a long one after it. Plans from
    /// segments are lowest on chains, the others elsewhere.
    size_t FromSegments = 5, FromOthers = 3, AtLength = 2;
    /// Seeds with a short try where the effort is 0; no long one follows.
    size_t FewFromSegments = 2, FewFromOthers = 1;
    /// A short try has this part of the work of a long one.
    int ShortPart = 4;
    /// Ruins tried at one limit: so many over the number of ops, within these
    /// bounds; doubled with each step of effort beyond the first.
    int32_t Tries = 100'000, LeastTries = 20, MostTries = 400,
            MostDoublings = 10;
    /// The limit falls by these parts of the peak: the first, and the smallest
    /// before it gives up. After a success the next is so much larger.
    double LargestStep = 0.02, SmallestStep = 0.0003, Growth = 1.5;
    /// A byte is worth so many times as much as on average: here the peak
    /// counts, not the time.
    double Price = 10;
    /// Steps of the first repair besides one for each recomputation, and of
    /// those after a ruin.
    int FirstRepair = 40, Repair = 12;
    /// What is over the limit may grow by up to this part; a larger area is
    /// refused with this chance.
    double Slack = 0.01, RefuseArea = 0.9;
  } Squeeze;

  /// Bringing a schedule within its limit.
  struct {
    /// Steps for each op, and in addition, from seeds and from crossed plans.
    int StepsPerOp = 4, CrossedStepsPerOp = 1, StepsBeside = 100;
    /// Limits below the budget, in parts of it: repairing a little further and
    /// taking back what is not needed finds other plans.
    double Margins[3] = {0.0, 0.01, 0.03};
    /// Spread of the random factor on scores: usual, and where that finds
    /// nothing.
    double Noise = 0.5, MoreNoise = 1.5;
    /// Chance that a step with noise begins anywhere over the limit, not at
    /// the peak.
    double Elsewhere = 0.5;
    /// Storages that are scored by their own time, and then with what is gone
    /// of their inputs.
    size_t Scored = 48, ScoredInFull = 12;
    /// Candidates that are tried in full, without noise and with it.
    size_t Tried = 4, TriedWithNoise = 3;
    /// Spread of the random factor on the times by which recomputations are
    /// taken back, where that is tried in several orders.
    double OrderNoise = 1.0;
    /// Part of the bytes beyond what is over the limit that counts as gain.
    double BeyondNeed = 0.05;
    /// Ops that the time of a chain is summed over: to score, and to decide
    /// between holding and recomputing. Views cost nothing and count apart.
    int ScoreChain = 24, HoldChain = 12, ChainViews = 500;
    /// Ops that one drop may insert; more is no plan worth having.
    int MostInserted = 3000;
    /// Weight of the newest price of a byte in the running mean.
    double NewPrice = 0.1;
    /// Storages that a step looks at; more are sampled.
    int32_t Sample = 1500;
    /// Storages looked at that cost as much as one change.
    int LooksPerChange = 32;
  } Repair;

  /// Running ops elsewhere.
  struct {
    /// Ops that a move may take along: traces have chains of views around.
    int Along = 12;
    /// Steps to either side in which a quiet place is looked for.
    int Reach = 2000;
    /// The largest storages across a place that a step tries to move away.
    int Storages = 8;
    /// A near move goes less than two to the power of so many steps.
    uint32_t NearPower = 7;
    /// Part of a ruin's moves that go anywhere.
    double Far = 0.2;
    /// Of those, where ops are taken along: the part that moves a
    /// recomputation, to the quieter of two places.
    double OfExtras = 0.5;
    /// Steps after an op in which an exchange looks for a quiet place for it;
    /// twice as many the next time, up to `Reach`.
    int LeastReach = 8;
  } Moves;

  /// Ruin and recreate.
  struct {
    /// Of the ruins: recomputations taken out, then moves; the rest drops what
    /// the limit does not ask for.
    double TakeOut = 0.65, TakeOutOrMove = 0.80;
    /// Chance that one recomputation goes alone, that a whole stretch goes,
    /// and that one that stands near goes too.
    double Alone = 0.5, Stretch = 0.1, Beside = 0.6;
    /// How many more go: up to so many, or of a stretch from so many on.
    uint32_t More = 3, LeastOfStretch = 4, MoreOfStretch = 12;
    /// Steps that are looked at for them, and for each of them.
    int Looks = 20, LooksEach = 8;
    /// Recomputations tried to take out after a repair.
    int Tidied = 4;
    /// Steps of a repair after a ruin: what takes more is rarely kept.
    int RepairSteps = 24;
    /// Chance that a plan of equal cost and larger area is kept.
    double KeepArea = 0.1;
    /// A plan is refused beyond so many times the heat.
    double Refuse = 4;
    /// Changes between two reports, in iterations.
    int Report = 256;
  } Ruin;

  /// Which searches start from what.
  struct {
    /// Seeds that are repaired, from segments; twice as many of the others.
    size_t Seeds = 12, FewSeeds = 4;
    /// What a byte over the budget costs a seed, in mean prices: two orders.
    double LowPrice = 1.5, HighPrice = 5;
    /// Plans with a short annealing; of these so many whatever their family.
    size_t Short = 6, InAnyCase = 3;
    /// Heat at first, in typical recomputations: short, long, long again,
    /// crossed.
    double ShortWarmth = 0.1, LongWarmth[2] = {0.05, 0.02}, CrossWarmth = 0.05;
    /// A short search has this part of the work, the long one and each of its
    /// two rounds that.
    int ShortPart = 6, LongPart = 2;
    /// Exchanges have this part of the work of the annealing before them.
    int ExchangePart = 4;
    /// Chance that a step of a repair tries moves before drops, in each third
    /// search and in the others: where all is tight the one finds what the
    /// other does not.
    uint64_t ReorderEvery = 3;
    double Reorder = 0.6, ReorderElse = 0.05;
    /// Crossed plans that are kept; chance that the second plan gives a part
    /// in the middle, not the rest.
    size_t Crossed = 16;
    double Middle = 0.7;
    /// Work within the very budget: seeds, pairs, best; eighths of all.
    int SeedEighths = 4, PairEighths = 3, BestEighths = 1;
  } Attempt;

  /// A few recomputations for a few others.
  struct {
    /// Places whose bytes are noted, each for at least so many steps.
    size_t Places = 64, StepsOfPlace = 4;
    /// A place is full where less than one of so many parts of the limit is
    /// free.
    int64_t FullPart = 50;
    /// One look at the schedule may take this part of the work: near the lowest
    /// peak a plan has thousands of recomputations, and a look at all of them
    /// takes many times the work of all exchanges.
    int64_t LookPart = 4;
    /// Steps back of a recomputation that are tried to take out with it.
    int Back = 4;
    /// Exchanges that are made to see whether they do what was foreseen.
    size_t Offers = 12;
    /// Changes that make room, for at most so many that save; combinations
    /// tried for each; changes looked at that save most for their room, and of
    /// those that cost nothing.
    size_t Savings = 5, Dear = 40, FreeOfCost = 20;
    int Tried = 300;
    /// Sums that cost as much as one change.
    int64_t SumsPerChange = 64;
  } Exchange;

  /// The grid of budgets that calls share.
  struct {
    /// So many units in the peak of the base order, units from one coarse
    /// budget to the next, and fine budgets in the height above the first.
    int OfPeak = 1024, Coarse = 32, OfHeight = 24;
    /// Parts of the effort's work at a coarse budget and at a fine one.
    int CoarsePart = 32, FinePart = 64;
    /// The seeds again at each second fine budget, far up at each fourth:
    /// repairs from afar take long there and find little.
    size_t SeedsEvery = 2, SeedsEveryAbove = 4;
    /// Above `Size.Few` ops: units from one budget to the next, and budgets of
    /// a stage, which is also the part of the height that a step above the
    /// lowest peak has at most; the seeds' part of the work, how often they are
    /// searched from, and the plans of a budget that exchanges are tried on.
    int StageUnits = 16, OfStage = 4, StagePart = 32;
    size_t SeedsEveryStages = 8, Exchanged = 3;
  } Grid;

  /// Budgets that calls above `Size.Few` ops search within, in place of their
  /// own. Heights are above the lowest peak known, in units of the grid: time
  /// falls fast where it is near.
  struct {
    /// Only from this effort on: they take about twice the time of a search
    /// within the call's budget.
    int LeastEffort = 2;
    /// Only below so many ops. At 6,460 a call takes 3 to 7 s and its plans are
    /// shared by neighbours; at 7,373 it takes up to eight times the time of a
    /// search within the call's budget; more were not tried.
    int32_t MostOps = 10'000;
    /// A long squeeze has this part of the work: with all of it, one graph of
    /// 16 had a lower peak, by 0.06 %.
    int SqueezePart = 2;
    /// Of the seeds, once repaired, so many are repaired within lower limits
    /// too: the cheapest, as many as are searched from.
    size_t WithMargins = 6;
    /// Storages scored in full for one step of a repair: where none of these
    /// helps, the next few rarely do.
    size_t ScoredInFull = 6;
    /// Units from one anchor to the next and of a stage below the height `Far`,
    /// and the anchors that a chain begins with: near the lowest peak, plans of
    /// neighbouring budgets are of kinds that differ by 2 %, and which one a
    /// search finds is luck.
    int64_t Units = 2, StageUnits = 4, Far = 32;
    size_t Count = 3;
    /// From `Far` on, such parts of the largest power of two that is no more
    /// than the height: from one anchor to the next, and a stage. Where a stage
    /// begins, what the older chain found is lost: with twice as many stages
    /// and some values of the work, calls there were up to 0.5 % dearer.
    int64_t AnchorPart = 8, StagePart = 2;
    /// The same from one budget of a chain to the next, at least a unit. What
    /// lies between the last of them and a call's budget, only its fit uses.
    int64_t StepPart = 64;
    /// With much room at once a large recomputation goes, where budget by
    /// budget small ones take the room: one plan of a chain, fitted 16 units
    /// further up, was 0.7 % cheaper than what the chain had come to there. So
    /// of every few budgets of a chain so many plans, the cheapest, are fitted
    /// again to every few of those further up, and to a call's budget: there,
    /// in four orders in place of all, one call of 500 was 0.11 % dearer than
    /// its neighbour.
    size_t EarlierEvery = 4, EarlierInChain = 1, EarlierInCall = 4;
    /// With these, in `Orders` orders, so many plans, the cheapest, of the
    /// budget of the chain that is so many further down.
    size_t OfFarBelow = 6, FarBelow = 16;
    /// Units between the budgets that a call searches within first, to end if
    /// that is as good as proven.
    int64_t NearestUnits = 4;
    /// The work is the effort's times the root of so many ops over those of the
    /// graph, for changes take longer where there are many.
    int32_t FullWork = 60;
    /// An anchor from `Far` on has this part of the work. Below, those with
    /// less than all of it have plans that cost up to a hundredth more, and one
    /// call of 500 was 0.7 % dearer than one with a smaller budget.
    int FarPart = 3;
    /// Changes of one repair for each op. On most graphs 99 of 100 repairs that
    /// end within the budget take less; those that end nowhere took nine tenths
    /// of the time of all.
    int64_t OfFitPerOp = 16;
    /// Least changes of the exchanges of a plan within an anchor: most have no
    /// more.
    int64_t OfExchange = 120'000;
    /// Parts of the work where a chain begins: crossed, from the best.
    int FirstPairPart = 3, FirstBestPart = 8;
    /// What a chain does at each of its other budgets.
    struct ChainStep {
      /// Plans of the budget below that are repaired, the cheapest; the others
      /// are only crossed.
      size_t Repaired;
      /// Orders in which recomputations are taken back from these.
      int Orders;
      /// Plans that exchanges are tried on, and the least changes of these.
      size_t Exchanged;
      int64_t OfExchange;
      /// Parts of the work: crossed, from the best.
      int PairPart, BestPart;
    };
    /// Below `Far`, where a unit more makes plans up to 3 % cheaper, and which
    /// plan is the one that gains most is not known before it is fitted. From
    /// there on, where a stage has many budgets: a little work at each is worth
    /// as much as more work at every second one.
    ChainStep Near = {16, 8, 2, 120'000, 24, 32},
              Beyond = {4, 1, 1, 50'000, 48, 96};
    /// Orders in which a call takes recomputations back from the plans that its
    /// chains ended with. With one, a call was 0.15 % dearer than its neighbour
    /// by luck of that alone, and one plan cost 0.3 % more. 64 made no plan of
    /// four cheaper by more than 0.006 %.
    int Orders = 16;
  } Anchors;

  /// Many budgets at once.
  struct {
    /// Budgets that are searched beyond `Size.Few` ops: from the least one
    /// upwards, where plans serve all larger budgets.
    size_t Calls = 4;
    /// Plans of the pool below each budget, and above it, that are fitted.
    size_t Fitted = 8;
    /// Part of the base time by which a further proof may raise the bound at
    /// a budget between two that are proven.
    double WorthProof = 2e-4;
  } Frontier;

  /// Proofs by enumeration.
  struct {
    /// Ops: a state has a bit for each, and few plans of more are proven.
    int32_t StateOps = 40;
    /// States of `search` (milliseconds) and of `optimal` (seconds).
    size_t SearchStates = 20'000, OptimalStates = 1'000'000;
    /// Ways out of one state: more are not listed.
    size_t Ways = 4096;
    /// Entries of an integer program; beyond, it takes minutes even to relax.
    /// With a time limit the user decides.
    size_t Entries = 1'000'000, EntriesTimed = 4'000'000;
    /// Nodes of the integer program: most end at the first.
    int32_t Nodes = 2000;
  } Exact;
};

inline constexpr SearchParameters Tuned;

} // namespace remat::solver

#endif // REMAT_LIB_SOLVER_SEARCHPARAMETERS_H
