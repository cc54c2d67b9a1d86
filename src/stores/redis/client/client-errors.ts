/*
 * The errors that a client of Redis emits about its connection. Without a connection, commands wait and do not fail, so the
 * cause (a wrong password, an unknown host, a refused connection) is only in the client's `'error'` events.
 */
import { errorMonitor } from 'node:events'
import { warnOnce } from '../../../common/index.ts'

interface Emitter {
  on(event: string | symbol, listener: (error: Error) => void): unknown
  listenerCount?(event: string): number
}

export class ClientErrors {
  /** The last error that the client has emitted since it was last ready; undefined if the client has emitted no error since then. */
  last: Error | undefined
  readonly #client: Emitter
  /** How many listeners for `'error'` this object has added to the client. */
  readonly #own: number
  readonly #consequence: string
  #checked = false

  /**
   * @param listens true for ioredis, which emits no errors without a listener for errors; false for node-redis, where such a
   *   listener would hide the errors from the application
   */
  constructor(client: Emitter, listens: boolean, consequence: string) {
    this.#client = client
    this.#own = listens ? 1 : 0
    this.#consequence = consequence
    const note = (error: Error) => {
      this.last = error
    }
    const forget = () => {
      this.last = undefined
    }
    client.on(listens ? 'error' : errorMonitor, note)
    for (const event of ['node error', 'node-error']) client.on(event, note)
    client.on('ready', forget)
  }

  /**
   * Warns once if the application has no listener for errors of this client. Called at the first request, because the setup of the
   * application has ended by that time.
   */
  checkListener(): void {
    if (this.#checked) return
    this.#checked = true
    const { listenerCount } = this.#client
    if (listenerCount === undefined || listenerCount.call(this.#client, 'error') > this.#own) return
    warnOnce(
      'HEADGATE_CLIENT',
      `The Redis client has no listener for 'error'. ${this.#consequence} ` +
        "Write client.on('error', (error) => log(error)), before you connect.",
      this.#consequence,
    )
  }
}

const known = new WeakMap<object, ClientErrors>()

/** The object that collects the errors of a client. All stores of the client share this object. */
export function errorsOf(client: object, listens: boolean, consequence: string): ClientErrors | undefined {
  if (typeof (client as Partial<Emitter>).on !== 'function') return undefined
  const errors = known.get(client) ?? new ClientErrors(client as Emitter, listens, consequence)
  known.set(client, errors)
  return errors
}
