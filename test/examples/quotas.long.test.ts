import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createApp } from '../../examples/quotas/app.mjs'
import { openStore } from '../../examples/quotas/open-store.mjs'
import { startPostgres } from '../support/postgres-server.ts'
import { temporaryFolder } from '../support/sqlite.ts'
import { useServer } from '../support/use-server.ts'

const folder = temporaryFolder()
const { port } = await useServer(startPostgres())

test.each([join(folder, 'quotas.db'), `postgres://headgate@127.0.0.1:${port}/postgres`])(
  'the counts in %s outlive the process',
  async (address) => {
    for (const used of [25, 50]) {
      const { store, close } = await openStore(address)
      const server = createServer(createApp({ store })).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      expect((await fetch(`${url}/report`, { headers: { 'x-api-key': 'key-of-ann' } })).status).toBe(200)
      expect(await (await fetch(`${url}/customers/ann`)).text()).toContain(`${used} of 1,000 used, resets on 1 `)
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
      await close()
    }
  },
)
