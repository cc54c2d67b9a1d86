import { Redis } from 'ioredis'
import { createClient } from 'redis'

/** A client, `ioredis` or `redis`, and its simplest commands behind one interface. */
export async function connect(name, port) {
  return name === 'redis' ? nodeRedis(port) : ioredis(port)
}

async function nodeRedis(port) {
  const client = await createClient({ socket: { port, host: '127.0.0.1' } }).connect()
  return {
    client,
    packaged: true,
    send: (command) => client.sendCommand(command),
    incr: (key) => client.incr(key),
    load: (script) => client.scriptLoad(script),
    evalSha: (sha, keys, args) => client.evalSha(sha, { keys, arguments: args }),
    info: (section) => client.info(section),
    close: () => client.destroy(),
  }
}

async function ioredis(port) {
  const client = new Redis(port, '127.0.0.1')
  return {
    client,
    packaged: false,
    send: ([command, ...args]) => client.call(command, ...args),
    incr: (key) => client.incr(key),
    load: (script) => client.script('LOAD', script),
    evalSha: (sha, keys, args) => client.evalsha(sha, keys.length, ...keys, ...args),
    info: (section) => client.info(section),
    close: () => client.disconnect(),
  }
}

/** CPU microseconds of the server so far, as it reports them. */
export async function serverCpu(bare) {
  const text = String(await bare.info('cpu'))
  const field = (name) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(text)?.[1])
  return (field('used_cpu_user') + field('used_cpu_sys')) * 1e6
}
