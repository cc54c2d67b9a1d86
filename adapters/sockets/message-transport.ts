import type { Policy } from '../../src/algorithms/index.ts'
import { asError, reason, warnOnce } from '../../src/common/index.ts'
import { retryAfterSeconds, tryAgain } from '../../src/http/index.ts'
import type { MessageRefusal } from './message-options.ts'

/** What a limit needs from the library of a socket. */
export interface MessageTransport<Message> {
  /** Tells the client that the message was dropped. Stores nothing for a client that does not read. */
  tell(message: Message, notice: () => Notice): void
  /** Closes the connection. @param tells false if the application has told the client already */
  close(message: Message, notice: () => Notice, tells: boolean): void
  /** Reports an error in the handling of a message, by `pass`. The message is dropped. */
  fail(error: unknown, pass: (error: Error) => void): void
  /** Reads no more from the client, as far as the library can. */
  pause(): void
  resume(): void
}

/** What the client is told about a message that was not delivered. */
export interface Notice {
  readonly error: 'too_many_messages' | 'unavailable'
  readonly message: string
  /** The label, or else the name, of the policy that refused. Null if no policy did. */
  readonly policy: string | null
  /** Whole milliseconds. Null for a message that can never be admitted. */
  readonly retryAfterMs: number | null
}

export function noticeOf(
  { reason: why, decision, retryAfter }: MessageRefusal<unknown>,
  policies: readonly Policy[],
): Notice {
  const seconds = retryAfterSeconds(retryAfter)
  const advice = seconds === undefined ? 'It cannot be admitted.' : tryAgain(seconds)
  return {
    error: why === 'store' ? 'unavailable' : 'too_many_messages',
    message: `${why === 'store' ? 'Service unavailable.' : 'Too many messages.'} ${advice}`,
    policy:
      decision === undefined ? null : (policies.find(({ name }) => name === decision.policy)?.label ?? decision.policy),
    retryAfterMs: seconds === undefined ? null : retryAfter,
  }
}

interface ErrorEmitter {
  listenerCount(name: 'error'): number
}

/**
 * Warns once, and reports to the listeners for `error`. Without one, the event would end the process. The warning does
 * not depend on the listeners, because socket.io adds a listener that does nothing to each socket.
 */
export function failSocket(socket: ErrorEmitter, thrown: unknown, emit: (error: Error) => void): void {
  const error = asError(thrown)
  warnOnce('HEADGATE_MESSAGE', `A message ran into an error and was dropped. Listen for 'error'. ${reason(error)}`)
  if (socket.listenerCount('error') > 0) emit(error)
}
