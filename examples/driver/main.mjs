// npm run example:driver
import { drive, phases, tenASecond } from './driver.mjs'

const table = Object.entries(tenASecond()).map(([name, policy]) => ({ name, rows: drive(policy) }))
const width = Math.max(...table.map(({ name }) => name.length))

/** @param {string} title @param {(row: ReturnType<typeof drive>[number]) => number} pick */
function print(title, pick) {
  console.log(`\n${title}\n`)
  console.log(
    line(
      'calls',
      phases.map(({ calls }) => String(calls)),
    ),
  )
  console.log(
    line(
      'asked, a second',
      phases.map(({ asked }) => String(asked)),
    ),
  )
  for (const { name, rows } of table)
    console.log(
      line(
        name,
        rows.map((row) => pick(row).toFixed(2)),
      ),
    )
}

/** @param {string} name @param {string[]} cells */
function line(name, cells) {
  return [name.padEnd(width), ...cells.map((cell) => cell.padStart(7))].join(' ')
}

console.log('A limit of 10 a second; a refused call tries again every 10 ms.')
print('Seconds that each phase took', ({ seconds }) => seconds)
print('The rate that came out, calls a second', ({ rate }) => rate)
console.log(`
The fifth phase is faster than the limit where a burst was saved up before it: ten calls at once, then ten a second.
A sliding window gives 9 a second under pressure: with ten calls in the window before, the first of this one has to wait
until one of them has faded, and the tenth would be due when the window ends. A segmented window gives 10 in 1.1 s, as a
segment counts in full until all of it has left.`)
