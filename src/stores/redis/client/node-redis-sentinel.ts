/*
 * A sentinel client of node-redis has clients that are connected to the master. Its method `_execute` passes one of these
 * clients to a function. If the connection breaks while the function runs, the sentinel client finds the new master and runs the
 * function again.
 *
 * A script may have run before the connection broke, and would then count a call twice. So this file sends each script call only
 * once.
 */
import type { Args } from './script-call.ts'
import { type AddressedClient, serverAnswers } from './server-answers.ts'

type Run = (script: string, options: { keys: Args; arguments: Args }) => Promise<unknown>

interface MasterClient extends AddressedClient {
  readonly isReady: boolean
  readonly evalSha: Run
  readonly eval: Run
  destroy(): void
}

export interface NodeRedisSentinel {
  readonly isReady: boolean
  /** Data about the master; undefined if no client of the master is connected. */
  getMasterNode(): unknown
  /** The prefix that the sentinel client adds to keys. The client of the master adds no prefix. */
  readonly _keyPrefix?: string | Uint8Array
  _execute<T>(isReadonly: boolean, run: (master: MasterClient) => Promise<T>): Promise<T>
}

export function isSentinel(client: object): client is NodeRedisSentinel {
  return 'getMasterNode' in client && '_execute' in client && 'isReady' in client
}

/** Sends script calls to the master that a sentinel client has found. */
export class SentinelMaster {
  readonly #client: NodeRedisSentinel
  #searching = false
  #failure: unknown

  constructor(client: NodeRedisSentinel) {
    this.#client = client
  }

  readonly ready = (): boolean => {
    const client = this.#client
    const ready = client.isReady && client.getMasterNode() !== undefined
    if (!ready) this.#search()
    return ready
  }

  /** The reason why the client is not ready. Valid only while the client is not ready. */
  get problem(): unknown {
    return this.#failure ?? new Error('The sentinel client has no connection to the master.')
  }

  /**
   * Breaks the connection, if the master answers on a new connection. Commands that Redis has not answered then fail, and so the sentinel
   * client opens another connection.
   */
  readonly reconnect = (_slot: number, isSilent: () => boolean): void => {
    const client = this.#client
    const run = async (master: MasterClient) => {
      if ((await serverAnswers(master)) && isSilent() && master.isReady) master.destroy()
    }
    if (client.isReady) client._execute(false, run).catch(() => undefined)
  }

  /** Sends a script call to the master. @param name the method of the client */
  run(name: 'evalSha' | 'eval', script: string, keys: string[], args: Args): Promise<unknown> {
    return this.#runOnce((master) => master[name](script, { keys: this.#prefixed(keys), arguments: args }))
  }

  #prefixed(keys: string[]): (string | Uint8Array)[] {
    const { _keyPrefix: prefix = '' } = this.#client
    if (prefix.length === 0) return keys
    return keys.map((key) => (typeof prefix === 'string' ? prefix + key : Buffer.concat([prefix, Buffer.from(key)])))
  }

  /** Makes the client look for the master. Without `search`, the client looks only after a failed command or a message of a sentinel. */
  #search(): void {
    if (this.#searching) return
    this.#searching = true
    const ended = (failure?: unknown) => {
      this.#searching = false
      this.#failure = failure
    }
    this.#client._execute(false, async () => ended()).catch(ended)
  }

  /** Runs a command once. Only if a replica refused the command, runs it a second time, because a refused command changes nothing. */
  #runOnce(command: (master: MasterClient) => Promise<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      let failed: { readonly error: unknown } | undefined
      const run = async (master: MasterClient) => {
        if (failed !== undefined) throw failed.error
        try {
          return await command(master)
        } catch (error) {
          if (error instanceof Error && error.message.startsWith('READONLY')) throw error
          failed = { error }
          reject(error) // before the sentinel client looks for the master, which takes time
          throw error
        }
      }
      this.#client._execute(false, run).then(resolve, reject)
    })
  }
}
