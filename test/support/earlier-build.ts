/* Earlier versions of this package (test/releases.json), built from git into temporary folders. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { atExit } from './at-exit.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The commits of earlier versions, with what each of them is. */
export const releases: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(new URL('../releases.json', import.meta.url), 'utf8'),
)

/** Builds a commit. Returns a function that imports one of its entry points, such as `'redis'`. */
export function earlierBuild(commit: string): (entry: string) => Promise<object> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-earlier-'))
  atExit(() => rmSync(folder, { recursive: true, force: true }))
  execFileSync('tar', ['-x', '-C', folder], { input: archiveOf(commit) })
  const packages = join(root, 'node_modules')
  symlinkSync(packages, join(folder, 'node_modules'))
  execFileSync(process.execPath, [join(packages, 'rolldown/bin/cli.mjs'), '-c'], { cwd: folder, stdio: 'pipe' })
  return (entry) => import(pathToFileURL(join(folder, 'dist', `${entry}.js`)).href)
}

function archiveOf(commit: string): Buffer {
  try {
    return execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 2 ** 30, stdio: 'pipe' })
  } catch (cause) {
    const fix = `A shallow clone lacks it. Run: git fetch origin ${commit}`
    throw new Error(`The commit ${commit} of test/releases.json is not in this clone. ${fix}`, { cause })
  }
}
