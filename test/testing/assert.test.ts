import { describe, expect, test } from 'vitest'
import { assertEqual, assertTrue } from '../../src/testing/assert.ts'

describe('assertEqual', () => {
  test.each([
    [1, 1],
    [Number.NaN, Number.NaN],
    [
      [1, [2, { a: Infinity }]],
      [1, [2, { a: Infinity }]],
    ],
    [
      { a: 1, b: undefined },
      { b: undefined, a: 1 },
    ],
  ])('accepts %j and %j', (actual, expected) => assertEqual(actual, expected))

  test.each([
    [0, -0],
    [1, '1'],
    [[], {}],
    [null, {}],
    [{ a: 1 }, { a: 1, b: undefined }],
    [{ a: undefined }, { b: undefined }],
    [[1, 2], [1]],
    [{ a: [1, { b: 2 }] }, { a: [1, { b: 3 }] }],
  ])('rejects %j and %j', (actual, expected) => {
    expect(() => assertEqual(actual, expected)).toThrow(expect.objectContaining({ name: 'AssertionError' }))
  })

  test('shows both values as JavaScript, and keeps them for the test runner', () => {
    const [actual, expected] = [
      { wait: Infinity, keys: ['a'] },
      { wait: 5, keys: ['a', 'b'] },
    ]
    expect(() => assertEqual(actual, expected, 'the second call')).toThrow(
      expect.objectContaining({
        message: 'the second call: expected { wait: 5, keys: ["a", "b"] }, got { wait: Infinity, keys: ["a"] }',
        actual,
        expected,
      }),
    )
  })
})

test('assertTrue throws its message unless the condition is true', () => {
  assertTrue(true, 'never thrown')
  expect(() => assertTrue(false, 'a wait within two windows')).toThrow('a wait within two windows')
})
