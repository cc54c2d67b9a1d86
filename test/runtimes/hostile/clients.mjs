/* Clients that leave a server of HTTP/1.1 in every way there is, over bare sockets. */
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** A connection that notes how much it has received. */
function open(port) {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.received = 0
  socket.on('data', (data) => {
    socket.received += data.length
  })
  return new Promise((ready) => socket.once('connect', () => ready(socket)))
}

function head(path, method = 'GET', fields = '') {
  return `${method} ${path} HTTP/1.1\r\nHost: a\r\nCF-Connecting-IP: 192.0.2.1\r\n${fields}\r\n`
}

/** Sends a text, waits until something happens, and leaves. */
function leaves(textOf, after, how = 'destroy') {
  return async (port, path) => {
    const socket = await open(port)
    socket.write(textOf(path))
    await after(socket)
    socket[how]()
  }
}

const shortly = () => sleep(200)
const atOnce = () => sleep(0)
const post = (fields, body) => (path) => head(path, 'POST', fields) + body
const eight = (path) => head(path).repeat(8)

async function answered(socket) {
  for (let n = 0; n < 25 && socket.received === 0; n++) await sleep(20)
}

/** A client reads nothing while it is paused. */
async function unread(socket) {
  socket.pause()
  await sleep(400)
}

/** Each sends a request to a path, or eight, and leaves. */
export const ways = {
  'before the end of its head': leaves((path) => head(path).slice(0, -4), shortly),
  'before the end of its body': leaves(post('Content-Length: 1000\r\n', 'x'), shortly),
  'by a reset before the end of its body': leaves(post('Content-Length: 1000\r\n', 'x'), shortly, 'resetAndDestroy'),
  'after a broken chunk': leaves(post('Transfer-Encoding: chunked\r\n', '5\r\nhello\r\nZZ\r\n'), shortly),
  'without sending what it expects to send': leaves(post('Content-Length: 9\r\nExpect: 100-continue\r\n', ''), shortly),
  'at once': leaves(head, atOnce),
  'by a reset at once': leaves(head, atOnce, 'resetAndDestroy'),
  'while the handler runs': leaves(head, shortly),
  'by a reset while the handler runs': leaves(head, shortly, 'resetAndDestroy'),
  'at the first bytes': leaves(head, answered),
  'by a reset at the first bytes': leaves(head, answered, 'resetAndDestroy'),
  'without reading': leaves(head, unread),
  'by a reset without reading': leaves(head, unread, 'resetAndDestroy'),
  'after a HEAD': leaves((path) => head(path, 'HEAD'), shortly),
  'after an upgrade': leaves((path) => head(path, 'GET', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'), shortly),
  'after eight pipelined requests': leaves(eight, shortly),
  'by a reset after eight pipelined requests': leaves(eight, shortly, 'resetAndDestroy'),
}

/** The statuses of what is answered to a text. */
export async function statusesOf(port, text) {
  const socket = await open(port)
  let received = ''
  socket.on('data', (data) => {
    received += data.toString('latin1')
  })
  const ended = new Promise((resolve) => socket.once('close', resolve))
  socket.write(Buffer.from(text, 'latin1'))
  await Promise.race([ended, sleep(2000)])
  socket.destroy()
  return [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))
}

/** The status of a request with these fields. */
export async function statusOf(port, path, fields = '', method = 'GET') {
  const [status] = await statusesOf(port, head(path, method, `${fields}Connection: close\r\n`))
  return status
}
