import { setTimeout as sleep } from 'node:timers/promises'
import { cut, printable, printableJson } from '../report/columns.mjs'
import { count, time } from '../report/format.mjs'
import { keyTable } from '../report/store.mjs'
import { tableText } from '../report/text.mjs'
import { rowOf, Top } from './rank.mjs'

const bars = '▁▂▃▄▅▆▇█'
const width = 40

/** The last numbers as bars, scaled from 0 to the largest of them. */
function sparkline(values) {
  const most = Math.max(1, ...values)
  return values.map((value) => bars[Math.round((value / most) * (bars.length - 1))]).join('')
}

/**
 * Looks at all keys once in each interval, and shows the frame: in place on a terminal, else one after the other. Ends
 * after `frames` frames, or by q, Ctrl-C or a signal.
 */
export async function watch({ server, inspector }, { filter, interval, frames, most, order, json }) {
  const ending = new AbortController()
  const end = () => ending.abort()
  const inPlace = process.stdout.isTTY === true && !json
  const release = inPlace ? takeTerminal(end) : () => {}
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, end)
  process.stdout.once('error', end) // the reader of a pipe is gone
  const series = { keys: [], refused: [] }
  try {
    for (let n = 0; n < frames && !ending.signal.aborted; n++) {
      if (n > 0) await sleep(interval, undefined, { signal: ending.signal }).catch(() => {})
      if (ending.signal.aborted) break
      const frame = await look(inspector, filter, most, order)
      for (const name of ['keys', 'refused']) series[name] = [...series[name], frame[name]].slice(-width)
      if (json) console.log(printableJson(frame))
      else
        process.stdout.write(`${inPlace ? home : ''}${textOf(server, frame, series, inPlace)}\n${inPlace ? below : ''}`)
    }
  } finally {
    release()
    for (const signal of ['SIGINT', 'SIGTERM']) process.removeListener(signal, end)
  }
}

/** ANSI codes: open a second screen without a cursor, close it, go to the upper left corner, clear below the cursor. */
const [enter, leave, home, below] = ['\u001b[?1049h\u001b[?25l', '\u001b[?25h\u001b[?1049l', '\u001b[H', '\u001b[J']

/** q, Ctrl-C and Ctrl-D: in raw mode they come as characters. */
const endKeys = ['q', 'Q', '\u0003', '\u0004']

/** Sets up the terminal. Returns a function that restores it. */
function takeTerminal(end) {
  const keys = (pressed) => {
    if ([...String(pressed)].some((key) => endKeys.includes(key))) end()
  }
  const raw = process.stdin.isTTY === true
  process.stdout.write(enter)
  if (raw) process.stdin.setRawMode(true).resume().on('data', keys)
  return () => {
    if (raw) process.stdin.off('data', keys).setRawMode(false).pause()
    process.stdout.write(leave)
  }
}

async function look(inspector, filter, most, order) {
  const top = new Top(most, order)
  const frame = { at: Date.now(), keys: 0, refused: 0, rows: top.rows }
  for await (const stored of inspector.list(filter)) {
    const row = rowOf(stored)
    frame.keys++
    if (row.refused) frame.refused++
    top.add(row)
  }
  return frame
}

function textOf(server, { at, keys, refused, rows }, series, inPlace) {
  const { columns, rows: height } = process.stdout // 0 on a terminal without a size
  const width = inPlace ? columns || 80 : Infinity
  const line = (name, value) => `${name.padEnd(8)} ${count(value).padStart(9)}  ${sparkline(series[name])}`
  const lines = [
    `${printable(server)}  ${time(at)} UTC${inPlace ? '  (q to quit)' : ''}`,
    line('keys', keys),
    line('refused', refused),
    '',
    ...(rows.length === 0 ? ['  No keys.'] : tableText(keyTable(rows), width).split('\n')),
  ]
  if (!inPlace) return lines.join('\n')
  const clear = '\u001b[K'
  return lines
    .slice(0, (height || 24) - 1)
    .map((text) => cut(text, width) + clear)
    .join('\n')
}
