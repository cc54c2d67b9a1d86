import { Session } from 'node:inspector/promises'
import { addresses } from '../lib/keys.mjs'
import { defineSuite } from '../lib/suite.mjs'
import { headgate, through } from '../targets/express.mjs'
import { ours } from '../targets/memory.mjs'

const open = 1_000_000_000
/** Functions with less than this share of the time are shown together. */
const least = 0.015

/** The nanoseconds that each function takes by itself, for each call. The sampling profiler sees through inlining. */
async function profiled(loop, calls) {
  for (let warm = 0; warm < 5; warm++) await loop(calls)
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: 100 })
  await session.post('Profiler.start')
  const cpu = process.cpuUsage()
  await loop(calls)
  const { user, system } = process.cpuUsage(cpu)
  const { profile } = await session.post('Profiler.stop')
  session.disconnect()
  const ns = ((user + system) * 1000) / calls
  const samples = new Map(profile.nodes.map(({ id, callFrame }) => [id, { name: nameOf(callFrame), hits: 0 }]))
  for (const id of profile.samples ?? []) samples.get(id).hits++
  const shares = new Map()
  for (const { name, hits: own } of samples.values()) shares.set(name, (shares.get(name) ?? 0) + own)
  shares.delete('(idle)')
  const total = [...shares.values()].reduce((sum, each) => sum + each, 0)
  const shown = {}
  for (const [name, own] of [...shares].toSorted((a, b) => b[1] - a[1])) {
    const row = own / total < least ? 'everything else' : name
    shown[row] = (shown[row] ?? 0) + (own / total) * ns
  }
  return { ...shown, 'in all': ns }
}

function nameOf({ functionName, url }) {
  const file = url.split('/dist/')[1] ?? (url.startsWith('node:') ? url : undefined)
  if (file !== undefined) return `${functionName || 'a function'}, ${file}`
  return functionName.startsWith('(') || url === '' ? functionName : 'the loop that measures'
}

export default defineSuite({
  name: 'profile',
  title: 'Where the nanoseconds go',
  rounds: 1,
  workloads: [
    { name: 'a decision on one hot key, CPU ns', byName: true, columns: [] },
    { name: 'an Express request from an IPv4 address, CPU ns', byName: true, columns: [] },
  ],
  cases: [
    ...['headgate slidingWindow', 'headgate tokenBucket'].map((target) => ({
      workload: 'a decision on one hot key, CPU ns',
      target,
      kind: 'headgate',
      measure: () => profiled(ours[target](['203.0.113.7'], { limit: open, keys: 1 }), 5_000_000),
    })),
    {
      workload: 'an Express request from an IPv4 address, CPU ns',
      target: 'headgate/express',
      kind: 'headgate',
      measure: () => profiled(through(addresses(1024), headgate(open, 'legacy')), 400_000),
    },
  ],
})
