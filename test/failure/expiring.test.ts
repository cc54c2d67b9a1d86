/* Reservations that give their units back when they expire, while the store fails. */
import { expect, test } from 'vitest'
import { calendarWindow } from '../../src/calendar/index.ts'
import { concurrency } from '../../src/index.ts'
import { Reservation } from '../../src/limiter/reservation.ts'
import { FailoverFixture, settle } from '../support/failing-store.ts'

const minute = 60_000
const daily = calendarWindow({ limit: 100, every: 'day' })
const inFlight = concurrency({ limit: 2, lease: '1h' })

/** Reserves 6 units that come back after ten minutes. */
async function reserve({ ledger, policies }: FailoverFixture): Promise<Reservation> {
  const call = {
    run: ledger.run.bind(ledger) as never,
    policies,
    keys: ['k'],
    costs: policies.map((_, n) => (n === 0 ? 6 : 1)),
  }
  const terms = { verb: 'reserve', keys: call.keys, costs: call.costs, expires: 10 * minute * 1000 } as const
  return new Reservation(call, await ledger.run(terms))
}

async function usedOf({ ledger }: FailoverFixture): Promise<(number | string)[]> {
  await settle()
  const { source, policies } = await ledger.run({ verb: 'peek', keys: ['k'] })
  return [source, ...policies.map(({ used }) => used)]
}

const costs = [0, 4, 6, 9].flatMap((actual) => [1, 11].map((minutes) => [actual, minutes] as const))

test.each(costs)(
  'a settlement of %i reaches the store that fails for %i minutes, and counts once',
  async (actual, minutes) => {
    const fixture = new FailoverFixture(daily)
    await fixture.consume()
    const reservation = await reserve(fixture)
    await fixture.down()
    await reservation.settle({ day: actual })
    await fixture.at(minutes * minute)
    await fixture.up()
    expect(await usedOf(fixture)).toEqual(['store', actual + 1])
    await fixture.at(30 * minute)
    expect(await usedOf(fixture)).toEqual(['store', actual + 1])
  },
)

test.each(['closed', 'throw'] as const)(
  "with '%s', a settlement that the store does not get rejects, and still gives back",
  async (onStoreError) => {
    const fixture = new FailoverFixture(daily, { onStoreError })
    await fixture.consume()
    const reservation = await reserve(fixture)
    await fixture.down()
    await expect(reservation.settle({ day: 2 })).rejects.toThrow()
    await reservation.settle({ day: 1 }) // only the first call has an effect
    await fixture.at(minute)
    await fixture.up()
    expect(await usedOf(fixture)).toEqual(['store', 3])
  },
)

test('a reservation that the process grants itself expires there, and is settled there', async () => {
  const fixture = new FailoverFixture([daily, inFlight])
  await fixture.down()
  const [settled, late] = [await reserve(fixture), await reserve(fixture)]
  expect(await usedOf(fixture)).toEqual(['fallback', 12, 2])
  await late.release()
  await settled.settle({ day: 2 })
  expect(await usedOf(fixture)).toEqual(['fallback', 8, 0])
  await fixture.at(10 * minute)
  expect(await usedOf(fixture)).toEqual(['fallback', 2, 0])
  await late.settle({ day: 3 })
  expect(await usedOf(fixture)).toEqual(['fallback', 5, 0])
  await fixture.up()
  await fixture.ledger.run({ verb: 'consume', keys: ['k'] })
  expect((await usedOf(fixture)).slice(0, 2)).toEqual(['store', 6])
})

test('a reservation that was let through uncounted is settled nowhere', async () => {
  const fixture = new FailoverFixture([daily, inFlight], { onStoreError: 'open' })
  await fixture.down()
  const reservation = await reserve(fixture)
  await fixture.up()
  await reservation.release()
  await reservation.settle({ day: 9 })
  expect(await usedOf(fixture)).toEqual(['store', 0, 0])
})
