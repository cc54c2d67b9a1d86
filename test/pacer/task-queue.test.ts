import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Task, TaskQueue } from '../../src/pacer/task-queue.ts'

class Noted extends Entry {
  readonly #rank: number

  constructor(at: number, rank: number, order: number) {
    super()
    this.at = at
    this.#rank = rank
    this.order = order
    this.pending = true
  }

  override get rank(): number {
    return this.#rank
  }

  due(): void {}
}

const added = fc.record({ add: fc.nat(20), rank: fc.constantFrom(0, 0, 1) })
const ahead = fc.record({ ahead: fc.nat(5), rank: fc.constant(0) })
const act = fc.oneof(added, ahead, fc.constant('shift' as const), fc.constant('sweep' as const))

function inOrder(a: Entry, b: Entry): number {
  return a.at - b.at || a.rank - b.rank || a.order - b.order
}

test('the first is the first by time, rank and order, whatever was added, taken or called off', () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 300 }), (acts) => {
      const entries = new Entries()
      let expected: Entry[] = []
      let last = 0
      for (const [order, each] of acts.entries()) {
        if (each === 'shift') {
          if (expected.length > 0) entries.shift()
          expected.shift()
        } else if (each === 'sweep') {
          for (const [n, entry] of expected.entries()) entry.pending = n % 3 !== 0
          entries.sweep()
          expected = expected.filter(({ pending }) => pending)
        } else {
          last = 'add' in each ? each.add : last + each.ahead
          const entry = new Noted(last, each.rank, order)
          entries.add(entry)
          expected.push(entry)
          expected.sort(inOrder)
        }
        expect(entries.first).toBe(expected[0])
        expect(entries.size).toBe(expected.length)
      }
    }),
  )
})

test('a long row moves up when half of it has been taken, and nothing is lost', () => {
  const entries = new Entries()
  const all = Array.from({ length: 5000 }, (_, n) => new Noted(n >> 1, 0, n))
  for (const entry of all) entries.add(entry)
  for (const [n, entry] of all.entries()) {
    expect(entries.first).toBe(entry)
    entries.shift()
    expect(entries.size).toBe(all.length - n - 1)
  }
  expect(entries.first).toBe(undefined)
})
