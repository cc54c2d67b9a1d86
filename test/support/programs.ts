import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** The programs that tests start, and the Debian packages that contain them. */
const programs = {
  'redis-server': 'redis-server',
  memcached: 'memcached',
  postgres: 'postgresql',
  initdb: 'postgresql',
  strace: 'strace',
}

/** Debian keeps the programs of each PostgreSQL version in a separate folder. */
const postgres = '/usr/lib/postgresql'

/**
 * Runs once, before the tests that need a server. As root it installs the programs that are missing. Otherwise it throws
 * an error that says how to install them. No test is skipped.
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

/** The path of a program, of the newest PostgreSQL version; undefined if it is not installed. */
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
