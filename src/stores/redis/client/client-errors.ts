/*
 * What a client says about its connection. Without a connection, commands only wait, so the cause shows in the client's
 * events alone: a wrong password, an unknown host, a refused connection.
 */
import { errorMonitor } from 'node:events'
import { warnOnce } from '../../../common/index.ts'

interface Emitter {
  on(event: string | symbol, listener: (error: Error) => void): unknown
  listenerCount?(event: string): number
}

export class ClientErrors {
  /** The last error since the client was ready. */
  last: Error | undefined
  readonly #client: Emitter
  /** How many listeners for `'error'` on the client are ours. */
  readonly #own: number
  readonly #consequence: string
  #checked = false

  /** Adds a listener for ioredis, which emits errors only to listeners. In node-redis a listener would hide errors. */
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

  /** Warns once for each client without a listener for errors. Called at the first request, when the application is set up. */
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

/** The errors of a client: one object for each client, however many stores use the client. */
export function errorsOf(client: object, listens: boolean, consequence: string): ClientErrors | undefined {
  if (typeof (client as Partial<Emitter>).on !== 'function') return undefined
  const errors = known.get(client) ?? new ClientErrors(client as Emitter, listens, consequence)
  known.set(client, errors)
  return errors
}
