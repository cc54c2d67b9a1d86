import type { Policy } from '../algorithms/algorithm.ts'
import type { StateRule } from '../algorithms/carry.ts'
import type { Details, Tickets, Verb } from '../algorithms/evaluation.ts'
import type { Decision } from '../decision.ts'
import type { MaybePromise } from '../maybe-promise.ts'

/** What a limiter asks a store to keep. */
export interface LedgerTerms {
  /** The limiter's name: the namespace of its states. Two limiters on one store never share a state. */
  readonly name: string
  readonly policies: readonly Policy[]
  /** The scopes of the policies, each once. A call brings one key for each, in this order. */
  readonly scopes: readonly string[]
  /** What becomes of a state when the numbers of a policy of that name have changed. Default `'keep'`. */
  readonly onChange?: StateRule
}

/** A granted or refused reservation, as the store answers it. */
export interface Booking {
  readonly decision: Decision
  /** How long to wait before acting, in whole milliseconds rounded up; 0 if refused. */
  readonly wait: number
  /** What `refund` needs to give back no more than is still held; undefined if refused. */
  readonly tickets: Tickets | undefined
}

/** A reservation aside, every verb is the same question: this cost, by these keys. */
export type DecideVerb = Exclude<Verb, 'reserve'>

/** What happens to calls that the store cannot decide: refused, let through, or decided in this process. */
export type Choice = 'deny' | 'allow' | 'local'

export interface CallExtras extends Details {
  /** Told when the store fails this call; says what happens then, if the limiter's own choice is not to. Not for stores. */
  readonly onFailure?: (error: unknown) => Choice | undefined
}

export interface DecideExtras extends CallExtras {
  /** With `refund`: the tickets of the reservation that is being settled. */
  readonly tickets?: Tickets | undefined
}

/**
 * One limiter's states in a store. Every call is one atomic step over all policies of all its keys: read, decide, and
 * write what changed. Keys arrive validated, one per scope; costs as positive safe integers (a charge of 0 opens a key).
 */
export interface Ledger {
  decide(verb: DecideVerb, keys: readonly string[], cost: number, extras?: DecideExtras): MaybePromise<Decision>
  /** @param maxWait in whole microseconds */
  reserve(keys: readonly string[], cost: number, maxWait: number, details?: CallExtras): MaybePromise<Booking>
  /** Forgets these keys: each is like new. */
  reset(keys: readonly string[]): MaybePromise<void>
  /**
   * Goes on under the same policies with other limits; every state is adopted. Only where nobody else can reach the
   * states, so that who has it may also rely on knowing every booking.
   */
  retune?(policies: readonly Policy[]): void
  /** The same states under other policies, which are the same by their names; where absent, `open` reaches them. */
  vary?(terms: LedgerTerms): Ledger
}

/** Keeps states, owns the clock, makes a step atomic. `testStore` of headgate/testing is what one has to pass. */
export interface Store {
  /** Whether every ledger answers at once, never with a promise. */
  readonly synchronous: boolean
  /**
   * In milliseconds. A store that has it rejects each call in time itself, with `HEADGATE_STORE_TIMEOUT`. For a store
   * without it, the limiter keeps the deadline.
   */
  readonly timeout?: number
  open(terms: LedgerTerms): Ledger
}
