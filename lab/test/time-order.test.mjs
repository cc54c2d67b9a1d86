import fc from 'fast-check'
import { expect, test } from 'vitest'
import { mostInWindow } from '../engine/most-in-window.mjs'
import { RequestColumns } from '../engine/request-columns.mjs'
import { TimeBins } from '../engine/time-bins.mjs'
import { TimeOrder } from '../log/time-order.mjs'

test('records that are late by fewer lines than are held come in the order of time, ties in the order of lines', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(9), { maxLength: 60 }), (delays) => {
      const records = delays.map((delay, line) => ({ time: Math.max(0, line - delay), line }))
      const order = new TimeOrder(10)
      const came = [...records.flatMap((record) => order.add(record)), ...order.end()]
      expect(came).toEqual(records.toSorted((a, b) => a.time - b.time || a.line - b.line))
      expect(order.late).toBe(0)
    }),
  )
})

test('a record that is later than that is counted', () => {
  const order = new TimeOrder(2)
  for (const time of [5, 6, 7, 8, 1]) order.add({ time })
  order.end()
  expect(order.late).toBe(1)
})

test('bins become wider and keep every count', () => {
  const bins = new TimeBins(2, { most: 4, width: 10 })
  for (const time of [5, 12, 38, 39, 95, 300]) bins.add(time, time > 90 ? 1 : 0)
  expect([bins.width, bins.start, bins.counts(0), bins.counts(1)]).toEqual([80, 0, [4, 0, 0, 0], [0, 1, 0, 1]])
})

test('the most in any window is that of the definition', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(100)), fc.integer({ min: 1, max: 30 }), (given, window) => {
      const times = given.toSorted((a, b) => a - b)
      const counts = times.map((end) => times.filter((time) => time > end - window && time <= end).length)
      expect(mostInWindow(times, window)).toBe(Math.max(0, ...counts))
    }),
  )
})

test('the times of each client are in order, also those of a record that came late', () => {
  const requests = new RequestColumns()
  for (const [client, time] of [
    [0, 5],
    [1, 6],
    [0, 100],
    [0, 7],
    [1, 6],
  ])
    requests.add(client, time)
  expect(requests.byClient(2).map((times) => [...times])).toEqual([
    [5, 7, 100],
    [6, 6],
  ])
})
