import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'

const host = '127.0.0.1'

/** PostgreSQL with a new folder. Commits do not wait for the disk. As root it runs as the user `postgres`. */
export async function startPostgres() {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'bench-postgres-'))
  const owner = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {}
  if (owner.uid !== undefined) chownSync(folder, owner.uid, owner.gid)
  /** @type {{ uid?: number, gid?: number, cwd: string, stdio: 'ignore' }} */
  const options = { ...owner, cwd: folder, stdio: 'ignore' }
  const user = 'bench'
  execFileSync(
    postgresProgram('initdb'),
    ['-D', folder, '-U', user, '--auth=trust', '--no-sync', '-E', 'UTF8', '--locale=C'],
    options,
  )
  const settings = ['fsync=off', `listen_addresses=${host}`, `port=${port}`, 'unix_socket_directories=']
  const args = ['-D', folder, ...settings.flatMap((setting) => ['-c', setting])]
  const child = spawn(postgresProgram('postgres'), args, options)
  process.once('exit', () => {
    child.kill('SIGQUIT')
    rmSync(folder, { recursive: true, force: true })
  })
  const config = { host, port, user, database: 'postgres' }
  await until(child, async () => {
    const client = new Client(config)
    client.on('error', () => {})
    await client.connect()
    await client.end()
  })
  return { config, cpu: () => cpuOf(backendsOf(child.pid, user)) }
}

export async function startMemcached() {
  const port = await freePort()
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const child = spawn('memcached', ['-l', host, '-p', `${port}`, '-U', '0', ...user], { stdio: 'ignore' })
  process.once('exit', () => child.kill())
  await until(child, async () => {
    const socket = connect(port, host)
    await once(socket, 'connect').finally(() => socket.destroy())
  })
  return { server: `${host}:${port}`, cpu: () => cpuOf([child.pid]) }
}

function idOf(which) {
  return Number(execFileSync('id', [which, 'postgres'], { encoding: 'utf8' }))
}

/** Debian keeps the programs of each version in a folder of its own. */
function postgresProgram(name) {
  const root = '/usr/lib/postgresql'
  const [newest] = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : []
  return newest === undefined ? name : join(root, newest, 'bin', name)
}

async function freePort() {
  const listener = createServer().listen(0, host)
  await once(listener, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (listener.address())
  listener.close()
  await once(listener, 'close')
  return port
}

/** Tries until the server of that process answers. */
async function until(child, tries) {
  for (let n = 0; n < 500 && child.exitCode === null; n++) {
    const answered = await tries().then(
      () => true,
      () => false,
    )
    if (answered) return
    await sleep(20)
  }
  throw new Error('the server has not started')
}

/** The processes that serve the connections of a user. Others, such as those that vacuum, come and go. */
function backendsOf(pid, user) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
  return children.filter((child) => {
    try {
      return readFileSync(`/proc/${child}/cmdline`, 'utf8').startsWith(`postgres: ${user} `)
    } catch {
      return false
    }
  })
}

/** The CPU time of all threads of these processes, in microseconds. Linux tells it. */
function cpuOf(pids) {
  const times = pids.flatMap((pid) =>
    readdirSync(`/proc/${pid}/task`).map((task) => readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8')),
  )
  return times.reduce((sum, time) => sum + Number(time.split(' ')[0]) / 1000, 0)
}
