import { progressBar } from '../cli/progress.mjs'
import { UsageError } from '../cli/usage-error.mjs'
import { clientKey } from '../log/client-key.mjs'
import { LineParser } from '../log/parse-lines.mjs'
import { readLines, sizeOf } from '../log/read-lines.mjs'
import { TimeOrder } from '../log/time-order.mjs'

/**
 * Reads a log and calls `each(client, record)` for every request, in the order of time.
 * @returns facts about the log: its format, lines, bad lines, and the time that reading took
 */
export async function readLog(file, { key, ipv6Prefix, format, fields }, each) {
  const parser = new LineParser({ format, fields })
  const order = new TimeOrder()
  const keyOf = clientKey(key, ipv6Prefix)
  const began = performance.now()
  let [requests, keyless] = [0, 0]
  const play = (records) => {
    for (const record of records) each(record.client, record)
  }
  const bar = progressBar(await sizeOf(file))
  try {
    for await (const lines of readLines(file, bar.read)) {
      for (const line of lines) {
        const record = parser.record(line)
        if (record === undefined) continue
        requests++
        const client = keyOf(record)
        if (client === undefined) keyless++
        else play(order.add(slim(client, record)))
      }
      bar.lines(parser.lines)
    }
    play(order.end())
  } catch (error) {
    if (error.code === undefined) throw error
    throw new UsageError(
      `${file === '-' ? 'The standard input' : file} cannot be read: ${error.message}.`,
      'Give a whole log, plain or gzip.',
    )
  } finally {
    bar.stop()
  }
  return summary(file, parser, order.late, requests, keyless, performance.now() - began, key)
}

/** The fields of a record that are counted. Many records are held to be sorted, so other fields are dropped. */
function slim(client, { time, status, route, agent }) {
  return { time, client, status, route, agent }
}

function summary(file, parser, late, requests, keyless, took, key) {
  const { lines, bad, badLines, format } = parser
  if (requests === 0) throw noRecord(file, badLines)
  if (keyless === requests) {
    throw new UsageError(`No line of ${file} has the field ${key}.`, 'Name a field of the log with --key.')
  }
  const seconds = took / 1000
  return { file, format, lines, bad, badLines, keyless, late, seconds, linesPerSecond: Math.round(lines / seconds) }
}

function noRecord(file, badLines) {
  const [first] = badLines
  const found =
    first === undefined ? 'It has no other lines than empty ones and headers.' : `The first line is: ${first.text}`
  return new UsageError(
    `No line of ${file} has a known format. ${found}`,
    'Common and Combined Log Format, AWS ALB, CloudFront and JSON lines are read. For JSON, map its fields: --fields time=ts,address=peer.ip',
  )
}
