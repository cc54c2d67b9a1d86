import type { Connection } from './client.ts'
import type { Script } from './script.ts'

export interface BatcherOptions {
  readonly connection: Connection
  /** The whole script, which decides anything. */
  readonly script: Script
  /** How long a request may take, in milliseconds. */
  readonly timeout: number
  /** In milliseconds. */
  readonly ttlMargin: number
  /** The most requests in a batch as long as no other batch waits; with 1, each is sent at once. */
  readonly size: number
  /** The most requests in a batch that waits behind others. */
  readonly most: number
  /** After how many milliseconds without any answer the client is told to connect anew. */
  readonly reconnectAfter: number
}
