/*
 * Runs the programs of its arguments, one after the other in this process: starting one costs more than most programs do.
 * stderr tells of each when it begins and that it has ended. Between the two is what it writes there, and what it throws.
 */
import { setImmediate } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'

let wrong = ''

function note(error) {
  wrong += `${inspect(error)}\n`
}

process.on('uncaughtException', note)
process.on('unhandledRejection', note)

for (const file of process.argv.slice(2)) {
  process.stderr.write(`# ${file}\n`)
  wrong = ''
  await import(pathToFileURL(file).href).catch(note)
  await setImmediate()
  process.stderr.write(`${wrong}ended\n`)
}
process.exit()
