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
