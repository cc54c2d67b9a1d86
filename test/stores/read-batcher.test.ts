import { expect, test } from 'vitest'
import { ReadBatcher } from '../../src/stores/read-batcher.ts'

/** A batcher over reads that answer with the key, and a list of what it asked for. */
function batcherOf(several: (keys: readonly string[]) => Promise<readonly string[]>, timeout = 60_000) {
  const asked: (string | readonly string[])[] = []
  const batcher = new ReadBatcher<string>(
    {
      async one(key) {
        asked.push(key)
        if (key === 'broken') throw new Error('not decoded')
        return key
      },
      several(keys) {
        asked.push(keys)
        return several(keys)
      },
    },
    timeout,
  )
  return { asked, batcher }
}

test('keys of one turn are read together, each once, and a key alone by itself', async () => {
  const { asked, batcher } = batcherOf(async (keys) => keys)
  expect(await Promise.all(['a', 'b', 'a'].map((key) => batcher.read(key)))).toEqual(['a', 'b', 'a'])
  expect(await batcher.read('a')).toBe('a')
  expect(asked).toEqual([['a', 'b'], 'a'])
})

test('a command has 100 keys at most', async () => {
  const { asked, batcher } = batcherOf(async (keys) => keys)
  const keys = Array.from({ length: 250 }, (_, n) => `${n}`)
  expect(await Promise.all(keys.map((key) => batcher.read(key)))).toEqual(keys)
  expect(asked.map(({ length }) => length)).toEqual([100, 100, 50])
})

test('if the command fails, each key is read by itself', async () => {
  const { batcher } = batcherOf(() => Promise.reject(new Error('not decoded')))
  const read = await Promise.allSettled(['a', 'broken', 'b'].map((key) => batcher.read(key)))
  expect(read.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})

test('if it fails after the timeout, nothing is read again', async () => {
  const late = () => new Promise<never>((_, reject) => setTimeout(reject, 20, new Error('closed')))
  const { asked, batcher } = batcherOf(late, 10)
  const read = await Promise.allSettled(['a', 'b'].map((key) => batcher.read(key)))
  expect(read).toMatchObject([{ reason: { message: 'closed' } }, { reason: { message: 'closed' } }])
  expect(asked).toEqual([['a', 'b']])
})
