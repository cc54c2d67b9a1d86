import { channel, isolatesRequests } from '#platform'
import { HeadgateError, shown, unsupported, wallClock } from '../common/index.ts'
import type { Channel } from '../platform/platform.ts'
import { type Documents, isLocal, memoryDocuments, type Store } from '../stores/contract/index.ts'
import { DocumentPoll } from './document-poll.ts'
import { checkEffect, shownTo } from './override-effect.ts'
import { invalid, type TargetLimiter } from './override-end.ts'
import { type OverrideOptions, type OverrideTarget, readOverride } from './override-options.ts'
import {
  type Override,
  type OverrideDocument,
  type OverrideRecord,
  parseDocument,
  unpackPolicy,
} from './override-record.ts'
import { OverrideTable } from './override-table.ts'
import { overridesOn, type UsedOverrides } from './used-overrides.ts'

/** The largest size of a document, in bytes. */
const mostBytes = 256 * 1024

/** The largest number of different `limit`, `add`, `policies` and `scale` settings of a limiter. Each setting makes another plan. */
const mostSets = 1000

/** How many times a change is tried if other processes write the document at the same time. */
const mostTries = 20

/** The event on the channel `headgate:override`: this process begins or ends to use an override. */
interface OverrideEvent {
  /** The name of the limiter. */
  readonly limiter: string
  readonly change: 'added' | 'removed' | 'expired'
  readonly id: string
  /** The reason that was given to `override`. Undefined if none was given. */
  readonly reason: string | undefined
}

const changes: Channel = channel('headgate:override')

/** The overrides of one limiter: the limiter's document in the store, and the table that this process makes from the document. */
export class Overrides implements UsedOverrides {
  readonly #name: string
  readonly #documents: Documents | undefined
  readonly #install: (table: OverrideTable | undefined) => void
  #poll: DocumentPoll | undefined
  #records: readonly OverrideRecord[] = []
  /** The version of the document that this process has. Undefined if this process has written the document and not read its version. */
  version: string | undefined = ''
  /** How many documents this process has applied. A document that was read before another one was applied may be older. */
  applied = 0
  /** The last change by this process. Changes follow each other, so that the newest document is applied last. */
  #lastChange: Promise<unknown> = Promise.resolve()
  /** When reads of the document began to fail, in milliseconds since the epoch. Undefined if the last read succeeded. */
  unreadSince: number | undefined

  /** @param install gets the table that the limiter's calls use from now on; undefined if there are no overrides */
  constructor(store: Store, name: string, install: (table: OverrideTable | undefined) => void) {
    this.#name = name
    this.#install = install
    overridesOn(store).set(name, this)
    this.#documents = store.documents ?? (isLocal(store) ? memoryDocuments() : undefined)
    if (store.documents !== undefined) this.#poll = DocumentPoll.of(store, store.documents)
    this.#poll?.watch(name, this)
  }

  /** Uses this document from now on. @throws HeadgateError `HEADGATE_STORE_RECORD` if the text is not a document of overrides */
  apply(version: string | undefined, text: string): void {
    const { overrides } = parseDocument(text)
    this.version = version
    this.applied++
    this.#use(overrides)
  }

  /** How many overrides have not ended. */
  get count(): number {
    return lasting(this.#records).length
  }

  /** Stops using the overrides that have ended. */
  expire(): void {
    if (this.count < this.#records.length) this.#renew()
  }

  readonly #renew = (): OverrideTable | undefined => this.#use(this.#records)

  #use(records: readonly OverrideRecord[]): OverrideTable | undefined {
    const before = this.#records
    this.#records = lasting(records)
    const table = this.#records.length === 0 ? undefined : new OverrideTable(this.#records, this.#renew)
    this.#install(table)
    if (changes.hasSubscribers) this.#publish(before)
    return table
  }

  /** Publishes each override that this process has begun or ended to use. @param before the overrides that this process used before */
  #publish(before: readonly OverrideRecord[]): void {
    const publish = ({ id, reason }: OverrideRecord, change: OverrideEvent['change']) =>
      changes.publish({ limiter: this.#name, change, id, reason } satisfies OverrideEvent)
    const ended = new Set(missingFrom(lasting(before), before))
    for (const record of missingFrom(this.#records, before)) publish(record, ended.has(record) ? 'expired' : 'removed')
    for (const record of missingFrom(before, this.#records)) publish(record, 'added')
  }

  async add(limiter: TargetLimiter, target: OverrideTarget, options: OverrideOptions): Promise<Override> {
    const read = readOverride(limiter, target, options)
    checkEffect(limiter, { id: '', ...read, since: 0 })
    const { last, overrides } = await this.#change((document) => {
      checkAlone(read, document.overrides)
      const id = String(document.last + 1)
      const record = { id, ...read, since: Math.floor(wallClock() / 1000) }
      return { last: document.last + 1, overrides: [...document.overrides, record] }
    })
    return shownTo(limiter, overrides.find(({ id }) => id === String(last)) as OverrideRecord)
  }

  /** False if there is no override with the id. @throws HeadgateError `HEADGATE_OVERRIDE` if the id is not a text */
  async remove(id: string): Promise<boolean> {
    if (typeof id !== 'string') throw invalid(`an id is a text, got ${shown(id)}. Write removeOverride(override.id).`)
    let found = false
    await this.#change((document) => {
      const overrides = document.overrides.filter((each) => each.id !== id)
      found = overrides.length < document.overrides.length
      return found ? { ...document, overrides } : undefined
    })
    return found
  }

  async list(limiter: TargetLimiter): Promise<readonly Override[]> {
    const { applied } = this
    const { version, text } = await this.#required().read(this.#name)
    if (version !== this.version && applied === this.applied) this.apply(version, text)
    return lasting(parseDocument(text).overrides).map((record) => shownTo(limiter, record))
  }

  /** See `DocumentPoll`. */
  readAtCall(): void {
    this.#poll?.readAtCall()
  }

  close(): void {
    this.#poll?.close()
  }

  #required(): Documents {
    if (this.#documents === undefined) throw unsupported('override')
    return this.#documents
  }

  /**
   * Changes the document. If another process writes the document at the same time, calls `change` again.
   * @param change returns the new document; undefined if nothing changes
   */
  #change(change: (document: OverrideDocument) => OverrideDocument | undefined): Promise<OverrideDocument> {
    if (isolatesRequests) return this.#changeNow(change) // the last change may have been stopped with its request
    const changed = this.#lastChange.then(() => this.#changeNow(change))
    this.#lastChange = changed.catch(() => undefined)
    return changed
  }

  async #changeNow(change: (document: OverrideDocument) => OverrideDocument | undefined): Promise<OverrideDocument> {
    const documents = this.#required()
    for (let tries = 0; tries < mostTries; tries++) {
      const { version, text } = await documents.read(this.#name)
      const before = parseDocument(text)
      const after = change({ ...before, overrides: lasting(before.overrides) })
      if (after === undefined) return before
      const written = JSON.stringify(after)
      checkSize(written, after.overrides)
      if (!(await documents.swap(this.#name, version, written))) continue
      this.apply(undefined, written) // the next poll reads the version
      return parseDocument(written)
    }
    throw new HeadgateError('HEADGATE_STORE', 'The overrides changed at each attempt to write them. Try again.')
  }
}

function lasting(records: readonly OverrideRecord[]): readonly OverrideRecord[] {
  const now = wallClock()
  return records.filter(({ until = Infinity }) => now < until * 1000)
}

/** The overrides of `sought` that are not in `records`. If a store has lost its overrides, an id may be used again, at a later time. */
function missingFrom(records: readonly OverrideRecord[], sought: readonly OverrideRecord[]): readonly OverrideRecord[] {
  const known = new Set(records.map(({ id, since }) => `${id} ${since}`))
  return sought.filter(({ id, since }) => !known.has(`${id} ${since}`))
}

type Unwritten = Omit<OverrideRecord, 'id' | 'since'>

/**
 * @throws HeadgateError `HEADGATE_OVERRIDE` if another override already sets the limit of the same policy for the same keys, or gives
 *   another scope a policy of the same name
 */
function checkAlone(next: Unwritten, overrides: readonly OverrideRecord[]): void {
  if (next.scale !== undefined) return // scales may overlap
  const other = overrides.find((each) => each.scale === undefined && contradicts(next, each))
  if (other !== undefined) {
    throw invalid(
      `the override ${shown(other.id)} gives numbers for the same keys and policy. Remove it first: await ` +
        `limiter.removeOverride(${shown(other.id)}).`,
    )
  }
  const names = namesIn(next)
  for (const each of overrides) {
    const twice = each.scope === next.scope ? undefined : namesIn(each).find((name) => names.includes(name))
    if (twice === undefined) continue
    throw invalid(
      `the override ${shown(each.id)} has a policy ${shown(twice)} for the scope ${shown(each.scope)}, and a call may have both ` +
        `overrides. Give the policy another name: policy('5/1m', { name: 'trial' }).`,
    )
  }
}

/** The names of the policies that an override gives. */
function namesIn({ policies = [] }: Unwritten): readonly string[] {
  return policies.flatMap((recipe) => unpackPolicy(recipe)?.name ?? [])
}

function contradicts(a: Unwritten, b: OverrideRecord): boolean {
  if (a.key !== b.key || a.prefix !== b.prefix) return false
  const scopesDiffer = a.scope !== undefined && b.scope !== undefined && a.scope !== b.scope
  return !scopesDiffer && (a.policies !== undefined || b.policies !== undefined || a.policy === b.policy)
}

/** @throws HeadgateError `HEADGATE_OVERRIDE` if the document is too large, or has too many different settings */
function checkSize(text: string, overrides: readonly OverrideRecord[]): void {
  const fix = 'Remove some with removeOverride(id), or give many keys one prefix or a plan.'
  const bytes = new TextEncoder().encode(text).length
  if (bytes > mostBytes) {
    throw new HeadgateError(
      'HEADGATE_OVERRIDE',
      `override: the overrides take ${bytes} bytes, and at most ${mostBytes} fit. ${fix}`,
    )
  }
  const sets = new Set(
    overrides.map(({ policy, limit, add, policies, scale }) => JSON.stringify([policy, limit, add, policies, scale])),
  )
  if (sets.size <= mostSets) return
  throw new HeadgateError(
    'HEADGATE_OVERRIDE',
    `override: a limiter has at most ${mostSets} different sets of numbers. ${fix}`,
  )
}
