/*
 * The few assertion functions of the store contract, which work in every runtime and with every test runner. A failed assertion throws an
 * Error with `actual` and `expected`, which test runners show as a difference.
 */

/** @throws AssertionError if the values differ, or differ in an element or property at any depth */
export function assertEqual(actual: unknown, expected: unknown, message = 'The values differ'): void {
  if (equal(actual, expected)) return
  throw failure(`${message}: expected ${text(expected)}, got ${text(actual)}`, actual, expected)
}

/** @throws AssertionError if the condition is false */
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

/** The value as a JavaScript expression. */
function text(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (!isObject(value)) return String(value)
  if (Array.isArray(value)) return `[${value.map(text).join(', ')}]`
  const properties = Object.entries(value).map(([name, each]) => `${name}: ${text(each)}`)
  return `{ ${properties.join(', ')} }`
}
