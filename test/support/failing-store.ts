import { toPolicy } from '../../src/algorithms/shorthand.ts'
import { HeadgateError, unsupported } from '../../src/common/errors.ts'
import type { Decision, Health, MaybePromise, OnStoreError, Policy, PolicyLike, Store } from '../../src/index.ts'
import { type Ledger, type LedgerTerms, type StoreTraits, type Verb, withFailover } from '../../src/store.ts'
import type { CheckedLedger } from '../../src/stores/contract/health.ts'
import { openLedger } from '../../src/stores/contract/open-ledger.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { ReferenceLedger } from './reference-store.ts'

/**
 * `up` works. `fails` rejects. `unsent` rejects, and says that no call was sent. `throws` throws before there is a promise. `hangs`
 * never decides and never responds. `slow` decides, and responds at `release`. `lost` decides and never responds. `breaks` decides, and then its connection breaks.
 */
export type Mode = 'up' | 'fails' | 'unsent' | 'throws' | 'hangs' | 'slow' | 'lost' | 'breaks'

function decides(verb: Verb): boolean {
  return !['ban', 'unban', 'inspect', 'scan', 'clear'].includes(verb)
}

/** A store behind a network, which fails by its mode. It finds states by name, policy and key, as a server does. */
export class FailingStore implements Store {
  readonly synchronous = false
  /** A timeout is declared, and never kept: a caller that relies on it waits. */
  readonly traits: StoreTraits
  readonly #clock: ManualClock
  readonly #opened = new Map<string, ReferenceLedger>()
  mode: Mode = 'up'
  /** The requests, also those without a response. */
  calls: string[] = []
  readonly #hanging: (() => void)[] = []

  constructor(clock: ManualClock, timeout?: number) {
    this.#clock = clock
    this.traits = { alternatives: true, ...(timeout !== undefined && { timeout }) }
  }

  open(terms: LedgerTerms, joins?: Ledger): Ledger {
    return withFailover(this, terms, joins, (bare) => this.openBare(bare))
  }

  /** Opens a ledger without the failover. */
  openBare(terms: LedgerTerms): Ledger {
    const ledger = this.#opened.get(terms.name)?.joined(terms) ?? new ReferenceLedger(terms, this.#clock.now)
    this.#opened.set(terms.name, ledger)
    const names = terms.policies.map(({ name }) => name).join('+')
    return {
      run: (command) => {
        const { verb, keys, costs = 1 } = command
        if (!decides(verb)) throw unsupported(verb)
        const call = verb === 'reset' ? `reset ${keys}` : `${verb} ${keys} ${costs} ${names}`
        return this.#answer(call, () => ledger.run(command))
      },
    }
  }

  /** Responds to the requests that hang. */
  release(): void {
    for (const answer of this.#hanging.splice(0)) answer()
  }

  #answer<T>(call: string, decide: () => T): Promise<T> {
    this.calls.push(call)
    const { mode } = this
    if (mode === 'throws') throw new Error('store threw')
    if (mode === 'fails') return Promise.reject(new Error('store failed'))
    if (mode === 'unsent') return Promise.reject(new HeadgateError('HEADGATE_STORE', 'not sent', { uncounted: true }))
    if (mode === 'up') return Promise.resolve(decide())
    if (mode === 'slow') {
      const outcome = decide()
      return new Promise((resolve) => this.#hanging.push(() => resolve(outcome)))
    }
    if (mode !== 'hangs') decide()
    if (mode === 'breaks') return Promise.reject(new HeadgateError('HEADGATE_STORE', 'the connection broke'))
    return new Promise((resolve) => this.#hanging.push(() => resolve(decide())))
  }
}

export interface FailoverFixtureOptions {
  onStoreError?: OnStoreError
  instances?: number
  /** The timeout that the store declares, in milliseconds. */
  timeout?: number
  /** The limiter's own, in milliseconds. */
  storeTimeout?: number
  /** Makes another plan of this fixture's limiter: with its store, name and time. */
  planOf?: FailoverFixture
}

/** One limiter's ledger on a failing store, with a clock that only the test moves. */
export class FailoverFixture {
  readonly clock: ManualClock
  readonly start: number
  readonly store: FailingStore
  readonly ledger: CheckedLedger
  readonly policies: readonly Policy[]
  readonly scopes: readonly string[]
  readonly timers = new Set<{ at: number; wake: () => void }>()

  constructor(
    policies: PolicyLike | readonly PolicyLike[],
    { onStoreError, instances = 1, timeout, storeTimeout, planOf }: FailoverFixtureOptions = {},
  ) {
    this.clock = planOf?.clock ?? new ManualClock()
    this.start = this.clock.milliseconds
    this.store = planOf?.store ?? new FailingStore(this.clock, timeout)
    this.policies = [policies].flat().map((each) => toPolicy(each as PolicyLike))
    this.scopes = [...new Set(this.policies.map(({ scope }) => scope))]
    const sleeper = (milliseconds: number, wake: () => void) => {
      const timer = { at: this.clock.milliseconds + milliseconds, wake }
      this.timers.add(timer)
      return () => void this.timers.delete(timer)
    }
    const failure = { onStoreError, instances, storeTimeout, clock: this.clock.now, sleeper }
    const terms = { name: 'api', policies: this.policies, scopes: this.scopes, failure }
    this.ledger = openLedger(this.store, terms, planOf?.ledger)
  }

  get health(): Health {
    return this.ledger.health?.() as Health
  }

  /** Moves the clock to that many milliseconds after the start. Every timer that is due by then runs. */
  async at(milliseconds: number): Promise<void> {
    await settle()
    for (;;) {
      const [next] = [...this.timers].sort((a, b) => a.at - b.at)
      if (next === undefined || next.at > this.start + milliseconds) break
      this.timers.delete(next)
      this.clock.set(Math.max(next.at, this.clock.milliseconds))
      next.wake()
      await settle()
    }
    this.clock.set(this.start + milliseconds)
    await settle()
  }

  /** The store's requests since the last call of this function. */
  requests(): string[] {
    return this.store.calls.splice(0)
  }

  consume(key = 'k', cost = 1): Promise<string> {
    return outcome(this.ledger.run({ verb: 'consume', keys: this.scopes.map(() => key), costs: cost }))
  }

  async peek(key = 'k'): Promise<string> {
    return outcome(this.ledger.run({ verb: 'peek', keys: this.scopes.map(() => key) }))
  }

  /** Makes the store fail until the breaker opens, with calls of other keys. */
  async down(mode: Mode = 'fails'): Promise<void> {
    this.store.mode = mode
    // One after the other: the failures of calls that are under way together count once.
    for (let n = 0; n < 5; n++) {
      void this.consume(`down-${n}`)
      await this.at(this.clock.milliseconds - this.start + (mode === 'fails' || mode === 'throws' ? 0 : 100))
    }
    this.store.calls = []
  }

  /** Makes the store work again: a probe succeeds, and all debts are settled. */
  async up(): Promise<void> {
    this.store.mode = 'up'
    await this.at(this.clock.milliseconds - this.start + 500)
    await this.peek('probe')
    await settle()
    this.store.calls = []
  }
}

/** A decision in short: its source, and the units left or the milliseconds to wait; else the error's code. */
export async function outcome(answer: MaybePromise<Decision>): Promise<string> {
  try {
    const { source, allowed, remaining, retryAfter } = await answer
    return allowed ? `${source} ${remaining}` : `${source} no ${retryAfter}`
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}

/** Waits until no promise can go on. */
export async function settle(): Promise<void> {
  for (let n = 0; n < 3; n++) await new Promise((resolve) => setImmediate(resolve))
}
