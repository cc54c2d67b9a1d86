import { createInterface } from 'node:readline/promises'
import { UsageError } from './usage-error.mjs'

/** Asks on the terminal. @throws UsageError if there is none */
export async function confirm(question, what) {
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    throw new UsageError(`${what} asks first, and there is no terminal to ask.`, 'Add --yes.')
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  terminal.on('SIGINT', () => terminal.close())
  const closed = new Promise((resolve) => terminal.once('close', () => resolve('')))
  const answer = await Promise.race([terminal.question(`${question} [y/N] `).catch(() => ''), closed])
  terminal.close()
  return /^y(es)?$/i.test(answer.trim())
}
