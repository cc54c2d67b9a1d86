import { emitWarning } from '#platform'
import { isPromise } from './maybe-promise.ts'

const shown = new Set<string>()

/**
 * Emits a warning. A second call with the same code and the same subject does nothing in this process. Node writes the warning to
 * stderr and emits it on `process.on('warning')`. To silence a warning: `node --disable-warning=<code>`.
 * @param about the subject of the warning, such as a name
 */
export function warnOnce(code: string, message: string, about = ''): void {
  const id = `${code} ${about}`
  if (shown.has(id)) return
  shown.add(id)
  emitWarning(message, code)
}

/** The text of an error, for a warning. */
export function reason(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}

/** Calls a hook. If the hook throws or rejects, its caller continues, and a warning is given once. */
export function callHook<Event>(
  name: string,
  hook: (event: Event) => unknown,
  event: Event,
  goOn: 'requests' | 'messages' | 'calls',
): void {
  const failed = (error: unknown) => {
    warnOnce('HEADGATE_HOOK', `${name} threw; ${goOn} go on without it. Catch in the hook. ${reason(error)}`, name)
  }
  try {
    const returned = hook(event)
    if (isPromise(returned)) returned.then(undefined, failed)
  } catch (error) {
    failed(error)
  }
}

/** Makes every warning be emitted again. For tests, because one process runs many tests. */
export function forgetWarnings(): void {
  shown.clear()
}
