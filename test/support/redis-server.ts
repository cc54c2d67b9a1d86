/*
 * Real Redis servers for the tests, on free loopback ports: one server, or a cluster of three masters. They stop with the
 * process of the test.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atExit } from './at-exit.ts'
import { freePort, until } from './ports.ts'

const host = '127.0.0.1'

export interface RedisServer {
  readonly port: number
  readonly pid: number
  /** Sends one command on a new connection and returns the raw reply. */
  command(...words: string[]): Promise<string>
  /** Kills the server. `start` starts it again on the same port, with what an append-only file has kept. */
  stop(): Promise<void>
  start(): Promise<void>
  /** Starts the server without waiting until it is ready. */
  launch(...options: string[]): void
}

export function startRedis(...options: string[]): Promise<RedisServer> {
  return startRedisUnder([], options)
}

/** @param runner a command that runs the server, such as strace; none to start it as it is */
export async function startRedisUnder(runner: readonly string[], options: readonly string[]): Promise<RedisServer> {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'headgate-redis-'))
  let child: ChildProcess | undefined
  const server: RedisServer = {
    port,
    get pid() {
      return child?.pid as number
    },
    command: (...words) => command(port, words),
    launch(...more) {
      const quiet = ['--bind', host, '--port', `${port}`, '--dir', folder, '--save', '', '--appendonly', 'no']
      const words = [...runner, 'redis-server', ...quiet, '--loglevel', 'warning', ...options, ...more]
      child = spawn(words[0] as string, words.slice(1), { stdio: 'ignore' })
    },
    async start() {
      server.launch()
      await until('redis-server', async () => (await command(port, ['PING'])).startsWith('+PONG'))
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
  atExit(() => {
    child?.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  await server.start()
  return server
}

export interface RedisCluster {
  readonly nodes: readonly RedisServer[]
  stop(): Promise<void>
}

/** Three masters without replicas, each with a third of the slots. */
export async function startCluster(): Promise<RedisCluster> {
  const options = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000', '--cluster-announce-ip', host]
  const nodes = await Promise.all([1, 2, 3].map(() => startRedis(...options)))
  const [first, ...others] = nodes as [RedisServer, ...RedisServer[]]
  const bounds = [0, 5461, 10923, 16384]
  for (const [n, node] of nodes.entries()) {
    await node.command('CLUSTER', 'ADDSLOTSRANGE', `${bounds[n]}`, `${(bounds[n + 1] as number) - 1}`)
    await node.command('CLUSTER', 'SET-CONFIG-EPOCH', `${n + 1}`)
  }
  for (const node of others) await first.command('CLUSTER', 'MEET', host, `${node.port}`)
  for (const node of nodes) {
    await until('redis-server', async () => {
      const info = await node.command('CLUSTER', 'INFO')
      return info.includes('cluster_state:ok') && info.includes('cluster_known_nodes:3')
    })
  }
  return {
    nodes,
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()))
    },
  }
}

function command(port: number, words: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(port, host)
    const lines = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`)
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('the server closed the connection'))) // as a sentinel makes it do at a failover
    socket.once('data', (reply) => {
      resolve(reply.toString('latin1'))
      socket.destroy()
    })
    socket.write(`*${words.length}\r\n${lines.join('')}`)
  })
}
