import { describe, expect, test } from 'vitest'
import { fixedWindow, type PolicyLike, RateLimiter, smoothBursty, tokenBucket } from '../../src/index.ts'
import { Reservation } from '../../src/reservation.ts'
import { settle, told, World } from '../support/failing-store.ts'

/** Spends units of a key. */
async function spend(world: World, units: number, key = 'k'): Promise<string> {
  let last = ''
  for (let n = 0; n < units; n++) last = await world.consume(key)
  return last
}

async function reserve(world: World, cost: number, key = 'k'): Promise<Reservation> {
  return new Reservation(world.ledger, [key], cost, await world.ledger.reserve([key], cost, 0))
}

test('what was spent here is charged, before the store decides again', async () => {
  const world = new World('10/1h fixed-window')
  expect(await spend(world, 2)).toBe('store 8')
  await world.down()
  expect(await spend(world, 7)).toBe('fallback 3')
  await world.up()
  expect(await world.consume()).toBe('store 0')
  expect(await world.consume()).toBe('store no 3599500')
})

test('a key that is asked about is settled first, once the store is known to answer', async () => {
  const world = new World('10/1h fixed-window')
  world.store.mode = 'fails'
  expect(await world.consume()).toBe('fallback 9')
  world.asked()
  expect(await world.consume()).toBe('fallback 8')
  expect(world.asked()).toEqual(['charge k 0 1h'])
  world.store.mode = 'up'
  expect(await world.consume()).toBe('store 7')
  expect(world.asked()).toEqual(['charge k 0 1h', 'charge k 2 1h', 'consume k 1 1h'])
})

describe('a store that fails while an account is settled', () => {
  /** One unit is owed, and the store is taken to be well. */
  async function owing(): Promise<World> {
    const world = new World('10/1h fixed-window')
    world.store.mode = 'fails'
    expect(await world.consume()).toBe('fallback 9')
    return world
  }

  test.each(['fails', 'throws', 'hangs'] as const)(
    '%s: has failed once, however many calls wait for it',
    async (mode) => {
      const world = await owing()
      world.store.mode = mode
      world.asked()
      const calls = [world.consume(), world.consume(), world.consume()]
      await world.at(100)
      expect(await Promise.all(calls)).toEqual(['fallback 8', 'fallback 7', 'fallback 6'])
      expect(world.asked()).toEqual(['charge k 0 1h'])
      expect(world.health).toMatchObject({ errors: 2, state: 'closed', owing: 1 })
    },
  )

  test('a call whose account is settled too slowly was no failure of the store', async () => {
    const world = await owing()
    world.store.mode = 'hangs'
    const call = world.consume()
    await world.at(60)
    world.store.release() // the check is answered, the charge not
    await world.at(100)
    expect(await call).toBe('fallback 8')
    expect(world.health.errors).toBe(1)
    await world.at(160)
    expect(world.health.errors).toBe(2)
  })

  test('the decision that comes after it counts by itself', async () => {
    const world = await owing()
    world.store.mode = 'hangs'
    const call = world.consume()
    await settle()
    world.store.release() // the check
    await settle()
    world.store.mode = 'fails'
    world.store.release() // the charge
    expect(await call).toBe('fallback 8')
    expect(world.asked().at(-1)).toBe('consume k 1 1h')
    expect(world.health.errors).toBe(2)
  })
})

test('each policy is charged what it still counts', async () => {
  const world = new World(['10/1s fixed-window', '1000/1h fixed-window'])
  await world.down()
  for (let second = 0; second < 60; second++) {
    await world.at(1000 * second)
    expect(await spend(world, 11)).toBe(`fallback no 1000`)
  }
  await world.up()
  // 600 calls: all of them in this hour, the last ten in the second before this one or in this one.
  expect(await told(world.ledger.decide('peek', ['k'], 1))).toBe('store no 500')
  const { policies } = await world.ledger.decide('peek', ['k'], 1)
  expect(policies.map(({ name, remaining }) => `${name} ${remaining}`)).toEqual(['1s 0', '1h 400'])
  await world.at(60_000)
  expect(await world.consume()).toBe('store 9')
})

test('a store that fails again and again gives no new quota each time', async () => {
  const world = new World('10/1h fixed-window')
  let admitted = 0
  for (let outage = 0; outage < 5; outage++) {
    await world.down()
    for (let n = 0; n < 20; n++) if (!(await world.consume()).includes('no')) admitted++
    await world.up()
    expect(await world.peek()).toBe(`store no ${3_600_000 - 500 * (outage + 1)}`)
  }
  expect(admitted).toBe(10)
  // And the store was told of them once.
  await told(world.ledger.decide('refund', ['k'], 10))
  expect(await world.peek()).toBe('store 10')
})

test('what lapsed here is spent anew and charged anew', async () => {
  const world = new World('10/1s burst 10')
  await world.down()
  await spend(world, 10)
  await world.up()
  expect(await world.peek()).toBe('store 5') // after 500 ms, 5 of 10
  await world.at(2000)
  await world.down()
  expect(await spend(world, 4)).toBe('fallback 6')
  await world.up()
  expect(await world.peek()).toBe('store 10')
  await world.down()
  expect(await spend(world, 8)).toBe('fallback 2')
  world.store.mode = 'up'
  await world.at(3100)
  await world.consume('probe')
  await settle()
  expect(await world.peek()).toBe('store 8') // 8 less 6 since
})

describe('what a key owes, by policy', () => {
  test.each<[string, PolicyLike, string, string]>([
    ['fixed window', '10/1h fixed-window', 'fallback 4', 'store 4'],
    ['sliding window', '10/1h', 'fallback 4', 'store 4'],
    ['log', '10/1h sliding-log', 'fallback 4', 'store 4'],
    ['bucket', tokenBucket({ limit: 10, window: '1h' }), 'fallback 4', 'store 4'],
    ['bucket with a burst', tokenBucket({ limit: 10, window: '1h', burst: 20 }), 'fallback 14', 'store 14'],
  ])('%s', async (_, policy, here, there) => {
    const world = new World(policy)
    await world.down()
    expect(await spend(world, 6)).toBe(here)
    await world.up()
    expect(await world.peek()).toBe(there)
  })

  test('a debt of a bucket is carried over', async () => {
    const world = new World(tokenBucket({ limit: 10, window: '1h' }))
    await world.down()
    await told(world.ledger.decide('charge', ['k'], 25))
    await world.up()
    expect(await world.peek()).toBe(`store no ${16 * 360_000}`)
  })

  test("of Guava's the wait", async () => {
    const world = new World(smoothBursty({ rate: 1, per: '1m', maxStored: 0 }))
    await world.down()
    await told(world.ledger.decide('consume', ['k'], 3))
    world.store.mode = 'up'
    await world.at(60_000)
    await world.consume('probe')
    await settle()
    expect(await world.peek()).toBe('store no 120000')
  })
})

test('the rest is settled in the background, 32 keys at a time, each once', async () => {
  const world = new World('10/1h fixed-window')
  await world.down()
  for (let n = 0; n < 59; n++) await world.consume(`k${n}`)
  expect(world.health.owing).toBe(64)
  await world.at(500)
  world.store.mode = 'up'
  void world.peek('probe')
  world.store.mode = 'hangs'
  for (const owing of [64, 32]) {
    await settle()
    const charged = world.asked().filter((call) => call.startsWith('charge') && !call.includes('probe'))
    expect([new Set(charged).size, charged.length, world.health.owing]).toEqual([32, 32, owing])
    world.store.release()
  }
  await settle()
  expect([world.asked(), world.health.owing]).toEqual([[], 0])
})

test('what is spent while an account is being settled is owed still', async () => {
  const world = new World('10/1h fixed-window')
  world.store.mode = 'fails'
  expect(await world.consume()).toBe('fallback 9')
  world.store.mode = 'hangs'
  const call = world.consume()
  await world.at(90)
  world.store.release() // it answers: now 1 is charged
  await world.at(100)
  expect(await call).toBe('fallback 8')
  world.asked()
  world.store.mode = 'up'
  world.store.release()
  await settle()
  expect(world.asked()).toEqual(['charge k 1 1h'])
  expect(await world.consume()).toBe('store 7')
})

test.each([
  ['fails', 'is made again', 2],
  ['lost', 'is taken as made', 1],
] as const)('a charge that %s %s', async (mode, _, times) => {
  const world = new World('10/1h fixed-window')
  await world.down()
  await spend(world, 7)
  const { store } = world
  const open = store.open.bind(store)
  let broken = false
  store.open = (terms) => {
    const ledger = open(terms)
    const decide: typeof ledger.decide = (...call) => {
      if (call[0] === 'charge' && call[2] === 7 && !broken) {
        broken = true
        store.mode = mode
      }
      const answer = ledger.decide(...call)
      store.mode = 'up'
      return answer
    }
    return { ...ledger, decide }
  }
  store.mode = 'up'
  await world.at(500)
  await world.peek('probe')
  await world.at(700)
  expect(await world.peek()).toBe('store 3')
  expect(world.asked().filter((call) => call.startsWith('charge k 7'))).toHaveLength(times)
})

describe('reservations', () => {
  test('taken here, settled here: the store is told of what it really cost', async () => {
    const world = new World('10/1h fixed-window')
    await world.down()
    await (await reserve(world, 8)).settle(3)
    await world.up()
    expect(await world.peek()).toBe('store 7')
  })

  test.each([
    ['less', 3, 'store 7'],
    ['nothing', 0, 'store 10'],
    ['more', 9, 'store 1'],
  ])('taken here, settled to %s after the store is back', async (_, actual, there) => {
    const world = new World('10/1h fixed-window')
    await world.down()
    const reservation = await reserve(world, 8)
    await world.up()
    expect(await world.peek()).toBe('store 2')
    await reservation.settle(actual)
    await settle()
    expect(await world.peek()).toBe(there)
  })

  test.each([
    ['less', 3, 'store 7'],
    ['more', 9, 'store 1'],
  ])('taken from the store, settled to %s while it is away', async (_, actual, there) => {
    const world = new World('10/1h fixed-window')
    const reservation = await reserve(world, 8)
    await world.down()
    await reservation.settle(actual)
    await world.up()
    expect(await world.peek()).toBe(there)
  })

  test('given back once it is back, whatever the choice; not what may have been given back already', async () => {
    const world = new World('10/1h fixed-window', { onStoreError: 'allow' })
    const [first, second] = [await reserve(world, 2), await reserve(world, 4)]
    world.store.mode = 'lost'
    for (let n = 0; n < 4; n++) void world.consume(`down-${n}`)
    await world.at(100)
    const settled = second.settle(1) // the fifth call that is not answered: the breaker opens
    await world.at(200)
    await settled
    await first.settle(1)
    await world.up()
    expect(await world.peek()).toBe('store 8')
  })

  test('let through: settling it means nothing', async () => {
    const world = new World('10/1h fixed-window', { onStoreError: 'allow' })
    await world.down()
    const reservation = await reserve(world, 8)
    await world.up()
    await reservation.settle(3)
    expect([reservation.allowed, await world.peek()]).toEqual([true, 'store 10'])
  })
})

describe('a reset while the store is away', () => {
  test('forgets the key here, and there once it is back: what it spent since is charged', async () => {
    const world = new World(['10/1h fixed-window', '20/1d fixed-window'])
    await spend(world, 5)
    await world.down()
    expect(await spend(world, 5)).toBe('fallback 5')
    await world.ledger.reset(['k'])
    expect(await spend(world, 3)).toBe('fallback 7')
    await world.up()
    const { policies } = await world.ledger.decide('peek', ['k'], 1)
    expect(policies.map(({ name, remaining }) => `${name} ${remaining}`)).toEqual(['1h 7', '1d 17'])
    expect(world.health.owing).toBe(0)
  })

  test.each(['local', 'allow'] as const)('%s: is not lost where it is the first to fail', async (onStoreError) => {
    const world = new World('10/1h fixed-window', { onStoreError })
    expect(await spend(world, 10)).toBe('store 0')
    world.store.mode = 'fails'
    await world.ledger.reset(['k'])
    await world.down()
    await world.up()
    expect(await world.peek()).toBe('store 10')
  })
})

describe('limiters of one name', () => {
  test('have one local quota, of which the store is told once', async () => {
    const world = new World('10/1h fixed-window')
    const [pro, top] = ['20/1h fixed-window', '30/1h fixed-window'].map((text) => new World(text, { like: world }))
    expect(await spend(world, 2)).toBe('store 8')
    for (let outage = 0; outage < 3; outage++) {
      await world.down()
      if (outage === 0) {
        expect(await spend(world, 5)).toBe('fallback 5')
        expect(await spend(pro as World, 10)).toBe('fallback 5')
        expect(await spend(top as World, 12)).toBe('fallback 3')
      }
      expect([await world.consume(), await pro?.consume()]).toEqual([
        `fallback no ${3_600_000 - 500 * outage}`,
        `fallback no ${3_600_000 - 500 * outage}`,
      ])
      await world.up()
      expect([await top?.peek(), (await pro?.peek())?.slice(0, 8)]).toEqual(['store 1', 'store no'])
    }
  })

  test('forget a key as one, and know each policy by its name and scope', async () => {
    const world = new World('10/1h fixed-window')
    const other = new World(['20/1h fixed-window', '5/1m fixed-window'], { like: world })
    await world.down()
    await spend(other, 5)
    await world.up()
    await world.down()
    await world.ledger.reset(['k'])
    expect([await world.peek(), await other.peek()]).toEqual(['fallback 10', 'fallback 5'])
    await spend(other, 5)
    await world.up()
    const { policies } = await other.ledger.decide('peek', ['k'], 1)
    expect(policies.map(({ name, remaining }) => `${name} ${remaining}`)).toEqual(['1h 15', '1m 0'])
  })
})

describe('a reset by one of several limiters of a name', () => {
  function two(): [World, World] {
    const world = new World('10/1h fixed-window')
    return [world, new World('20/1h fixed-window', { like: world })]
  }

  test('does not forget what another spends after it', async () => {
    const [world, pro] = two()
    await spend(world, 5)
    await pro.down()
    await world.ledger.reset(['k'])
    expect(await spend(pro, 3)).toBe('fallback 17')
    await world.up()
    expect([await pro.peek(), await world.peek()]).toEqual(['store 17', 'store 7'])
  })

  test('is told to the store before another is decided there', async () => {
    const [world, pro] = two()
    expect(await spend(world, 10)).toBe('store 0')
    world.store.mode = 'fails'
    await world.ledger.reset(['k'])
    world.store.mode = 'up'
    world.asked()
    expect(await pro.consume()).toBe('store 19')
    expect(world.asked()).toEqual(['charge k 0 1h', 'reset k', 'consume k 1 1h'])
    await settle()
    expect([world.asked(), await pro.peek()]).toEqual([[], 'store 19'])
  })

  test('gives nothing back that was taken before it', async () => {
    const world = new World('10/1h fixed-window')
    const other = new World('10/1h fixed-window', { like: world })
    const reservations: Reservation[] = []
    for (const key of ['a', 'b', 'c', 'k']) reservations.push(await reserve(world, 4, key))
    await spend(world, 2)
    await world.down()
    for (const reservation of reservations) await reservation.cancel()
    await other.ledger.reset(['k'])
    await spend(world, 3)
    await world.up()
    expect([await world.peek(), await world.peek('a')]).toEqual(['store 7', 'store 10'])
  })

  test('a charge that fails after it is not owed again', async () => {
    const [world, pro] = two()
    const { store } = world
    const open = store.open.bind(store)
    let fail = (_: Error): void => {}
    store.open = (terms) => {
      const ledger = open(terms)
      const decide: typeof ledger.decide = (...call) => {
        if (call[0] !== 'charge' || call[2] !== 7) return ledger.decide(...call)
        return new Promise((_, reject) => {
          fail = reject
        })
      }
      return { ...ledger, decide }
    }
    store.mode = 'fails'
    await world.consume('k', 7)
    store.mode = 'up'
    const call = world.consume() // the seven are charged now
    await settle()
    store.mode = 'fails'
    await pro.ledger.reset(['k'])
    await world.consume('k', 8)
    store.mode = 'up'
    expect(await world.peek()).toBe('store 2')
    fail(new Error('failed after all'))
    expect(await call).toBe('fallback 1')
    expect(await world.peek()).toBe('store 1')
  })
})

describe('the health of limiters of one name', () => {
  test('is one', async () => {
    const world = new World('10/1h fixed-window')
    const pro = new World('20/1h fixed-window', { like: world })
    await pro.consume()
    await world.down()
    await pro.consume('a')
    await world.consume('b')
    expect(pro.health).toEqual(world.health)
    expect(world.health).toMatchObject({
      state: 'open',
      sources: { store: 1, fallback: 7, open: 0 },
      errors: 5,
      owing: 7,
    })
    await world.up()
    expect([pro.health.owing, world.health.owing]).toEqual([0, 0])
  })

  test('is told by the limiter that others were made from', async () => {
    const { store } = new World('10/1h')
    store.mode = 'fails'
    const limiter = new RateLimiter({ policies: '10/1h', store })
    await limiter.under('20/1h').consume('k')
    expect(limiter.health()).toMatchObject({ sources: { fallback: 1 }, errors: 1, owing: 1 })
  })
})

test('a refund while the store is away gives back what was taken here, charged or not', async () => {
  const world = new World('10/1h fixed-window')
  await world.down()
  await spend(world, 6)
  await world.up()
  await world.down()
  expect(await told(world.ledger.decide('refund', ['k'], 4))).toBe('fallback 8')
  await world.up()
  expect(await world.peek()).toBe('store 8')
})

describe('instances', () => {
  test.each<[string, PolicyLike, number, string]>([
    ['a part of the limit', '10/1h', 4, 'fallback 1'],
    ['and of a burst', '10/1h burst 20', 4, 'fallback 4'],
    ['a rate', smoothBursty({ rate: 10 }), 4, 'fallback 2147483647'],
    ['one unit at least', '2/1h', 4, 'fallback 0'],
    // 3333333 a day is not exact in whole numbers: it shares too little with the day.
    [
      'rounded down where the arithmetic needs it',
      tokenBucket({ limit: 10_000_000, window: '1d' }),
      3,
      'fallback 3332999',
    ],
  ])('%s', async (_, policy, instances, first) => {
    const world = new World(policy, { instances })
    await world.down()
    expect((await world.consume()).replace(/^fallback 333[23]\d+$/, first)).toBe(first.replace(' 2147483647', ' 0'))
  })

  test('the answer tells the share', async () => {
    const world = new World(fixedWindow({ limit: 100, window: '1h' }), { instances: 4 })
    await world.down()
    expect(await world.ledger.decide('consume', ['k'], 1)).toMatchObject({ limit: 25, remaining: 24 })
  })
})
