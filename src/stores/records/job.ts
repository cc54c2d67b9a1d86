/*
 * A job is a group of calls on the same keys of one limiter. The job reads the keys once, evaluates the calls in their
 * order, and saves the keys once.
 */
import { Evaluation, type Tickets, unitsBack } from '../../algorithms/evaluation/index.ts'
import { HeadgateError } from '../../common/index.ts'
import type { Decision } from '../../policy/index.ts'
import {
  type Booking,
  type Command,
  type EvaluationScope,
  type PendingCall,
  runOnStates,
  type ScopedEvaluation,
  type StateVerb,
} from '../contract/index.ts'
import { emptyRecord, KeyRecord, type SavedText } from './key-record.ts'

/** The outcome of a command that reads or changes states. Undefined for `reset`, `ban` and `unban`. */
export type StateOutcome = Booking | Decision | undefined

/** The outcome of a call, and the tickets by which its units can be given back. */
interface Result {
  readonly outcome: StateOutcome
  readonly tickets: Tickets | undefined
}

/** A command that waits for its outcome. The command runs on the keys of its job (group of calls), and not on the command's own `keys`. */
export interface RecordCall {
  readonly command: Command<StateVerb>
  /** The time of the call by this process's clock, in microseconds, for stores that do not report a time. */
  readonly now: number
  readonly pending: PendingCall<StateOutcome>
  /**
   * Called with an outcome that comes after the call has timed out. The tickets identify the units of the call, so that they can be given
   * back.
   */
  readonly late: (outcome: StateOutcome, tickets: Tickets | undefined) => void
  /** Calls `onThreshold` for the thresholds of the policies with these indexes, in an outcome that the caller does not get. */
  readonly tell?: (outcome: StateOutcome, places: readonly number[]) => void
}

/** A text that has to be saved for a key. */
export interface Write extends SavedText {
  /** The index of the key in the list `keys` of the job (group of calls on the same keys). */
  readonly index: number
  /** The text that was read for the key; undefined if the key had no text. */
  readonly before: string | undefined
}

export class Job {
  readonly scoped: ScopedEvaluation
  readonly keys: readonly string[]
  readonly #calls: RecordCall[] = []
  /**
   * The result of each call, until the texts of all keys are saved. Undefined for a call that has already ended, with a result or an
   * error.
   */
  #results: (Result | undefined)[] = []

  constructor(scoped: ScopedEvaluation, keys: readonly string[]) {
    this.scoped = scoped
    this.keys = keys
  }

  add(call: RecordCall): void {
    this.#calls.push(call)
  }

  /** How many calls the job (group of calls on the same keys) has. */
  get size(): number {
    return this.#calls.length
  }

  /** The call, if the job (group of calls) has only one call; otherwise undefined. */
  get only(): RecordCall | undefined {
    return this.#calls.length === 1 ? this.#calls[0] : undefined
  }

  /** True if every call has ended, with a result or an error. */
  get settled(): boolean {
    return this.#calls.every(({ pending }) => pending.settled)
  }

  /** Notes that the store may have counted the calls. @param may false if the store has certainly counted none of these calls */
  writes(may = true): void {
    for (const { pending } of this.#calls) pending.sent = may
  }

  /** True if none of the calls can change a state. */
  get readOnly(): boolean {
    return this.#calls.every(({ command }) => command.verb === 'peek')
  }

  /**
   * Evaluates every call on the texts that the store has for the keys. Returns the new texts that have to be saved before `resolve` is
   * called. If saving fails, `run` may be called again with newer texts.
   * @param storeTime the store's time in microseconds; undefined to use the time of each call
   * @param counted true if the store has already counted all calls: then calls that have timed out are evaluated, too
   */
  run(texts: readonly (string | undefined)[], storeTime: number | undefined, counted = false): Write[] {
    const records = texts.map((text) => new KeyRecord(text, this.#calls[0]?.command.verb === 'reset'))
    this.#results = this.#calls.map((call) => {
      return call.pending.settled && !counted ? undefined : this.#evaluate(call, records, storeTime ?? call.now)
    })
    const now = storeTime ?? this.#calls.at(-1)?.now ?? 0
    return records.flatMap((record, index) => {
      return record.changed ? [{ index, before: texts[index], ...record.save(now) }] : []
    })
  }

  #evaluate({ command }: RecordCall, records: readonly KeyRecord[], now: number): Result {
    const outcome = runOnStates(records, this.scoped, command, now)
    if (outcome !== undefined && 'tickets' in outcome) return { outcome, tickets: outcome.tickets }
    // If the texts of some keys cannot be saved, `withdraw` removes the call's units from the texts of the other keys. So a call on several
    // keys needs tickets, which say what to take back.
    const { evaluation } = this.scoped
    const withdrawable = outcome !== undefined && evaluation.takes && this.keys.length > 1
    return { outcome, tickets: withdrawable ? evaluation.tickets() : undefined }
  }

  /** Gives each caller the result of its call. */
  resolve(): void {
    for (const [n, { pending, late }] of this.#calls.entries()) {
      const result = this.#results[n]
      if (!pending.settled) pending.resolve(result?.outcome)
      else if (result !== undefined) late(result.outcome, result.tickets)
    }
  }

  /** Gives each caller the error. If the store cannot have counted the call, the error has `uncounted: true`. */
  reject(error: HeadgateError): void {
    const { code, message, cause } = error
    const uncounted = new HeadgateError(code, message, { cause, uncounted: true })
    for (const { pending } of this.#calls) pending.reject(pending.sent ? error : uncounted)
  }

  /**
   * Calls `onThreshold` for the thresholds of a key whose units were withdrawn, because the key's text still says that the thresholds were
   * reported.
   */
  tell(index: number): void {
    const { places } = this.scoped.scopes[index] as EvaluationScope
    for (const [n, { tell }] of this.#calls.entries()) tell?.(this.#results[n]?.outcome, places)
  }

  /**
   * Removes the units that this job took from `text`, the newest text of a key, and returns the new text. Units that other processes have
   * taken since then stay counted, and so do counted refusals of this job.
   * @param index the index of the key in `keys`
   */
  withdraw(index: number, text: string, now: number): SavedText {
    const { places, policies } = this.scoped.scopes[index] as EvaluationScope
    const record = new KeyRecord(text)
    const evaluation = new Evaluation(policies.map(({ policy }) => policy))
    for (const [n, result] of this.#results.entries()) {
      const all = result?.tickets
      if (all === undefined) continue
      const renewed = this.#calls[n]?.command.tickets // a renewal does not change the tickets of policies under which it took no units
      const tickets = places.map((place) => (all[place] === renewed?.[place] ? undefined : all[place]))
      record.load(evaluation.policies, now, this.scoped.onChange)
      evaluation.evaluate('settle', now, unitsBack(tickets), 0, tickets)
      evaluation.giveBack()
      record.update(evaluation.policies, now)
    }
    return record.save(now)
  }
}

/**
 * When a job (group of calls) is undone, this text replaces the text of a key that had no text before the job. A text without states is
 * never needed, so `life` is 0.
 */
export const emptyText: SavedText = { text: emptyRecord, life: 0 }
