import { serve } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { createApp } from './app.mjs'

serve({ fetch: createApp(getConnInfo).fetch, port: 3000 }, ({ port }) => console.log(`http://localhost:${port}`))
