import { createServer } from 'node:http'
import { createListener } from './app.mjs'

const server = createServer(createListener()).listen(3000, () =>
  console.log(`http://localhost:${server.address().port}`),
)
