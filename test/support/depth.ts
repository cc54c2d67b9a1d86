/*
 * How much of a large product of cases a test plays: a part that has each kind of case, or all of it. `npm test` plays
 * the part. `.ci/nightly` and `npm run test:depth` play all. `.ci/run` plays all of a third of these files.
 */

export const inDepth: boolean = process.env.HEADGATE_IN_DEPTH === 'true'

/** The day of a sample, as 20261123, which also seeds random tests. HEADGATE_SEED plays the sample of another day. */
export const day: number = Number(
  process.env.HEADGATE_SEED ?? new Date().toISOString().slice(0, 10).replaceAll('-', ''),
)

/** How often a random test repeats: the first number, and in depth the second. */
export function rounds(part: number, all: number): number {
  return inDepth ? all : part
}

/** As many of these as a day's sample has, in turn from day to day, and in depth all. @param skipped another part of the same day */
export function sampled<Each>(all: readonly Each[], count: number, skipped = 0): readonly Each[] {
  const first = (day * count + skipped) % all.length
  return inDepth ? all : [...all.slice(first), ...all.slice(0, first)].slice(0, count)
}
