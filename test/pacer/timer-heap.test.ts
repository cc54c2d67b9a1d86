import { expect, test } from 'vitest'
import { Task, TaskQueue } from '../../src/pacer/timers/timer-heap.ts'
import fc from '../support/fast-check.ts'

class TestTask extends Task {
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

  run(): void {}
}

const added = fc.record({ add: fc.nat(20), rank: fc.constantFrom(0, 0, 1) })
const ahead = fc.record({ ahead: fc.nat(5), rank: fc.constant(0) })
const act = fc.oneof(added, ahead, fc.constant('shift' as const), fc.constant('sweep' as const))

function inOrder(a: Task, b: Task): number {
  return a.at - b.at || a.rank - b.rank || a.order - b.order
}

test('tasks come by time, then rank, then order, however they are added, removed and swept', () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 300 }), (acts) => {
      const queue = new TaskQueue()
      let expected: Task[] = []
      let last = 0
      for (const [order, each] of acts.entries()) {
        if (each === 'shift') {
          if (expected.length > 0) queue.shift()
          expected.shift()
        } else if (each === 'sweep') {
          for (const [n, task] of expected.entries()) task.pending = n % 3 !== 0
          queue.sweep()
          expected = expected.filter(({ pending }) => pending)
        } else {
          last = 'add' in each ? each.add : last + each.ahead
          const task = new TestTask(last, each.rank, order)
          queue.add(task)
          expected.push(task)
          expected.sort(inOrder)
        }
        expect(queue.first).toBe(expected[0])
        expect(queue.size).toBe(expected.length)
      }
    }),
  )
})

test('no task of a long queue is lost', () => {
  const queue = new TaskQueue()
  const all = Array.from({ length: 5000 }, (_, n) => new TestTask(n >> 1, 0, n))
  for (const task of all) queue.add(task)
  for (const [n, task] of all.entries()) {
    expect(queue.first).toBe(task)
    queue.shift()
    expect(queue.size).toBe(all.length - n - 1)
  }
  expect(queue.first).toBe(undefined)
})
