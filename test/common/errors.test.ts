import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { HeadgateError, policy } from '../../src/index.ts'

const { homepage } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

test('an error links to the page of its code, also when Node prints it', () => {
  let thrown: unknown
  try {
    policy('ten')
  } catch (error) {
    thrown = error
  }
  const page = `${homepage}/errors/HEADGATE_POLICY`
  expect(thrown).toBeInstanceOf(HeadgateError)
  expect((thrown as HeadgateError).help).toBe(page)
  expect(inspect(thrown)).toContain(`help: '${page}'`)
})

test('as JSON, as in a health check or a log, an error has its message and the message of its cause', () => {
  const cause = new Error('connection refused')
  const error = new HeadgateError('HEADGATE_STORE_UNAVAILABLE', 'The store failed.', { cause, retryAfter: 50 })
  const help = `${homepage}/errors/HEADGATE_STORE_UNAVAILABLE`
  const name = 'HeadgateError'
  const fields = { name, code: error.code, help, retryAfter: 50, message: 'The store failed.', cause: cause.message }
  expect(JSON.parse(JSON.stringify({ error }))).toEqual({ error: fields })
  expect(JSON.parse(JSON.stringify(new HeadgateError('HEADGATE_KEY', 'No key.')))).not.toHaveProperty('cause')
})
