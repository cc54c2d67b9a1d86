import { emitWarning } from '#platform'

const told = new Set<string>()

/**
 * Says something once in the life of the process, as a warning of Node's own: on stderr, to `process.on('warning')`, and
 * silenced by `node --disable-warning=<code>`.
 * @param about what tells it from other warnings of the same code
 */
export function warnOnce(code: string, message: string, about = ''): void {
  const key = `${code} ${about}`
  if (told.has(key)) return
  told.add(key)
  emitWarning(message, code)
}

/** An error as a warning tells it. */
export function reason(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}

/** For tests, which are many processes in one. */
export function forgetWarnings(): void {
  told.clear()
}
