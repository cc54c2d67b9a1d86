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
