import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** A redis-server of its own on a free loopback port, which stops with this process. */
export async function startServer() {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (listener.address())
  listener.close()
  const options = ['--bind', '127.0.0.1', '--port', `${port}`, '--save', '', '--appendonly', 'no']
  const child = spawn('redis-server', options, { stdio: 'ignore' })
  child.once('error', () => {
    console.error('redis-server is missing. Run: apt-get install redis-server')
    process.exit(1)
  })
  process.once('exit', () => child.kill())
  for (let tries = 0; tries < 200 && !(await answers(port)); tries++) await sleep(20)
  return { port, pid: child.pid, stop: () => child.kill() }
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
