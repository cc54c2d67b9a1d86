/** Says when to try a short way again that did not work: once 2, 4, 8 and up to 1024 others have gone the long way. */
export class Attempts {
  #failures = 0
  #left = 0

  /** True if it is to be tried now. */
  next(): boolean {
    if (this.#left === 0) return true
    this.#left--
    return false
  }

  worked(): void {
    if (this.#failures > 0) this.#failures--
  }

  failed(): void {
    this.#failures = Math.min(10, this.#failures + 1)
    this.#left = 2 ** this.#failures
  }
}
