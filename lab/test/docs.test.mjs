import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { madeLog, runLab } from './support/run-lab.mjs'

const page = readFileSync(new URL('../../docs/lab.md', import.meta.url), 'utf8')
const lines = [...page.matchAll(/^npx headgate-lab (.+)$/gm)].map(([, line]) => line)

const home = mkdtempSync(join(tmpdir(), 'headgate-lab-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))
copyFileSync(madeLog, join(home, 'access.log'))
writeFileSync(join(home, 'access.json'), '{"ts":1772701687,"peer":{"ip":"198.51.100.1"}}\n')

/** The words of a command line, without a shell. */
function words(line) {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain)
}

test.each(lines)('the example runs: headgate-lab %s', async (line) => {
  const args = words(line).map((word) => (/^access\./.test(word) ? join(home, word) : word))
  const { code, stderr } = await runLab(args)
  expect([code, stderr]).toEqual([0, ''])
})

test('the page has examples', () => {
  expect(lines.length).toBeGreaterThan(5)
})
