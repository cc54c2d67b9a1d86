/*
 * A client that tries to get more than the limit from a fleet of `shareStore`. It turns from process to process, drains the store
 * through one of them and the shares of the others after, wakes some before the others report, lets keys go idle, asks for
 * several units at once, and has processes and the server stand still. Each attack is drawn from a seed.
 */
import type { RateLimiterOptions } from '../../src/index.ts'
import { seededRandom } from './seeded-random.ts'
import { VirtualFleet } from './virtual-fleet.ts'

export interface AttackTerms {
  readonly policies: RateLimiterOptions['policies']
  readonly processes: number
  /** In milliseconds. */
  readonly period: number
  readonly roundTrip: number
  /** How many calls get everything that a process may admit. */
  readonly flood: number
  /** True if processes and the server stand still too, also at the start, and processes end and start anew. */
  readonly faults: boolean
  /** How long the attack lasts, in milliseconds. */
  readonly length: number
  readonly seed: number
}

export interface Attacked {
  /** When units were admitted, in milliseconds from the start of the attack. */
  readonly admitted: number[]
  readonly fleet: VirtualFleet
}

export async function attack(terms: AttackTerms): Promise<Attacked> {
  const { policies, processes, period, roundTrip, length, seed, faults } = terms
  const below = seededRandom(seed)
  const ahead = Array.from({ length: processes }, () => below(120_000) - 60_000)
  const fleet = new VirtualFleet({
    policies,
    processes,
    period,
    roundTrip: () => roundTrip,
    timeout: 100,
    ahead: (process) => ahead[process] as number,
  })
  if (faults && below(3) === 0) fleet.stall('server', below(3000))
  // Most of the processes are awake, and report at different times.
  const inOrder = below(2) === 0
  const awake = below(processes + 1)
  for (let process = 0; process < awake; process++) {
    fleet.request(inOrder ? (period * process) / processes : below(period), process, 'other')
  }
  let end = below(2) * 1000
  const last = end + length
  while (end < last) end += act(fleet, terms, below, end)
  await fleet.until(end + 3000)
  return { admitted: fleet.outcome.admitted, fleet }
}

type Act = (fleet: VirtualFleet, terms: AttackTerms, below: (end: number) => number, time: number) => number

/** Each returns how long it takes, in milliseconds. */
const acts: Readonly<Record<string, Act>> = {
  /** The client stays with each process for some time, in turn. */
  rotate(fleet, { processes, period, flood }, below, time) {
    const stay = [period / 5, period, 2 * period, 4 * period, 6 * period][below(5)] as number
    const turns = Math.ceil(Math.min(processes * (1 + below(3)), (50 * period) / stay))
    const step = Math.max(1, period / 10)
    for (let turn = 0; turn < turns; turn++) {
      for (let at = 0; at < stay; at += step) {
        many(fleet, time + turn * stay + at, turn % processes, Math.max(1, Math.floor((flood * step) / period / 4)))
      }
    }
    return turns * stay
  },
  /** It wakes one process after the other within a period, each with more demand than the one before, and then floods all. */
  escalate(fleet, { processes, period, flood }, below, time) {
    const growth = 1 + below(8) / 2
    const gap = period / processes / (1 + below(2))
    const rounds = 1 + below(4)
    let calls = 1
    for (let round = 0; round < rounds; round++) {
      for (let process = 0; process < processes; process++) {
        many(fleet, time + round * period + process * gap, process, Math.min(flood, Math.ceil(calls)))
        calls *= growth ** (1 / rounds)
      }
    }
    const end = time + rounds * period + below(period)
    for (let process = 0; process < processes; process++) many(fleet, end + below(2), process, flood)
    return end - time + below(2 * period)
  },
  /** It takes everything from the store through one process, and then what the others admit without asking. */
  others(fleet, { processes, flood }, below, time) {
    const one = below(processes)
    const cost = 1 + below(Math.max(1, Math.floor(flood / 20)))
    many(fleet, time, one, Math.ceil(flood / cost), cost)
    const gap = [0, 1, 3, 50, 200][below(5)] as number
    for (let process = 0; process < processes; process++) {
      if (process !== one) many(fleet, time + gap, process, Math.ceil(flood / processes))
    }
    return gap + below(20)
  },
  /** It takes everything from all of them, as soon as there is something. */
  drain(fleet, { processes, period, flood }, below, time) {
    const duration = period * (1 + below(10))
    for (let at = 0; at < duration; at += period / 2) {
      for (let process = 0; process < processes; process++) many(fleet, time + at, process, flood / 10)
    }
    return duration
  },
  /** One process gets all calls until its share has moved to it, and then the others are asked. */
  grow(fleet, { processes, period, flood }, below, time) {
    const one = below(processes)
    const duration = period * (3 + below(6))
    const calls = below(2) === 0 ? 1 : flood / 20
    for (let at = 0; at < duration; at += period / 3) many(fleet, time + at, one, calls)
    const end = time + duration
    for (let process = 0; process < processes; process++) many(fleet, end + below(5), process, flood)
    return duration + below(2 * period)
  },
  idle: (_fleet, { period }, below) => period * ([0.2, 0.9, 1.1, 3, 4.8, 5.2, 10, 40][below(8)] as number),
  stall(fleet, { processes, period, faults }, below, time) {
    if (!faults) return 0
    const place = below(3) === 0 ? 'server' : below(processes)
    const duration = period * ([0.5, 2, 6, 30][below(4)] as number)
    fleet.atMillisecond(time, () => fleet.stall(place, duration))
    return below(period)
  },
  end(fleet, { processes, period, faults }, below, time) {
    if (!faults) return 0
    const place = below(processes)
    fleet.atMillisecond(time, () => fleet.end(place))
    return below(2 * period)
  },
}

function act(...[fleet, terms, below, time]: Parameters<Act>): number {
  const names = Object.keys(acts)
  return (acts[names[below(names.length)] as string] as Act)(fleet, terms, below, time)
}

function many(fleet: VirtualFleet, time: number, process: number, calls: number, cost = 1): void {
  fleet.atMillisecond(time, () => {
    for (let n = 0; n < calls; n++) fleet.requestNow(process, 'k', cost)
  })
}
