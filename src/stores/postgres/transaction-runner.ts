/*
 * Runs jobs (groups of calls on the same keys) in transactions: two round trips for all jobs that arrive together. Calls that a single
 * statement can decide take one round trip (plain-calls.ts).
 *
 *     create missing rows; commit
 *     begin; lock and read the rows; read the time         then the jobs are evaluated in this process
 *     save what changed; commit
 *
 * The locks make a call atomic over all its keys, so no call has to be tried again. A row that another process has locked is
 * skipped. The job of a skipped row gets a separate transaction, which waits for the row. So a busy key delays no other key. The number of
 * simultaneous transactions is bounded. If this bound is above 1, one of the transactions never waits for locked rows. Jobs that arrive
 * while all transactions are busy share the next transaction.
 */
import type { HeadgateError } from '../../common/index.ts'
import { exchanged, exchangeStart } from '../contract/index.ts'
import type { Job } from '../records/index.ts'
import { PlainCalls, type PlainCallsOptions, type PlainGroup } from './plain-calls.ts'
import { type PostgresClient, type PostgresPool, type Rows, withClient } from './postgres-client.ts'
import { errorOf } from './postgres-error.ts'
import type { Saved } from './sql.ts'

export interface TransactionRunnerOptions extends PlainCallsOptions {
  readonly pool: PostgresPool
  /** The timeout of the store, in milliseconds. */
  readonly timeout: number
  /** The most transactions at the same time. */
  readonly transactions: number
}

/** A job (calls on the same keys), and how the job is to be run. */
interface Task {
  readonly job: Job
  readonly done: () => void
  /** True if the task has a transaction for itself, which waits for rows that other processes have locked; false to skip such rows. */
  waits: boolean
  /** The group of jobs (waiting calls) that one statement decides together; undefined if a transaction has to decide this job. */
  group: PlainGroup | undefined
}

/** The most jobs (groups of calls on the same keys) in one transaction. */
const maxTasks = 64

/** How many rows are written between two sweeps of expired rows. A sweep deletes up to 200 rows. */
const sweepEvery = 100

/** How long a connection may be silent, in milliseconds, however short the timeout is. */
const latestAnswer = 1000

/** How long one statement of `clear` may take, in milliseconds. */
const longestStep = 10_000

export class TransactionRunner {
  readonly #options: TransactionRunnerOptions
  readonly #plainCalls: PlainCalls
  #tasks: Task[] = []
  #running = 0
  /**
   * How many running transactions wait for locked rows. If several transactions are allowed, one of them never waits, so that jobs on other
   * keys go on.
   */
  #waiting = 0
  #touched = 0
  #sweeping = false

  constructor(options: TransactionRunnerOptions) {
    this.#options = options
    this.#plainCalls = new PlainCalls(options)
  }

  /** Runs jobs (groups of calls on the same keys). Each promise resolves when its job has ended, whether the job succeeded or failed. */
  run(jobs: readonly Job[]): Promise<void>[] {
    const promises = jobs.map((job) => {
      const group = this.#plainCalls.groupOf(job)
      return new Promise<void>((done) => void this.#tasks.push({ job, done, waits: false, group }))
    })
    this.#startTransactions()
    return promises
  }

  /** Deletes every key that begins with `start`, in several statements, while other calls go on. `start` ends with `:`. */
  async clear(start: string): Promise<void> {
    const { pool, sql } = this.#options
    const end = `${start.slice(0, -1)};` // `;` is the character after the colon
    for (let last: unknown = start; typeof last === 'string'; ) {
      const after = last
      const statement = (client: PostgresClient) =>
        client.query(sql.clear(after, end, (each) => client.escapeLiteral(each)))
      const { rows } = (await withClient(pool, longestStep, statement)) as Rows
      last = rows[0]?.last
    }
  }

  #startTransactions(): void {
    while (this.#running < this.#options.transactions) {
      const tasks = this.#takeTasks()
      if (tasks.length === 0) return
      this.#running++
      if (tasks[0]?.waits) this.#waiting++
      void this.#run(tasks)
    }
  }

  /** Removes the tasks of the next transaction from the queue. All tasks of one transaction only read, or all of them write. */
  #takeTasks(): readonly Task[] {
    const mayWait = this.#waiting < Math.max(1, this.#options.transactions - 1)
    const first = this.#tasks.find(({ waits }) => !waits || mayWait)
    if (first === undefined) return []
    const alike = ({ waits, job, group }: Task) =>
      !waits && job.readOnly === first.job.readOnly && group === first.group
    const next = first.waits ? [first] : this.#tasks.filter(alike).slice(0, maxTasks)
    this.#tasks = this.#tasks.filter((task) => !next.includes(task))
    return next
  }

  async #run(tasks: readonly Task[]): Promise<void> {
    const waited = tasks[0]?.waits === true
    const wanted = tasks.filter(({ job }) => !job.settled)
    let left: readonly Task[] = []
    const startedAt = exchangeStart()
    let failure: HeadgateError | undefined
    try {
      if (wanted.length > 0) left = await this.#transact(wanted)
    } catch (cause) {
      failure = errorOf(cause)
      for (const { job } of wanted) job.reject(failure)
    }
    if (wanted.length > 0) exchanged('postgres', startedAt, callsOf(wanted), failure)
    for (const task of tasks) {
      if (left.includes(task)) this.#tasks.push(task)
      else task.done()
    }
    this.#running--
    if (waited) this.#waiting--
    this.#startTransactions()
  }

  /**
   * Returns the tasks that need another transaction, because other transactions have locked their rows, or no single statement can
   * decide these rows.
   */
  #transact(tasks: readonly Task[]): Promise<readonly Task[]> {
    const { pool, timeout } = this.#options
    const readOnly = tasks[0]?.job.readOnly === true
    const group = tasks[0]?.group
    // The server's statement timeout comes first, so that the connection stays usable. A late answer is waited for, because it tells which
    // units are to be given back.
    return withClient(pool, Math.max(2 * timeout, latestAnswer), (client) => {
      if (group !== undefined) return this.#decide(client, group, tasks)
      return readOnly ? this.#read(client, tasks) : this.#write(client, tasks)
    })
  }

  async #decide(client: PostgresClient, group: PlainGroup, tasks: readonly Task[]): Promise<readonly Task[]> {
    const { locked, other, saved } = await this.#plainCalls.decide(
      client,
      group,
      tasks.map(({ job }) => job),
    )
    this.#sweep(saved)
    return tasks.filter((task) => {
      task.group = undefined
      task.waits = locked.has(task.job)
      return task.waits || other.has(task.job)
    })
  }

  async #read(client: PostgresClient, tasks: readonly Task[]): Promise<readonly Task[]> {
    const text = this.#options.sql.read(keysOf(tasks), (each) => client.escapeLiteral(each))
    const [rows, time] = ((await client.query(text)) as Rows[]).slice(-3) as [Rows, Rows]
    const texts = textsOf(rows)
    for (const { job } of tasks) if (this.#evaluate(job, texts, time) !== undefined) job.resolve()
    return []
  }

  async #write(client: PostgresClient, tasks: readonly Task[]): Promise<readonly Task[]> {
    const { sql } = this.#options
    const quote = (each: string) => client.escapeLiteral(each)
    const text = sql.lock(keysOf(tasks), tasks[0]?.waits === true, quote)
    const [rows, time] = ((await client.query(text)) as Rows[]).slice(-2) as [Rows, Rows]
    const texts = textsOf(rows)
    const isLocked = ({ job }: Task) => job.keys.every((key) => texts.has(key))
    const evaluated = tasks.filter(isLocked).map(({ job }) => ({ job, changes: this.#evaluate(job, texts, time) }))
    for (const { job, changes } of evaluated) if (changes?.length === 0) job.resolve()
    const saved = evaluated.flatMap(({ changes }) => changes ?? [])
    if (saved.length > 0) for (const { job } of evaluated) job.writes()
    await client.query(saved.length === 0 ? 'rollback' : sql.save(saved, quote))
    for (const { job, changes } of evaluated) if (changes?.length) job.resolve()
    const empty = [...texts.values()].filter((record) => record === undefined).length
    this.#sweep(Math.max(saved.length, empty))
    return tasks.filter((task) => {
      task.waits = !isLocked(task)
      return task.waits
    })
  }

  /** Evaluates the calls of a job. Returns the rows to save; undefined if the job has failed, or if no caller waits for it any more. */
  #evaluate(job: Job, texts: ReadonlyMap<string, string | undefined>, time: Rows): Saved[] | undefined {
    if (job.settled) return undefined
    const { usesStoreTime, ttlMargin } = this.#options
    const storeTime = usesStoreTime ? Number(time.rows[0]?.now) : undefined
    try {
      const writes = job.run(
        job.keys.map((key) => texts.get(key)),
        storeTime,
      )
      return writes.map(({ index, text, life }) => {
        return { key: job.keys[index] as string, text, ttl: Math.ceil(life / 1000) + ttlMargin }
      })
    } catch (cause) {
      job.reject(errorOf(cause))
      return undefined
    }
  }

  /** Deletes expired rows in the background. Runs once for each `sweepEvery` rows that were written. */
  #sweep(touched: number): void {
    this.#touched += touched
    if (this.#touched < sweepEvery || this.#sweeping) return
    this.#touched = 0
    this.#sweeping = true
    const { pool, sql, timeout } = this.#options
    const over = () => {
      this.#sweeping = false
    }
    withClient(pool, 10 * timeout, (client) => client.query(sql.sweep())).then(over, over)
  }
}

function callsOf(tasks: readonly Task[]): number {
  return tasks.reduce((calls, { job }) => calls + job.size, 0)
}

function keysOf(tasks: readonly Task[]): string[] {
  return [...new Set(tasks.flatMap(({ job }) => job.keys))].sort()
}

/** For each key that has a row: the text of its states, or undefined if the row has no text. */
function textsOf({ rows }: Rows): ReadonlyMap<string, string | undefined> {
  return new Map(rows.map(({ key, record }) => [key as string, (record ?? undefined) as string | undefined]))
}
