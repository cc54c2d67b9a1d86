/*
 * The steps of a release that need no account: `npm run check:release`, after a build. It packs the tarball, checks that no install
 * script runs at a user's, lists what the tarball brings along (an SBOM), and publishes as a dry run. What it makes is in .github/release/out.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')
const out = join(import.meta.dirname, 'out')
const installScripts = ['preinstall', 'install', 'postinstall', 'prepare']

const npmIn = (cwd, ...args) =>
  execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 2 ** 26 })
const npm = (...args) => npmIn(root, ...args)
const json = (file) => JSON.parse(readFileSync(join(root, file), 'utf8'))

function must(holds, message) {
  if (!holds) throw new Error(message)
}

const manifest = json('package.json')
/** What users install: the packages of the lock file that are neither for development nor peers. */
const installed = Object.entries(json('package-lock.json').packages).filter(
  ([path, { dev, peer, devOptional }]) => path !== '' && !dev && !peer && !devOptional,
)

rmSync(out, { recursive: true, force: true })
mkdirSync(out)

const [packed] = JSON.parse(npm('pack', '--json', '--ignore-scripts', '--pack-destination', out))
const tarball = join(out, packed.filename)
console.log(
  `packed ${packed.filename}: ${packed.size} bytes, ${packed.unpackedSize} unpacked, ${packed.files.length} files`,
)

const own = installScripts.filter((name) => name in manifest.scripts)
const theirs = installed.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path)
must(own.length + theirs.length === 0, `Install scripts would run at a user's: ${[...own, ...theirs].join(', ')}`)
console.log(`no install scripts, also in the ${installed.length} packages that come along`)

// `npm sbom --omit dev` leaves out what packages for development need too. So the list is made where there are none.
const alone = join(out, 'alone')
mkdirSync(alone)
const { devDependencies, peerDependencies, peerDependenciesMeta, overrides, ...published } = manifest
writeFileSync(join(alone, 'package.json'), JSON.stringify(published))
copyFileSync(join(root, 'package-lock.json'), join(alone, 'package-lock.json'))
npmIn(alone, 'install', '--package-lock-only', '--prefer-offline', '--no-audit', '--no-fund')
const sbom = JSON.parse(npmIn(alone, 'sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'))
rmSync(alone, { recursive: true })
const listed = sbom.components.map(({ name, version }) => `${name}@${version}`).sort()
const expected = installed.map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`).sort()
must(listed.join() === expected.join(), `The SBOM lists ${listed.join()}, and the lock file ${expected.join()}`)
writeFileSync(join(out, `${manifest.name}-${manifest.version}.cdx.json`), `${JSON.stringify(sbom, null, 2)}\n`)
console.log(`SBOM: ${listed.join(', ')}`)

must(manifest.publishConfig?.provenance === true, 'package.json has to have publishConfig.provenance')
npm('publish', tarball, '--dry-run', '--loglevel=error')
console.log('dry publish passed')
