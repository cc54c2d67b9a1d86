import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/* The examples of the README and of docs/. */

const execute = promisify(execFile)

export const root: URL = new URL('../../', import.meta.url)

export const pages: readonly string[] = [
  'README.md',
  ...['docs/', 'docs/frameworks/', 'docs/recipes/'].flatMap((folder) =>
    readdirSync(new URL(folder, root))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}${name}`),
  ),
]

export interface Example {
  readonly language: string
  readonly line: number
  readonly code: string
  readonly file: string
}

/** The code blocks of a page that are marked js or ts, maybe with the title of a tab, and the file of a folder that each gets. */
export function examplesOf(page: string, folder: URL): Example[] {
  const text = readFileSync(new URL(page, root), 'utf8')
  return [...text.matchAll(/^```(js|ts)(?: \[.+?\])?\n(.*?)^```$/gms)].map(
    ({ index, 1: language = '', 2: code = '' }) => {
      const line = text.slice(0, index).split('\n').length + 1
      const name = `${page.replaceAll(/\W/g, '-')}-${line}.${language === 'js' ? 'mjs' : 'mts'}`
      return { language, line, code, file: fileURLToPath(new URL(name, folder)) }
    },
  )
}

/** A program that checks each `expression // => value`, and listens on any free port. */
function programOf(code: string): string {
  const checked = code
    .replaceAll(/^(.+?) *\/\/ => (.+)$/gm, 'assert.deepEqual($1, $2)')
    .replaceAll(/(\.listen\(|\bport: )\d+/g, '$10')
  return `import assert from 'node:assert/strict'\n${checked}\n`
}

/** Writes examples to their files, as programs. */
export function writeExamples(folder: URL, examples: readonly Example[]): void {
  mkdirSync(folder, { recursive: true })
  for (const { language, code, file } of examples) {
    writeFileSync(file, language === 'js' ? programOf(code) : `${code}\nexport {}\n`)
  }
}

const runner = fileURLToPath(new URL('run-examples.mjs', import.meta.url))

/**
 * Runs programs in one process. Returns what each writes to stderr, with what it throws: nothing if it is right. Undefined
 * for a program that has not ended.
 */
export async function failuresOf(files: readonly string[]): Promise<Record<string, string | undefined>> {
  const { stderr } = await execute(process.execPath, [runner, ...files], { timeout: 120_000 }).catch((error) => error)
  const parts: string[] = stderr.split(/^# (.+)\n/m)
  return Object.fromEntries(
    files.map((file) => {
      const text = parts[parts.indexOf(file) + 1]
      return [basename(file), text?.endsWith('ended\n') ? text.slice(0, -'ended\n'.length) : undefined]
    }),
  )
}

/** Runs the compiler, and returns what it prints: the errors. */
export async function tsc(args: readonly string[]): Promise<string> {
  const settings = ['--ignoreConfig', '--module', 'nodenext', '--target', 'es2022', '--skipLibCheck', '--types', 'node']
  const compiler = fileURLToPath(new URL('node_modules/typescript/bin/tsc', root))
  const { stdout } = await execute(process.execPath, [compiler, ...settings, ...args]).catch((error) => error)
  return stdout
}
