import { monotonicClock } from '../../../common/index.ts'
import type { Script } from '../script/index.ts'

/** What a batcher notes about a node of Redis: which scripts it has, and how long it has been silent. */
export class RedisNode {
  #scripts = new WeakSet<Script>()
  /** When the first batch was sent that the node has not answered, in microseconds; 0 if it has answered all. */
  #silentSince = 0

  has(script: Script): boolean {
    return this.#scripts.has(script)
  }

  /** Notes that the node restarted, or was told to flush its scripts. */
  lostScripts(): void {
    this.#scripts = new WeakSet()
  }

  asked(now: number): void {
    if (this.#silentSince === 0) this.#silentSince = now
  }

  /** @param script a script that the node has run */
  answered(script?: Script): void {
    this.#silentSince = 0
    if (script !== undefined) this.#scripts.add(script)
  }

  /**
   * True, once, if the node has been silent for `duration` microseconds. A connection whose other end is gone looks like
   * a server that hangs, until the client opens another connection.
   */
  isSilentFor(duration: number): boolean {
    const since = this.#silentSince
    if (since === 0 || monotonicClock() - since < duration) return false
    this.#silentSince = 0
    return true
  }
}
