import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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
  const [bar] = /█+ 100% .*? left/.exec(shown)
  expect(bar.length + '999,999,999'.length).toBeLessThanOrEqual(80)
  expect(shown.indexOf('100%')).toBeLessThan(shown.indexOf('What each policy would have done'))
})

test('a key that interrupts gives the cursor and the ends of lines back', async () => {
  const file = join(home, 'long.log')
  writeFileSync(
    file,
    '198.51.100.1 - - [05/Mar/2026:09:08:07 +0000] "GET / HTTP/1.1" 200 12 "-" "-"\n'.repeat(1_000_000),
  )
  const child = spawn('script', ['-qec', `${process.execPath} ${main} replay ${file} --policy 10/1m`, '/dev/null'])
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    if (!shown.includes('lines/s') && text.includes('lines/s')) child.stdin.write('\u0003')
    shown += text
  })
  const code = await new Promise((resolve) => child.on('close', resolve))
  expect(code).toBe(128 + 2)
  expect(shown).not.toContain('100%')
  for (const mode of ['?25', '?7']) {
    expect(shown).toContain(`\u001b[${mode}l`)
    expect(shown.lastIndexOf(`\u001b[${mode}h`)).toBeGreaterThan(shown.lastIndexOf(`\u001b[${mode}l`))
  }
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
