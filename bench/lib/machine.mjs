import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os'

const bench = new URL('../', import.meta.url)

/** The machine, on which the figures depend. */
export function machine() {
  return {
    cpu: cpus()[0]?.model.trim(),
    cores: availableParallelism(),
    memory: `${Math.round(totalmem() / 2 ** 30)} GB`,
    system: `${process.platform} ${release()}`,
    node: process.version,
    v8: process.versions.v8,
    load: loadavg().map((each) => Number(each.toFixed(2))),
  }
}

/** headgate's version and the exact versions of the peers. */
export function versions() {
  const read = (path) => JSON.parse(readFileSync(new URL(path, bench), 'utf8'))
  return { ...read('package.json').dependencies, headgate: read('../package.json').version }
}

export function redisVersion() {
  return /v=([\d.]+)/.exec(execFileSync('redis-server', ['--version'], { encoding: 'utf8' }))?.[1]
}
