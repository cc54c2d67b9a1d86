/*
 * Penalty: a key that is refused again and again is blocked for a while, each time for longer.
 *
 * It is a policy like any other, except that it judges the refusals of the other policies and not the call. It counts
 * refused calls only, and refuses every call while a block lasts.
 *
 *     refused   x  x x      x                         x xx
 *     count     1  2 3=after                          1 23
 *                    |<-- block[0] -->|                  |<------ block[1] ------>|<--- forget --->| all forgotten
 *
 * A count starts with a refusal and lasts for `within`. Calls during a block do not count and do not extend it, so the end
 * of a block is known from its start. A block is remembered for `forget` after its end. The next block within that time
 * is the next one of the list, or the last one again.
 *
 * State: last (us), start of the count (us), refusals counted, blocks so far, end of the block (us).
 */
import { type Duration, milliseconds, warnOfSeconds } from '../duration.ts'
import { invalidOption } from '../errors.ts'
import { knownOptions, type Names, positiveInteger, text } from '../options.ts'
import type { Algorithm, Numbers, Policy, Report } from './algorithm.ts'
import { makePolicy } from './define-policy.ts'
import { toleranceOf } from './effective-time.ts'

/** The remaining units of a key that is not blocked: more than any real limit. */
const unlimited = 2 ** 52

export class Penalty implements Algorithm {
  readonly kind = 'penalty'
  readonly parameters: readonly number[]
  readonly slots = 5
  readonly grows = false
  readonly promises = false
  readonly punishes = true
  readonly span: number
  readonly tolerance: number
  readonly after: number
  readonly within: number
  readonly forget: number
  readonly blocks: readonly number[]

  /** Times in microseconds. */
  constructor(after: number, within: number, forget: number, blocks: readonly number[]) {
    this.after = after
    this.within = within
    this.forget = forget
    this.blocks = blocks
    this.span = Math.max(within, ...blocks)
    this.tolerance = toleranceOf(this.span)
    this.parameters = [after, within, forget, ...blocks]
  }

  wait(s: Numbers, i: number, at: number): number {
    return Math.max(0, (s[i + 4] as number) - this.#aheadAt(s, i, at) - at)
  }

  /** How far the times of the state lie ahead, because the clock went far back. */
  #aheadAt(s: Numbers, i: number, at: number): number {
    return Math.max(0, (s[i] as number) - at)
  }

  fits(): boolean {
    return true
  }

  /** An admitted call is not counted. Only the time of the state moves, if the clock went far back. */
  take(s: Numbers, i: number, at: number): void {
    const ahead = this.#aheadAt(s, i, at)
    if (ahead === 0) return
    s[i] = at
    s[i + 1] = Math.max(0, (s[i + 1] as number) - ahead)
    s[i + 4] = Math.max(0, (s[i + 4] as number) - ahead)
  }

  count(s: Numbers, i: number, at: number): void {
    this.take(s, i, at)
    const since = at - (s[i + 4] as number)
    if (since < 0) return
    if (since >= this.forget) s[i + 3] = 0
    if (s[i + 2] === 0 || at - (s[i + 1] as number) >= this.within) {
      s[i + 1] = at
      s[i + 2] = 0
    }
    s[i + 2] = (s[i + 2] as number) + 1
    s[i] = at
    if ((s[i + 2] as number) >= this.after) this.#block(s, i, at)
  }

  #block(s: Numbers, i: number, at: number): void {
    const blocks = s[i + 3] as number
    s[i + 4] = at + (this.blocks[Math.min(blocks, this.blocks.length - 1)] as number)
    s[i + 3] = Math.min(blocks + 1, this.blocks.length)
    s[i + 2] = 0
  }

  unblock(s: Numbers, i: number, at: number): void {
    this.take(s, i, at)
    if ((s[i + 2] as number) === 0 && (s[i + 4] as number) <= at) return
    s[i] = at
    s[i + 2] = 0
    s[i + 4] = Math.min(s[i + 4] as number, at)
  }

  /** A refusal stays counted, whatever is given back. */
  refund(s: Numbers, i: number, at: number): void {
    this.take(s, i, at)
  }

  bookedAt(): number {
    return 0
  }

  settle(): void {}

  report(s: Numbers, i: number, at: number, out: Report): void {
    const now = at + this.#aheadAt(s, i, at)
    const end = s[i + 4] as number
    const counted = (s[i + 2] as number) > 0 ? (s[i + 1] as number) + this.within : 0
    const forgotten = (s[i + 3] as number) > 0 ? end + this.forget : 0
    out.used = now < counted ? (s[i + 2] as number) : 0
    out.remaining = end > now ? 0 : unlimited - out.used
    out.reset = Math.max(0, counted - now, forgotten - now)
  }

  /** A block keeps its end, but is never longer than the longest block now. */
  carry(s: Numbers, i: number, at: number, from: Algorithm): boolean {
    if (!(from instanceof Penalty)) return false
    this.take(s, i, at)
    s[i + 3] = Math.min(s[i + 3] as number, this.blocks.length)
    s[i + 4] = Math.min(s[i + 4] as number, at + Math.max(...this.blocks))
    return true
  }

  /** The later start with the higher count, and the later end with the higher number of blocks. */
  merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    this.take(s, i, at)
    const ahead = this.#aheadAt(t, j, at)
    const start = (t[j + 1] as number) - ahead
    const counted = at - start < this.within ? (t[j + 2] as number) : 0
    if (at - (s[i + 1] as number) >= this.within) s[i + 2] = 0
    if (counted > 0) s[i + 1] = Math.max(s[i + 2] === 0 ? 0 : (s[i + 1] as number), start)
    s[i + 2] = Math.max(s[i + 2] as number, counted)
    s[i + 3] = Math.max(s[i + 3] as number, t[j + 3] as number)
    s[i + 4] = Math.max(s[i + 4] as number, (t[j + 4] as number) - ahead)
    s[i] = at
  }
}

export interface PenaltyOptions {
  /** How many refusals lead to a block, such as 10. */
  after: number
  /** The time in which they are counted, such as `'1m'`. A count starts with a refusal. */
  within: Duration
  /** How long a key is blocked: the first time, the second time and so on, such as `['1m', '10m']`. The last one repeats. */
  block: Duration | readonly Duration[]
  /** How long a block is remembered after its end. Default: the longest block. */
  forget?: Duration
  /** The scope of the key that is blocked. Default: the scope of the limiter's first policy. */
  scope?: string
  /** The name of the penalty in decisions. Default `'penalty'`. */
  name?: string
  /** The HTTP status of a blocked request. Default 429. */
  status?: 403 | 429
}

const known: Names<PenaltyOptions> = ['after', 'within', 'block', 'forget', 'scope', 'name', 'status']

/**
 * A policy that blocks keys which the other policies refuse again and again. Not public: it is the `penalty` option of a
 * limiter.
 * @throws HeadgateError `HEADGATE_PENALTY` if an option is out of range, `HEADGATE_NAME`, `HEADGATE_SCOPE`, `HEADGATE_OPTION`
 */
export function penalty(options: PenaltyOptions, scope: string, shadow: boolean): Policy {
  knownOptions('penalty', options, known, ['after', 'within', 'block'])
  const after = positiveInteger(options.after, 'penalty: after', 'HEADGATE_PENALTY')
  const within = milliseconds(options.within, 'penalty: within', 'HEADGATE_PENALTY')
  const list = Array.isArray(options.block) ? (options.block as readonly Duration[]) : [options.block as Duration]
  const blocks = list.map((block) => milliseconds(block, 'penalty: block', 'HEADGATE_PENALTY'))
  if (blocks.length < 1 || blocks.length > 20) {
    const fix = "Write block: ['1m', '10m', '1h']."
    throw invalidOption('penalty: block', '1 to 20 durations', options.block, fix, 'HEADGATE_PENALTY')
  }
  if (options.status !== undefined && options.status !== 403 && options.status !== 429) {
    const fix = 'Leave it out for 429.'
    throw invalidOption('penalty: status', '403 or 429', options.status, fix, 'HEADGATE_PENALTY')
  }
  const forget = milliseconds(options.forget ?? Math.max(...blocks), 'penalty: forget', 'HEADGATE_PENALTY')
  warnOfSeconds(options.within, 'penalty: within')
  for (const block of list) warnOfSeconds(block, 'penalty: block')
  const name = text(options.name ?? 'penalty', 'penalty: name', 'HEADGATE_NAME')
  const settings = {
    name,
    label: name,
    scope: text(options.scope ?? scope, 'penalty: scope', 'HEADGATE_SCOPE'),
    limit: after,
    window: within,
    burst: unlimited,
    countRefused: true,
    shadow,
  }
  const micros = blocks.map((block) => block * 1000)
  const policy: Policy = makePolicy(settings, new Penalty(after, within * 1000, forget * 1000, micros), () => policy)
  return policy
}
