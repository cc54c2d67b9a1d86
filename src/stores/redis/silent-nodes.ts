import { monotonicClock } from '../../clock.ts'

/**
 * How long each node has answered nothing. A connection whose other end is gone, without a word, looks like a server that hangs,
 * until the client opens another.
 */
export class SilentNodes {
  /** When the first of the batches was sent that the node has not answered, in microseconds; 0 for a node that answers. */
  readonly #since = new Map<string, number>()

  asked(node: string, now: number): void {
    if ((this.#since.get(node) ?? 0) === 0) this.#since.set(node, now)
  }

  answered(node: string): void {
    this.#since.set(node, 0)
  }

  /** True, once, if the node has been silent for so many microseconds. */
  isSilentFor(node: string, duration: number): boolean {
    const since = this.#since.get(node) ?? 0
    if (since === 0 || monotonicClock() - since < duration) return false
    this.#since.set(node, 0)
    return true
  }
}
