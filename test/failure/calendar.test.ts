/* Windows of a calendar while the store fails, also over the end of a window. */
import { expect, test } from 'vitest'
import { calendarWindow } from '../../src/calendar/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { FailingStore, FailoverFixture, settle } from '../support/failing-store.ts'

const day = 86_400_000
const daily = calendarWindow({ limit: 10, every: 'day' })

async function spend(fixture: FailoverFixture, calls: number): Promise<string> {
  let last = ''
  for (let call = 0; call < calls; call++) last = await fixture.consume()
  return last
}

test('what was spent locally is charged in the same window', async () => {
  const fixture = new FailoverFixture(daily)
  await spend(fixture, 2)
  await fixture.down()
  expect(await spend(fixture, 7)).toBe('fallback 3')
  await fixture.up()
  expect(await spend(fixture, 1)).toBe('store 0')
  expect(await spend(fixture, 1)).toBe(`store no ${day - 500}`)
})

test('what was spent locally lapses at the end of the window', async () => {
  const fixture = new FailoverFixture(daily)
  await spend(fixture, 2)
  await fixture.down()
  await spend(fixture, 7)
  await fixture.at(day)
  fixture.store.mode = 'up'
  await fixture.at(day + 1000)
  await fixture.peek('probe')
  await settle()
  expect(fixture.requests().filter((request) => request.includes(' k '))).toEqual([])
  expect(await spend(fixture, 1)).toBe('store 9')
})

test('this process admits the limit in each window, and the store is charged for the last of them', async () => {
  const fixture = new FailoverFixture(daily)
  await spend(fixture, 2)
  await fixture.down()
  expect(await spend(fixture, 11)).toBe(`fallback no ${day}`)
  await fixture.at(day)
  expect(await spend(fixture, 11)).toBe(`fallback no ${day}`)
  await fixture.at(day + 5000)
  await fixture.up()
  expect(await spend(fixture, 1)).toBe(`store no ${day - 5500}`)
  await fixture.at(2 * day)
  expect(await spend(fixture, 1)).toBe('store 9')
})

test('units that were charged in the last window are not owed again in the next', async () => {
  const fixture = new FailoverFixture(daily)
  await fixture.down()
  await spend(fixture, 4)
  await fixture.up()
  expect(await spend(fixture, 1)).toBe('store 5')
  await fixture.down()
  await spend(fixture, 2)
  await fixture.at(day + 1000)
  await spend(fixture, 3)
  await fixture.up()
  expect(await spend(fixture, 1)).toBe('store 6')
})

test('what each customer has spent is charged in the windows of that customer', async () => {
  const fixture = new FailoverFixture(calendarWindow({ limit: 10, every: 'month', anchor: 'caller' }))
  const consume = async (key: string, anchor: number) => {
    const calendar = { anchor }
    return await fixture.ledger.run({ verb: 'consume', keys: [key], calendar })
  }
  fixture.store.mode = 'fails'
  for (const key of ['a', 'b']) await consume(key, key === 'a' ? 15 : 20)
  fixture.store.mode = 'up'
  expect(await consume('a', 15)).toMatchObject({ source: 'store', remaining: 8, resetAfter: 14 * day })
  expect(await consume('b', 20)).toMatchObject({ source: 'store', remaining: 8, resetAfter: 19 * day })
})

test('a reservation of the store that is settled locally after its window charges the store for nothing', async () => {
  const fixture = new FailoverFixture(daily)
  const { tickets } = await fixture.ledger.run({ verb: 'reserve', keys: ['k'], costs: 3 })
  await fixture.at(day)
  await spend(fixture, 1)
  await fixture.down()
  await fixture.ledger.run({ verb: 'settle', keys: ['k'], costs: [-2], tickets })
  await fixture.up()
  expect(await spend(fixture, 1)).toBe('store 8')
})

test.each([-400, -1, 1, 400])('the store is charged also if its clock is %i days ahead', async (days) => {
  const clock = new ManualClock()
  const store = new FailingStore(new ManualClock(clock.milliseconds + days * day))
  const policy = calendarWindow({ limit: 10, every: 'day', timeZone: 'caller' })
  const fixture = new FailoverFixture(policy, { planOf: { clock, store } as FailoverFixture })
  const consume = async () => {
    return await fixture.ledger.run({ verb: 'consume', keys: ['k'], calendar: { timeZone: 'Asia/Tokyo' } })
  }
  store.mode = 'fails'
  expect(await consume()).toMatchObject({ source: 'fallback', remaining: 9 })
  store.mode = 'up'
  expect(await consume()).toMatchObject({ source: 'store', remaining: 8, resetAfter: 0.625 * day })
  expect(await consume()).toMatchObject({ source: 'store', remaining: 7 })
})

test.each([-400, 400])('a settlement is given back also if the clock of the store is %i days ahead', async (days) => {
  const clock = new ManualClock()
  const store = new FailingStore(new ManualClock(clock.milliseconds + days * day))
  const fixture = new FailoverFixture(daily, { planOf: { clock, store } as FailoverFixture })
  const { tickets } = await fixture.ledger.run({ verb: 'reserve', keys: ['k'], costs: 5 })
  await fixture.down()
  await fixture.ledger.run({ verb: 'settle', keys: ['k'], costs: [-2], tickets })
  await fixture.up()
  expect(await fixture.peek()).toBe('store 7')
})

test('a settlement that the store does not get is given back once, also if no window of the process runs', async () => {
  const monthly = calendarWindow({ limit: 30, every: 'month' })
  const fixture = new FailoverFixture([daily, monthly])
  await spend(fixture, 2)
  const { tickets } = await fixture.ledger.run({ verb: 'reserve', keys: ['k'], costs: 5 })
  await fixture.at(2 * day - 5000)
  await fixture.down()
  await fixture.at(2 * day)
  await fixture.ledger.run({ verb: 'settle', keys: ['k'], costs: [-2, -2], tickets })
  await fixture.up()
  expect(await fixture.ledger.run({ verb: 'peek', keys: ['k'] })).toMatchObject({
    policies: [{ used: 0 }, { used: 5 }],
  })
})

test('a reservation that is answered too late, with windows that do not run, is an outcome like any other', async () => {
  const fixture = new FailoverFixture(daily, { storeTimeout: 100, onStoreError: 'throw' })
  await spend(fixture, 1)
  await fixture.at(3 * day)
  fixture.store.mode = 'hangs'
  const reserving = fixture.ledger.run({ verb: 'reserve', keys: ['k'], costs: 3 })
  await Promise.all([
    expect(reserving).rejects.toMatchObject({ code: 'HEADGATE_STORE_TIMEOUT' }),
    fixture.at(3 * day + 200),
  ])
  fixture.store.mode = 'up'
  fixture.store.release()
  await settle()
  expect(await spend(fixture, 1)).toBe('store 9')
})

test('the calendar of one scope leaves the policies of the other scopes alone when the store is charged', async () => {
  const team = calendarWindow({ name: 'team', limit: 10, every: 'month', anchor: 'caller', scope: 'team' })
  const fixture = new FailoverFixture([daily, team])
  const consume = () => fixture.ledger.run({ verb: 'consume', keys: ['k', 't'], calendar: { anchor: 15 } })
  fixture.store.mode = 'fails'
  expect(await consume()).toMatchObject({ source: 'fallback', remaining: 9 })
  fixture.store.mode = 'up'
  expect(await consume()).toMatchObject({ source: 'store', remaining: 8, policies: [{ used: 2 }, { used: 2 }] })
})
