import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const running = new Set()
process.once('exit', () => {
  for (const child of running) child.kill()
})

/** Starts a redis-server on a loopback port, by default a free one. It stops with this process. */
export async function startServer(at) {
  const port = at ?? (await freePort())
  const options = ['--bind', '127.0.0.1', '--port', `${port}`, '--save', '', '--appendonly', 'no']
  const child = spawn('redis-server', options, { stdio: 'ignore' })
  child.once('error', () => {
    console.error('redis-server is missing. Run: apt-get install redis-server')
    process.exit(1)
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  for (let tries = 0; tries < 200 && child.exitCode === null && !(await answers(port)); tries++) await sleep(20)
  if (child.exitCode !== null) throw new Error(`redis-server has ended. Is port ${port} taken?`)
  const ended = once(child, 'exit')
  const kill = async () => {
    child.kill('SIGKILL')
    await ended
  }
  return { port, pid: child.pid, stop: () => child.kill(), kill }
}

/**
 * A port outside the range that the system gives to clients. A client that reconnects while the server is down could
 * otherwise get the server's own port, connect to itself, and block the server.
 */
async function freePort() {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000)
    const listener = createServer()
    const free = await new Promise((resolve) => {
      listener.once('error', () => resolve(false))
      listener.listen(port, '127.0.0.1', () => listener.close(() => resolve(true)))
    })
    if (free) return port
  }
}

function answers(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
