import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Look, orders, rowOf } from '../store/rank.mjs'
import { onTerminal } from './support/run-lab.mjs'

/** A row whose refusal ends at a time, as it was read at another time. */
function row({ key, used, until, bannedUntil, at }) {
  const left = (end) => Math.max(0, end - at)
  const retryAfter = Math.max(left(until), left(bannedUntil))
  const policy = { name: 'p', kind: 'slidingWindow', used, limit: 100, burst: 100, retryAfter: left(until) }
  const penalty = { name: 'penalty', kind: 'penalty', used: 0, limit: 1, burst: 1, retryAfter: left(bannedUntil) }
  return rowOf({ key, inspection: { refused: retryAfter > 0, retryAfter, policies: [policy, penalty], at } })
}

const times = fc.constantFrom(0, 10_000, 20_000, 30_000, Infinity)
const made = fc.record({
  key: fc.constantFrom('ann', 'bob', 'annabel'),
  used: fc.nat(100),
  until: times,
  bannedUntil: times,
  at: fc.integer({ min: 1000, max: 9000 }), // a look takes long, so each key is read at another time
})

test('a look keeps the first rows of each order, by the end of a refusal, whenever each key was read', () => {
  fc.assert(
    fc.property(fc.array(made, { maxLength: 40 }), fc.integer({ min: 1, max: 8 }), (all, most) => {
      const look = new Look(most, orders, 'ann')
      for (const each of all) look.add(row(each))
      const refusedUntil = ({ until, bannedUntil }) => Math.max(until, bannedUntil)
      const numbers = {
        refused: (each) => [refusedUntil(each), each.used],
        share: (each) => [each.used],
        ban: (each) => [each.bannedUntil, refusedUntil(each)],
      }
      expect([look.keys, look.refused]).toEqual([all.length, all.filter((each) => refusedUntil(each) > 0).length])
      for (const order of orders) {
        for (const refusedOnly of [false, true]) {
          const sought = all.filter((each) => each.key !== 'bob' && (!refusedOnly || refusedUntil(each) > 0))
          const expected = sought.map(numbers[order]).sort(descending).slice(0, most)
          const shown = look.rows(order, refusedOnly).map(({ retryAfter, bannedFor, fullest, inspection: { at } }) => {
            const end = (left) => (left === 0 ? 0 : at + left)
            return numbers[order]({
              until: end(retryAfter),
              bannedUntil: end(bannedFor),
              used: Math.round(fullest * 100),
            })
          })
          expect(shown).toEqual(expected)
        }
      }
    }),
  )
})

function descending(a, b) {
  const n = a.findIndex((number, n) => number !== b[n])
  return n < 0 ? 0 : b[n] - a[n]
}

test('on a terminal, a look that has not ended sorts, filters, finds, bans and ends at once', async () => {
  const program = fileURLToPath(new URL('support/endless-look.mjs', import.meta.url))
  const { code, output } = await onTerminal(
    [],
    [
      ['looking: ', 's'],
      ['by share', 'r'],
      ['by share, refused only', 'r'],
      ['looking: ', '/'],
      ['Find keys with', 'key-3\r'],
      ['with key-3', ''],
      ['looking: ', 'b'],
      ['Ban key-3 for', '\r'],
      ['Banned key-3.', 'q'],
    ],
    '',
    program,
  )
  expect(code).toBe(0)
  const screens = output.split('\u001b[H').map((text) => text.split('\u001b[K\n').map((line) => line.trimEnd()))
  const found = screens.filter((lines) => lines.some((line) => line.includes('with key-3')))
  // The look began again with the text, so that no other key is shown.
  expect(found.at(-1)?.some((line) => / key-3 /.test(line))).toBe(true)
  expect(found.at(-1)?.some((line) => / key-4 /.test(line))).toBe(false)
  expect(found.at(-1)?.some((line) => / key-3 +banned 1 h/.test(line))).toBe(true)
})
