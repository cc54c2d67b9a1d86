/* A worker of workerd, the runtime of Cloudflare Workers. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundle } from './bundle.mjs'
import { binary } from './command.mjs'

/** The work is done in a handler: a worker may use randomness and timers there only. */
const worker = `import { handler } from './fetch-handler.mjs'
import { outcome } from './outcome.mjs'
export default {
  fetch: handler,
  async test(_controller, { self }) {
    console.log('outcome ' + JSON.stringify(await outcome((url, init) => self.fetch(url, init))))
  },
}
`

const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [(name = "main", worker = .worker)]);
const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  bindings = [(name = "self", service = "main")],
  compatibilityDate = "2026-01-01",
);
`

export async function workerd(consumer) {
  writeFileSync(join(consumer, 'worker.mjs'), worker)
  writeFileSync(
    join(consumer, 'worker.js'),
    await bundle(consumer, 'worker.mjs', 'es', ['workerd', 'worker', 'browser']),
  )
  writeFileSync(join(consumer, 'worker.capnp'), config)
  const program = binary('@cloudflare', 'workerd-', 'bin/workerd')
  const printed = execFileSync(program, ['test', 'worker.capnp'], { cwd: consumer, encoding: 'utf8', timeout: 120_000 })
  return JSON.parse(/^outcome (.*)$/m.exec(printed)[1])
}
