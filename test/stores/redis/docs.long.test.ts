import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { inDepth } from '../../support/depth.ts'
import { examplesOf, pages, root, tsc } from '../../support/examples.ts'
import { useRedis } from '../../support/use-server.ts'

/* The examples in TypeScript: some of them connect to Redis. Those in JavaScript are run by readme.test.ts. */

const { server } = await useRedis()
// Inside the repository, so that 'headgate' resolves to this package, as it is built.
const folder = new URL('.examples-in-typescript/', root)
const examples = pages.flatMap((page) => examplesOf(page, folder)).filter(({ language }) => language === 'ts')

/** The file that the page about policy files shows, where its programs look for it. */
const [, policies = ''] =
  /^```json\n(.*?)^```$/ms.exec(readFileSync(new URL('docs/policy-file.md', root), 'utf8')) ?? []

/** Connects to the server of this test, and ends, unless it is a test of its own. */
function programOf(code: string): string {
  const connected = code.replaceAll('new Redis()', 'new Redis(process.env.REDIS_URL)')
  return code.includes("'node:test'") ? connected : `${connected}\nsetImmediate(() => process.exit(0))\nexport {}\n`
}

/** The long timelines of the contract of a store, which the examples declare, are played in depth. */
const some = inDepth ? [] : ['--test-name-pattern=^my store(?!.*the same decisions)']

beforeAll(async () => {
  mkdirSync(folder, { recursive: true })
  for (const { file, code } of examples) writeFileSync(file, programOf(code))
  writeFileSync(new URL('policies.json', folder), policies)
  await tsc(['--strict', 'false', ...examples.map(({ file }) => file)])
})

afterAll(() => rmSync(folder, { recursive: true }))

test.each(examples.map(({ file }) => [basename(file), file]))(
  '%s runs',
  async (_name, file) => {
    const env = { ...process.env, REDIS_URL: `redis://127.0.0.1:${server.port}`, NODE_TEST_CONTEXT: undefined }
    const compiled = file.replace(/mts$/, 'mjs')
    await expect(
      promisify(execFile)(process.execPath, [...some, compiled], { env, cwd: folder }),
    ).resolves.toMatchObject({
      stderr: '',
    })
  },
  120_000,
)

test('the pages have examples in TypeScript', () => expect(examples.length).toBeGreaterThan(5))
