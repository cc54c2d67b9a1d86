import { toPolicy } from '../../src/algorithms/shorthand.ts'
import { healthOf, openLedger } from '../../src/failure/failover-ledger.ts'
import type { Decision, Health, OnStoreError, PolicyLike, Store } from '../../src/index.ts'
import type { Ledger, LedgerTerms } from '../../src/store.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { ReferenceLedger } from './reference-store.ts'

/** up: answers. fails: rejects. throws: does so at once. hangs: never answers. lost: does it, and never answers. */
export type Mode = 'up' | 'fails' | 'throws' | 'hangs' | 'lost'

/** A store behind a network, which fails as it is told. States are found by name, policy and key, as by a server. */
export class FailingStore implements Store {
  readonly synchronous = false
  readonly #clock: ManualClock
  readonly #opened = new Map<string, ReferenceLedger>()
  mode: Mode = 'up'
  /** What it was asked, also what it did not answer. */
  calls: string[] = []
  readonly #held: (() => void)[] = []

  constructor(clock: ManualClock) {
    this.#clock = clock
  }

  open(terms: LedgerTerms): Ledger {
    const ledger = this.#opened.get(terms.name)?.vary(terms) ?? new ReferenceLedger(terms, this.#clock.now)
    this.#opened.set(terms.name, ledger)
    const names = terms.policies.map(({ name }) => name).join('+')
    return {
      decide: (verb, keys, cost, extras) =>
        this.#answer(`${verb} ${keys} ${cost} ${names}`, () => ledger.decide(verb, keys, cost, extras)),
      reserve: (keys, cost, maxWait) =>
        this.#answer(`reserve ${keys} ${cost} ${names}`, () => ledger.reserve(keys, cost, maxWait)),
      reset: (keys) => this.#answer(`reset ${keys}`, () => ledger.reset(keys)),
    }
  }

  /** Lets what hangs be answered after all. */
  release(): void {
    for (const answer of this.#held.splice(0)) answer()
  }

  #answer<T>(call: string, decide: () => T): Promise<T> {
    this.calls.push(call)
    const { mode } = this
    if (mode === 'throws') throw new Error('store threw')
    if (mode === 'fails') return Promise.reject(new Error('store failed'))
    if (mode === 'up') return Promise.resolve(decide())
    if (mode === 'lost') decide()
    return new Promise((resolve) => this.#held.push(() => resolve(decide())))
  }
}

export interface WorldOptions {
  onStoreError?: OnStoreError
  instances?: number
  /** Whose store, name and time it is, too: this is that limiter under other policies. */
  like?: World
}

/** One limiter's ledger on a failing store, and time that passes only when told. */
export class World {
  readonly clock: ManualClock
  readonly start: number
  readonly store: FailingStore
  readonly ledger: Ledger
  readonly scopes: readonly string[]
  readonly timers = new Set<{ at: number; wake: () => void }>()

  constructor(policies: PolicyLike | readonly PolicyLike[], { onStoreError, instances = 1, like }: WorldOptions = {}) {
    this.clock = like?.clock ?? new ManualClock()
    this.start = this.clock.milliseconds
    this.store = like?.store ?? new FailingStore(this.clock)
    const all = [policies].flat().map((each) => toPolicy(each as PolicyLike))
    this.scopes = [...new Set(all.map(({ scope }) => scope))]
    const sleeper = (milliseconds: number, wake: () => void) => {
      const timer = { at: this.clock.milliseconds + milliseconds, wake }
      this.timers.add(timer)
      return () => void this.timers.delete(timer)
    }
    const terms = { name: 'api', policies: all, scopes: this.scopes }
    this.ledger =
      like?.ledger.vary?.(terms) ??
      openLedger(this.store, terms, {
        onStoreError,
        instances,
        storeTimeout: undefined,
        clock: this.clock.now,
        sleeper,
      })
  }

  get health(): Health {
    return healthOf(this.ledger)
  }

  /** Lets the time pass until so many milliseconds after the start, and everything happen that is due by then. */
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

  /** What was asked of the store since it was last looked at. */
  asked(): string[] {
    return this.store.calls.splice(0)
  }

  consume(key = 'k', cost = 1): Promise<string> {
    return told(
      this.ledger.decide(
        'consume',
        this.scopes.map(() => key),
        cost,
      ),
    )
  }

  async peek(key = 'k'): Promise<string> {
    return told(
      this.ledger.decide(
        'peek',
        this.scopes.map(() => key),
        1,
      ),
    )
  }

  /** Fails until the breaker opens, by keys of their own. */
  async down(mode: Mode = 'fails'): Promise<void> {
    this.store.mode = mode
    for (let n = 0; n < 5; n++) void this.consume(`down-${n}`)
    await this.at(this.clock.milliseconds - this.start + (mode === 'fails' || mode === 'throws' ? 0 : 100))
    this.store.calls = []
  }

  /** Back, and known to be: a probe has passed, and what is owed is settled. */
  async up(): Promise<void> {
    this.store.mode = 'up'
    await this.at(this.clock.milliseconds - this.start + 500)
    await this.peek('probe')
    await settle()
    this.store.calls = []
  }
}

/** An answer as a timeline tells it: by whom, and what is left or how long to wait; or the code it rejects with. */
export async function told(answer: Decision | Promise<Decision>): Promise<string> {
  try {
    const { source, allowed, remaining, retryAfter } = await answer
    return allowed ? `${source} ${remaining}` : `${source} no ${retryAfter}`
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}

/** Lets every promise that can go on do so. */
export async function settle(): Promise<void> {
  for (let n = 0; n < 3; n++) await new Promise((resolve) => setImmediate(resolve))
}
