/* Processes that call all the time on one store while its limits change: each runs overrides-worker.mjs. */
import { type ChildProcess, fork } from 'node:child_process'
import cluster, { type Worker } from 'node:cluster'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { fixedWindow, type Policy } from '../../src/index.ts'

/** What one process has seen of the key `hot`. */
export interface Seen {
  readonly decided: number
  /** How many calls rejected, or were let through uncounted. */
  readonly failed: number
  readonly admitted: number
  /** How many calls were decided by the process itself. */
  readonly local: number
  /** How many calls may or may not have counted in the store, for both keys. */
  readonly uncertain: number
  /** How many calls of the key `cold` had another limit. */
  readonly cold: number
  /** When the store's decisions arrived. */
  readonly byStore: readonly number[]
  /** For each limit, when the calls began that were decided by it. */
  readonly times: Readonly<Record<number, readonly number[]>>
}

export interface FleetOptions {
  readonly kind: 'redis' | 'sentinel' | 'postgres' | 'cluster'
  readonly port: number
  readonly onStoreError?: 'closed' | 'local'
  readonly timeout?: string
  /** For Postgres: what a call waits for. */
  readonly synchronous?: 'normal' | 'full'
}

export const limit = 1_000_000_000
export const raised = 2_000_000_000

/** The policy of the processes. */
export function month(): Policy {
  return fixedWindow({ name: 'month', limit, window: '365d' })
}

const program = fileURLToPath(new URL('overrides-worker.mjs', import.meta.url))

function messageOf<Value>(from: ChildProcess | Worker, name: string): Promise<Value> {
  return new Promise((resolve, reject) => {
    from.on('message', (message: Record<string, unknown>) => {
      if (name in message) resolve(message[name] as Value)
    })
    from.on('exit', (code: number) => reject(new Error(`a process of the fleet ended, ${code}`)))
  })
}

/**
 * Starts the processes, and runs `play` when all of them are ready. Ends them afterwards.
 * @param play gets a function that makes them call until a time, and resolves to what they have seen
 */
export async function withFleet(
  options: FleetOptions,
  processes: number,
  play: (callUntil: (until: number) => Promise<readonly Seen[]>) => Promise<void>,
): Promise<void> {
  const argument = JSON.stringify({ ...options, limit })
  if (options.kind === 'cluster') cluster.setupPrimary({ exec: program, args: [argument] })
  const fleet = Array.from({ length: processes }, () =>
    options.kind === 'cluster'
      ? cluster.fork()
      : fork(program, [argument], { execArgv: ['--disable-warning=HEADGATE_STORE_STATE'] }),
  )
  try {
    const results = Promise.all(fleet.map((each) => messageOf<Seen>(each, 'result')))
    results.catch(() => undefined) // if a process ends before it is ready
    await Promise.all(fleet.map((each) => messageOf(each, 'ready')))
    await play((until) => {
      for (const each of fleet) each.send({ until, loops: 2 })
      return results
    })
  } finally {
    for (const each of fleet) if ('process' in each ? each.isConnected() : each.connected) each.disconnect()
  }
}

/** An override of the key `hot` to the limit `raised`. Times are milliseconds since the epoch. */
export interface Written {
  readonly written: number
  /** When the override ends. */
  readonly until: number
  /** When the store became unreachable. Default: it did not. */
  readonly outage?: number
}

/** How much of the time from `start` to `end` a process could not call, because it or the store did not run on a busy machine. */
function stalled(calls: readonly number[], start: number, end: number): number {
  let last = start
  let total = 0
  for (const time of calls) {
    if (time <= start || time > end) continue
    total += Math.max(0, time - last - 25) // a process that runs calls more often
    last = time
  }
  return total
}

/**
 * A second after it could read the override, no process decided by the old limit, where only time in which the process could call is
 * counted. None decided by the new limit after the end. No call failed.
 */
export function expectOverridden(seen: readonly Seen[], { written, until, outage = written }: Written): void {
  for (const { times, byStore, decided, admitted, failed, cold } of seen) {
    const { [limit]: old = [], [raised]: next = [] } = times
    const readable = outage === written ? written : Math.min(...byStore.filter((time) => time > outage))
    expect(readable, 'the process reached the store again').toBeLessThan(until - 2000)
    expect(next.length, 'each process has used the override').toBeGreaterThan(10)
    expect(Math.max(...next), 'no call by the override after its end').toBeLessThan(until)
    const calls = [...old, ...next].sort((a, b) => a - b)
    expect(
      old.filter((time) => time < until && time - readable - stalled(calls, readable, time) > 1000),
      'no call by the old limit',
    ).toEqual([])
    expect(Math.max(...old), 'the old limit is back').toBeGreaterThanOrEqual(until)
    expect({ failed, cold, admitted }).toEqual({ failed: 0, cold: 0, admitted: decided })
  }
}

export function sumOf(seen: readonly Seen[], of: (each: Seen) => number): number {
  return seen.reduce((total, each) => total + of(each), 0)
}
