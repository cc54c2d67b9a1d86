import { HeadgateError, shown } from '../errors.ts'
import type { CallExtras, Choice, LedgerTerms } from '../stores/store.ts'
import { reason, warnOnce } from '../warn.ts'
import { storeErrors } from './channel.ts'

/** What is told of a call that the store could not decide. */
export interface StoreFailure {
  /** What the store said, or failed with last where it was not asked. */
  readonly error: unknown
  /** Who is limited: the key, or one for each scope. */
  readonly key: string | Readonly<Record<string, string>>
  /** The limiter's name. */
  readonly limiter: string
}

/** A choice, or a function that is told and may return one; undefined is the default. */
export type OnStoreError<Event = StoreFailure> = Choice | ((event: Event) => Choice | undefined | void | Promise<void>)

const choices: readonly unknown[] = ['deny', 'allow', 'local']

/** @throws HeadgateError `HEADGATE_OPTION` for what is neither a choice nor a function */
export function checkChoice<Option>(option: Option, where: string): Option {
  if (option === undefined || typeof option === 'function' || choices.includes(option)) return option
  throw new HeadgateError(
    'HEADGATE_OPTION',
    `${where} must be 'deny', 'allow', 'local' or a function, got ${shown(option)}. ` +
      `Write onStoreError: 'local', or ({ error }) => ...`,
  )
}

/** What is chosen for one call. A function cannot break it: what it throws or rejects with is one warning. */
export function choose<Event>(option: OnStoreError<Event> | undefined, event: Event): Choice | undefined {
  if (typeof option !== 'function') return option
  const broken = (error: unknown) => {
    const message = `onStoreError threw; calls go on without it. Catch in the hook. ${reason(error)}`
    warnOnce('HEADGATE_HOOK', message, 'onStoreError')
  }
  try {
    const chosen: unknown = option(event)
    if (choices.includes(chosen)) return chosen as Choice
    if (chosen !== undefined) Promise.resolve(chosen).catch(broken) // also a promise that is none of this language's own
    return undefined
  } catch (error) {
    broken(error)
    return undefined
  }
}

/** The limiter's own choice for a call. Whoever was asked before, by `extras`, has told the channel too. */
export function chosen(
  option: OnStoreError | undefined,
  error: unknown,
  keys: readonly string[],
  { name, scopes }: LedgerTerms,
  extras: CallExtras | undefined,
): Choice {
  const tells = extras?.onFailure === undefined && storeErrors.hasSubscribers
  if (typeof option !== 'function' && !tells) return option ?? 'local'
  const record = Object.fromEntries(scopes.map((scope, n) => [scope, keys[n] as string]))
  const event = { error, key: keys.length === 1 ? (keys[0] as string) : record, limiter: name }
  if (tells) storeErrors.publish(event)
  return choose(option, event) ?? 'local'
}
