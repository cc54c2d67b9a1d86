import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { freePort, until } from './prometheus.mjs'

/** A redis-server that can be stopped and started again, without its data. */
export async function startRedis() {
  const port = await freePort()
  let child
  const stop = async () => {
    if (child === undefined) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    child = undefined
    await ended
  }
  const start = async () => {
    child = spawn('redis-server', ['--bind', '127.0.0.1', '--port', `${port}`, '--save', '', '--loglevel', 'warning'])
    await until('redis-server', () => accepts(port))
  }
  process.once('exit', () => child?.kill('SIGKILL'))
  await start()
  return { port, start, stop }
}

function accepts(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.unref()
  })
}
