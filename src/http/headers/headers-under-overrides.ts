import { getOrInsert } from '../../common/index.ts'
import type { RateLimiter } from '../../limiter/index.ts'
import { Headers } from './headers.ts'
import type { HeadersOption } from './headers-option.ts'

/** Sets the response fields of a limiter: for its own policies, or for the policies of a limiter that was derived for overrides. */
export class HeadersUnderOverrides {
  readonly own: Headers
  readonly #limiter: RateLimiter
  readonly #option: HeadersOption
  readonly #others = new WeakMap<RateLimiter, Headers>()

  constructor(option: HeadersOption, limiter: RateLimiter) {
    this.own = new Headers(option, limiter.policies)
    this.#option = option
    this.#limiter = limiter
  }

  /** @param decider the limiter that has decided: the limiter itself, or a limiter that was derived for overrides */
  of(decider: RateLimiter): Headers {
    if (decider === this.#limiter) return this.own
    return getOrInsert(this.#others, decider, ({ policies }) => new Headers(this.#option, policies))
  }
}
