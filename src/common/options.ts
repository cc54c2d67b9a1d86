import { HeadgateError, shown } from './errors.ts'

/**
 * Reads one option: returns its value, or its default if it is left out.
 * @param name for the error message: `'redisStore: prefix'`
 * @throws HeadgateError if the value is invalid, also for null: a value that could not be read must not become a default in
 *   silence
 */
export type Reader<Value> = (given: unknown, name: string) => Value

/** A reader for each option. An error message lists the options in this order. */
export type Readers<Values> = { readonly [Option in keyof Values]-?: Reader<Values[Option]> }

type Read<Options, Values> = {
  [Option in keyof Values]: unknown extends Values[Option] ? Options[Option & keyof Options] : Values[Option]
}

/**
 * Reads options by a table. The type of a value is what its reader returns, or else the type of the option.
 *
 *     const { maxKeys, synchronous } = readOptions('aStore', options, { maxKeys: whole(1000), synchronous: flag() })
 *
 * @throws HeadgateError `HEADGATE_OPTION` if an option is unknown, and the message lists the known ones; or the error of a reader
 */
export function readOptions<Options extends object, Values extends Record<keyof Options, unknown>>(
  where: string,
  options: Options,
  readers: Readers<Values>,
): Read<Options, Values> {
  knownOptions(where, options, Object.keys(readers))
  const prefix = where + (where.includes(':') ? '.' : ': ')
  const read: Record<string, unknown> = {}
  for (const option in readers) read[option] = readers[option](Reflect.get(options, option), prefix + option)
  return read as Read<Options, Values>
}

/** @throws HeadgateError `HEADGATE_OPTION` if an option is unknown, and the message lists the known ones */
export function knownOptions(where: string, options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `${where} takes an object of options, got ${shown(options)}. It takes: ${known.join(', ')}.`,
    )
  }
  const unknown = Object.keys(options).find((option) => !known.includes(option))
  if (unknown === undefined) return
  throw new HeadgateError('HEADGATE_OPTION', `${where} has no option ${shown(unknown)}. It takes: ${known.join(', ')}.`)
}

/** `knownOptions` for the options of each call: fast if all options are known. */
export function callOptions(where: string, options: object, known: readonly string[]): void {
  let wrong = typeof options !== 'object' || options === null || Array.isArray(options)
  for (const option in options) if (!known.includes(option)) wrong = true
  if (wrong) knownOptions(where, options, known)
}
