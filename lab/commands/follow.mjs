import { UsageError } from '../cli/usage-error.mjs'
import { Replay } from '../engine/replay.mjs'
import { clientKey } from '../log/client-key.mjs'
import { followLines } from '../log/follow-lines.mjs'
import { LineParser } from '../log/parse-lines.mjs'
import { TimeOrder } from '../log/time-order.mjs'
import { printableJson } from '../report/columns.mjs'
import { followReport } from '../report/replay.mjs'
import { textOf } from '../report/text.mjs'
import { Screen } from '../store/screen.mjs'

/** How often the numbers are shown, in milliseconds. */
const interval = 1000

/**
 * Replays a log that is still written, and shows the numbers of each policy once a second: in place on a terminal, else one table after the
 * other. Ends by q, Ctrl-C or a signal, or after `frames` tables.
 */
export async function follow(files, settings, policies, { frames, json }) {
  const [file, other] = files
  if (file === '-' || other !== undefined)
    throw new UsageError('--follow reads one file.', 'Write: headgate-lab replay access.log --policy 30/1m --follow')
  const played = new LiveReplay(settings, policies)
  const ending = new AbortController()
  const end = () => ending.abort()
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, end)
  const screen =
    process.stdout.isTTY === true && !json ? new Screen((key) => ['q', 'interrupt'].includes(key) && end()) : undefined
  try {
    let [shown, last] = [0, performance.now()]
    for await (const lines of followLines(file, { signal: ending.signal })) {
      played.add(lines)
      if (performance.now() - last < interval) continue
      last = performance.now()
      show(played.result(file), screen, json)
      if (++shown === frames) break
    }
  } finally {
    screen?.close()
    for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, end)
  }
}

function show(result, screen, json) {
  if (json) return console.log(printableJson(result))
  const text = textOf(followReport(result))
  if (screen === undefined) console.log(text)
  else screen.show([...text.split('\n'), '', 'q quits'])
}

/** A replay whose records come while it is looked at: those of one moment are sorted. */
class LiveReplay {
  #parser
  #keyOf
  #replay
  #keyless = 0

  constructor({ key, ipv6Prefix, format, fields }, policies) {
    this.#parser = new LineParser({ format, fields })
    this.#keyOf = clientKey(key, ipv6Prefix)
    this.#replay = new Replay(policies)
  }

  add(lines) {
    const order = new TimeOrder()
    for (const line of lines) {
      const record = this.#parser.record(line)
      if (record === undefined) continue
      const client = this.#keyOf(record)
      if (client === undefined) this.#keyless++
      else this.#play(order.add({ ...record, client }))
    }
    this.#play(order.end())
  }

  #play(records) {
    for (const record of records) this.#replay.request(record.client, record)
  }

  result(file) {
    const { lines, bad, badLines, formats } = this.#parser
    const log = { file, lines, bad, badLines, format: formats.join(', '), keyless: this.#keyless }
    return { command: 'replay', log, ...this.#replay.result() }
  }
}
