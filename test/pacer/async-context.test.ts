import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, test } from 'vitest'
import { gcra, slidingWindow } from '../../src/index.ts'
import { Timeline } from './timeline.ts'

const even = gcra({ limit: 10, window: '1s', burst: 1 })

test.each([
  ['admitted after a booked slot', even, {}],
  ['admitted after another request to the store', slidingWindow({ limit: 1, window: '100ms' }), {}],
  ['admitted after another function', even, { concurrency: 1 }],
])('a function sees the AsyncLocalStorage of its call: %s', async (_, policy, options) => {
  const storage = new AsyncLocalStorage<string>()
  const timeline = new Timeline()
  const pacer = timeline.pacer(policy, options)
  for (const name of 'ABC') {
    storage.run(name, () => {
      const run = () => expect(storage.getStore()).toBe(name)
      const then = () => expect(storage.getStore()).toBe(name)
      timeline.write(name, pacer.throttle(run).then(then))
    })
  }
  expect((await timeline.read()).replaceAll(/[^A-Z]/g, '')).toBe('ABC')
})
