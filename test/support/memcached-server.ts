import { type ChildProcess, spawn } from 'node:child_process'
import { connect } from 'node:net'
import { atExit } from './at-exit.ts'
import { freePort, until } from './ports.ts'
import { programPath } from './programs.ts'

const host = '127.0.0.1'

export interface MemcachedServer {
  readonly port: number
  readonly pid: number
  /** Stops the server. `start` starts it again on the same port, without any data. */
  stop(): Promise<void>
  start(): Promise<void>
}

/** A real memcached on a free loopback port. */
export async function startMemcached(...options: string[]): Promise<MemcachedServer> {
  const port = await freePort()
  let child: ChildProcess | undefined
  const server: MemcachedServer = {
    port,
    get pid() {
      return child?.pid as number
    },
    async start() {
      const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
      const args = ['-l', host, '-p', `${port}`, '-U', '0', ...user, ...options]
      child = spawn(programPath('memcached') as string, args, { stdio: 'ignore' })
      await until('memcached', () => isReady(port))
    },
    async stop() {
      const ending = child
      child = undefined
      if (ending === undefined || ending.exitCode !== null) return
      const ended = new Promise((resolve) => ending.once('exit', resolve))
      ending.kill('SIGKILL')
      await ended
    },
  }
  atExit(() => child?.kill('SIGKILL'))
  await server.start()
  return server
}

function isReady(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, host)
    socket.once('error', reject)
    socket.once('data', () => {
      socket.destroy()
      resolve(true)
    })
    socket.write('version\r\n')
  })
}
