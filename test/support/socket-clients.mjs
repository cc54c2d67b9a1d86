/*
 * Many WebSocket clients in a process of their own. Arguments: the port, the number of connections, the number of loopback
 * addresses that they come from. Sends `open` when all are open. On a message with a number, each client sends so many
 * messages, and once each has been refused as often as `refused` says, this sends `done`.
 */
import { once } from 'node:events'
import { WebSocket } from 'ws'

const [port, connections, addresses] = process.argv.slice(2).map(Number)
const atOnce = 100
const clients = []

for (let n = 0; n < connections; n += atOnce) {
  const opening = Array.from({ length: Math.min(atOnce, connections - n) }, (_, i) => {
    const client = new WebSocket(`ws://127.0.0.1:${port}`, {
      localAddress: `127.0.0.${1 + ((n + i) % addresses)}`,
      perMessageDeflate: false,
    })
    clients.push(client)
    return once(client, 'open')
  })
  await Promise.all(opening)
}
process.send('open')

const [{ messages, refused }] = await once(process, 'message')
const told = clients.map(
  (client) =>
    new Promise((resolve) => {
      let notices = 0
      client.on('message', () => {
        notices++
        if (notices === refused) resolve()
      })
    }),
)
for (let n = 0; n < messages; n++) for (const client of clients) client.send(`${n}`)
await Promise.all(told)
process.send('done')
setInterval(() => {}, 1000)
