/*
 * A worker of node:cluster that makes calls for a test, which is the primary: calls of ledgers on its clusterStore.
 * Messages with `headgate` are between the stores. Messages with `proxy` are between this worker and the test.
 */
import { channel } from 'node:diagnostics_channel'
import { deserialize, serialize } from 'node:v8'
import { clusterStore } from 'headgate/cluster'
import { revive } from 'headgate/store'

const ledgers = new Map()

/** The terms of a ledger as `packTerms` wrote them. */
function unpackTerms(text) {
  const terms = JSON.parse(text)
  return { ...terms, policies: terms.policies.map((policy) => ({ ...policy, algorithm: revive(policy.algorithm) })) }
}

function ledgerOf(name, timeout, terms) {
  const id = `${name} ${timeout} ${terms}`
  if (!ledgers.has(id)) ledgers.set(id, storeOf(name, timeout).open(unpackTerms(terms)))
  return ledgers.get(id)
}

const stores = new Map()
process.setMaxListeners(0) // a store for each test

function storeOf(name, timeout) {
  const id = `${name} ${timeout}`
  if (!stores.has(id)) stores.set(id, clusterStore({ name, timeout }))
  return stores.get(id)
}

/** Tells the test about each exchange of this worker with the primary. */
function tellExchanges() {
  channel('headgate:store:exchange').subscribe(({ error, ...exchange }) => {
    process.send({ exchange: { ...exchange, ...(error && { error: error.code }) } })
  })
  process.send({ exchange: 'told' })
}

process.on('message', async (message) => {
  if (message?.tellExchanges) tellExchanges()
  if (message?.proxy === undefined) return
  const { proxy, name, timeout, terms, command } = message
  try {
    const result = await ledgerOf(name, timeout, terms).run(deserialize(Buffer.from(command, 'base64')))
    process.send({ proxy, result: serialize(result).toString('base64') })
  } catch ({ code, message }) {
    process.send({ proxy, failure: { code, message } })
  }
})
process.send({ proxy: 'ready' })
