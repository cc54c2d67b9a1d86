import { type ChildProcess, fork } from 'node:child_process'
import cluster, { type Worker } from 'node:cluster'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('./fleet-worker.mjs', import.meta.url))

/** How much a fleet does: each process makes so many calls on one key. */
export interface FleetSize {
  readonly processes: number
  readonly calls: number
  readonly limit: number
}

export const full: FleetSize = { processes: 8, calls: 2000, limit: 1000 }
export const quick: FleetSize = { processes: 3, calls: 600, limit: 900 }

/** What the processes of a fleet do: see fleet-worker.mjs. */
export interface FleetTask extends FleetSize {
  /** The kind of store, and its ports. */
  kind: 'redis' | 'postgres' | 'memcached' | 'cluster'
  ports?: readonly number[]
  policy: string
  /** Options of the store. */
  store: object
}

/** The units that all processes together admit. They start at the same time. */
export async function admittedBy({ kind, ports = [], policy, store, ...size }: FleetTask): Promise<number> {
  const { processes, calls, limit } = size
  const task = JSON.stringify({ kind, ports, policy, limit, calls, store })
  if (kind === 'cluster') cluster.setupPrimary({ exec: program, args: [task] })
  const start = () => (kind === 'cluster' ? cluster.fork() : fork(program, [task]))
  const fleet = Array.from({ length: processes }, start)
  await Promise.all(fleet.map((each) => message(each, 'ready')))
  const results = fleet.map((each) => message(each, 'admitted'))
  for (const each of fleet) each.send({ go: true })
  return (await Promise.all(results)).reduce((total, each) => total + each, 0)
}

/** The number that a process sends under that name. Other messages are ignored. */
function message(from: ChildProcess | Worker, name: string): Promise<number> {
  return new Promise((resolve, reject) => {
    from.on('message', (message: Record<string, number>) => {
      if (name in message) resolve(message[name] as number)
    })
    from.on('exit', (code) => reject(new Error(`a process of the fleet ended, ${code}`)))
  })
}
