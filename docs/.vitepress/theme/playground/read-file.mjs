import { Names } from '../../../../lab/engine/names.mjs'
import { clientKey } from '../../../../lab/log/client-key.mjs'
import { LineParser } from '../../../../lab/log/parse-lines.mjs'
import { TimeOrder } from '../../../../lab/log/time-order.mjs'
import { mostRequests } from './workload.mjs'

/**
 * The requests of a log that was dropped into the page, plain or gzip, by client address. It never leaves the page.
 * @param {File} file
 */
export async function readLogFile(file) {
  const parser = new LineParser()
  const order = new TimeOrder()
  const keyOf = clientKey('address')
  const names = new Names()
  const records = []
  for await (const lines of linesOf(file)) {
    for (const line of lines) {
      const record = parser.record(line)
      const client = record && keyOf(record)
      if (client !== undefined) records.push(...order.add({ time: record.time, client: names.numberOf(client) }))
    }
    if (records.length > mostRequests) break
  }
  records.push(...order.end().slice(0, mostRequests))
  if (records.length === 0)
    throw new Error(`No line of ${file.name} has a known format. Drop an access log. The lab reads other fields.`)
  const day = 86_400_000
  const start = Math.floor(records[0].time / day) * day
  const requests = records.map(({ time, client }) => ({ time: time - start, client }))
  return { name: file.name, lines: parser.lines, bad: parser.bad, clients: names.size, start, requests }
}

async function* linesOf(file) {
  const head = new Uint8Array(await file.slice(0, 2).arrayBuffer())
  const bytes =
    head[0] === 0x1f && head[1] === 0x8b ? file.stream().pipeThrough(new DecompressionStream('gzip')) : file.stream()
  const reader = bytes.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const lines = (rest + piece.value).split('\n')
    rest = lines.pop()
    yield lines
  }
  if (rest !== '') yield [rest]
}
