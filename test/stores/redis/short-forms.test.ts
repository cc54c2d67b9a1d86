/*
 * Which values a short script decides by itself. Whatever has another form is left to the whole script, before anything is written.
 */
import { describe, expect, test } from 'vitest'
import {
  type Clock,
  type PenaltyOptions,
  type Policy,
  RateLimiter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../../src/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { RedisStore } from '../../../src/stores/redis/redis-store.ts'
import { Script } from '../../../src/stores/redis/script/loaded-script.ts'
import { script } from '../../../src/stores/redis/script/script.ts'
import { ManualClock } from '../../../src/testing/index.ts'
import { sampled } from '../../support/depth.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()
let names = 0

interface Terms {
  readonly policies: Policy
  readonly penalty?: PenaltyOptions
}

const start = Date.UTC(2026, 0, 1)
const policies = slidingLog({ limit: 5, window: '10s' })
const penalty = { after: 1, within: '10s', ban: '30s' } as const
const withPenalty: Terms = { policies, penalty }

const keyOf = (name: string, id: string) => `headgate:${name}:{${id}}`

function limiterOf(terms: Terms, clock: ManualClock): RateLimiter {
  const store = redisStore({ client, timeout: '30s', clock: clock.now, refusalCache: false })
  return new RateLimiter({ name: `forms-${names++}`, ...terms, store, onStoreError: 'throw' })
}

/** The same calls on the same value, by the script of the plan and by the whole script: the decisions or errors, and the values then. */
async function decideBoth(terms: Terms, value: Buffer, clock: ManualClock): Promise<readonly [unknown, unknown]> {
  const decide = async (whole: boolean) => {
    const limiter = limiterOf(terms, clock)
    const [ann, bob] = ['ann', 'bob'].map((id) => keyOf(limiter.name, id)) as [string, string]
    await client.set(ann, value, 'PX', 60_000)
    // A peek in the same turn makes the calls travel with it, to the whole script.
    const peeked = whole ? limiter.peek('other') : undefined
    const calls = ['bob', 'ann', 'bob'].map((id) => limiter.consume(id, { cost: 2 }))
    const results = await Promise.allSettled(calls)
    await peeked
    const shown = results.map((each) =>
      each.status === 'fulfilled' ? each.value : (each.reason as { code: string }).code,
    )
    return { shown, ann: await client.getBuffer(ann), bob: await client.getBuffer(bob) }
  }
  return [await decide(false), await decide(true)]
}

/** A log with an entry of one unit, and 3 s later one of two; then a refusal, if `refused`. */
async function packedLog(terms: Terms, refused: boolean): Promise<Buffer> {
  const clock = new ManualClock(start)
  const limiter = limiterOf(terms, clock)
  await limiter.consume('ann')
  clock.advance('3s')
  await limiter.consume('ann', { cost: 2 })
  if (refused) await limiter.consume('ann', { cost: 3 })
  return (await client.getBuffer(keyOf(limiter.name, 'ann'))) as Buffer
}

async function expectSame(terms: Terms, value: Buffer): Promise<void> {
  for (const later of [-1000, 0, 1, 6999, 7000, 7001, 10_000, 20_000, 29_999, 30_000, 90_000]) {
    const [plain, whole] = await decideBoth(terms, value, new ManualClock(start + 3000 + later))
    expect(plain).toEqual(whole)
  }
}

/** Where the size of the log begins, behind the head: a byte, that of the definition's length, the id, and the definition. */
const sizeAt = 6 + 6
const numbersAt = sizeAt + 4
const numberAt = { last: numbersAt, before: numbersAt + 7, base: numbersAt + 14 }
const entriesAt = numbersAt + 21
const logEnd = entriesAt + 2 * 9

type Change = (value: Buffer) => Buffer

const write =
  (place: number, number: number): Change =>
  (value) => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(BigInt(number))
    return Buffer.concat([value.subarray(0, place), bytes.subarray(0, 7), value.subarray(place + 7)])
  }

/** Gives the log another size, and leaves out the bytes that it then does not have. */
const resize =
  (size: number): Change =>
  (value) => {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32LE(size)
    const kept = value.subarray(numbersAt, Math.min(logEnd, numbersAt + size))
    return Buffer.concat([value.subarray(0, sizeAt), bytes, kept, value.subarray(logEnd)])
  }

const writeByte =
  (place: number, byte: number): Change =>
  (value) =>
    Buffer.concat([value.subarray(0, place), Buffer.from([byte]), value.subarray(place + 1)])

const append =
  (...bytes: readonly number[]): Change =>
  (value) =>
    Buffer.concat([value, Buffer.from(bytes)])

const changes: Readonly<Record<string, Change>> = {
  'as it is': (value) => value,
  'that is cut': (value) => value.subarray(0, -1),
  'that is cut by an entry': (value) => value.subarray(0, -9),
  'that is cut after its head': (value) => value.subarray(0, sizeAt),
  'that is empty': () => Buffer.alloc(0),
  'with a byte more': append(0),
  'with seven bytes more': append(0, 0, 0, 0, 0, 0, 0),
  'with a record of another policy': append(7, 1, 9, 9, 9, 9, 9, 0, 0, 0, 0, 0, 0, 0),
  twice: (value) => Buffer.concat([value, value]),
  'without entries': resize(21),
  'without numbers': resize(3),
  'of half its numbers': resize(12),
  'of a larger size': resize(2 ** 31),
  'in the wide form': writeByte(0, 255),
  'in an unknown form': writeByte(0, 200),
  'of another name': writeByte(2, 9),
  'whose newest entry lies ahead': write(numberAt.last, 1),
  'whose time lies far ahead': write(numberAt.last, 2 ** 52),
  'of large totals': write(numberAt.before, 2 ** 48),
  'of totals near the end': write(numberAt.before, 2 ** 50),
  'of totals that start anew': write(numberAt.before, 2 ** 51 - 2 ** 24),
  'of the largest totals': write(numberAt.before, 2 ** 52),
}

/** Where the penalty's record begins, its state, and the end of its ban. */
const penaltyChanges: Readonly<Record<string, Change>> = {
  'whose ban has no end': (value) => write(value.length - 7, 0)(value),
  'whose ban ends at the last moment': (value) => write(value.length - 7, Number.MAX_SAFE_INTEGER)(value),
  'without the end of its ban': (value) => value.subarray(0, -7),
  'without the end of its ban, of its size': (value) => writeByte(logEnd, 28)(value).subarray(0, -7),
  'with the end of a ban, of a smaller size': writeByte(logEnd, 28),
  'of a larger size than it has': writeByte(logEnd, 42),
  'without its penalty': (value) => value.subarray(0, logEnd),
  'of its penalty alone': (value) => value.subarray(logEnd),
  'behind its penalty': (value) => Buffer.concat([value.subarray(logEnd), value.subarray(0, logEnd)]),
  'with another penalty': writeByte(logEnd + 3, 9),
  'whose penalty lies far ahead': (value) => write(value.length - 35, 2 ** 52)(value),
}

describe('a value is decided as by the whole script, and written likewise', () => {
  test.each(sampled(Object.entries(changes), 6))('a log %s', async (_, change) => {
    await expectSame({ policies }, change(await packedLog({ policies }, false)))
  })

  test.each(sampled(Object.entries(changes), 6))('a log with a penalty, %s', async (_, change) => {
    for (const refused of [false, true]) await expectSame(withPenalty, change(await packedLog(withPenalty, refused)))
  })

  test.each(sampled(Object.entries(penaltyChanges), 4))('a banned log %s', async (_, change) => {
    await expectSame(withPenalty, change(await packedLog(withPenalty, true)))
  })
})

/** A store whose whole script fails. */
function storeWithoutWhole(clock: Clock): RedisStore {
  const fail = "return redis.error_reply('ERR this needs the whole script')"
  const scripts = { whole: new Script(fail), changeShort: (text: string) => text.replace(script, fail) }
  return new RedisStore({ client, timeout: '30s', clock, refusalCache: false, prefix: 'alone' }, scripts)
}

const plans: Readonly<Record<string, Policy>> = {
  bucket: tokenBucket({ limit: 3, window: '10s' }),
  interval: tokenBucket({ limit: 3, window: '10s', refill: 'interval' }),
  slidingWindow: slidingWindow({ limit: 3, window: '10s' }),
  log: slidingLog({ limit: 3, window: '10s' }),
}

const penalties: Readonly<Record<string, PenaltyOptions | undefined>> = {
  'no penalty': undefined,
  'a penalty': { after: 2, within: '5s', ban: ['1s', '20s'] },
  'a penalty that extends': { after: 2, within: '5s', ban: '2s', extend: true },
  'a penalty that restarts': { after: 2, within: '5s', ban: '2s', restart: true },
  'a penalty until the window ends': { after: 2, within: '5s', until: 'window' },
}

describe.each(sampled(Object.entries(penalties), 2))('the script of a plan needs no other: %s', (_, penalty) => {
  test.each(Object.entries(plans))('%s', async (_, policies) => {
    let now = start * 1000
    const store = storeWithoutWhole(() => now)
    const terms = { policies, store, onStoreError: 'throw' as const, ...(penalty && { penalty }) }
    const limiter = new RateLimiter({ name: `alone-${names++}`, ...terms })
    const seen = new Set<boolean>()
    for (let n = 0; n < 100; n++) {
      const decisions = await Promise.all(['ann', 'bob', 'ann'].map((id) => limiter.consume(id, { cost: 1 + (n % 2) })))
      for (const { allowed } of decisions) seen.add(allowed)
      now += ([0, 200, 900, 4000, -100][n % 5] as number) * 1000
    }
    expect(seen).toEqual(new Set([true, false]))
  })
})
