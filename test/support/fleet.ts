import { type ChildProcess, fork } from 'node:child_process'
import cluster, { type Worker } from 'node:cluster'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'

const program = fileURLToPath(new URL('./fleet-worker.mjs', import.meta.url))

/** How much a fleet does: each process makes so many calls on one key. */
export interface FleetSize {
  readonly processes: number
  readonly calls: number
  readonly limit: number
}

export const full: FleetSize = { processes: 8, calls: 2000, limit: 1000 }
export const quick: FleetSize = { processes: 3, calls: 600, limit: 900 }
/** For calls that reserve and settle. */
export const quickSettling = { processes: 3, calls: 200 }

/** What the processes of a fleet do: see fleet-worker.mjs. */
export interface FleetTask extends FleetSize {
  /** The kind of store, and its ports. */
  kind: 'redis' | 'postgres' | 'memcached' | 'cluster' | 'sqlite'
  ports?: readonly number[]
  policy: string
  /** Options of the store. With `clock: true`, the clock of the process is given to the store. */
  store: object
  /** For the policy `seconds`: the length of its windows. */
  seconds?: number
  /** For the policy `told`: how many keys have a quota, and the folder for the events of each process. */
  keys?: number
  folder?: string
}

/** Units by policy and key. */
type Units = Record<string, number>

/** The units that all processes together admit. They start at the same time. */
export async function admittedBy(task: FleetTask): Promise<number> {
  const results = await run(task, (fleet) => resultsOf<number>(fleet))
  return results.reduce((total, each) => total + each, 0)
}

/**
 * The units that all processes together admit on one key under a limit for each day: before midnight, and then around midnight and
 * after it. The clocks of the processes are up to `apart` milliseconds apart.
 */
export async function admittedAroundMidnight(
  task: Omit<FleetTask, 'policy'>,
  apart: number,
): Promise<[number, number]> {
  const midnight = Date.UTC(2026, 6, 14, 22) // in Berlin
  return run({ ...task, policy: 'days', store: { ...task.store, clock: true } }, async (fleet) => {
    const admitted: number[] = []
    for (const time of [midnight - 60_000, midnight, midnight + 60_000]) {
      const skew = (n: number) => (n / (fleet.length - 1) - 0.5) * apart
      const results = await resultsOf<number>(fleet, (n) => ({ time: Math.round(time + skew(n)) }))
      admitted.push(results.reduce((total, each) => total + each, 0))
    }
    const [before = 0, around = 0, after = 0] = admitted
    return [before, around + after]
  })
}

/**
 * The units that all processes together admit on one key in two windows of a few seconds, by the clock of the store. The clocks of
 * the processes are up to 50 s apart, so the windows that they compute are wrong.
 */
export async function admittedInTwoWindows(task: Omit<FleetTask, 'policy'>, seconds: number): Promise<number> {
  const length = seconds * 1000
  return run({ ...task, policy: 'seconds', seconds }, async (fleet) => {
    await new Promise((wake) => setTimeout(wake, length - (Date.now() % length) + length / 10))
    const until = Date.now() - (Date.now() % length) + 1.7 * length
    const results = await resultsOf<number>(fleet, (n) => {
      return { until, time: Date.now() + (n / (fleet.length - 1) - 0.5) * 50_000 }
    })
    return results.reduce((total, each) => total + each, 0)
  })
}

/**
 * Spends the quotas of keys. Returns the events of thresholds that the processes got, as `key threshold`.
 * @param kills true to kill the first process in the middle. It has one call in flight
 */
export async function toldBy(task: Omit<FleetTask, 'policy' | 'calls'>, kills: boolean): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-told-'))
  const told = () => readdirSync(folder).flatMap((file) => readFileSync(join(folder, file), 'utf8').trim().split('\n'))
  try {
    await run({ ...task, calls: 0, policy: 'told', folder }, async (fleet) => {
      const [victim, ...others] = fleet
      const living = kills ? others : fleet
      const results = living.map((each) => message(each, 'result'))
      for (const [place, each] of fleet.entries()) each.send({ place })
      if (kills) {
        while (told().length < (task.keys ?? 0) / 4) await new Promise((wake) => setTimeout(wake, 5))
        ;(victim as ChildProcess).kill('SIGKILL')
      }
      await Promise.all(results)
    })
    return told()
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Runs calls that reserve and settle. In the end exactly what was settled is used, and nothing is in flight. */
export async function expectExactlySettled(task: SettlementTask): Promise<void> {
  const { settled, used, refused } = await settledBy(task)
  expect(used).toEqual(settled)
  expect(Object.keys(used).filter((name) => name.startsWith('at-once') && used[name] === 0)).toHaveLength(3)
  expect(refused).toBeGreaterThan(0)
  expect(refused).toBeLessThan(task.processes * task.calls * 0.97) // most, where a refusal is faster than a settlement
}

type SettlementTask = Omit<FleetTask, 'policy' | 'limit'>

/** What all processes together settle, what is used in the end, and how many calls were refused. */
function settledBy(task: SettlementTask) {
  return run({ ...task, policy: 'settlements', limit: 0 }, async (fleet) => {
    const results = await resultsOf<{ settled: Units; refused: number }>(fleet)
    const settled: Units = {}
    for (const result of results) {
      for (const [name, units] of Object.entries(result.settled)) settled[name] = (settled[name] ?? 0) + units
    }
    const used = message<Units>(fleet[0] as Member, 'used')
    fleet[0]?.send({ peek: true })
    return { settled, used: await used, refused: results.reduce((total, each) => total + each.refused, 0) }
  })
}

type Member = ChildProcess | Worker

const connected = (member: Member) => ('isConnected' in member ? member.isConnected() : member.connected)

/** Starts the processes, and ends them after the work. */
async function run<Result>(
  { kind, ports = [], ...task }: FleetTask,
  work: (fleet: readonly Member[]) => Promise<Result>,
): Promise<Result> {
  const argument = JSON.stringify({ kind, ports, ...task })
  if (kind === 'cluster') cluster.setupPrimary({ exec: program, args: [argument] })
  const start = () => (kind === 'cluster' ? cluster.fork() : fork(program, [argument]))
  const fleet = Array.from({ length: task.processes }, start)
  try {
    await Promise.all(fleet.map((each) => message(each, 'ready')))
    return await work(fleet)
  } finally {
    for (const each of fleet) if (connected(each)) each.disconnect()
  }
}

function resultsOf<Result>(fleet: readonly Member[], more = (_: number): object => ({})): Promise<Result[]> {
  const results = fleet.map((each) => message<Result>(each, 'result'))
  for (const [n, each] of fleet.entries()) each.send({ go: true, ...more(n) })
  return Promise.all(results)
}

/** What a process sends under that name. Other messages are ignored. */
function message<Value>(from: Member, name: string): Promise<Value> {
  return new Promise((resolve, reject) => {
    from.on('message', (message: Record<string, unknown>) => {
      if (name in message) resolve(message[name] as Value)
    })
    from.on('exit', (code) => reject(new Error(`a process of the fleet ended, ${code}`)))
  })
}
