/*
 * A real PostgreSQL server for the tests: a new database cluster in a temporary folder, on a free loopback port.
 * PostgreSQL refuses to run as root: then it runs as the user that its package creates.
 */
import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from 'node:child_process'
import { chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, type ClientConfig } from 'pg'
import { atExit } from './at-exit.ts'
import { freePort, until } from './ports.ts'
import { programPath } from './programs.ts'

const host = '127.0.0.1'
const user = 'headgate'
/** A user whose password is never right. */
export const lockedUser = 'locked'

export interface PostgresServer {
  readonly port: number
  /** The configuration of a pool or a client. */
  readonly config: ClientConfig
  /**
   * Stops the server at once, as a crash would (`pg_ctl stop -m immediate`), or with SIGINT in order (`-m fast`). `start` starts it again on the
   * same port, with its data.
   */
  stop(signal?: 'SIGQUIT' | 'SIGINT'): Promise<void>
  start(): Promise<void>
  /** Kills every process of the server. `start` starts it again with what was written to its files. */
  kill(): Promise<void>
}

/** The database cluster that the servers of this process copy: to make one takes longer than to start a server. */
let template: string | undefined

function createTemplate(owner: Owner): string {
  const folder = ownFolder(owner)
  const init = ['-D', folder, '-U', user, '--auth=trust', '--no-sync', '--encoding=UTF8', '--locale=C']
  execFileSync(programPath('initdb') as string, init, { ...owner, cwd: folder, stdio: 'ignore' })
  const access = join(folder, 'pg_hba.conf')
  writeFileSync(access, `host all ${lockedUser} all scram-sha-256\n${readFileSync(access)}`)
  return folder
}

/** A temporary folder, which is deleted when the process ends. */
function ownFolder(owner: Owner): string {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-postgres-'))
  if (owner.uid !== undefined && owner.gid !== undefined) chownSync(folder, owner.uid, owner.gid)
  atExit(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/**
 * @param more settings such as `'fsync=on'`
 * @param runner a command that runs the server, such as strace
 */
export async function startPostgres(
  more: readonly string[] = [],
  runner: readonly string[] = [],
): Promise<PostgresServer> {
  const port = await freePort()
  const owner = unprivileged()
  template ??= createTemplate(owner)
  const folder = ownFolder(owner)
  const options: SpawnOptions = { ...owner, cwd: folder, stdio: 'ignore' }
  execFileSync('cp', ['-R', '-p', `${template}/.`, folder], options)
  const config = { host, port, user, database: 'postgres' }
  const settings = [
    ...['fsync=off', 'full_page_writes=off', `listen_addresses=${host}`, `port=${port}`, 'unix_socket_directories='],
    ...['max_connections=120', 'shared_buffers=16MB'],
    ...more,
  ]
  let child: ChildProcess | undefined
  const server: PostgresServer = {
    port,
    config,
    async start() {
      const program = [...runner, programPath('postgres') as string, '-D', folder]
      const args = [...program.slice(1), ...settings.flatMap((setting) => ['-c', setting])]
      child = spawn(program[0] as string, args, options)
      await until('PostgreSQL', async () => (await query(config, 'select')).length === 1)
    },
    async stop(signal = 'SIGQUIT') {
      const ending = child
      child = undefined
      if (ending === undefined || ending.exitCode !== null) return
      const ended = new Promise((resolve) => ending.once('exit', resolve))
      ending.kill(signal)
      await ended
    },
    async kill() {
      const { pid } = child as ChildProcess
      child = undefined
      const others = await query(config, 'select pid from pg_stat_activity where pid <> pg_backend_pid()')
      const pids = [pid, ...others.map((row) => row.pid)] as number[]
      for (const each of pids) process.kill(each, 'SIGKILL')
      await until('the end of PostgreSQL', async () => !pids.some(lives))
    },
  }
  atExit(() => child?.kill('SIGQUIT'))
  await server.start()
  return server
}

interface Owner {
  readonly uid?: number
  readonly gid?: number
}

/** The ids of the user `postgres`, if this process is root. */
function unprivileged(): Owner {
  if (process.getuid?.() !== 0) return {}
  const [uid, gid] = ['-u', '-g'].map((which) => Number(execFileSync('id', [which, 'postgres'], { encoding: 'utf8' })))
  return { uid: uid as number, gid: gid as number }
}

async function query(config: ClientConfig, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client(config)
  client.on('error', () => {})
  await client.connect()
  const { rows } = await client.query(text)
  await client.end()
  return rows
}

/** Whether a process is there, and no zombie. */
function lives(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}
