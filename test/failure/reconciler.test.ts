import { describe, expect, test } from 'vitest'
import type { OwedCharges } from '../../src/failure/owed-charges.ts'
import { Reconciler } from '../../src/failure/reconciler.ts'
import { StoreLink } from '../../src/failure/store-link.ts'
import { fixedWindow, type PolicyLike, RateLimiter, smoothBursty, tokenBucket } from '../../src/index.ts'
import { Reservation, type ReservedCall } from '../../src/limiter/reservation.ts'
import { FailoverFixture, outcome, settle } from '../support/failing-store.ts'

/** Spends units of a key. */
async function spend(fixture: FailoverFixture, units: number, key = 'k'): Promise<string> {
  let last = ''
  for (let n = 0; n < units; n++) last = await fixture.consume(key)
  return last
}

async function reserve(fixture: FailoverFixture, cost: number, key = 'k'): Promise<Reservation> {
  const { ledger, policies } = fixture
  const run: ReservedCall['run'] = (command) => ledger.run(command)
  const call = { run, policies, keys: [key], costs: cost }
  return new Reservation(call, await ledger.run({ verb: 'reserve', keys: [key], costs: cost }))
}

test('units that were spent locally are charged before the store decides again', async () => {
  const fixture = new FailoverFixture('10/1h fixed-window')
  expect(await spend(fixture, 2)).toBe('store 8')
  await fixture.down()
  expect(await spend(fixture, 7)).toBe('fallback 3')
  await fixture.up()
  expect(await fixture.consume()).toBe('store 0')
  expect(await fixture.consume()).toBe('store no 3599500')
})

test('the key of a call is settled first, once the store is known to respond', async () => {
  const fixture = new FailoverFixture('10/1h fixed-window')
  fixture.store.mode = 'fails'
  expect(await fixture.consume()).toBe('fallback 9')
  fixture.requests()
  expect(await fixture.consume()).toBe('fallback 8')
  expect(fixture.requests()).toEqual(['charge k 0 1h'])
  fixture.store.mode = 'up'
  expect(await fixture.consume()).toBe('store 7')
  expect(fixture.requests()).toEqual(['charge k 0 1h', 'charge k 2 1h', 'consume k 1 1h'])
})

describe('a store that fails while a key is settled', () => {
  /** One unit is owed, and the breaker is closed. */
  async function owing(): Promise<FailoverFixture> {
    const fixture = new FailoverFixture('10/1h fixed-window')
    fixture.store.mode = 'fails'
    expect(await fixture.consume()).toBe('fallback 9')
    return fixture
  }

  test.each(['fails', 'throws', 'hangs'] as const)(
    '%s: counts as one failure, however many calls wait for it',
    async (mode) => {
      const fixture = await owing()
      fixture.store.mode = mode
      fixture.requests()
      const calls = [fixture.consume(), fixture.consume(), fixture.consume()]
      await fixture.at(100)
      expect(await Promise.all(calls)).toEqual(['fallback 8', 'fallback 7', 'fallback 6'])
      expect(fixture.requests()).toEqual(['charge k 0 1h'])
      expect(fixture.health).toMatchObject({ errors: 2, state: 'closed', owing: 1 })
    },
  )

  test('a call whose key is settled too slowly is no failure of the store', async () => {
    const fixture = await owing()
    fixture.store.mode = 'hangs'
    const call = fixture.consume()
    await fixture.at(60)
    fixture.store.release() // the check gets a response, the charge gets none
    await fixture.at(100)
    expect(await call).toBe('fallback 8')
    expect(fixture.health.errors).toBe(1)
    await fixture.at(160)
    expect(fixture.health.errors).toBe(2)
  })

  test('the decision after it counts by itself', async () => {
    const fixture = await owing()
    fixture.store.mode = 'hangs'
    const call = fixture.consume()
    await settle()
    fixture.store.release() // the check
    await settle()
    fixture.store.mode = 'fails'
    fixture.store.release() // the charge
    expect(await call).toBe('fallback 8')
    expect(fixture.requests().at(-1)).toBe('consume k 1 1h')
    expect(fixture.health.errors).toBe(2)
  })
})

test('each policy is charged the units that it still counts', async () => {
  const fixture = new FailoverFixture(['10/1s fixed-window', '1000/1h fixed-window'])
  await fixture.down()
  for (let second = 0; second < 60; second++) {
    await fixture.at(1000 * second)
    expect(await spend(fixture, 11)).toBe(`fallback no 1000`)
  }
  await fixture.up()
  // All 600 calls are in this hour, and the last ten are in this second or the one before.
  expect(await outcome(fixture.ledger.run({ verb: 'peek', keys: ['k'] }))).toBe('store no 500')
  const { policies } = await fixture.ledger.run({ verb: 'peek', keys: ['k'] })
  expect(policies.map(({ name, remaining }) => `${name} ${remaining}`)).toEqual(['1s 0', '1h 400'])
  await fixture.at(60_000)
  expect(await fixture.consume()).toBe('store 9')
})

test('a store that fails again and again grants no new quota each time', async () => {
  const fixture = new FailoverFixture('10/1h fixed-window')
  let admitted = 0
  for (let outage = 0; outage < 5; outage++) {
    await fixture.down()
    for (let n = 0; n < 20; n++) if (!(await fixture.consume()).includes('no')) admitted++
    await fixture.up()
    expect(await fixture.peek()).toBe(`store no ${3_600_000 - 500 * (outage + 1)}`)
  }
  expect(admitted).toBe(10)
  // And the store was charged for them once.
  await outcome(fixture.ledger.run({ verb: 'refund', keys: ['k'], costs: 10 }))
  expect(await fixture.peek()).toBe('store 10')
})

test('units that lapsed locally can be spent and charged again', async () => {
  const fixture = new FailoverFixture('10/1s burst 10')
  await fixture.down()
  await spend(fixture, 10)
  await fixture.up()
  expect(await fixture.peek()).toBe('store 5') // after 500 ms, 5 of 10
  await fixture.at(2000)
  await fixture.down()
  expect(await spend(fixture, 4)).toBe('fallback 6')
  await fixture.up()
  expect(await fixture.peek()).toBe('store 10')
  await fixture.down()
  expect(await spend(fixture, 8)).toBe('fallback 2')
  fixture.store.mode = 'up'
  await fixture.at(3100)
  await fixture.consume('probe')
  await settle()
  expect(await fixture.peek()).toBe('store 8') // 8 less 6 since
})

describe('the units that a key owes, by algorithm', () => {
  test.each<[string, PolicyLike, string, string]>([
    ['fixed window', '10/1h fixed-window', 'fallback 4', 'store 4'],
    ['sliding window', '10/1h', 'fallback 4', 'store 4'],
    ['log', '10/1h sliding-log', 'fallback 4', 'store 4'],
    ['bucket', tokenBucket({ limit: 10, window: '1h' }), 'fallback 4', 'store 4'],
    ['bucket with a burst', tokenBucket({ limit: 10, window: '1h', burst: 20 }), 'fallback 14', 'store 14'],
  ])('%s', async (_, policy, here, there) => {
    const fixture = new FailoverFixture(policy)
    await fixture.down()
    expect(await spend(fixture, 6)).toBe(here)
    await fixture.up()
    expect(await fixture.peek()).toBe(there)
  })

  test('a debt of a bucket is charged in full', async () => {
    const fixture = new FailoverFixture(tokenBucket({ limit: 10, window: '1h' }))
    await fixture.down()
    await outcome(fixture.ledger.run({ verb: 'charge', keys: ['k'], costs: 25 }))
    await fixture.up()
    expect(await fixture.peek()).toBe(`store no ${16 * 360_000}`)
  })

  test("Guava's limiters owe the wait", async () => {
    const fixture = new FailoverFixture(smoothBursty({ rate: 1, per: '1m', maxStored: 0 }))
    await fixture.down()
    await outcome(fixture.ledger.run({ verb: 'consume', keys: ['k'], costs: 3 }))
    fixture.store.mode = 'up'
    await fixture.at(60_000)
    await fixture.consume('probe')
    await settle()
    expect(await fixture.peek()).toBe('store no 120000')
  })
})

test('other keys are settled in the background, 32 at a time, each once', async () => {
  const fixture = new FailoverFixture('10/1h fixed-window')
  await fixture.down()
  for (let n = 0; n < 59; n++) await fixture.consume(`k${n}`)
  expect(fixture.health.owing).toBe(64)
  await fixture.at(500)
  fixture.store.mode = 'up'
  void fixture.peek('probe')
  fixture.store.mode = 'hangs'
  for (const owing of [64, 32]) {
    await settle()
    const charged = fixture.requests().filter((call) => call.startsWith('charge') && !call.includes('probe'))
    expect([new Set(charged).size, charged.length, fixture.health.owing]).toEqual([32, 32, owing])
    fixture.store.release()
  }
  await settle()
  expect([fixture.requests(), fixture.health.owing]).toEqual([[], 0])
})

test('units spent while their key is being settled are still owed', async () => {
  const fixture = new FailoverFixture('10/1h fixed-window')
  fixture.store.mode = 'fails'
  expect(await fixture.consume()).toBe('fallback 9')
  fixture.store.mode = 'hangs'
  const call = fixture.consume()
  await fixture.at(90)
  fixture.store.release() // it responds: now 1 is charged
  await fixture.at(100)
  expect(await call).toBe('fallback 8')
  fixture.requests()
  fixture.store.mode = 'up'
  fixture.store.release()
  await settle()
  expect(fixture.requests()).toEqual(['charge k 1 1h'])
  expect(await fixture.consume()).toBe('store 7')
})

test.each([
  ['fails', 'is made again', 2],
  ['unsent', 'is made again', 2],
  ['lost', 'counts as made', 1],
  ['breaks', 'counts as made', 1],
] as const)('a charge (%s) %s', async (mode, _, times) => {
  const fixture = new FailoverFixture('10/1h fixed-window')
  await fixture.down()
  await spend(fixture, 7)
  const { store } = fixture
  const open = store.openBare.bind(store)
  let broken = false
  store.openBare = (terms) => {
    const ledger = open(terms)
    const run: typeof ledger.run = (command) => {
      if (command.verb === 'charge' && `${command.costs}` === '7' && !broken) {
        broken = true
        store.mode = mode
      }
      const answer = ledger.run(command)
      store.mode = 'up'
      return answer
    }
    return { run }
  }
  store.mode = 'up'
  await fixture.at(500)
  await fixture.peek('probe')
  await fixture.at(700)
  expect(await fixture.peek()).toBe('store 3')
  expect(fixture.requests().filter((call) => call.startsWith('charge k 7'))).toHaveLength(times)
})

test('only so many keys are remembered: the one that spent least recently is forgotten', () => {
  const { store, clock } = new FailoverFixture('10/1h')
  const link = new StoreLink(store, 'api', undefined, clock.now, () => () => undefined)
  const reconciler = new Reconciler(link, 3)
  const charges = { scopes: ['default'] } as unknown as OwedCharges
  for (const key of ['a', 'b', 'c', 'a', 'd', 'e']) reconciler.note(charges, [key])
  expect(reconciler.size).toBe(3)
  reconciler.forget(charges, ['b'])
  reconciler.forget(charges, ['c'])
  expect(reconciler.size).toBe(3)
  reconciler.forget(charges, ['a'])
  expect(reconciler.size).toBe(2)
})

describe('reservations', () => {
  test('made and settled locally: the store is charged the true cost', async () => {
    const fixture = new FailoverFixture('10/1h fixed-window')
    await fixture.down()
    await (await reserve(fixture, 8)).settle(3)
    await fixture.up()
    expect(await fixture.peek()).toBe('store 7')
  })

  test.each([
    ['less', 3, 'store 7'],
    ['nothing', 0, 'store 10'],
    ['more', 9, 'store 1'],
  ])('made locally and settled to %s after the store is back', async (_, actual, there) => {
    const fixture = new FailoverFixture('10/1h fixed-window')
    await fixture.down()
    const reservation = await reserve(fixture, 8)
    await fixture.up()
    expect(await fixture.peek()).toBe('store 2')
    await reservation.settle(actual)
    await settle()
    expect(await fixture.peek()).toBe(there)
  })

  test.each([
    ['less', 3, 'store 7'],
    ['more', 9, 'store 1'],
  ])('made in the store and settled to %s while it fails', async (_, actual, there) => {
    const fixture = new FailoverFixture('10/1h fixed-window')
    const reservation = await reserve(fixture, 8)
    await fixture.down()
    await reservation.settle(actual)
    await fixture.up()
    expect(await fixture.peek()).toBe(there)
  })

  test('given back once the store responds, for every choice, but not if that may have happened already', async () => {
    const fixture = new FailoverFixture('10/1h fixed-window', { onStoreError: 'open' })
    const [first, second] = [await reserve(fixture, 2), await reserve(fixture, 4)]
    fixture.store.mode = 'lost'
    for (let n = 1; n <= 4; n++) {
      void fixture.consume(`down-${n}`)
      await fixture.at(100 * n)
    }
    const settled = second.settle(1) // the fifth call without a response: the breaker opens
    await fixture.at(500)
    await settled
    await first.settle(1)
    await fixture.up()
    expect(await fixture.peek()).toBe('store 8')
  })

  describe('made in the store, and settled by a call that was certainly not sent', () => {
    test.each(['local', 'open'] as const)('%s: given back once the store responds', async (onStoreError) => {
      const fixture = new FailoverFixture('10/1h fixed-window', { onStoreError })
      const [first, second] = [await reserve(fixture, 2), await reserve(fixture, 4)]
      fixture.store.mode = 'unsent'
      await first.settle(0)
      await second.settle(1)
      fixture.store.mode = 'up'
      expect(await fixture.peek()).toBe('store 4')
      await settle()
      expect(await fixture.peek()).toBe('store 9')
    })

    test('given back by the first request that is sent, and once', async () => {
      const fixture = new FailoverFixture('10/1h fixed-window')
      const reservation = await reserve(fixture, 4)
      fixture.store.mode = 'unsent'
      await reservation.settle(1)
      for (let n = 1; n <= 3; n++) await fixture.consume('other')
      fixture.store.mode = 'up'
      fixture.requests()
      const probe = fixture.peek('probe')
      fixture.store.mode = 'unsent' // the store responds once, and is away again when the units are given back
      expect(await probe).toBe('store 10')
      await settle()
      fixture.store.mode = 'up'
      for (let n = 1; n <= 3; n++) await fixture.peek('probe')
      await settle()
      expect(fixture.requests().filter((call) => call.startsWith('settle'))).toEqual(
        Array.from({ length: 2 }, () => 'settle k -3 1h'),
      )
      expect(await fixture.peek()).toBe('store 9')
    })

    test('not given back after a reset of the key', async () => {
      const fixture = new FailoverFixture('10/1h fixed-window')
      const reservation = await reserve(fixture, 4)
      fixture.store.mode = 'unsent'
      await reservation.settle(1)
      fixture.store.mode = 'up'
      await fixture.ledger.run({ verb: 'reset', keys: ['k'] })
      await fixture.consume('k', 2)
      await settle()
      expect(await fixture.peek()).toBe('store 8')
    })

    test('also if the debts of its key could not be settled before', async () => {
      const fixture = new FailoverFixture('10/1h fixed-window')
      const reservation = await reserve(fixture, 4)
      fixture.store.mode = 'unsent'
      await fixture.consume() // the key owes a unit
      fixture.store.mode = 'fails'
      await reservation.settle(1)
      expect(fixture.requests().filter((call) => call.startsWith('settle'))).toEqual([])
      fixture.store.mode = 'up'
      await fixture.peek('probe')
      await settle()
      expect(await fixture.peek()).toBe('store 8')
    })
  })

  test('let through: settling it changes nothing', async () => {
    const fixture = new FailoverFixture('10/1h fixed-window', { onStoreError: 'open' })
    await fixture.down()
    const reservation = await reserve(fixture, 8)
    await fixture.up()
    await reservation.settle(3)
    expect([reservation.allowed, await fixture.peek()]).toEqual([true, 'store 10'])
  })
})

describe('a reset while the store fails', () => {
  test('forgets the key locally, then in the store; units spent since are charged', async () => {
    const fixture = new FailoverFixture(['10/1h fixed-window', '20/1d fixed-window'])
    await spend(fixture, 5)
    await fixture.down()
    expect(await spend(fixture, 5)).toBe('fallback 5')
    await fixture.ledger.run({ verb: 'reset', keys: ['k'] })
    expect(await spend(fixture, 3)).toBe('fallback 7')
    await fixture.up()
    const { policies } = await fixture.ledger.run({ verb: 'peek', keys: ['k'] })
    expect(policies.map(({ name, remaining }) => `${name} ${remaining}`)).toEqual(['1h 7', '1d 17'])
    expect(fixture.health.owing).toBe(0)
  })

  test.each(['local', 'open'] as const)('%s: is not lost if it is the first call that fails', async (onStoreError) => {
    const fixture = new FailoverFixture('10/1h fixed-window', { onStoreError })
    expect(await spend(fixture, 10)).toBe('store 0')
    fixture.store.mode = 'fails'
    await fixture.ledger.run({ verb: 'reset', keys: ['k'] })
    await fixture.down()
    await fixture.up()
    expect(await fixture.peek()).toBe('store 10')
  })
})

describe('limiters of one name', () => {
  test('share one local quota, which the store is charged once', async () => {
    const fixture = new FailoverFixture('10/1h fixed-window')
    const [pro, top] = ['20/1h fixed-window', '30/1h fixed-window'].map(
      (text) => new FailoverFixture(text, { planOf: fixture }),
    )
    expect(await spend(fixture, 2)).toBe('store 8')
    for (let outage = 0; outage < 3; outage++) {
      await fixture.down()
      if (outage === 0) {
        expect(await spend(fixture, 5)).toBe('fallback 5')
        expect(await spend(pro as FailoverFixture, 10)).toBe('fallback 5')
        expect(await spend(top as FailoverFixture, 12)).toBe('fallback 3')
      }
      expect([await fixture.consume(), await pro?.consume()]).toEqual([
        `fallback no ${3_600_000 - 500 * outage}`,
        `fallback no ${3_600_000 - 500 * outage}`,
      ])
      await fixture.up()
      expect([await top?.peek(), (await pro?.peek())?.slice(0, 8)]).toEqual(['store 1', 'store no'])
    }
  })

  test('forget a key together, and match policies by name and scope', async () => {
    const fixture = new FailoverFixture('10/1h fixed-window')
    const other = new FailoverFixture(['20/1h fixed-window', '5/1m fixed-window'], { planOf: fixture })
    await fixture.down()
    await spend(other, 5)
    await fixture.up()
    await fixture.down()
    await fixture.ledger.run({ verb: 'reset', keys: ['k'] })
    expect([await fixture.peek(), await other.peek()]).toEqual(['fallback 10', 'fallback 5'])
    await spend(other, 5)
    await fixture.up()
    const { policies } = await other.ledger.run({ verb: 'peek', keys: ['k'] })
    expect(policies.map(({ name, remaining }) => `${name} ${remaining}`)).toEqual(['1h 15', '1m 0'])
  })
})

describe('a reset by one of several limiters of a name', () => {
  function two(): [FailoverFixture, FailoverFixture] {
    const fixture = new FailoverFixture('10/1h fixed-window')
    return [fixture, new FailoverFixture('20/1h fixed-window', { planOf: fixture })]
  }

  test('keeps the units that another limiter spends after it', async () => {
    const [fixture, pro] = two()
    await spend(fixture, 5)
    await pro.down()
    await fixture.ledger.run({ verb: 'reset', keys: ['k'] })
    expect(await spend(pro, 3)).toBe('fallback 17')
    await fixture.up()
    expect([await pro.peek(), await fixture.peek()]).toEqual(['store 17', 'store 7'])
  })

  test('reaches the store before the store decides for another limiter', async () => {
    const [fixture, pro] = two()
    expect(await spend(fixture, 10)).toBe('store 0')
    fixture.store.mode = 'fails'
    await fixture.ledger.run({ verb: 'reset', keys: ['k'] })
    fixture.store.mode = 'up'
    fixture.requests()
    expect(await pro.consume()).toBe('store 19')
    expect(fixture.requests()).toEqual(['charge k 0 1h', 'reset k', 'consume k 1 1h'])
    await settle()
    expect([fixture.requests(), await pro.peek()]).toEqual([[], 'store 19'])
  })

  test('drops refunds of units that were taken before it', async () => {
    const fixture = new FailoverFixture('10/1h fixed-window')
    const other = new FailoverFixture('10/1h fixed-window', { planOf: fixture })
    const reservations: Reservation[] = []
    for (const key of ['a', 'b', 'c', 'k']) reservations.push(await reserve(fixture, 4, key))
    await spend(fixture, 2)
    await fixture.down()
    for (const reservation of reservations) await reservation.cancel()
    await other.ledger.run({ verb: 'reset', keys: ['k'] })
    await spend(fixture, 3)
    await fixture.up()
    expect([await fixture.peek(), await fixture.peek('a')]).toEqual(['store 7', 'store 10'])
  })

  test('a reset waits for the charges of the key that are under way', async () => {
    const [fixture, pro] = two()
    const { store } = fixture
    const open = store.openBare.bind(store)
    let fail = (_: Error): void => {}
    store.openBare = (terms) => {
      const ledger = open(terms)
      const run: typeof ledger.run = (command) => {
        if (command.verb !== 'charge' || `${command.costs}` !== '7') return ledger.run(command)
        return new Promise((_, reject) => {
          fail = reject
        })
      }
      return { run }
    }
    store.mode = 'fails'
    await fixture.consume('k', 7)
    store.mode = 'up'
    const call = fixture.consume() // the seven units are charged now
    await settle()
    store.mode = 'fails'
    const reset = pro.ledger.run({ verb: 'reset', keys: ['k'] })
    await settle()
    fail(new Error('failed after all'))
    expect(await call).toBe('fallback 2')
    await reset
    await fixture.consume('k', 8)
    store.mode = 'up'
    expect(await fixture.peek()).toBe('store 2')
  })
})

describe('the health of limiters of one name', () => {
  test('is shared', async () => {
    const fixture = new FailoverFixture('10/1h fixed-window')
    const pro = new FailoverFixture('20/1h fixed-window', { planOf: fixture })
    await pro.consume()
    await fixture.down()
    await pro.consume('a')
    await fixture.consume('b')
    expect(pro.health).toEqual(fixture.health)
    expect(fixture.health).toMatchObject({
      state: 'open',
      sources: { store: 1, fallback: 7, open: 0 },
      errors: 5,
      owing: 7,
    })
    await fixture.up()
    expect([pro.health.owing, fixture.health.owing]).toEqual([0, 0])
  })

  test('is shown by the limiter that others were made from', async () => {
    const { store } = new FailoverFixture('10/1h')
    store.mode = 'fails'
    const limiter = new RateLimiter({ policies: '10/1h', store })
    await limiter.withPlan('20/1h').consume('k')
    expect(limiter.health()).toMatchObject({ sources: { fallback: 1 }, errors: 1, owing: 1 })
  })
})

test('a refund while the store fails gives back units taken locally, charged or not', async () => {
  const fixture = new FailoverFixture('10/1h fixed-window')
  await fixture.down()
  await spend(fixture, 6)
  await fixture.up()
  await fixture.down()
  expect(await outcome(fixture.ledger.run({ verb: 'refund', keys: ['k'], costs: 4 }))).toBe('fallback 8')
  await fixture.up()
  expect(await fixture.peek()).toBe('store 8')
})

describe('instances', () => {
  test.each<[string, PolicyLike, number, string]>([
    ['get a part of the limit', '10/1h', 4, 'fallback 1'],
    ['get a part of the burst', '10/1h burst 20', 4, 'fallback 4'],
    ['get a part of a rate', smoothBursty({ rate: 10 }), 4, 'fallback 2147483647'],
    ['get one unit at least', '2/1h', 4, 'fallback 0'],
    // 3,333,333 a day has too few divisors in common with a day to be exact in whole numbers.
    [
      'round down where exact arithmetic needs it',
      tokenBucket({ limit: 10_000_000, window: '1d' }),
      3,
      'fallback 3332999',
    ],
  ])('%s', async (_, policy, instances, first) => {
    const fixture = new FailoverFixture(policy, { instances })
    await fixture.down()
    expect((await fixture.consume()).replace(/^fallback 333[23]\d+$/, first)).toBe(first.replace(' 2147483647', ' 0'))
  })

  test('the decision shows the share', async () => {
    const fixture = new FailoverFixture(fixedWindow({ limit: 100, window: '1h' }), { instances: 4 })
    await fixture.down()
    expect(await fixture.ledger.run({ verb: 'consume', keys: ['k'] })).toMatchObject({ limit: 25, remaining: 24 })
  })
})

test('a quota that is spent while the store fails bans here at once, and in the store as soon as it is charged', async () => {
  const penalty = { on: 'spent', ban: '1h' } as const
  const { policies } = new RateLimiter({ policies: '3/1h fixed-window', penalty })
  const fixture = new FailoverFixture(policies)
  await fixture.down()
  expect(await spend(fixture, 3)).toBe('fallback 0')
  expect(await fixture.consume()).toBe('fallback no 3600000')
  await fixture.up()
  expect(await fixture.consume()).toBe('store no 3600000')
})

test('units that were given back while the store was charged for them count in no later window', async () => {
  const fixture = new FailoverFixture('10/1h fixed-window')
  const { store, ledger } = fixture
  const open = store.openBare.bind(store)
  let [answer, spend] = [(): void => {}, (): unknown => undefined]
  store.openBare = (terms) => {
    const { run } = open(terms)
    spend = () => run({ verb: 'consume', keys: ['k'], costs: 4 })
    return {
      async run(command) {
        const outcome = await run(command)
        if (command.verb === 'charge' && `${command.costs}` === '7') await new Promise<void>((r) => (answer = r))
        return outcome
      },
    } as typeof ledger
  }
  store.mode = 'fails'
  const { tickets } = await ledger.run({ verb: 'reserve', keys: ['k'], costs: 7 })
  store.mode = 'up'
  const call = fixture.consume()
  await settle()
  await ledger.run({ verb: 'settle', keys: ['k'], costs: [-7], tickets })
  fixture.clock.advance('1h')
  await spend()
  answer()
  expect(await call).toBe('store 5')
  await settle()
  expect(await fixture.peek()).toBe('store 5')
})
