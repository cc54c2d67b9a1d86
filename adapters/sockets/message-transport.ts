import type { Policy } from '../../src/algorithms/index.ts'
import { asError, HeadgateError, reason, warnOnce } from '../../src/common/index.ts'
import { clientRefusal, retryAfterSeconds, tryAgain } from '../../src/http/index.ts'
import type { MessageRefusal } from './message-options.ts'

/** The functions that a message limit needs from the library of a socket. */
export interface MessageTransport<Message> {
  /** The name of a message's event, for the option `only`. Absent if messages have no names. */
  eventOf?(message: Message): string
  /**
   * Tells the client that a message was dropped. Sends nothing if the client does not read earlier notices, because unsent
   * notices would fill the memory.
   */
  tell(message: Message, notice: () => Notice): void
  /** Closes the connection. @param tells true to send the notice first; false if the application has already notified the client */
  close(message: Message, notice: () => Notice, tells: boolean): void
  /** Reports an error to the application with `pass(error)`. The message is dropped. */
  fail(error: unknown, pass: (error: Error) => void): void
  /** About how many bytes a waiting message holds. Absent if `pause` stops the messages of the client. */
  sizeOf?(message: Message): number
  /** Called when messages begin to wait, and with negative numbers when messages wait no more. Example: `(-1, -200)`. */
  onWaiting?(messages: 1 | -1, bytes: number): void
  /** True if the waiting messages of the connection hold too many bytes. Absent if `pause` stops the messages of the client. */
  full?(): boolean
  /** Stops reading messages from the client, if the library can do so. */
  pause(): void
  resume(): void
}

/** The notice that a client gets about a message that was not delivered. */
export interface Notice {
  readonly error: 'too_many_messages' | 'unavailable'
  readonly message: string
  /** The label (or else the name) of the policy that refused the message. Null if no policy did, or if the policy has `listed: false`. */
  readonly policy: string | null
  /** Whole milliseconds until a new attempt makes sense. Null for a message that can never be admitted. */
  readonly retryAfterMs: number | null
}

export function noticeOf(
  { reason: why, decision, retryAfter }: MessageRefusal<unknown>,
  policies: readonly Policy[],
): Notice {
  const told = decision === undefined ? { policy: null, retryAfter } : clientRefusal(decision, policies)
  const seconds = retryAfterSeconds(told.retryAfter)
  const advice = seconds === undefined ? 'It cannot be admitted.' : tryAgain(seconds)
  return {
    error: why === 'store' ? 'unavailable' : 'too_many_messages',
    message: `${why === 'store' ? 'Service unavailable.' : 'Too many messages.'} ${advice}`,
    policy: told.policy,
    retryAfterMs: seconds === undefined ? null : told.retryAfter,
  }
}

interface ErrorEmitter {
  listenerCount(name: 'error'): number
}

/**
 * Warns once about each kind of error. If the socket has a listener for `error`, also emits the error. Without a listener, the event
 * `error` would end the process. The warning is needed because socket.io adds an empty listener to each socket, which hides the error.
 */
export function failSocket(socket: ErrorEmitter, thrown: unknown, emit: (error: Error) => void): void {
  const error = asError(thrown)
  const text = `A message ran into an error and was dropped. Listen for 'error'. ${reason(error)}`
  warnOnce('HEADGATE_MESSAGE', text, error instanceof HeadgateError ? error.code : error.name)
  if (socket.listenerCount('error') > 0) emit(error)
}
