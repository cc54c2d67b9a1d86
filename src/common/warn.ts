import { emitWarning } from '#platform'

const shown = new Set<string>()

/**
 * Emits a warning once in the life of the process. Node writes it to stderr and emits `process.on('warning')`;
 * `node --disable-warning=<code>` silences it.
 * @param about what the warning is about: each subject of a code is warned of once
 */
export function warnOnce(code: string, message: string, about = ''): void {
  const id = `${code} ${about}`
  if (shown.has(id)) return
  shown.add(id)
  emitWarning(message, code)
}

/** An error as the text of a warning. */
export function reason(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}

/** Forgets which warnings were emitted. For tests, because many tests run in one process. */
export function forgetWarnings(): void {
  shown.clear()
}
