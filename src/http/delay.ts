import type { Policy } from '../algorithms/algorithm.ts'
import { type Duration, milliseconds } from '../duration.ts'
import { HeadgateError } from '../errors.ts'
import { knownOptions, positiveInteger } from '../options.ts'

export interface DelayOptions {
  /** The longest that a request is held back, such as `'2s'`; one that would wait longer is refused. At most 1 hour. */
  max: Duration
  /** How many requests may wait at once, over all keys. Default 100. */
  queue?: number
}

const anHour = 3_600_000

/** Who waits for the time it has booked. The room is taken before the store is asked, so a burst cannot overfill it. */
export class Delay {
  readonly #max: number
  readonly #queue: number
  #inside = 0

  /** @throws HeadgateError `HEADGATE_OPTION` also where the policies cannot promise a time to come */
  constructor(options: DelayOptions, policies: readonly Policy[]) {
    knownOptions('delay', options, ['max', 'queue'])
    this.#max = milliseconds(options.max, 'delay: max', 'HEADGATE_OPTION')
    this.#queue = positiveInteger(options.queue ?? 100, 'delay: queue', 'HEADGATE_OPTION')
    if (this.#max > anHour) {
      throw new HeadgateError(
        'HEADGATE_OPTION',
        `delay: max must be at most 1 hour. Give the patience of a client: '2s'.`,
      )
    }
    const enforced = policies.filter(({ shadow, algorithm }) => !shadow && !algorithm.punishes)
    if (enforced.length === 1 && enforced[0]?.algorithm.promises) return
    throw new HeadgateError(
      'HEADGATE_OPTION',
      'delay needs one policy that can promise a time to come: a bucket, a fixed window or a sliding log, alone. ' +
        `Write policies: '10/1s token-bucket'.`,
    )
  }

  /** Takes room, to be given back by `leave`; how long this one may wait, in milliseconds: 0 where no room is left. */
  enter(): number {
    return this.#inside++ < this.#queue ? this.#max : 0
  }

  leave(): void {
    this.#inside--
  }

  /**
   * Waits; false if the client goes away before.
   * @param onEnd calls back when the response has ended, which now can only be for that reason
   */
  async pause(wait: number, onEnd: (gone: () => void) => void): Promise<boolean> {
    const stays = await new Promise<boolean>((resolve) => {
      const timer = setTimeout(resolve, wait, true)
      onEnd(() => {
        clearTimeout(timer)
        resolve(false)
      })
    })
    this.leave()
    return stays
  }
}
