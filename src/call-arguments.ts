import { HeadgateError, invalidOption, shown } from './errors.ts'
import { knownOptions } from './options.ts'

/** Who is limited: one string for all scopes, or a record with a string for each scope of the limiter. */
export type Key = string | Readonly<Record<string, string>>

export interface CostOptions {
  /** The units that the call takes: a positive safe integer. Default 1. */
  cost?: number
}

// The functions that every call runs stay small enough to be inlined. Errors and rare cases have functions of their own.
export function keysOf(key: Key, scopes: readonly string[]): readonly string[] {
  return typeof key === 'string' && scopes.length === 1 ? [key] : keysOfRecord(key, scopes)
}

function keysOfRecord(key: Key, scopes: readonly string[]): readonly string[] {
  if (typeof key === 'object' && key !== null) {
    const keys = scopes.map((scope) => (Object.hasOwn(key, scope) ? key[scope] : undefined))
    if (keys.every((each) => typeof each === 'string')) return keys
  }
  throw new HeadgateError(
    'HEADGATE_KEY',
    `A key must be ${scopes.length === 1 ? 'a string' : 'a record'} with a string for ` +
      `${scopes.map(shown).join(' and ')}, got ${shown(key)}. Write consume(${example(scopes)}).`,
  )
}

function example(scopes: readonly string[]): string {
  return scopes.length === 1
    ? `'203.0.113.7'`
    : `{ ${scopes.map((scope) => `${JSON.stringify(scope)}: '...'`).join(', ')} }`
}

/** @throws HeadgateError `HEADGATE_OPTION` for options in another form than `{ cost }` */
export function costOf(options: CostOptions | undefined): number {
  return options === undefined ? 1 : givenCost(options)
}

function givenCost(options: CostOptions): number {
  if (typeof options === 'number') throw bareCost(options)
  if (options?.cost === undefined) knownOptions('A call', options, ['cost'])
  return options.cost === undefined ? 1 : options.cost
}

function bareCost(cost: number): HeadgateError {
  return new HeadgateError('HEADGATE_OPTION', `A cost is passed as an option, got ${cost}. Write { cost: ${cost} }.`)
}

export function checkCost(cost: number): number {
  if (Number.isSafeInteger(cost) && cost >= 1) return cost
  throw wrongCost(cost)
}

function wrongCost(cost: unknown): HeadgateError {
  const fix = 'To take nothing, use peek(key).'
  return invalidOption('A cost', 'a whole number from 1 to 2^53 - 1', cost, fix, 'HEADGATE_COST')
}
