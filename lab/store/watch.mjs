import { setTimeout as sleep } from 'node:timers/promises'
import { cut, printable, printableJson } from '../report/columns.mjs'
import { count, duration, time } from '../report/format.mjs'
import { keyTable } from '../report/store.mjs'
import { tableText } from '../report/text.mjs'
import { KeyView } from './key-view.mjs'
import { Look, orders, rowOf } from './rank.mjs'
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

async function printFrames({ server, inspector }, { filter, interval, frames, most, order, refused, json }, signal) {
  const series = newSeries()
  for (let n = 0; n < frames && !signal.aborted; n++) {
    if (n > 0) await pause(interval, signal)
    const look = new Look(most, [order])
    for await (const stored of inspector.list(filter)) {
      if (signal.aborted) return
      look.add(rowOf(stored))
    }
    remember(series, look)
    const frame = { at: look.at, keys: look.keys, refused: look.refused, rows: look.rows(order, refused) }
    const text = json ? printableJson(frame) : [...headOf(server, look, series), '', ...rowsOf(frame)].join('\n')
    process.stdout.write(`${text}\n`)
  }
}

function rowsOf({ rows }) {
  return rows.length === 0 ? ['  No keys.'] : tableText(keyTable(rows), Infinity).split('\n')
}

async function watchInPlace(store, settings, ending) {
  const series = newSeries()
  const view = new KeyView(store, settings, orders)
  let wake = () => {}
  let frame
  const screen = new Screen((key) => {
    const next = view.press(key)
    if (next === 'quit') ending.abort()
    if (next === undefined) draw()
    else wake()
  })
  const draw = () => {
    if (frame === undefined || ending.signal.aborted) return
    const { columns } = screen.size
    const head = screenHeadOf(store.server, frame, series)
    const { lines, marked } = view.linesOf(frame.look, columns, screen.size.rows - 6)
    const all = [...head, ...lines]
    screen.show(
      all.map((line) => cut(line, columns)),
      marked === undefined ? undefined : head.length + marked,
    )
  }
  /** Waits for the time of the next look, or until other keys are sought. */
  const rest = () => {
    const sought = new Promise((resolve) => {
      wake = () => resolve(undefined)
    })
    return Promise.race([pause(settings.interval, ending.signal), sought])
  }
  view.onChange = draw
  try {
    for await (const each of framesOf(store, settings, ending.signal, view, rest)) {
      frame = each
      if (each.looking === undefined) remember(series, each.look)
      draw()
    }
    await view.done
  } finally {
    screen.close()
  }
}

/**
 * The frames of a screen: one for each look at all keys, and more during a look, as a look at a million keys takes long. A frame has the
 * last whole `look`, or the running look if no look is whole yet, and `looking`: how many keys the running look has found. If other
 * keys are sought, the running look ends, and another look begins.
 * @param {any} store
 * @param {any} settings
 * @param {AbortSignal} signal
 * @param {KeyView} view says which keys are sought
 * @param {() => Promise<unknown>} rest waits from the end of a look to the begin of the next look
 */
async function* framesOf({ inspector }, { filter, frames, most }, signal, view, rest) {
  let [whole, text] = [undefined, view.text]
  for (let n = 0; n < frames && !signal.aborted; ) {
    if (n > 0 && view.text === text) await rest()
    if (view.text !== text) [whole, text] = [undefined, view.text]
    const look = new Look(Math.max(most, rowsOfScreen), orders, text)
    const began = performance.now()
    let drawn = began
    for await (const stored of inspector.list(filter)) {
      look.add(rowOf(stored))
      if (signal.aborted) return
      if (view.text !== text) break
      if (performance.now() - drawn < redraw) continue
      yield { look: whole ?? look, looking: look.keys }
      drawn = performance.now()
    }
    if (view.text !== text) continue
    n++
    look.took = performance.now() - began
    whole = look
    yield { look, looking: undefined }
  }
}

/** The first lines of a screen, which has the same lines during a look and after it. */
function screenHeadOf(server, { look, looking }, series) {
  const [first, ...lines] = headOf(server, look, series)
  const running = looking === undefined ? '' : `  looking: ${count(looking)} keys`
  const took = look.took >= 1000 ? `, a look of ${duration(look.took)}` : ''
  return [`${first}${took}${running}`, ...lines]
}

function pause(milliseconds, signal) {
  return sleep(milliseconds, undefined, { signal }).catch(() => {})
}

function newSeries() {
  return { keys: [], refused: [] }
}

function remember(series, look) {
  for (const name of ['keys', 'refused']) series[name] = [...series[name], look[name]].slice(-width)
}

function headOf(server, { at, keys, refused }, series) {
  const line = (name, value) => `${name.padEnd(8)} ${count(value).padStart(9)}  ${sparkline(series[name])}`
  return [`${printable(server)}  ${time(at)} UTC`, line('keys', keys), line('refused', refused)]
}
