/*
 * The one script of the store, put together from its parts. Each algorithm restates the TypeScript of the same name: the
 * same functions in the same order.
 */

import { blocks } from './blocks.ts'
import { bookings } from './bookings.ts'
import { bucket } from './bucket.ts'
import { carry } from './carry.ts'
import { closed } from './closed.ts'
import { concurrency } from './concurrency.ts'
import { evaluation } from './evaluation.ts'
import { exactMath } from './exact-math.ts'
import { intervalBucket } from './interval-bucket.ts'
import { leases } from './leases.ts'
import { main } from './main.ts'
import { penalty } from './penalty.ts'
import { records } from './records.ts'
import { segmentedWindow } from './segmented-window.ts'
import { slidingLog } from './sliding-log.ts'
import { slidingWindow } from './sliding-window.ts'
import { smooth } from './smooth.ts'
import { smoothBursty } from './smooth-bursty.ts'
import { smoothWarmingUp } from './smooth-warming-up.ts'
import { states } from './states.ts'
import { verbs } from './verbs.ts'

export { kinds } from './main.ts'

/** The parts of the script by name, in the order of their use. */
export const parts: Readonly<Record<Part, string>> = {
  exactMath,
  records,
  states,
  evaluation,
  verbs,
  blocks,
  carry,
  leases,
  bookings,
  bucket,
  intervalBucket,
  slidingWindow,
  slidingLog,
  // The makers of the other algorithms are functions too, and most calls need none of them.
  others: 'function makers.others()\n',
  segmentedWindow,
  concurrency,
  smooth,
  smoothBursty,
  smoothWarmingUp,
  penalty,
  closed,
  endOfOthers: 'end\n',
  main,
}

export type Part =
  | 'exactMath'
  | 'records'
  | 'states'
  | 'evaluation'
  | 'verbs'
  | 'blocks'
  | 'carry'
  | 'leases'
  | 'bookings'
  | 'bucket'
  | 'intervalBucket'
  | 'slidingWindow'
  | 'segmentedWindow'
  | 'slidingLog'
  | 'concurrency'
  | 'smooth'
  | 'smoothBursty'
  | 'smoothWarmingUp'
  | 'penalty'
  | 'closed'
  | 'others'
  | 'endOfOthers'
  | 'main'

/**
 * Puts the parts together.
 * @param changed parts that replace those of the same name; the tests change some
 */
export function assemble(changed: Readonly<Partial<Record<Part, string>>>): string {
  return compact(Object.values({ ...parts, ...changed }).join(''))
}

/** The text without comments and indentation, which the server does not need. */
export function compact(text: string): string {
  return text.replace(/^\s*(--.*)?\n/gm, '').replace(/^ +/gm, '')
}

export const script: string = assemble(parts)
