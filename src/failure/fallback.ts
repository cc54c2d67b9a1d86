import type { Tickets } from '../algorithms/evaluation/index.ts'
import type { Ticket } from '../algorithms/index.ts'
import { monotonicClock, ownText } from '../common/index.ts'
import { type Decision, join, type Source } from '../policy/index.ts'
import type {
  Booking,
  Command,
  Ledger,
  LedgerTerms,
  OnLate,
  OnStoreError,
  OpenLedger,
  OutcomeOf,
  Verb,
} from '../stores/contract/index.ts'
import { type DeferredRefunds, lateUnits } from './deferred-refunds.ts'
import type { LocalQuota } from './local-quota.ts'
import { OwedCharges } from './owed-charges.ts'
import type { Reconciler } from './reconciler.ts'
import type { StoreLink } from './store-link.ts'

/**
 * How many calls of a limiter were decided by each source: by the store, by this process, or by nobody because `onStoreError`
 * admits or refuses all calls.
 */
export class Counters {
  readonly sources: Record<Source, number> = { store: 0, fallback: 0, open: 0 }
  failedClosed = 0
}

/** The verbs that `Fallback` answers while the store fails. Each of the other verbs has code of its own for a store that fails. */
export type CallVerb = Exclude<Verb, 'ban' | 'unban' | 'inspect' | 'scan' | 'clear'>

/**
 * What the ledgers of limiters with one name share: the link to the store, and the resets, charges and refunds to send when the store
 * responds again. There is one ledger for each set of policies.
 */
export interface SharedFailover {
  readonly onStoreError: OnStoreError | undefined
  /** Opens a ledger in the store, which decides the calls under some policies. */
  readonly open: OpenLedger
  readonly link: StoreLink
  readonly reconciler: Reconciler
  readonly refunds: DeferredRefunds
  readonly counters: Counters
  /**
   * The reservations that were granted without the store. `'local'`: this process counted the reservation. `'open'`: nobody counted the
   * reservation. The map has the list of tickets and also each ticket as keys, because a settlement may have only some of the tickets.
   */
  readonly granted: WeakMap<Tickets | Ticket, 'local' | 'open'>
}

/** The charges and refunds of keys that a reset has dropped. */
export interface SetAside {
  /** Resolves when the store has answered the charges that were sent. Undefined if none is under way. */
  readonly charged: Promise<void> | undefined
  /** Puts back what was dropped, if the reset fails. @param reset the scopes (kinds of key) in which the store executed the reset */
  restore(reset: readonly string[]): void
}

/** Wraps one ledger of the store (for the calls under some policies). While the store fails, this process decides these calls. */
export class Fallback {
  readonly terms: LedgerTerms
  readonly shared: SharedFailover
  /** The ledger of the store, which decides while the store responds. */
  readonly ledger: Ledger
  readonly quota: LocalQuota
  readonly charges: OwedCharges

  /** @param joins a ledger of the store whose states the new ledger shares, or undefined */
  constructor(terms: LedgerTerms, shared: SharedFailover, quota: LocalQuota, joins?: Ledger) {
    const ledger = shared.open({ ...terms, onLate: (...late) => this.late(...late) }, joins)
    this.terms = terms
    this.shared = shared
    this.ledger = ledger
    this.quota = quota
    this.charges = new OwedCharges(terms.scopes, shared, quota, (scope) => {
      const policies = terms.policies.filter((policy) => policy.scope === scope)
      return shared.open({ ...terms, policies, scopes: [scope] }, ledger)
    })
  }

  /** Decides a call in this process. For a reset, see `resetLater`. */
  run(command: Command<CallVerb>): OutcomeOf<CallVerb> {
    const { verb, keys, tickets } = command
    if (verb === 'peek') return this.quota.run(command as Command<'peek'>)
    if (verb === 'settle') return this.#settleForStore(command as Command<'settle'>)
    if (verb === 'refund') return this.#giveBackLocally(command as Command<'refund'>)
    // The store granted this reservation and still counts its units, so a renewal of its lease (the time after which the units are freed)
    // counts nothing in this process.
    if (verb === 'renew') return { decision: this.#uncounted(command), wait: 0, tickets }
    this.shared.reconciler.note(this.charges, keys)
    if (verb === 'reserve') return this.#grant('local', this.quota.run(command as Command<'reserve'>))
    return this.quota.run(command as Command<'consume' | 'charge'>)
  }

  /**
   * Settles, in this process, a reservation that the store granted. This process has not counted the reserved units and cannot give
   * them back. This process only charges units beyond the reserved cost.
   */
  #settleForStore({ keys, costs = 1, details, windows, calendar }: Command<'settle'>): Decision {
    const when = { details, windows, calendar }
    const beyond = typeof costs === 'number' ? costs : costs.map((cost) => Math.max(0, cost))
    if (typeof beyond !== 'number' && beyond.every((cost) => cost === 0)) {
      return this.quota.run({ verb: 'peek', keys, ...when })
    }
    this.shared.reconciler.note(this.charges, keys)
    return this.quota.run({ verb: 'charge', keys, costs: beyond, ...when })
  }

  /** Admits a call without counting it. For a reset, see `resetLater`. */
  letThrough(command: Command<CallVerb>): OutcomeOf<CallVerb> {
    const { verb, tickets } = command
    const decision = this.#uncounted(command)
    if (verb === 'renew') return { decision, wait: 0, tickets }
    return verb === 'reserve' ? this.#grant('open', { decision, wait: 0, tickets: [] }) : decision
  }

  /**
   * Resets the keys in this process now, and in the store when the store responds again.
   * @param done the scopes (kinds of key) that the store has already reset
   */
  resetLater(keys: readonly string[], done: readonly string[]): undefined {
    this.quota.reset(keys)
    this.shared.reconciler.reset(this.charges, keys, done)
  }

  #uncounted({ details }: Command): Decision {
    const verdicts = this.terms.policies.map(({ name, limit, burst, shadow }) => ({
      name,
      allowed: true,
      limit,
      remaining: burst,
      used: 0,
      retryAfter: 0,
      resetAfter: 0,
      shadow,
      ...(details?.nextAfter ? { nextAfter: 0 } : {}),
    }))
    return join(true, verdicts, 'open', details?.at ? Math.floor(monotonicClock() / 1000) : undefined)
  }

  #grant(by: 'local' | 'open', booking: Booking): Booking {
    const { tickets = [] } = booking
    for (const ticket of [tickets, ...tickets]) if (ticket !== undefined) this.shared.granted.set(ticket, by)
    return booking
  }

  /** Settles or renews a reservation that was granted without the store. Returns undefined if the store granted the reservation. */
  runGranted(command: Command<'settle' | 'renew'>): OutcomeOf<'settle' | 'renew'> | undefined {
    const { tickets } = command
    const { granted } = this.shared
    const known = tickets && [tickets, ...tickets].find((ticket) => ticket !== undefined && granted.has(ticket))
    const by = known === undefined ? undefined : granted.get(known)
    if (by === undefined) return undefined
    if (by === 'open') return this.letThrough(command) as OutcomeOf<'settle' | 'renew'>
    if (command.verb === 'renew') return this.#grant(by, this.quota.run(command as Command<'renew'>))
    this.shared.reconciler.note(this.charges, command.keys)
    return this.#giveBackLocally(command as Command<'settle'>)
  }

  /**
   * Gives units back to the quota that this process counts. Units that the store was already charged for are refunded in the store too.
   */
  #giveBackLocally(command: Command<'refund' | 'settle'>): Decision {
    return this.quota.giveBack(command, (...refund) => this.charges.refundLater(...refund))
  }

  /** Called with an outcome of the store that no caller got. Gives back the units that the store took, because nobody uses these units. */
  late(...[command, outcome, elapsed]: Parameters<OnLate>): void {
    const { policies, scopes } = this.terms
    const late = lateUnits(command, outcome, elapsed)
    if (late === undefined) return
    if (command.verb === 'renew') {
      Object.assign(command.tickets ?? [], late.tickets) // the reservation continues with the new tickets of the store
      return
    }
    for (const [n, scope] of scopes.entries()) {
      const own = <T>(all: readonly T[]): readonly T[] => all.filter((_, place) => policies[place]?.scope === scope)
      const part = { units: own(late.units), tickets: late.tickets && own(late.tickets) }
      this.charges.giveLateBack(scope, ownText(command.keys[n] as string), part)
    }
  }

  /**
   * Gives unused units of a reservation back to the store when the store responds. Does not charge units beyond the reserved cost, because
   * `run` charges these units. A reservation that expires is settled in the store even if it gives no units back.
   * @param scopes the scopes (kinds of key) in which the store has certainly not counted the settlement
   */
  giveBackLater({ keys, costs = 1, tickets, windows, calendar }: Command<CallVerb>, scopes: readonly string[]): void {
    if (typeof costs === 'number') return
    const { policies } = this.terms
    for (const [n, scope] of this.terms.scopes.entries()) {
      const own = <T>(all: readonly T[]): readonly T[] => all.filter((_, place) => policies[place]?.scope === scope)
      const [part, back] = [tickets && own(tickets), own(costs).map((cost) => Math.min(0, cost))]
      const expires = part?.some((ticket) => ticket?.[3] !== undefined)
      if (!scopes.includes(scope) || (back.every((cost) => cost === 0) && !expires)) continue
      const brought = { windows: windows && own(windows), calendar }
      const key = ownText(keys[n] as string)
      this.shared.refunds.add({ scope, key, run: () => this.charges.settle(scope, key, back, part, brought) })
    }
  }

  /**
   * Before a reset of the keys, drops the charges and the refunds that wait for the store, for all limiters with the same name: none of
   * them must be sent after the reset. The reset must be sent after `charged`.
   */
  setAside(keys: readonly string[]): SetAside {
    const { reconciler, refunds } = this.shared
    const drop = () => refunds.forget(this.terms.scopes, keys)
    const owed = reconciler.forget(this.charges, keys)
    const waiting = [...drop()]
    const charging = owed.flatMap(({ settling }) => settling ?? [])
    return {
      charged:
        charging.length === 0 ? undefined : Promise.allSettled(charging).then(() => void waiting.push(...drop())),
      restore(reset) {
        reconciler.restore(owed.filter(({ scope }) => !reset.includes(scope)))
        for (const refund of waiting) if (!reset.includes(refund.scope)) refunds.add(refund)
      },
    }
  }
}
