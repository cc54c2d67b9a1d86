/* The load of the workload `driver`, which the example examples/driver plays against every algorithm too. */

/** How many calls each phase makes, and how many a second the client wants. */
export const phases = [
  { calls: 10, wanted: 1 },
  { calls: 20, wanted: 2 },
  { calls: 50, wanted: 5 },
  { calls: 100, wanted: 10 },
  { calls: 200, wanted: 20 },
  { calls: 250, wanted: 25 },
  { calls: 500, wanted: 50 },
  { calls: 1000, wanted: 100 },
]
