import { setTimeout as sleep } from 'node:timers/promises'
import { cut, printable, printableJson } from '../report/columns.mjs'
import { count, time } from '../report/format.mjs'
import { keyTable } from '../report/store.mjs'
import { tableText } from '../report/text.mjs'
import { KeyView } from './key-view.mjs'
import { orders, rowOf, Top } from './rank.mjs'
import { Screen } from './screen.mjs'

const bars = '▁▂▃▄▅▆▇█'
const width = 40
/** A screen can be scrolled through this many keys. */
const rowsOfScreen = 200
/** How often a screen shows how far a look has come, in milliseconds. */
const redraw = 250

/** The last numbers as bars, scaled from 0 to the largest of them. */
function sparkline(values) {
  const most = Math.max(1, ...values)
  return values.map((value) => bars[Math.round((value / most) * (bars.length - 1))]).join('')
}

/**
 * Looks at all keys once in each interval, and shows the frame: in place on a terminal, where keys sort, filter, ban, unban and explain,
 * else one after the other. Ends after `frames` frames, or by q, Ctrl-C or a signal.
 */
export async function watch(store, settings) {
  const ending = new AbortController()
  const end = () => ending.abort()
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, end)
  process.stdout.once('error', end) // the reader of a pipe is gone
  try {
    if (process.stdout.isTTY === true && !settings.json) await watchInPlace(store, settings, ending)
    else await printFrames(store, settings, ending.signal)
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM']) process.removeListener(signal, end)
  }
}

async function printFrames(store, settings, signal) {
  const series = newSeries()
  for await (const frame of framesOf(store, settings, signal, {
    order: settings.order,
    shows: settings.refused ? (row) => row.refused : undefined,
  })) {
    remember(series, frame)
    const text = settings.json
      ? printableJson(frame)
      : [...headOf(store.server, frame, series), '', ...rowsOf(frame)].join('\n')
    process.stdout.write(`${text}\n`)
  }
}

function rowsOf({ rows }) {
  return rows.length === 0 ? ['  No keys.'] : tableText(keyTable(rows), Infinity).split('\n')
}

async function watchInPlace(store, settings, ending) {
  const series = newSeries()
  const view = new KeyView(store, settings, orders)
  let wake = (_value) => {}
  const screen = new Screen((key) => {
    const next = view.press(key)
    if (next === 'quit') ending.abort()
    if (next === undefined) draw()
    else wake(undefined)
  })
  let frame
  const draw = () => {
    if (frame === undefined || ending.signal.aborted) return
    const { columns } = screen.size
    const head = [
      `${printable(store.server)}  ${time(frame.at)} UTC${frame.looking ? `  looking: ${count(frame.keys)} keys` : ''}`,
    ]
    const { lines, marked } = view.linesOf(frame, columns, screen.size.rows - 6)
    const all = [...head, ...(frame.looking ? [] : headOf(store.server, frame, series).slice(1)), ...lines]
    screen.show(
      all.map((line) => cut(line, columns)),
      marked === undefined ? undefined : all.length - lines.length + marked,
    )
  }
  view.onChange = () => wake(undefined)
  try {
    const wide = { ...settings, most: Math.max(settings.most, rowsOfScreen) }
    const looks = framesOf(
      store,
      wide,
      ending.signal,
      view,
      () =>
        new Promise((resolve) => {
          wake = resolve
        }),
    )
    for await (const each of looks) {
      frame = each
      if (!frame.looking) remember(series, frame)
      draw()
    }
    await view.done
  } finally {
    screen.close()
  }
}

function newSeries() {
  return { keys: [], refused: [] }
}

function remember(series, frame) {
  for (const name of ['keys', 'refused']) series[name] = [...series[name], frame[name]].slice(-width)
}

/**
 * Yields a frame for each look at all keys, one in each interval. The first look of a screen also yields what it has found so far, as a look
 * at a million keys takes long.
 * @param {any} store
 * @param {any} settings
 * @param {AbortSignal} signal
 * @param {any} ordering has the `order` and what it `shows`
 * @param {() => Promise<unknown>} [changed] resolves when the order has changed, so that the next look begins at once
 */
async function* framesOf({ inspector }, { filter, interval, frames, most }, signal, ordering, changed) {
  for (let n = 0; n < frames && !signal.aborted; n++) {
    if (n > 0)
      await Promise.race([sleep(interval, undefined, { signal }).catch(() => {}), ...(changed ? [changed()] : [])])
    if (signal.aborted) return
    const top = new Top(most, ordering.order)
    const frame = { at: Date.now(), keys: 0, refused: 0, rows: top.rows }
    let drawn = performance.now()
    for await (const stored of inspector.list(filter)) {
      const row = rowOf(stored)
      frame.keys++
      if (row.refused) frame.refused++
      if (ordering.shows === undefined || ordering.shows(row)) top.add(row)
      if (signal.aborted) return
      if (n > 0 || changed === undefined || performance.now() - drawn < redraw) continue
      yield { ...frame, looking: true }
      drawn = performance.now()
    }
    yield frame
  }
}

function headOf(server, { at, keys, refused }, series) {
  const line = (name, value) => `${name.padEnd(8)} ${count(value).padStart(9)}  ${sparkline(series[name])}`
  return [`${printable(server)}  ${time(at)} UTC`, line('keys', keys), line('refused', refused)]
}
