import { monotonicClock } from '../../../common/index.ts'
import type { Script } from '../script/index.ts'

/** What a batcher stores about a node of Redis: the scripts that the node has, and since when the node has not answered. */
export class RedisNode {
  #scripts = new WeakSet<Script>()
  /** When the oldest batch without an answer was sent, in microseconds; 0 if the node has answered all batches. */
  #silentSince = 0
  #received: number | undefined
  /** Since when batches wait for a connection, in microseconds; 0 if the last batch was sent. */
  #waitingSince = 0
  /** How often the node has answered. */
  answers = 0

  has(script: Script): boolean {
    return this.#scripts.has(script)
  }

  /** Called when the node has lost its scripts, by a restart or by SCRIPT FLUSH. */
  lostScripts(): void {
    this.#scripts = new WeakSet()
  }

  /** @param received how many bytes the connection has received, if the client gives calls up whose answers it then drops */
  asked(now: number, received?: number): void {
    if (this.#silentSince === 0) {
      this.#silentSince = now
      this.#received = received
    }
    this.#waitingSince = 0
  }

  /** Called when a batch was not sent before its deadline, because there is no connection. */
  waited(now: number): void {
    if (this.#waitingSince === 0) this.#waitingSince = now
  }

  /** Called when the node has answered. @param script the script that the node has run, if it has run a script */
  answered(script?: Script): void {
    this.#silentSince = 0
    this.answers++
    if (script !== undefined) this.#scripts.add(script)
  }

  /**
   * True if the node has not answered, or has had no connection, for `duration` microseconds. The caller then makes the client reconnect,
   * because the connection may be broken without notice. After the result true, the time is measured again from the next batch.
   */
  isSilentFor(duration: number, received?: number): boolean {
    if (received !== this.#received) this.#silentSince = 0
    const since = this.#silentSince || this.#waitingSince
    if (since === 0 || monotonicClock() - since < duration) return false
    this.#silentSince = 0
    this.#waitingSince = 0
    return true
  }
}
