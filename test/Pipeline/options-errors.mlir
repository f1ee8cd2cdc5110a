// RUN: not remat-opt %s -remat-pipeline="budget=12x" 2>&1 | FileCheck %s --check-prefix=BUDGET
// RUN: not remat-opt %s -remat-pipeline="speed=12" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not remat-opt %s -remat-pipeline="accumulate=0" 2>&1 | FileCheck %s --check-prefix=RANGE

// BUDGET: option 'budget': expected bytes such as 4GiB or 4G (2^30 each), 4GB (10^9 each) or 1000000, a percentage of the unplanned peak such as 50%, smallest, max or unlimited, got '12x'
// NAME: option 'speed': unknown option 'speed'
// RANGE: option 'accumulate': expected an integer from 1 to 4096, got '0'
func.func @main() {
  return
}
