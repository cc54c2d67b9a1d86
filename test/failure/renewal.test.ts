import { expect, test } from 'vitest'
import { concurrency, type Decision } from '../../src/index.ts'
import { Reservation, type ReservedCall } from '../../src/limiter/reservation.ts'
import { FailoverFixture, settle } from '../support/failing-store.ts'

const used = async ({ ledger }: FailoverFixture) => {
  const { policies } = (await ledger.run({ verb: 'peek', keys: ['k'] })) as Decision
  return policies[0]?.used
}

/** A reservation whose first renewal has timed out, at 1.2 s. The store has not answered it yet. */
async function renewedLate(limit: number) {
  const fixture = new FailoverFixture(concurrency({ limit, lease: '10s' }), { timeout: 100, storeTimeout: 100 })
  const { ledger, policies, store } = fixture
  const booking = await ledger.run({ verb: 'reserve', keys: ['k'] })
  const run: ReservedCall['run'] = (command) => ledger.run(command)
  const call = new Reservation({ run, policies, keys: ['k'], costs: 1 }, booking)
  await fixture.at(1000)
  store.mode = 'hangs'
  const renewal = call.renew()
  await fixture.at(1200)
  expect(await renewal).toBe(true) // decided here: the units are in flight already
  return { fixture, store, call }
}

test('a renewal that the store grants after the deadline holds the units once, and they can be freed', async () => {
  const { fixture, store, call } = await renewedLate(4)
  store.mode = 'up'
  store.release()
  await settle()
  await fixture.at(2000)
  expect(await call.renew()).toBe(true)
  expect(await used(fixture)).toBe(1)
  await call.release()
  expect(await used(fixture)).toBe(0)
})

test.each([1, 4])(
  'after a late renewal, one that found no units is repeated or given back, limit %i',
  async (limit) => {
    const { fixture, store, call } = await renewedLate(limit)
    const second = call.renew()
    store.mode = 'up'
    store.release()
    await settle()
    expect(await second).toBe(true)
    await settle()
    expect(await used(fixture)).toBe(1)
    await fixture.at(9000)
    expect([await call.renew(), await used(fixture)]).toEqual([true, 1])
    await fixture.at(18_000)
    await call.release()
    expect(await used(fixture)).toBe(0)
  },
)

test('a renewal that the store has not answered gives nothing back, though an earlier answer came meanwhile', async () => {
  const { ledger, policies } = new FailoverFixture(concurrency({ limit: 1, lease: '10s' }))
  const booking = await ledger.run({ verb: 'reserve', keys: ['k'] })
  const later = await ledger.run({ verb: 'renew', keys: ['k'], costs: [1], tickets: booking.tickets })
  const sent: string[] = []
  const run = ((command: { verb: string; tickets: unknown[] }) => {
    sent.push(command.verb)
    Object.assign(command.tickets, later.tickets)
    return { decision: booking.decision, wait: 0, tickets: command.tickets }
  }) as unknown as ReservedCall['run']
  const call = new Reservation({ run, policies, keys: ['k'], costs: 1 }, booking)
  expect(await call.renew()).toBe(true)
  expect(sent).toEqual(['renew'])
})

test('if a renewal overtakes a late one in one slot of a Redis Cluster, and renews the units of another slot, it is repeated', async () => {
  const { ledger, policies } = new FailoverFixture([
    concurrency({ name: 'own', limit: 1, lease: '10s' }),
    concurrency({ name: 'all', limit: 1, lease: '10s' }),
  ])
  const booking = await ledger.run({ verb: 'reserve', keys: ['k'] })
  type Tickets = NonNullable<typeof booking.tickets>[number][]
  const ticket = (id: number): Tickets[number] => [0, id, 1]
  const sent: string[] = []
  const run = ((command: { verb: string; tickets: Tickets }) => {
    sent.push(`${command.verb} ${command.tickets.map((each) => each?.[1])}`)
    if (command.verb === 'settle') return undefined
    if (sent.length > 1) return { decision: booking.decision, wait: 0, tickets: [ticket(5), ticket(6)] }
    command.tickets[0] = ticket(3) // the late answer of the first slot
    return { decision: { ...booking.decision, allowed: false }, wait: 0, tickets: [undefined, ticket(4)] }
  }) as unknown as ReservedCall['run']
  const call = new Reservation(
    { run, policies, keys: ['k'], costs: 1 },
    { ...booking, tickets: [ticket(1), ticket(2)] },
  )
  expect(await call.renew()).toBe(true)
  await call.release()
  expect(sent).toEqual(['renew 1,2', 'renew 3,4', 'settle 5,6'])
})
