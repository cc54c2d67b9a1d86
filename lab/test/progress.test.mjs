import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { madeLog, main, runLab } from './support/run-lab.mjs'

const home = mkdtempSync(join(tmpdir(), 'headgate-lab-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** Runs a command line in a pseudo terminal, by `script` of util-linux, and returns what the terminal gets. */
async function inTerminal(line) {
  const args = ['-qec', `${process.execPath} ${main} ${line}`, '/dev/null']
  const { stdout } = await promisify(execFile)('script', args)
  return stdout
}

test('a terminal shows how far the log is read', async () => {
  const shown = await inTerminal(`replay ${madeLog} --policy 10/1m`)
  expect(shown).toMatch(/░+ 0% \| 0 lines \| 0 lines\/s \| \? left/)
  expect(shown).toMatch(/█+ 100% \| 1,500 lines \| [\d,]+ lines\/s \| 0 ms left/)
  expect(shown.indexOf('100%')).toBeLessThan(shown.indexOf('What each policy would have done'))
})

test('a standard error that is no terminal gets no bar', async () => {
  const file = join(home, 'stderr')
  expect(await inTerminal(`replay ${madeLog} --policy 10/1m 2>${file}`)).not.toContain('100%')
  expect(readFileSync(file, 'utf8')).toBe('')
  expect((await runLab(['replay', madeLog, '--policy', '10/1m'])).stderr).toBe('')
})

test('the standard input has no known size, and no bar', async () => {
  expect(await inTerminal(`replay --policy 10/1m <${madeLog}`)).not.toContain('100%')
})
