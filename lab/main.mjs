#!/usr/bin/env node
/*
 * headgate-lab: what would a limit do, and what does a limit do in production? Some commands play requests through the
 * code of headgate that will enforce the limit. The other commands read the keys that limiters keep in a store.
 */
import { commandOf, usage, version } from './cli/commands.mjs'
import { parse } from './cli/options.mjs'
import { checkFolder, finish, plainOutput } from './cli/output.mjs'
import { printable } from './report/columns.mjs'

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  if (error.name !== 'UsageError' && error.name !== 'HeadgateError') throw error
  console.error(printable(error.message))
  if (error.help !== undefined) console.error(`See ${error.help}`)
  process.exitCode = 2
}

/** @param {string[]} argv @returns {Promise<number>} the exit code */
async function main(argv) {
  const [name, ...args] = plainOutput(argv)
  if (name === undefined || name === '--help') return print(usage)
  if (name === '--version') return print(version)
  const command = commandOf(name)
  if (args.includes('--help')) return print(command.help)
  /** @type {any} */
  const options = parse(name, command, args)
  if (options.html !== undefined) checkFolder(options.html)
  const outcome = await command.run(options)
  return finish(outcome, options)
}

function print(text) {
  console.log(text)
  return 0
}
