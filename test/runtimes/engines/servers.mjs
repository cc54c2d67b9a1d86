/* The server of each runtime, with the application of `hostile/app.mjs`. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { bundle } from './bundle.mjs'
import { binary, denoFlags } from './command.mjs'

const workerConfig = (port) => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .worker)],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "hostile.js")],
  compatibilityDate = "2026-01-01",
  compatibilityFlags = ["nodejs_compat"],
);
`

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

/** Starts a program, whose errors are part of the attack and are not shown. */
function start(program, args, cwd) {
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'ignore'] })
  const close = async () => {
    if (child.exitCode === null) await Promise.all([once(child, 'exit'), child.kill('SIGKILL')])
  }
  return { child, close }
}

async function printed(program, args, consumer) {
  writeFileSync(join(consumer, 'hostile.mjs'), `import { serve } from './app.mjs'\nserve()\n`)
  const { child, close } = start(program, args, consumer)
  let text = ''
  for await (const data of child.stdout) {
    text += data
    const port = /^port (\d+)$/m.exec(text)?.[1]
    if (port !== undefined) {
      child.stdout.resume()
      return { port: Number(port), close }
    }
  }
  throw new Error(`The server has not started: ${text}`)
}

async function worker(consumer) {
  const port = await freePort()
  writeFileSync(
    join(consumer, 'hostile-worker.mjs'),
    `import { handler } from './app.mjs'\nexport default { fetch: handler }\n`,
  )
  writeFileSync(join(consumer, 'hostile.js'), await bundle(consumer, 'hostile-worker.mjs', 'es', ['workerd', 'node']))
  writeFileSync(join(consumer, 'hostile.capnp'), workerConfig(port))
  const { child, close } = start(binary('@cloudflare', 'workerd-', 'bin/workerd'), ['serve', 'hostile.capnp'], consumer)
  child.stdout.resume()
  for (let tries = 0; tries < 200 && child.exitCode === null; tries++) {
    const ready = await fetch(`http://127.0.0.1:${port}/broken/false`).catch(() => undefined)
    if (ready?.ok) return { port, close }
    await sleep(50)
  }
  await close()
  throw new Error('workerd has not started')
}

export const servers = {
  bun: (consumer) => printed(binary('@oven', 'bun-', 'bin/bun'), ['run', 'hostile.mjs'], consumer),
  deno: (consumer) => printed(binary('@deno', '', 'deno'), [...denoFlags, 'hostile.mjs'], consumer),
  workerd: worker,
}
