import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const main = fileURLToPath(new URL('../../main.mjs', import.meta.url))

export const madeLog = fileURLToPath(new URL('../made.log.gz', import.meta.url))

/** Runs the command as a user does. @returns {Promise<{ code: number, stdout: string, stderr: string }>} */
export function runLab(args, input = '') {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [main, ...args])
    let [stdout, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
    child.stdin.end(input)
  })
}

/** The result of a command, by `--json`. */
export async function resultOf(args, input) {
  const { stdout, stderr } = await runLab([...args, '--json'], input)
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout)
}

/**
 * Runs the command on a pseudo terminal, and types an answer once a text appears.
 * @param {string[]} args @param {Record<string, string> | [string, string][]} answers @param {string} [before] a command of the shell
 * @param {string} [program] a program in place of the lab
 * @returns {Promise<{ code: number, output: string }>}
 */
export function onTerminal(args, answers, before = '', program = main) {
  const quoted = [process.execPath, program, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
  const child = spawn('script', ['-qec', before + quoted, '/dev/null'], { env: { ...process.env, TERM: 'xterm' } })
  let output = ''
  const left = Array.isArray(answers) ? [...answers] : Object.entries(answers)
  let from = 0
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
    const at = left.length === 0 ? -1 : output.indexOf(left[0][0], from)
    if (at < 0) return
    from = output.length
    child.stdin.write(left.shift()[1])
  })
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, output })))
}
