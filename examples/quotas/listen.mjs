// npm run example:quotas. QUOTAS is a file, or the address of a Postgres. WEBHOOK is where the thresholds are told.
import { createApp } from './app.mjs'
import { openStore } from './open-store.mjs'

const { QUOTAS = 'quotas.db', WEBHOOK, PORT = '3000' } = process.env
const { store, close } = await openStore(QUOTAS)
const server = createApp({ store, webhook: WEBHOOK }).listen(PORT, () => {
  const url = `http://localhost:${server.address().port}`
  console.log(`The usage page of ann: ${url}/customers/ann`)
  console.log(`curl -i -H 'x-api-key: key-of-ann' ${url}/report`)
})
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => server.close(close))
