import { isPromise } from './maybe-promise.ts'
import { reason, warnOnce } from './warn.ts'

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
