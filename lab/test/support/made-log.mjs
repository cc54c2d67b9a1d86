import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { randomOf } from '../../engine/random.mjs'

const agents = [
  'Mozilla/5.0 (X11; Linux x86_64)',
  'Mozilla/5.0 (Macintosh)',
  'curl/8.5.0',
  'ExampleBot/2.1 (+https://bot.example/)',
]
const paths = ['/', '/items', '/items/7?sort=price', '/search?q=shoes', '/login', '/api/v1/items']
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

const start = Date.UTC(2026, 0, 1, 10)

/** The terms of made.log.gz. */
export const smallLog = { lines: 1500, clients: 80, perSecond: 3, seed: 2026 }

/**
 * The lines of a made log in Combined format: most clients come now and then, a few come all the time, and lines are out of
 * order by up to two seconds.
 * @param {{ lines: number, clients: number, perSecond: number, seed: number }} terms
 */
export function* madeLines({ lines, clients, perSecond, seed }) {
  const random = randomOf(seed)
  for (let n = 0; n < lines; n++) {
    const client = Math.floor(clients * random() ** 2)
    const time = start + Math.floor(n / perSecond - random() * 2) * 1000
    yield lineOf(client, time, random)
  }
}

/**
 * The lines of a made log of four days: visits of one to 400 requests, with up to 8 s between two of them. Few visits are long. A line is
 * written up to two seconds after its time.
 * @param {{ lines: number, clients: number, seed: number }} terms
 */
export function visitLines({ lines, clients, seed }) {
  const random = randomOf(seed)
  const requests = []
  while (requests.length < lines) {
    const client = Math.floor(clients * random())
    const gap = 8000 * random()
    let time = start + random() * 4 * 86_400_000
    for (let left = Math.ceil(400 * random() ** 200); left > 0; left--, time += gap * random())
      requests.push({ client, time })
  }
  requests.length = lines
  return requests
    .map((request) => ({ ...request, written: request.time + 2000 * random() }))
    .sort((a, b) => a.written - b.written)
    .map(({ client, time }) => lineOf(client, Math.floor(time / 1000) * 1000, random))
}

function lineOf(client, time, random) {
  const status = random() < 0.05 ? 404 : 200
  const bytes = Math.floor(random() * 20_000)
  const path = paths[Math.floor(random() * paths.length)]
  return `${address(client)} - - [${stamp(time)}] "GET ${path} HTTP/1.1" ${status} ${bytes} "-" "${agents[client % agents.length]}"`
}

function address(client) {
  if (client % 5 === 4) return `2001:db8:${(client >> 8).toString(16)}:${(client & 255).toString(16)}00::${client % 7}`
  return `198.51.${(client >> 8) & 255}.${client & 255}`
}

function stamp(time) {
  const date = new Date(time)
  const two = (number) => String(number).padStart(2, '0')
  const day = `${two(date.getUTCDate())}/${months[date.getUTCMonth()]}/${date.getUTCFullYear()}`
  return `${day}:${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())} +0000`
}

/** Writes a made log to a file. */
export async function writeMadeLog(file, terms) {
  const out = createWriteStream(file)
  let piece = []
  for (const line of madeLines(terms)) {
    piece.push(line)
    if (piece.length < 5000) continue
    if (!out.write(`${piece.join('\n')}\n`)) await once(out, 'drain')
    piece = []
  }
  out.end(piece.length > 0 ? `${piece.join('\n')}\n` : '')
  await once(out, 'finish')
}
