import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const install = 'apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends prometheus'

/** Installs Debian's package if it is missing and this is root. Otherwise throws an error that says how. */
export function requirePrometheus() {
  if (works()) return
  const failure = `Prometheus is missing. Run: ${install}`
  if (process.getuid?.() !== 0) throw new Error(failure)
  console.log(`Installing Prometheus: ${install}`)
  if (spawnSync('sh', ['-c', install], { stdio: 'ignore' }).status !== 0 || !works()) throw new Error(failure)
}

function works() {
  return ['prometheus', 'promtool'].every((program) => spawnSync(program, ['--version']).status === 0)
}

/**
 * Listens on any free port, and resolves to it.
 * @param {import('node:http').Server | import('node:net').Server} server
 */
export async function listen(server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return /** @type {import('node:net').AddressInfo} */ (server.address()).port
}

export async function freePort() {
  const server = createServer()
  const port = await listen(server)
  await new Promise((closed) => server.close(closed))
  return port
}

/** Starts Prometheus, which scrapes the app's metrics every second. */
export async function startPrometheus({ metricsPort, rules }) {
  const port = await freePort()
  const home = mkdtempSync(join(tmpdir(), 'headgate-prometheus-'))
  writeFileSync(join(home, 'alerts.yml'), rules)
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [join(home, 'alerts.yml')],
    scrape_configs: [{ job_name: 'app', static_configs: [{ targets: [`127.0.0.1:${metricsPort}`] }] }],
  }
  writeFileSync(join(home, 'prometheus.yml'), JSON.stringify(config))
  const child = spawn('prometheus', [
    `--config.file=${join(home, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(home, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=error',
  ])
  const url = `http://127.0.0.1:${port}`
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const ask = async (path, parameters = {}) => {
    const response = await fetch(`${url}/api/v1/${path}?${new URLSearchParams(parameters)}`)
    const { status, data, error } = /** @type {any} */ (await response.json())
    if (status !== 'success') throw new Error(`${parameters.query ?? path}: ${error}`)
    return data
  }
  await until('Prometheus', async () => (await fetch(`${url}/-/ready`)).ok)
  return {
    url,
    query: async (query) => (await ask('query', { query })).result,
    range: async (query, start, end, step) => (await ask('query_range', { query, start, end, step })).result,
    /** The names of the alerts that fire now. */
    firing: async () => {
      const { alerts } = await ask('alerts')
      return [...new Set(alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname))].sort()
    },
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      kill()
      await ended
      process.off('exit', kill)
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** Waits until `met` resolves to true. */
export async function until(what, met, seconds = 60) {
  const end = Date.now() + 1000 * seconds
  for (let problem; ; await sleep(100)) {
    try {
      if (await met()) return
    } catch (error) {
      problem = error
    }
    if (Date.now() > end) throw new Error(`${what} took more than ${seconds} s`, { cause: problem })
  }
}
