/*
 * Carries out jobs in transactions: two round trips, for all jobs that come together.
 *
 *     make the rows; commit
 *     begin; lock and read them; read the time         the steps are made here
 *     save what changed; commit
 *
 * Locks make it atomic over all keys of a call, and nothing is ever tried in vain. A row that another process has at
 * the moment is left out, and its job has a transaction of its own, which waits: a hot key holds up no other. Only so
 * many transactions run at once, and all but one of them may wait; the jobs that come meanwhile are the next one's.
 */
import type { Job } from '../records/job.ts'
import { type PostgresClient, type PostgresPool, type Rows, withClient } from './client.ts'
import { errorOf } from './error.ts'
import type { Sql } from './sql.ts'

export interface TransactorTerms {
  readonly pool: PostgresPool
  readonly sql: Sql
  /** In milliseconds. */
  readonly timeout: number
  readonly ttlMargin: number
  /** How many transactions at once. */
  readonly transactions: number
  /** Whether the time of Postgres counts, or that at which each call was asked. */
  readonly trusting: boolean
}

/** A job to be carried out. */
interface Task {
  readonly job: Job
  readonly done: () => void
  /** Whether it waits for rows that others have, in a transaction of its own. */
  waits: boolean
}

/** The most jobs in one transaction. */
const largest = 64

/** How many rows are saved, or made for calls that are refused, between two cleanings: each deletes more than these. */
const sweepEvery = 100

export class Transactor {
  readonly #terms: TransactorTerms
  #tasks: Task[] = []
  #running = 0
  /** How many of these wait for rows: all but one at the most, so that others get through. */
  #waiting = 0
  #touched = 0
  #sweeping = false

  constructor(terms: TransactorTerms) {
    this.#terms = terms
  }

  execute(jobs: readonly Job[]): Promise<void>[] {
    const promises = jobs.map((job) => {
      return new Promise<void>((done) => {
        this.#tasks.push({ job, done, waits: false })
      })
    })
    this.#pump()
    return promises
  }

  #pump(): void {
    while (this.#running < this.#terms.transactions) {
      const tasks = this.#next()
      if (tasks.length === 0) return
      this.#running++
      if (tasks[0]?.waits) this.#waiting++
      void this.#run(tasks)
    }
  }

  /** The tasks of the next transaction: those that only read apart from those that may write. */
  #next(): readonly Task[] {
    const mayWait = this.#waiting < Math.max(1, this.#terms.transactions - 1)
    const first = this.#tasks.find(({ waits }) => !waits || mayWait)
    if (first === undefined) return []
    const alike = ({ waits, job }: Task) => !waits && job.peeks === first.job.peeks
    const next = first.waits ? [first] : this.#tasks.filter(alike).slice(0, largest)
    this.#tasks = this.#tasks.filter((task) => !next.includes(task))
    return next
  }

  async #run(tasks: readonly Task[]): Promise<void> {
    const waited = tasks[0]?.waits === true
    const wanted = tasks.filter(({ job }) => !job.over)
    let again: readonly Task[] = []
    try {
      if (wanted.length > 0) again = await this.#transact(wanted)
    } catch (cause) {
      for (const { job } of wanted) job.fail(errorOf(cause))
    }
    for (const task of tasks) {
      if (again.includes(task)) this.#tasks.push(Object.assign(task, { waits: true }))
      else task.done()
    }
    this.#running--
    if (waited) this.#waiting--
    this.#pump()
  }

  /** The tasks whose rows others have. */
  #transact(tasks: readonly Task[]): Promise<readonly Task[]> {
    const { pool, timeout } = this.#terms
    const peeks = tasks[0]?.job.peeks === true
    // The server's own timeout comes first and leaves the connection as good as it was.
    return withClient(pool, 2 * timeout, (client) => (peeks ? this.#peek(client, tasks) : this.#write(client, tasks)))
  }

  async #peek(client: PostgresClient, tasks: readonly Task[]): Promise<readonly Task[]> {
    const text = this.#terms.sql.read(keysOf(tasks), (each) => client.escapeLiteral(each))
    const [rows, time] = ((await client.query(text)) as Rows[]).slice(-3) as [Rows, Rows]
    const found = textsOf(rows)
    for (const { job } of tasks) if (this.#make(job, found, time) !== undefined) job.answer()
    return []
  }

  async #write(client: PostgresClient, tasks: readonly Task[]): Promise<readonly Task[]> {
    const { sql } = this.#terms
    const quote = (each: string) => client.escapeLiteral(each)
    const text = sql.lock(keysOf(tasks), tasks[0]?.waits === true, quote)
    const [rows, time] = ((await client.query(text)) as Rows[]).slice(-2) as [Rows, Rows]
    const found = textsOf(rows)
    const [own, others] = parted(tasks, ({ job }) => job.keys.every((key) => found.has(key)))
    const made = own.map(({ job }) => ({ job, saved: this.#make(job, found, time) }))
    for (const { job, saved } of made) if (saved?.length === 0) job.answer()
    const saved = made.flatMap((each) => each.saved ?? [])
    await client.query(saved.length === 0 ? 'rollback' : sql.save(saved, quote))
    for (const { job, saved } of made) if (saved !== undefined) job.answer()
    const empty = [...found.values()].filter((record) => record === undefined).length
    this.#sweep(Math.max(saved.length, empty))
    return others
  }

  /** Makes the job's steps: what has to be saved, undefined if nobody waits for it or it has failed. */
  #make(job: Job, found: ReadonlyMap<string, string | undefined>, time: Rows) {
    if (job.over) return undefined
    const { trusting, ttlMargin } = this.#terms
    const told = trusting ? Number(time.rows[0]?.now) : undefined
    try {
      const writes = job.run(
        job.keys.map((key) => found.get(key)),
        told,
      )
      return writes.map(({ index, text, life }) => {
        return { key: job.keys[index] as string, text, ttl: Math.ceil(life / 1000) + ttlMargin }
      })
    } catch (cause) {
      job.fail(errorOf(cause))
      return undefined
    }
  }

  /** Cleans up in the background, in step with what is written. */
  #sweep(touched: number): void {
    this.#touched += touched
    if (this.#touched < sweepEvery || this.#sweeping) return
    this.#touched = 0
    this.#sweeping = true
    const { pool, sql, timeout } = this.#terms
    const over = () => {
      this.#sweeping = false
    }
    withClient(pool, 10 * timeout, (client) => client.query(sql.sweep())).then(over, over)
  }
}

function keysOf(tasks: readonly Task[]): string[] {
  return [...new Set(tasks.flatMap(({ job }) => job.keys))].sort()
}

/** Of each key that there is a row for, the text in it. */
function textsOf({ rows }: Rows): ReadonlyMap<string, string | undefined> {
  return new Map(rows.map(({ key, record }) => [key as string, (record ?? undefined) as string | undefined]))
}

function parted<T>(all: readonly T[], fits: (each: T) => boolean): [T[], T[]] {
  return [all.filter(fits), all.filter((each) => !fits(each))]
}
