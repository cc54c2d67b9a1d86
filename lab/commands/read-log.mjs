import { progressBar } from '../cli/progress.mjs'
import { UsageError } from '../cli/usage-error.mjs'
import { clientKey } from '../log/client-key.mjs'
import { mergeLogs } from '../log/merge-logs.mjs'
import { LineParser } from '../log/parse-lines.mjs'
import { sizeOf } from '../log/read-lines.mjs'
import { TimeOrder } from '../log/time-order.mjs'

/**
 * Reads the logs as one, and calls `each(client, record)` for every request, in the order of time.
 * @param {string[]} files
 * @returns facts about the log: its formats, lines, bad lines, and the time that reading took
 */
export async function readLog(files, { key, ipv6Prefix, format, fields }, each) {
  const parsers = new Map(files.map((file) => [file, new LineParser({ format, fields })]))
  const order = new TimeOrder()
  const keyOf = clientKey(key, ipv6Prefix)
  const began = performance.now()
  let [requests, keyless] = [0, 0]
  const play = (records) => {
    for (const record of records) each(record.client, record)
  }
  const bar = progressBar(await sizeOf(files))
  try {
    for await (const records of mergeLogs(parsers, bar.read)) {
      for (const record of records) {
        requests++
        const client = keyOf(record)
        if (client === undefined) keyless++
        else play(order.add(slim(client, record)))
      }
      bar.lines(linesOf(parsers))
    }
    play(order.end())
  } finally {
    bar.stop()
  }
  const facts = factsOf(parsers)
  if (requests === 0) throw noRecord(facts)
  if (keyless === requests) throw noKey(facts, key)
  const { paths, ...shown } = facts
  return { ...shown, keyless, late: order.late, seconds: (performance.now() - began) / 1000 }
}

/** The fields of a record that are counted. Many records are held to be sorted, so other fields are dropped. */
function slim(client, { time, status, route, agent }) {
  return { time, client, status, route, agent }
}

function linesOf(parsers) {
  let lines = 0
  for (const parser of parsers.values()) lines += parser.lines
  return lines
}

/** What the parsers of all files have seen. */
function factsOf(parsers) {
  const all = [...parsers.values()]
  const each = (field) => [...new Set(all.flatMap((parser) => parser[field]))]
  return {
    file: [...parsers.keys()].join(' '),
    format: each('formats').join(', '),
    lines: linesOf(parsers),
    bad: all.reduce((sum, { bad }) => sum + bad, 0),
    badLines: each('badLines').slice(0, 3),
    paths: each('paths'),
  }
}

function noKey({ file, paths }, key) {
  const usual = ['address', 'user', 'agent', 'host', 'referer', 'forwarded', 'status', 'method', 'path']
  const known = (paths.length === 0 ? usual : paths).join(', ')
  return new UsageError(`No line of ${file} has the field ${key}.`, `Name a field of the log with --key: ${known}.`)
}

function noRecord({ file, badLines, paths }) {
  if (paths.length > 0) {
    return new UsageError(
      `No line of ${file} has a time that the lab knows. The fields of the log are ${paths.join(', ')}.`,
      'Say which fields have the time and the address: --fields time=ts,address=peer.ip',
    )
  }
  const [first] = badLines
  const found =
    first === undefined ? 'It has no other lines than empty ones and headers.' : `The first line is: "${first.text}".`
  return new UsageError(
    `No line of ${file} has a known format. ${found}`,
    'The lab reads Common and Combined Log Format, JSON lines (pino, Caddy, Traefik, Envoy, Google, Cloudflare), Envoy, HAProxy, AWS ALB, CloudFront and W3C.',
  )
}
