// npm run example:driver
import { phases } from '../../lab/engine/driver-phases.mjs'
import { drive, tenASecond } from './driver.mjs'

const table = Object.entries(tenASecond()).map(([name, policy]) => ({ name, rows: drive(policy) }))
const width = Math.max(...table.map(({ name }) => name.length))

/** @param {string} title @param {(phase: ReturnType<typeof drive>[number]) => number} numberOf */
function print(title, numberOf) {
  const calls = phases.map((phase) => String(phase.calls))
  const wanted = phases.map((phase) => String(phase.wanted))
  console.log(`\n${title}\n`)
  console.log(row('calls', calls))
  console.log(row('wanted, a second', wanted))
  for (const { name, rows } of table) {
    const numbers = rows.map((phase) => numberOf(phase).toFixed(2))
    console.log(row(name, numbers))
  }
}

/** @param {string} name @param {string[]} cells */
function row(name, cells) {
  return [name.padEnd(width), ...cells.map((cell) => cell.padStart(7))].join(' ')
}

console.log('A limit of 10 a second. A refused call is tried again every 10 ms.')
print('Seconds of each phase', ({ seconds }) => seconds)
print('Admitted calls a second', ({ rate }) => rate)
console.log(`
The fifth phase is faster than the limit where a burst was available before it: ten calls at once, then ten a second.
A sliding window admits 9 a second under pressure. After ten calls in the window before, the first call waits until one of
them no longer counts, and the tenth would be due when the window ends. A segmented window admits 10 in 1.1 s, because a
segment counts in full until all of it has left the window.`)
