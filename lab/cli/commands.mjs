import { postgres } from '../commands/postgres.mjs'
import { redis } from '../commands/redis.mjs'
import { replay } from '../commands/replay.mjs'
import { simulate } from '../commands/simulate.mjs'
import { sqlite } from '../commands/sqlite.mjs'
import { suggest } from '../commands/suggest.mjs'

export const commands = { replay, suggest, simulate, redis, postgres, sqlite }

export const usage = `headgate-lab <command> [options]

${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`)
  .join('\n')}

headgate-lab <command> --help lists the options of a command.`
