import { type ChildProcess, fork } from 'node:child_process'
import cluster, { type Worker } from 'node:cluster'
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
  /** Options of the store. */
  store: object
}

/** Units by policy and key. */
type Units = Record<string, number>

/** The units that all processes together admit. They start at the same time. */
export async function admittedBy(task: FleetTask): Promise<number> {
  const results = await run(task, (fleet) => resultsOf<number>(fleet))
  return results.reduce((total, each) => total + each, 0)
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

function resultsOf<Result>(fleet: readonly Member[]): Promise<Result[]> {
  const results = fleet.map((each) => message<Result>(each, 'result'))
  for (const each of fleet) each.send({ go: true })
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
