//===- WorkersTest.cpp - The same plans on any number of threads ----------===//
#include "Model/Ahead.h"
#include "remat/Solver/Planner.h"

#include "RandomProblem.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <stdexcept>

using namespace remat::solver;
using namespace remat::solver::test;

namespace {

constexpr unsigned Counts[] = {1, 2, 5};

/// A sum of 1 .. N by tasks of tasks.
int64_t sumBelow(const Watch &D, int64_t First, int64_t Last) {
  if (Last - First < 4) {
    int64_t Sum = 0;
    for (int64_t I = First; I <= Last; ++I)
      Sum += I;
    return Sum;
  }
  int64_t Middle = (First + Last) / 2;
  Ahead<int64_t> Left(
      D, [=](const Watch &Here) { return sumBelow(Here, First, Middle); });
  Ahead<int64_t> Right(
      D, [=](const Watch &Here) { return sumBelow(Here, Middle + 1, Last); },
      Asked::Later);
  return Left.get() + Right.get();
}

TEST(Workers, TasksMayMakeTasks) {
  for (unsigned Count : Counts) {
    Workers All(Count);
    SolveOptions O;
    for (int I = 0; I < 50; ++I)
      EXPECT_EQ(sumBelow(Watch(O, &All), 1, 1000), 500500) << Count;
  }
}

TEST(Workers, ResultsAreTakenInOrderUntilOneIsEnough) {
  for (unsigned Count : Counts)
    for (Lead How : {Lead::Certain, Lead::Unsure, Lead::Aside}) {
      Workers All(Count);
      SolveOptions O;
      std::atomic<int> Made = 0;
      std::vector<size_t> Taken;
      inOrder(
          Watch(O, &All), 1000, How,
          [&](size_t I, const Watch &) {
            ++Made;
            return 2 * I;
          },
          [&](size_t I, size_t Twice) {
            EXPECT_EQ(Twice, 2 * I);
            Taken.push_back(I);
            return I < 20;
          });
      std::vector<size_t> Expected(21);
      std::iota(Expected.begin(), Expected.end(), size_t(0));
      EXPECT_EQ(Taken, Expected);
      // One thread makes nothing in vain, several no more than they lead by.
      EXPECT_GE(Made, 21);
      EXPECT_LE(Made, Count == 1 ? 21 : 21 + 2 * int(Count));
    }
}

TEST(Workers, WhatATaskThrowsReachesWhoAsks) {
  for (unsigned Count : Counts) {
    Workers All(Count);
    SolveOptions O;
    int Taken = 0;
    auto Run = [&] {
      inOrder(
          Watch(O, &All), 100, Lead::Certain,
          [](size_t I, const Watch &) {
            if (I == 5)
              throw std::bad_alloc();
            if (I > 5)
              throw std::runtime_error("later");
            return I;
          },
          [&](size_t, size_t) { return ++Taken > 0; });
    };
    // Always the first in order, and the threads go on to serve.
    for (int I = 0; I < 20; ++I)
      EXPECT_THROW(Run(), std::bad_alloc) << Count;
    EXPECT_EQ(Taken, 20 * 5);
    EXPECT_EQ(sumBelow(Watch(O, &All), 1, 100), 5050);
  }
}

TEST(Workers, ATaskThatNobodyNeedsEndsEarly) {
  for (unsigned Count : Counts) {
    Workers All(Count);
    SolveOptions O;
    Watch D(O, &All);
    std::atomic<bool> Began = false;
    {
      Ahead<int> Endless(D, [&](const Watch &Here) {
        Began = true;
        while (!Here.passed())
          std::this_thread::yield();
        return 0;
      });
      while (Count > 1 && !Began)
        std::this_thread::yield();
    }
    EXPECT_EQ(Began, Count > 1);
    EXPECT_FALSE(D.passed());
  }
}

void expectSame(const SolveResult &A, const SolveResult &B) {
  EXPECT_EQ(A.Feasible, B.Feasible);
  EXPECT_EQ(A.Best, B.Best);
  EXPECT_EQ(A.Reason.Message, B.Reason.Message);
  EXPECT_EQ(A.Reason.Values, B.Reason.Values);
  const Certificate &X = A.Proof, &Y = B.Proof;
  EXPECT_EQ(std::tie(X.Time, X.Peak, X.LowerBound, X.ProvenOver, X.MinBudget,
                     X.MinBudgetBound),
            std::tie(Y.Time, Y.Peak, Y.LowerBound, Y.ProvenOver, Y.MinBudget,
                     Y.MinBudgetBound));
}

/// Calls at parts of the base order's peak, on each number of threads.
void expectSamePlans(const Problem &P, SolveOptions O,
                     const std::vector<double> &Parts) {
  int64_t Peak = verify(P, basePlan(P), INT64_MAX).Peak;
  for (double Part : Parts) {
    O.Budget = int64_t(double(Peak) * Part);
    O.Threads = 1;
    SolveResult One = solve(P, O);
    for (unsigned Count : {2, 5}) {
      SCOPED_TRACE(std::to_string(Count) + " threads, " +
                   std::to_string(P.Ops.size()) + " ops, budget " +
                   std::to_string(O.Budget));
      O.Threads = Count;
      expectSame(solve(P, O), One);
    }
  }
}

TEST(Threads, PlansOfTrainingStepsAreTheSame) {
  Rng R(3);
  SolveOptions O;
  expectSamePlans(training(R, 30), O, {0.6, 0.3});
  expectSamePlans(training(R, casesOf(155)), O, {0.6});
  // Above 300 ops, where the way up and the anchors are searched ahead.
  O.Effort = 2;
  expectSamePlans(training(R, 155), O, {0.35});
  O.Effort = 0;
  O.FindMinBudget = true;
  expectSamePlans(training(R, casesOf(155)), O, {0.3});
}

TEST(Threads, PlansOfRandomProblemsAreTheSame) {
  Features F;
  F.Policy = 10;
  for (int I = 0; I < 8; ++I) {
    Rng R(100 + uint64_t(I));
    SolveOptions O;
    O.FindMinBudget = I % 2;
    O.Method = I % 4 == 3 ? Strategy::Optimal : Strategy::Search;
    O.Effort = I % 3 == 0;
    expectSamePlans(randomProblem(R, 10 + 4 * I, F), O, {0.6});
  }
}

TEST(Threads, FrontiersAreTheSame) {
  Rng R(8);
  Problem P = training(R, 16);
  int64_t Peak = verify(P, basePlan(P), INT64_MAX).Peak;
  std::vector<int64_t> Budgets;
  for (int I = 2; I <= 10; ++I)
    Budgets.push_back(Peak * I / 10);
  std::vector<SolveResult> One;
  for (unsigned Count : Counts) {
    SolveOptions O;
    O.Threads = Count;
    Planner All(P, O);
    std::vector<SolveResult> Found = All.frontier(Budgets);
    Found.push_back(All.at(Peak / 3));
    if (One.empty())
      One = Found;
    for (size_t I = 0; I < Found.size(); ++I)
      expectSame(Found[I], One[I]);
  }
}

TEST(Threads, AnInterruptEndsThemAll) {
  Rng R(5);
  Problem P = training(R, 140);
  std::atomic<bool> Stop = false;
  SolveOptions O;
  O.Effort = 12;
  O.Threads = 5;
  O.Interrupt = &Stop;
  O.Budget = verify(P, basePlan(P), INT64_MAX).Peak / 2;
  std::thread Other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    Stop = true;
  });
  SolveResult Found = solve(P, O);
  Other.join();
  EXPECT_TRUE(Found.Feasible);
  EXPECT_TRUE(verify(P, Found.Best, O.Budget).Ok);
}

} // namespace
