import { serve } from 'srvx'
import { createHandler } from './app.mjs'

// Bun: Bun.serve({ fetch: createHandler((request, server) => server.requestIP(request)?.address) })
// Deno: Deno.serve(createHandler((_request, info) => info.remoteAddr.hostname))
serve({ port: 3000, fetch: createHandler((request) => request.ip) })
