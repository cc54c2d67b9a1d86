import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** The servers that tests start, and the packages of Debian that have them. */
const programs = {
  'redis-server': 'redis-server',
  memcached: 'memcached',
  postgres: 'postgresql',
  initdb: 'postgresql',
}

/** Debian keeps the programs of each PostgreSQL version in a folder of its own. */
const postgres = '/usr/lib/postgresql'

/**
 * Runs once, before all tests: installs the servers that are missing, where it may, or says how to. Nothing is skipped,
 * and no two test files install at the same time.
 */
export default function setup(): void {
  const missing = Object.entries(programs).filter(([program]) => programPath(program) === undefined)
  if (missing.length === 0) return
  const packages = [...new Set(missing.map(([, name]) => name))].join(' ')
  const steps = `apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ${packages}`
  const failure = `The tests need ${packages}. Run: ${steps}`
  if (process.getuid?.() !== 0) throw new Error(failure)
  console.log(`Installing ${packages} for the tests: ${steps}`)
  try {
    execFileSync('sh', ['-c', steps], { stdio: 'ignore' })
  } catch (cause) {
    throw new Error(failure, { cause })
  }
}

/** Where the program is that would run, the newest version of PostgreSQL; undefined if there is none. */
export function programPath(program: string): string | undefined {
  const versions = existsSync(postgres) ? readdirSync(postgres).sort((a, b) => Number(b) - Number(a)) : []
  return [...versions.map((version) => join(postgres, version, 'bin', program)), program].find(works)
}

function works(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
