/*
 * Decides calls of `consume` in one round trip, if each call has one cost and one key, and the limiter has one policy of a kind
 * that plain-steps.ts has in SQL. One statement (plain-statement.ts) locks, decides and writes the rows of all these calls, and
 * returns the rows that it read and wrote. From the rows that were read, the algorithm in this process computes the answer of each call. If
 * the algorithm would have written other numbers than the statement, the call fails, so no caller gets an answer that differs from the row.
 *
 * A transaction decides the call instead if another process has locked the row, or if the row is not in plain form. A row with
 * reservations, for example, is not in plain form: see plain-statement.ts.
 */
import type { Policy } from '../../algorithms/index.ts'
import { getOrInsert } from '../../common/index.ts'
import type { ScopedEvaluation } from '../contract/index.ts'
import { type Job, type RecordCall, recordHead } from '../records/index.ts'
import { hasPlainStep } from './plain-steps.ts'
import type { PostgresClient, Rows } from './postgres-client.ts'
import { differentRecord, errorOf } from './postgres-error.ts'
import { isDataError, isUnusable, PreparedStatement } from './prepared-statement.ts'
import type { Sql } from './sql.ts'

/**
 * Decides when a failed statement is tried again. After the first failure, transactions decide the next 2 jobs; after the second
 * failure, the next 4 jobs; and so on, up to 1024 jobs. A job is a call that waits to be decided.
 */
class Attempts {
  #failures = 0
  #left = 0

  /** Call this once for each job. True if the statement (plain-statement.ts) should decide the job, false if a transaction should. */
  next(): boolean {
    if (this.#left === 0) return true
    this.#left--
    return false
  }

  worked(): void {
    if (this.#failures > 0) this.#failures--
  }

  failed(): void {
    this.#failures = Math.min(10, this.#failures + 1)
    this.#left = 2 ** this.#failures
  }
}

/** Calls under one policy of a limiter, which one statement decides together. */
export interface PlainGroup {
  readonly policy: Policy
  readonly statement: PreparedStatement
  /**
   * Decides when the statement is tried for this group of calls. A try counts as failed if at least half of the rows are not in plain form
   * (one state, without reservations, under this limit).
   */
  readonly attempts: Attempts
}

export interface PlainCallsOptions {
  /** False if every call is to be decided by a transaction. */
  readonly prepare: boolean
  readonly sql: Sql
  /** For how many milliseconds a row stays in the table after its states are no longer needed. */
  readonly ttlMargin: number
  /** True to decide by the time of Postgres; false to decide by the time of each call in this process. */
  readonly usesStoreTime: boolean
}

/** The result of a statement: the jobs (waiting calls) that were not decided, and the rows that were written. */
export interface PlainResult {
  /** Jobs (waiting calls) that were not decided because other processes have locked their rows. */
  readonly locked: ReadonlySet<Job>
  /** Jobs (waiting calls) that were not decided, because their rows are not in the form that the statement can decide. */
  readonly other: ReadonlySet<Job>
  /** How many rows the statement has written. */
  readonly saved: number
}

const none: ReadonlySet<Job> = new Set()

export class PlainCalls {
  readonly #options: PlainCallsOptions
  readonly #statements = new Map<string, PreparedStatement>()
  readonly #groups = new WeakMap<ScopedEvaluation, PlainGroup>()
  /**
   * Decides when prepared statements are tried, for all groups. A try fails if a connection has lost its prepared statements, or if
   * the server (such as a pooler) supports none.
   */
  readonly #attempts = new Attempts()

  constructor(options: PlainCallsOptions) {
    this.#options = options
  }

  /** The group to which a job (waiting call) belongs; undefined if a transaction has to decide the job. */
  groupOf({ only, scoped }: Job): PlainGroup | undefined {
    if (!this.#options.prepare) return undefined
    const [first, ...more] = scoped.evaluation.policies
    if (first === undefined || more.length > 0 || only?.command.verb !== 'consume' || costOf(only) === 0)
      return undefined
    if (only.command.alternatives !== undefined) return undefined
    const { policy } = first
    if (!hasPlainStep(policy.algorithm) || policy.shadow || policy.countRefused || policy.limit === 0) return undefined
    const group = getOrInsert(this.#groups, scoped, () => this.#makeGroup(policy))
    return group.attempts.next() && this.#attempts.next() ? group : undefined
  }

  #makeGroup(policy: Policy): PlainGroup {
    const { kind } = policy.algorithm
    const { sql, ttlMargin } = this.#options
    const statement = getOrInsert(this.#statements, kind, () => new PreparedStatement(sql.plain(kind, ttlMargin)))
    return { policy, statement, attempts: new Attempts() }
  }

  async decide(client: PostgresClient, group: PlainGroup, jobs: readonly Job[]): Promise<PlainResult> {
    const wanted = jobs.filter(({ settled }) => !settled).sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    if (wanted.length === 0) return { locked: none, other: none, saved: 0 }
    for (const job of wanted) job.writes()
    const rows = await this.#execute(client, group, wanted)
    const result =
      rows === undefined ? { locked: none, other: new Set(wanted), saved: 0 } : this.#resolve(group, wanted, rows)
    for (const job of [...result.locked, ...result.other]) job.writes(false)
    return result
  }

  /** Executes the statement for these jobs (waiting calls). Returns undefined if the statement failed and has decided no job. */
  async #execute(client: PostgresClient, group: PlainGroup, jobs: readonly Job[]): Promise<Rows | undefined> {
    const values = this.#valuesOf(group.policy, jobs, (text) => client.escapeLiteral(text))
    try {
      const rows = await group.statement.execute(client, this.#options.sql.beginPrepared(), values)
      this.#attempts.worked()
      return rows
    } catch (error) {
      if (!isUnusable(error) && !isDataError(error)) throw error
      const failed = isUnusable(error) ? this.#attempts : group.attempts
      failed.failed()
      await client.query('rollback')
      return undefined
    }
  }

  /** The arguments of the statement. Keys need no quotes in an SQL array, because encode.ts encodes all special characters. */
  #valuesOf(policy: Policy, jobs: readonly Job[], quote: (text: string) => string): string[] {
    const { tolerance, span, parameters } = policy.algorithm
    const calls = jobs.map(({ only }) => only as RecordCall)
    const times = calls.map(({ now }) => (this.#options.usesStoreTime ? 'null' : now))
    const lists = [jobs.map(keyOf), calls.map(costOf), times]
    return [
      quote(recordHead(policy)),
      ...[tolerance, span, ...parameters].map(String),
      ...lists.map((list) => `'{${list.join()}}'`),
    ]
  }

  #resolve({ attempts }: PlainGroup, jobs: readonly Job[], { rows }: Rows): PlainResult {
    const [locked, other] = [new Set<Job>(), new Set<Job>()]
    const byKey = new Map(rows.map((row) => [row.key, row]))
    let saved = 0
    for (const job of jobs) {
      const row = byKey.get(keyOf(job))
      if (row?.outcome === 'done') saved += this.#answer(job, row)
      else if (row?.outcome === 'locked') locked.add(job)
      else other.add(job)
    }
    if (2 * other.size < jobs.length) attempts.worked()
    else attempts.failed()
    return { locked, other, saved }
  }

  /** Resolves or rejects the promise of a call. Returns how many rows the statement has written for the call: 0 or 1. */
  #answer(job: Job, { record, now, saved }: Rows['rows'][number]): number {
    try {
      const storeTime = this.#options.usesStoreTime ? Number(now) : undefined
      const [write] = job.run([(record ?? undefined) as string | undefined], storeTime, true)
      if (saved !== (write?.text ?? null)) throw differentRecord(keyOf(job), saved !== null)
      job.resolve()
    } catch (cause) {
      job.reject(errorOf(cause))
    }
    return saved === null ? 0 : 1
  }
}

function keyOf({ keys }: Job): string {
  return keys[0] as string
}

/** The cost of a call under the only policy of its limiter, in units. */
function costOf({ command: { costs = 1 } }: RecordCall): number {
  return typeof costs === 'number' ? costs : (costs[0] as number)
}
