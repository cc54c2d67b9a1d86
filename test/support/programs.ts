import { execFileSync } from 'node:child_process'

/** The servers that tests start, and the packages of Debian that have them. */
const programs = { 'redis-server': 'redis-server' }

/**
 * Runs once, before all tests: installs the servers that are missing, where it may, or says how to. Nothing is skipped,
 * and no two test files install at the same time.
 */
export default function setup(): void {
  const missing = Object.entries(programs).filter(([program]) => !installed(program))
  if (missing.length === 0) return
  const packages = missing.map(([, name]) => name).join(' ')
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

function installed(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
