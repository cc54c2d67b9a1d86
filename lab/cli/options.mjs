import { parseArgs } from 'node:util'
import { formatNames } from '../log/parse-lines.mjs'
import { UsageError } from './usage-error.mjs'

const common = {
  html: { type: 'string', help: 'FILE', about: 'write a report that is one self-contained page' },
  json: { type: 'boolean', about: 'print the result as JSON' },
  'fail-above': {
    type: 'string',
    help: 'SHARE',
    about: 'exit with code 1 if more requests are refused (diff: newly refused), such as 1%',
  },
  help: { type: 'boolean', about: 'list the options' },
}

/** The options that say how a log is read. */
export const logOptions = {
  key: {
    type: 'string',
    default: 'address',
    help: 'FIELD',
    about: 'who is a client: a field or its path, or several: address+agent',
  },
  'ipv6-prefix': {
    type: 'string',
    default: '56',
    help: 'BITS',
    about: 'leading bits of an IPv6 address that name one client',
  },
  format: { type: 'string', help: 'NAME', about: `${formatNames.join(', ')}; found for each line if left out` },
  fields: { type: 'string', help: 'MAP', about: 'for JSON lines: time=ts,address=peer.ip' },
}

/** The help of a command. @param {Record<string, object>} more */
export function helpOf(use, options, more = common) {
  const lines = Object.entries({ ...options, ...more }).map(([name, { help, about, default: standard }]) => {
    const flag = help === undefined ? `--${name}` : `--${name} ${help}`
    return `  ${flag.padEnd(22)} ${about}${standard === undefined ? '' : ` (default ${standard})`}`
  })
  return `headgate-lab ${use}\n\n${lines.join('\n')}`
}

/** The values of a command's options, and its `positionals`. @throws UsageError */
export function parse(name, command, args) {
  const options = { ...command.options, ...(command.common ?? common) }
  const config = Object.fromEntries(Object.entries(options).map(([key, { about, help, ...rest }]) => [key, rest]))
  const { values, positionals } = parsed(name, args, config)
  if (positionals.length > (command.positionals ?? (command.takesFiles ? Infinity : 0))) {
    const extra = positionals.at(-1)
    throw new UsageError(`${name} does not take ${JSON.stringify(extra)}.`, `Write: headgate-lab ${command.use}`)
  }
  return { ...values, 'fail-above': shareOf(values['fail-above']), positionals }
}

function parsed(name, args, options) {
  try {
    return parseArgs({ args, options, allowPositionals: true })
  } catch (error) {
    const known = Object.keys(options).map((option) => `--${option}`)
    const dash = options.limiter === undefined ? '' : ' A key that begins with a dash stands after --, at the end.'
    throw new UsageError(`${error.message.split('. ')[0]}.`, `The options of ${name} are ${known.join(', ')}.${dash}`)
  }
}

/** A share such as `1%` or `0.01`, as a number from 0 to 1. */
export function shareOf(text, option = 'fail-above') {
  if (text === undefined) return undefined
  const [, number, percent] = /^(\d*\.?\d+)(%?)$/.exec(text) ?? []
  const value = Number(number) / (percent === '%' ? 100 : 1)
  if (value >= 0 && value <= 1) return value
  throw new UsageError(`--${option} must be a share, got ${JSON.stringify(text)}.`, 'Write 1% or 0.01.')
}

export function numberOf(text, option, least, most) {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= least && value <= most) return value
  throw new UsageError(`--${option} must be a whole number from ${least} to ${most}, got ${JSON.stringify(text)}.`, '')
}

export function oneOf(text, option, names) {
  if (text === undefined || names.includes(text)) return text
  throw new UsageError(`--${option} must be one of ${names.join(', ')}, got ${JSON.stringify(text)}.`, '')
}
