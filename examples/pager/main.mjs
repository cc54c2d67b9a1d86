import { once } from 'node:events'
import { Presets, SingleBar } from 'cli-progress'
import { collect, createApi } from './app.mjs'

const server = createApi().listen(0, '127.0.0.1')
await once(server, 'listening')

const bar = new SingleBar({ format: '{bar} {value}/{total} pages, {duration_formatted}' }, Presets.shades_classic)
bar.start(0, 0)
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
const { items } = await collect(`http://127.0.0.1:${port}`, {
  onPage: ({ pages }) => {
    bar.setTotal(pages)
    bar.increment()
  },
})
bar.stop()
console.log(`${items.length} items, from ${items[0]} to ${items.at(-1)}`)
server.close()
server.closeAllConnections()
