import { monotonicClock } from '../../../common/index.ts'
import type { Script } from '../script/index.ts'

/** What a batcher knows of a node of Redis. */
export class RedisNode {
  #scripts = new WeakSet<Script>()
  /** When the first of the batches was sent that the node has not answered, in microseconds; 0 for a node that answers. */
  #silentSince = 0

  has(script: Script): boolean {
    return this.#scripts.has(script)
  }

  /** It restarted, or was told to flush its scripts. */
  lostScripts(): void {
    this.#scripts = new WeakSet()
  }

  asked(now: number): void {
    if (this.#silentSince === 0) this.#silentSince = now
  }

  /** @param script one that it has run */
  answered(script?: Script): void {
    this.#silentSince = 0
    if (script !== undefined) this.#scripts.add(script)
  }

  /**
   * True, once, if the node has been silent for so many microseconds. A connection whose other end is gone, without a word, looks
   * like a server that hangs, until the client opens another.
   */
  isSilentFor(duration: number): boolean {
    const since = this.#silentSince
    if (since === 0 || monotonicClock() - since < duration) return false
    this.#silentSince = 0
    return true
  }
}
