import { type ChildProcess, fork } from 'node:child_process'
import cluster, { type Worker } from 'node:cluster'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('./fleet-worker.mjs', import.meta.url))

export const processes = 8
const calls = 2000
export const limit = 1000

/** What each process of a fleet does: see fleet-worker.mjs. */
export interface FleetTask {
  /** Which store, on which ports. */
  kind: 'redis' | 'postgres' | 'memcached' | 'cluster'
  ports?: readonly number[]
  policy: string
  /** Options of the store. */
  store: object
}

/** How many units the processes admit, each of them: they start together. */
export async function admitted({ kind, ports = [], policy, store }: FleetTask): Promise<number[]> {
  const task = JSON.stringify({ kind, ports, policy, limit, calls, store })
  if (kind === 'cluster') cluster.setupPrimary({ exec: program, args: [task] })
  const start = () => (kind === 'cluster' ? cluster.fork() : fork(program, [task]))
  const fleet = Array.from({ length: processes }, start)
  await Promise.all(fleet.map((each) => told(each, 'ready')))
  const results = fleet.map((each) => told(each, 'admitted'))
  for (const each of fleet) each.send({ go: true })
  return Promise.all(results)
}

/** What a process tells under that name; what else it sends is none of ours. */
function told(from: ChildProcess | Worker, name: string): Promise<number> {
  return new Promise((resolve, reject) => {
    from.on('message', (message: Record<string, number>) => {
      if (name in message) resolve(message[name] as number)
    })
    from.on('exit', (code) => reject(new Error(`a process of the fleet ended, ${code}`)))
  })
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
