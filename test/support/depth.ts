/*
 * How much of a large product of cases a test plays: a part that has each kind of case, or all of it. `npm test` plays the
 * part, and the tier `in-depth` of `npm run test:long` plays all.
 */

export const inDepth: boolean = process.env.HEADGATE_IN_DEPTH === 'true'

/** How often a random test repeats: the first number, and in depth the second. */
export function rounds(part: number, all: number): number {
  return inDepth ? all : part
}
