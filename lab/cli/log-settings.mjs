import { statSync } from 'node:fs'
import { formatNames } from '../log/parse-lines.mjs'
import { numberOf, oneOf } from './options.mjs'
import { UsageError } from './usage-error.mjs'

/** The settings for reading a log, from the values of `logOptions`. @throws UsageError */
export function logSettings(options) {
  return {
    key: options.key,
    ipv6Prefix: numberOf(options['ipv6-prefix'], 'ipv6-prefix', 1, 128),
    format: oneOf(options.format, 'format', formatNames),
    fields: fieldMap(options.fields),
  }
}

/** The paths of the logs; `-` is the standard input. @throws UsageError if there is none */
export function logFiles({ positionals }, use) {
  if (positionals.length === 0 && process.stdin.isTTY)
    throw new UsageError('No log is given.', `Write: headgate-lab ${use}`)
  if (positionals.length === 0) return ['-']
  for (const file of positionals) if (file !== '-') checkLog(file)
  return [...new Set(positionals)]
}

function checkLog(file) {
  const found = statOf(file)
  if (found === undefined)
    throw new UsageError(`There is no file ${file}.`, 'Name a log, or pipe one into the command.')
  if (found.isDirectory()) throw new UsageError(`${file} is a folder.`, 'Name a log.')
}

/** Undefined if there is no such file. A name that is too long, or a loop of links, names no file either. */
function statOf(file) {
  try {
    return statSync(file)
  } catch {
    return undefined
  }
}

function fieldMap(text) {
  if (text === undefined) return undefined
  return Object.fromEntries(
    text.split(',').map((pair) => {
      const [meaning, name] = pair.split('=')
      if (meaning && name) return [meaning.trim(), name.trim()]
      throw new UsageError(`--fields does not understand ${JSON.stringify(pair)}.`, 'Write time=ts,address=peer.ip')
    }),
  )
}
