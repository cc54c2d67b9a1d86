/*
 * The few assertion functions of the store contract, for every runtime and every test runner. A failure is an Error
 * with `actual` and `expected`, which runners show as a difference.
 */

/** @throws AssertionError unless the values are identical, or have equal elements or properties all the way down */
export function assertEqual(actual: unknown, expected: unknown, message = 'The values differ'): void {
  if (equal(actual, expected)) return
  throw failure(`${message}: expected ${text(expected)}, got ${text(actual)}`, actual, expected)
}

/** @throws AssertionError unless the condition is true */
export function assertTrue(condition: boolean, message: string): void {
  if (!condition) throw failure(message, condition, true)
}

function failure(message: string, actual: unknown, expected: unknown): Error {
  return Object.assign(new Error(message), { name: 'AssertionError', actual, expected })
}

function equal(a: unknown, b: unknown): boolean {
  if (!isObject(a) || !isObject(b)) return Object.is(a, b)
  const names = Object.keys(a)
  return (
    Array.isArray(a) === Array.isArray(b) &&
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && equal(a[name], b[name]))
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** The value as JavaScript would write it. */
function text(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (!isObject(value)) return String(value)
  if (Array.isArray(value)) return `[${value.map(text).join(', ')}]`
  const properties = Object.entries(value).map(([name, each]) => `${name}: ${text(each)}`)
  return `{ ${properties.join(', ')} }`
}
