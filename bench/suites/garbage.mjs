import { Session } from 'node:inspector/promises'
import { addresses } from '../lib/keys.mjs'
import { defineSuite } from '../lib/suite.mjs'
import { floors, ours, peers } from '../targets/memory.mjs'

const limits = { admitted: 1_000_000_000, refused: 5 }
const keys = 1024
const calls = 2 ** 16
/** A young generation that holds everything allocated during the count, so nothing is collected meanwhile. */
const flags = ['--max-semi-space-size=256', '--min-semi-space-size=256']

/** Calls every key until the code is compiled and a small limit is reached. */
async function warmed(make, limit) {
  const loop = make(addresses(keys), { limit, keys })
  for (let warm = 0; warm < 12; warm++) await loop(calls)
  gc()
  return loop
}

/** Bytes that a decision leaves to the collector. */
async function litter(make, limit) {
  const loop = await warmed(make, limit)
  const before = process.memoryUsage().heapUsed
  const admitted = await loop(calls)
  const bytes = (process.memoryUsage().heapUsed - before) / calls
  if (admitted !== (limit > calls ? calls : 0)) throw new Error(`admitted ${admitted} of ${calls}`)
  return { bytes }
}

const sampled = 4096

/** The bytes and objects that each function allocates for a decision. Every allocation is a sample. */
async function named(make, limit) {
  const loop = await warmed(make, limit)
  const session = new Session()
  session.connect()
  await session.post('HeapProfiler.startSampling', {
    samplingInterval: 1,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  })
  await loop(sampled)
  /** @type {any} The types know neither ids nor samples. */
  const { profile } = await session.post('HeapProfiler.stopSampling')
  session.disconnect()
  const names = new Map()
  const visit = ({ id, callFrame: { functionName, url }, children }) => {
    names.set(id, nameOf(functionName, url))
    for (const child of children) visit(child)
  }
  visit(profile.head)
  const counted = {}
  for (const { nodeId, size } of profile.samples) {
    const name = names.get(nodeId)
    counted[`${name}: objects`] = (counted[`${name}: objects`] ?? 0) + 1 / sampled
    counted[`${name}: bytes`] = (counted[`${name}: bytes`] ?? 0) + size / sampled
  }
  return Object.fromEntries(Object.entries(counted).filter(([name]) => counted[name.replace(/\w+$/, 'bytes')] >= 1))
}

function nameOf(functionName, url) {
  const file = url.split('/dist/')[1] ?? (url.startsWith('node:') ? url : undefined)
  return file === undefined ? 'the loop that measures' : `${functionName}, ${file}`
}

function cases(doing, kind, makers) {
  return Object.entries(makers).map(([target, make]) => ({
    workload: `bytes of a decision that is ${doing}`,
    target,
    kind,
    flags,
    measure: () => litter(make, limits[doing]),
  }))
}

const table = {
  metric: 'bytes',
  columns: [{ metric: 'bytes', label: 'bytes a decision' }],
  ratio: { to: 'headgate slidingWindow', label: 'to headgate' },
}

export default defineSuite({
  name: 'garbage',
  title: 'What a decision leaves to the garbage collector',
  // Inlining differs from process to process, so this shows one process and not a median.
  rounds: 1,
  workloads: [
    { ...table, name: 'bytes of a decision that is admitted' },
    { ...table, name: 'bytes of a decision that is refused' },
    { name: 'where it is allocated', byName: true, parts: ['bytes', 'objects'], columns: [] },
  ],
  cases: [
    ...Object.keys(limits).flatMap((doing) => [
      ...(doing === 'admitted' ? cases(doing, 'floor', floors) : []),
      ...cases(doing, 'headgate', ours),
      ...cases(doing, 'peer', peers),
    ]),
    ...Object.entries(limits).flatMap(([doing, limit]) =>
      ['headgate slidingWindow', 'headgate tokenBucket'].map((target) => ({
        workload: 'where it is allocated',
        target: `${target}, ${doing}`,
        kind: 'headgate',
        flags,
        measure: () => named(ours[target], limit),
      })),
    ),
  ],
})
