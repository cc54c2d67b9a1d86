/*
 * npm run bench: what a decision costs, beside floors measured in the same run.
 *
 * Each target runs in processes of its own, so that none meets code which another has warmed up or slowed down, and the
 * processes of all targets take turns, so that a busy moment of the machine does not fall on one target alone. What is
 * printed is the median of their medians.
 */
import { execFileSync } from 'node:child_process'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { bareRequest, expressTargets } from './express.mjs'
import { decisions, floors, holders } from './targets.mjs'

const turns = 3
const clock = 'performance.now()'
const lru = 'lru-cache get + set, 1,000,000 keys, Zipf'

/** The promises: a ratio to a floor, or bytes a key. */
const aims = [
  { target: 'one key, slidingWindow', floor: clock, most: 2.5 },
  { target: 'one key, tokenBucket', floor: clock, most: 2.5 },
  { target: '1,000,000 keys, Zipf, slidingWindow', floor: lru, most: 1.3 },
  { target: '1,000,000 keys, Zipf, tokenBucket', floor: lru, most: 1.3 },
]
const mostBytes = 125
/** What the middleware may add to a request, in nanoseconds. */
const mostAdded = 1000

function measure(what, target) {
  const program = fileURLToPath(new URL('measure.mjs', import.meta.url))
  return Number(execFileSync(process.execPath, ['--expose-gc', program, what, target], { encoding: 'utf8' }))
}

/** Only those targets whose name holds all the words of the command line, and the floors. */
function wanted(targets) {
  return Object.keys(targets).filter((target) => process.argv.slice(2).every((word) => target.includes(word)))
}

function medians(targets) {
  const all = new Map(targets.map((target) => [target, []]))
  for (let turn = 0; turn < turns; turn++) {
    for (const [target, numbers] of all) numbers.push(measure('ns', target))
  }
  return new Map(Array.from(all, ([target, numbers]) => [target, numbers.sort((a, b) => a - b)[turns >> 1]]))
}

function line(name, ...cells) {
  console.log([name.padEnd(44), ...cells.map((cell) => cell.padStart(10))].join(' '))
}

const ns = medians([...Object.keys(floors), ...wanted(decisions), bareRequest, ...wanted(expressTargets)])
const times = (target, floor) => `${((ns.get(target) ?? 0) / (ns.get(floor) ?? 0)).toFixed(2)} x`

console.log(`node ${process.version}, ${cpus()[0]?.model}\n`)
line('floors', 'ns')
for (const target of Object.keys(floors)) line(target, (ns.get(target) ?? 0).toFixed(1))
console.log()
line('consumeSync, the full decision', 'ns', 'to clock', 'to lru')
for (const target of wanted(decisions)) {
  const keys = target.startsWith('one key') ? 'one key' : target.replace(/, \w+$/, '')
  line(target, (ns.get(target) ?? 0).toFixed(1), times(target, clock), times(target, `lru-cache get + set, ${keys}`))
}
console.log()
line('an Express request', 'ns', 'added')
for (const target of new Set([bareRequest, ...wanted(expressTargets)])) {
  const cost = ns.get(target) ?? 0
  line(target, cost.toFixed(0), `+ ${(cost - (ns.get(bareRequest) ?? 0)).toFixed(0)}`)
}
console.log()
line('a million IPv4 keys in memory', 'bytes/key')
for (const target of wanted(holders)) line(target, measure('bytes', target).toFixed(1))

console.log()
for (const { target, floor, most } of aims.filter(({ target }) => ns.has(target))) {
  console.log(`${target}: ${times(target, floor)} ${floor}, aim at most ${most} x`)
}
console.log(`an Express request: aim at most + ${mostAdded} ns`)
console.log(`bytes a key: aim at most ${mostBytes}`)
