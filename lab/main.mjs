#!/usr/bin/env node
/*
 * headgate-lab: what would a limit do, and what does a limit do in production? Some commands play requests through the
 * code of headgate that will enforce the limit. The other commands read the keys that limiters keep in a store.
 */
import { commands, usage } from './cli/commands.mjs'
import { parse } from './cli/options.mjs'
import { finish } from './cli/output.mjs'
import { printable } from './report/columns.mjs'

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  if (error.name !== 'UsageError' && error.name !== 'HeadgateError') throw error
  console.error(printable(error.message))
  if (error.help !== undefined) console.error(`See ${error.help}`)
  process.exitCode = 2
}

/** @param {string[]} argv */
async function main(argv) {
  const [name, ...args] = argv
  const command = commands[name]
  if (command === undefined || args.includes('--help')) {
    console.log(command === undefined ? usage : command.help)
    return name === undefined || name === '--help' || command !== undefined ? 0 : 2
  }
  const options = parse(name, command, args)
  const outcome = await command.run(options)
  return finish(outcome, options)
}
