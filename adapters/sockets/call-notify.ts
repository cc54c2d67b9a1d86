import { isPromise, type MaybePromise } from '../../src/maybe-promise.ts'
import { reason, warnOnce } from '../../src/warn.ts'
import type { MessageRefusal } from './message-options.ts'

/** A hook cannot break a socket: if it throws or rejects, a warning is given once. */
export function callNotify<Message>(
  notify: (refusal: MessageRefusal<Message>) => MaybePromise<unknown>,
  refusal: MessageRefusal<Message>,
): void {
  const broken = (error: unknown) =>
    warnOnce('HEADGATE_HOOK', `notify threw; messages go on without it. Catch in the hook. ${reason(error)}`, 'notify')
  try {
    const returned = notify(refusal)
    if (isPromise(returned)) Promise.resolve(returned).catch(broken)
  } catch (error) {
    broken(error)
  }
}
