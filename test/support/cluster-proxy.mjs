/*
 * A worker of node:cluster that makes calls for a test, which is the primary: calls of ledgers on its clusterStore.
 * Messages with `headgate` are between the stores. Messages with `proxy` are between this worker and the test.
 */
import { deserialize, serialize } from 'node:v8'
import { clusterStore } from 'headgate/cluster'
import { unpackTerms } from '../../dist/src/stores/cluster/messages.js'

const ledgers = new Map()

function ledgerOf(name, timeout, terms) {
  const id = `${name} ${terms}`
  if (!ledgers.has(id)) ledgers.set(id, storeOf(name, timeout).open(unpackTerms(terms)))
  return ledgers.get(id)
}

const stores = new Map()
process.setMaxListeners(0) // a store for each test

function storeOf(name, timeout) {
  if (!stores.has(name)) stores.set(name, clusterStore({ name, timeout }))
  return stores.get(name)
}

process.on('message', async (message) => {
  if (message?.proxy === undefined) return
  const { proxy, name, timeout, terms, method, call } = message
  try {
    const result = await ledgerOf(name, timeout, terms)[method](...deserialize(Buffer.from(call, 'base64')))
    process.send({ proxy, result: serialize(result).toString('base64') })
  } catch ({ code, message }) {
    process.send({ proxy, failure: { code, message } })
  }
})
process.send({ proxy: 'ready' })
