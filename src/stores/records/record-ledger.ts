import type { Tickets } from '../../algorithms/evaluation/index.ts'
import { HeadgateError, type MaybePromise, unsupported } from '../../common/index.ts'
import type { KeptKey, KeyPage } from '../../inspection/index.ts'
import { type Decision, join, type Verdict } from '../../policy/index.ts'
import {
  allParts,
  type Command,
  decodeId,
  type Ledger,
  type LedgerTerms,
  limiterStart,
  type Outcome,
  type OutcomeOf,
  runPart,
  type ScanTerms,
  ScopedEvaluation,
  type StateVerb,
  tellThresholds,
  type Verb,
} from '../contract/index.ts'
import type { StateOutcome } from './job.ts'
import { keptRecord } from './key-record.ts'
import type { RecordContext } from './record-context.ts'
import { keepsStart, recordKey, recordKeyStart } from './record-key.ts'

export class RecordLedger implements Ledger {
  readonly #context: RecordContext
  readonly #terms: LedgerTerms
  protected readonly whole: ScopedEvaluation
  /** For each scope (kind of key, such as user), an evaluation of only the policies of this scope. */
  readonly #parts: readonly ScopedEvaluation[]
  /** For each scope (kind of key), the text with which the scope's keys begin in the store. */
  readonly #keyStarts: readonly string[]
  readonly #scopes: readonly string[]
  /** The text with which all keys of the limiter begin. */
  readonly #start: string

  constructor(terms: LedgerTerms, context: RecordContext) {
    const { name, policies, scopes } = terms
    this.#context = context
    this.#terms = terms
    this.whole = new ScopedEvaluation(terms)
    this.#parts = scopes.map((scope) => {
      if (scopes.length === 1) return this.whole
      const own = policies.filter((policy) => policy.scope === scope)
      return new ScopedEvaluation({ ...terms, policies: own, scopes: [scope] })
    })
    this.#keyStarts = scopes.map((scope) => recordKeyStart(context.prefix, name, scope))
    this.#scopes = scopes
    this.#start = limiterStart(context.prefix, name)
  }

  run<V extends Verb>(command: Command<V>): MaybePromise<OutcomeOf<V>> {
    return this.#run(command) as Promise<OutcomeOf<V>>
  }

  async #run(command: Command): Promise<Outcome> {
    const { verb } = command
    const keys = command.keys as readonly string[]
    if (verb === 'inspect') return this.#inspect(keys)
    if (verb === 'scan') return this.#scan(command.scan as ScanTerms)
    if (verb === 'clear') return this.#clear()
    if (verb === 'reset' || verb === 'ban' || verb === 'unban') return this.#change(command as Command<typeof verb>)
    const recordKeys = this.recordKeys(keys)
    const givesBack = verb === 'refund' || verb === 'settle'
    if (givesBack && keys.length > 1) return this.#giveBack(command as Command<'refund' | 'settle'>, recordKeys)
    return this.#call(this.whole, recordKeys, command as Command<StateVerb>)
  }

  /** Changes the stored text of each key by a separate call. */
  async #change(command: Command<'reset' | 'ban' | 'unban'>): Promise<undefined> {
    const change = (key: string | undefined, n: number) => {
      if (key === undefined) return []
      return {
        scopes: [this.#scopes[n] as string],
        result: this.#call(this.#parts[n] as ScopedEvaluation, [key], command),
      }
    }
    await allParts(this.recordKeys(command.keys).flatMap(change))
  }

  async #clear(): Promise<undefined> {
    const { clear } = this.#context
    if (clear === undefined) throw unsupported('clear')
    if (!this.#keyStarts.every(keepsStart)) throw cannotFind('clear')
    await clear(this.#start)
  }

  async #inspect(keys: readonly string[]): Promise<readonly KeptKey[]> {
    const { deadlines, read } = this.#context
    const { texts, now } = await deadlines.reading(read(this.recordKeys(keys)))
    return texts.map((text) => ({ now, ...keptRecord(text) }))
  }

  async #scan({ scope, from }: ScanTerms): Promise<KeyPage> {
    const { page } = this.#context
    if (page === undefined) throw unsupported('scan')
    const start = this.#keyStarts[this.#scopes.indexOf(scope)] as string
    if (!keepsStart(start)) throw cannotFind('list')
    const { keys, texts, now, more } = await this.#context.deadlines.reading(page(start, (from as string) ?? start))
    const listed = keys.flatMap((key, n) => {
      try {
        return { ...decodeId(key.slice(start.length)), kept: { now, ...keptRecord(texts[n]) } }
      } catch {
        return [] // a text of another program: decisions ignore it, too
      }
    })
    return { keys: listed, next: more ? keys.at(-1) : undefined }
  }

  /** Gives units back to each key by a separate call, because the units of one key do not depend on the other keys. */
  async #giveBack(command: Command<'refund' | 'settle'>, keys: readonly string[]): Promise<Decision> {
    const { costs = 1, tickets, windows, calendar } = command
    const decisions = await allParts(
      keys.map((key, n) => {
        const own = typeof costs === 'number' ? costs : this.#partOf(n, costs)
        const part = { ...command, costs: own, tickets: tickets && this.#partOf(n, tickets) }
        const brought = { windows: windows && this.#partOf(n, windows), calendar }
        const result = runPart(this.#partOf(n, this.#terms.policies), brought, (windows) => {
          return this.#call(this.#parts[n] as ScopedEvaluation, [key], { ...part, windows }) as Promise<Decision>
        })
        return { scopes: [this.#scopes[n] as string], result }
      }),
    )
    const verdicts = new Map(decisions.flatMap(({ policies }) => policies.map((verdict) => [verdict.name, verdict])))
    const policies = this.#terms.policies.map(({ name }) => verdicts.get(name) as Verdict)
    const { at, ban } = withLongestBan(decisions)
    const banned = decisions.find((decision) => decision.banned !== undefined)?.banned
    const resetAfter = Math.max(...decisions.map((decision) => decision.resetAfter))
    return {
      ...join(
        decisions.every(({ allowed }) => allowed),
        policies,
        'store',
        at,
      ),
      resetAfter,
      ...(ban && { ban }),
      ...(banned !== undefined && { banned }),
    }
  }

  /** The items of `all` that belong to the policies of this scope (kind of key). `all` has one item for each policy. */
  #partOf<T>(scope: number, all: readonly T[]): readonly T[] {
    const places = this.whole.scopes[scope]?.places ?? []
    return places.map((place) => all[place] as T)
  }

  /** For each key of a call, the key under which the store has its states; undefined for an undefined key. */
  protected recordKeys<Key extends string | undefined>(keys: readonly Key[]): readonly Key[] {
    const { prefix } = this.#context
    return keys.map((key, n) => {
      return (key === undefined ? undefined : recordKey(prefix, this.#keyStarts[n] as string, key)) as Key
    })
  }

  #call(scoped: ScopedEvaluation, keys: readonly string[], command: Command<StateVerb>): Promise<StateOutcome> {
    const { deadlines, queue } = this.#context
    const now = this.#context.clock()
    const tell = (outcome: StateOutcome, places?: readonly number[]) => {
      if (scoped === this.whole) tellThresholds(this.#terms, command.keys, outcome, places)
    }
    const late = (outcome: StateOutcome, tickets: Tickets | undefined) => {
      tell(outcome)
      if (outcome === undefined) return
      const decision = 'decision' in outcome ? outcome.decision : outcome
      this.#terms.onLate?.(command, { decision, tickets }, (this.#context.clock() - now) / 1000)
    }
    return deadlines.promise((pending) => {
      pending.sent = false
      queue.add(scoped, keys, { command, now, pending, late, tell })
    }, command.unattended)
  }
}

/**
 * The error of `clear` and `list` if names are so long that the store uses digests as keys. A digest does not begin with the
 * limiter's name, so the keys of the limiter cannot be found.
 */
function cannotFind(method: 'clear' | 'list'): HeadgateError {
  const alone = method === 'clear' ? 'Reset' : 'Inspect'
  return new HeadgateError(
    'HEADGATE_UNSUPPORTED',
    `${method} cannot find the keys of this limiter: its prefix, name and scope are so long that the store keeps digests. ` +
      `${alone} single keys, or shorten one of them.`,
  )
}

/** The decision with the longest ban; the first decision if none of the keys is banned. */
function withLongestBan(decisions: readonly Decision[]): Decision {
  const until = ({ ban }: Decision) => ban?.until ?? 0
  return decisions.reduce((longest, each) => (until(each) > until(longest) ? each : longest))
}
