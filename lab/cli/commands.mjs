import { readFileSync } from 'node:fs'
import { diff } from '../commands/diff.mjs'
import { lint } from '../commands/lint.mjs'
import { postgres } from '../commands/postgres.mjs'
import { redis } from '../commands/redis.mjs'
import { replay } from '../commands/replay.mjs'
import { simulate } from '../commands/simulate.mjs'
import { sqlite } from '../commands/sqlite.mjs'
import { suggest } from '../commands/suggest.mjs'
import { UsageError } from './usage-error.mjs'

const commands = { replay, suggest, simulate, lint, diff, redis, postgres, sqlite }

export const usage = `headgate-lab <command> [options]

${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`)
  .join('\n')}

headgate-lab <command> --help lists the options of a command, and headgate-lab --version prints the version.`

export const version = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version

/** @throws UsageError for a name that no command has */
export function commandOf(name) {
  if (Object.hasOwn(commands, name)) return commands[name]
  throw new UsageError(
    `There is no command ${JSON.stringify(name)}.`,
    `The commands are ${Object.keys(commands).join(', ')}.`,
  )
}
