import { isolatesRequests } from '#platform'
import { type Tickets, unitsBack } from '../algorithms/evaluation/index.ts'
import type { Decision } from '../policy/index.ts'
import { type Booking, type Command, costsTaken, type OnLate } from '../stores/contract/index.ts'
import { hasUnits } from './pending-charges.ts'
import { few, RequestWork } from './request-work.ts'
import { isUncounted, type StoreLink } from './store-link.ts'
import { MovedKeys } from './store-parts.ts'

/** The most refunds that can wait until the store responds. If another refund comes, the oldest refund is dropped. */
const maxRefunds = 10_000

/** A request that gives units of a key back to the store. */
interface Refund {
  readonly scope: string
  readonly key: string
  readonly run: () => Promise<unknown>
}

/**
 * Refunds that wait until the store responds again. In a store with shards, a refund waits only for the shards that decide on
 * its keys.
 */
export class DeferredRefunds {
  readonly #link: StoreLink
  readonly #refunds = new Set<Refund>()
  /** The refunds of late calls that are under way for the first time. */
  readonly #begun = new Set<Refund>()
  /** The last few refunds that a request of Cloudflare Workers has begun. */
  readonly #work = new RequestWork()
  #running = false
  #again = false
  readonly #moves: MovedKeys

  constructor(link: StoreLink) {
    this.#link = link
    this.#moves = new MovedKeys(
      link.parts,
      () => this.#refunds.size > 0,
      () => this.#start(),
    )
  }

  /**
   * Runs the refund now. If the last request to the store has failed, runs the refund when the store responds again. A refund that fails
   * runs again only if the error says that the store has certainly not executed the refund.
   */
  add(refund: Refund): void {
    const [oldest] = this.#refunds
    if (oldest !== undefined && this.#refunds.size >= maxRefunds) this.#refunds.delete(oldest)
    this.#refunds.add(refund)
    if (!this.#waits(refund)) this.#start()
  }

  /**
   * Runs the refund of a late reservation at once, by `first`. If `first` fails, runs the refund as `add` does, but takes no place of an
   * earlier refund.
   */
  async begin(refund: Refund, first: () => Promise<unknown>): Promise<void> {
    if (this.#begun.size < maxRefunds) this.#begun.add(refund)
    try {
      await first()
    } catch (error) {
      if (isUncounted(error) && this.#begun.has(refund) && this.#refunds.size < maxRefunds) this.add(refund)
    } finally {
      this.#begun.delete(refund)
    }
  }

  /** Drops the refunds of keys that are reset, because such keys have their full quota already. Returns the dropped refunds. */
  forget(scopes: readonly string[], keys: readonly string[]): readonly Refund[] {
    const isDropped = ({ scope, key }: Refund) => scopes.some((each, n) => each === scope && keys[n] === key)
    const dropped = [...this.#refunds].filter(isDropped)
    for (const refund of dropped) this.#refunds.delete(refund)
    for (const refund of this.#begun) if (isDropped(refund)) this.#begun.delete(refund)
    return dropped
  }

  /** Drops all refunds, because all keys were cleared. */
  forgetAll(): void {
    this.#refunds.clear()
    this.#begun.clear()
  }

  /** True if the last request to the store has failed, so that the refund waits until the store responds again. */
  #waits({ key }: Refund): boolean {
    const failing = this.#link.parts.of([key]).find(({ doubtful }) => doubtful)
    failing?.onNextResponse(this.#start)
    if (failing !== undefined) this.#moves.lookLater()
    return failing !== undefined
  }

  readonly #start = (): void => {
    if (isolatesRequests) this.#runSome()
    else void this.#run()
  }

  /** Runs a few refunds, and then waits for the next response to a call. */
  #runSome(): void {
    const some = this.#work.isUnderWay ? [] : [...this.#refunds].filter((refund) => !this.#waits(refund)).slice(0, few)
    const [next] = this.#refunds
    if (next !== undefined && this.#refunds.size > some.length) this.#awaitAll(next.key)
    if (some.length === 0) return
    for (const refund of some) this.#refunds.delete(refund)
    void this.#work.run(() => Promise.all(some.map((refund) => this.#runOnce(refund))))
  }

  async #runOnce(refund: Refund): Promise<void> {
    try {
      await refund.run()
    } catch (error) {
      if (!isUncounted(error)) return
      this.#refunds.add(refund)
      this.#awaitAll(refund.key)
    }
  }

  #awaitAll(key: string): void {
    for (const breaker of this.#link.parts.of([key])) breaker.onNextResponse(this.#start)
  }

  /** Runs the refunds that need not wait, in order. A refund stays in the list while it runs, so that `forget` can drop it. */
  async #run(): Promise<void> {
    this.#again = true
    if (this.#running) return
    this.#running = true
    while (this.#again) {
      this.#again = false
      for (const refund of this.#refunds) {
        if (this.#waits(refund)) continue
        try {
          await refund.run()
          this.#refunds.delete(refund)
        } catch (error) {
          if (!isUncounted(error)) this.#refunds.delete(refund)
          else this.#awaitAll(refund.key)
        }
      }
    }
    this.#running = false
  }
}

/** The units of a call whose outcome came too late for its caller. Both lists have an item for each policy. */
export interface LateUnits {
  /** The units that still count. */
  readonly units: readonly number[]
  /** Identify the units of a reservation. */
  readonly tickets: Tickets | undefined
}

/**
 * The units that a late outcome gives back. Undefined if the command took no units, or if the units stay used: reconciliation (charges
 * after an outage) treats a charge that timed out as made. Units under a policy that has its full quota again count no more: a refund would
 * give back units of other calls, such as those of the next window.
 */
export function lateUnits(...[command, outcome, elapsed]: Parameters<OnLate>): LateUnits | undefined {
  if (!['consume', 'reserve', 'renew'].includes(command.verb)) return undefined
  const { decision, tickets } = { decision: outcome as Decision, tickets: undefined, ...(outcome as Partial<Booking>) }
  if (!decision.allowed) return undefined
  const costs = costsTaken(command, decision)
  const units = decision.policies.map(({ allowed, resetAfter }, n) => {
    // Only a shadow policy (which only reports) can have refused an admitted call. Such a policy took no units. The refund may be under way
    // as long as the outcome was.
    if (!allowed || resetAfter <= 2 * elapsed) return 0
    return typeof costs === 'number' ? costs : (costs[n] as number)
  })
  return { units, tickets }
}

/** The command, without its keys, that gives the units of a late call back. Undefined if none of them counts any more. */
export function givingBack({
  units,
  tickets,
}: LateUnits): Pick<Command<'refund' | 'settle'>, 'verb' | 'costs' | 'tickets' | 'unreserved'> | undefined {
  if (tickets !== undefined) return { verb: 'settle', costs: unitsBack(tickets), tickets }
  return hasUnits(units) ? { verb: 'refund', costs: units, unreserved: true } : undefined
}
