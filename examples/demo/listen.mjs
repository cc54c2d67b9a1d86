import { parseArgs } from 'node:util'
import { createApp, routes } from './app.mjs'

const { sqlite: file } = parseArgs({ options: { sqlite: { type: 'string' } } }).values
const store = file === undefined ? undefined : await openFile(file)
listen(Number(process.env.PORT ?? 3000))

/** A store in a file, by the driver that Node brings along since version 22, or by libsql. */
async function openFile(path) {
  const { sqliteStore } = await import('headgate/sqlite')
  const open = await import('node:sqlite').then(
    ({ DatabaseSync }) => new DatabaseSync(path),
    async () => new (await import('libsql')).default(path),
  )
  return sqliteStore({ database: open })
}

function listen(port) {
  const server = createApp(store).listen(port, '127.0.0.1')
  server.on('listening', () => print(`http://127.0.0.1:${server.address().port}`))
  server.on('error', (error) => {
    // If the usual port is taken, any other is used, unless PORT names one.
    if (error.code === 'EADDRINUSE' && process.env.PORT === undefined && port !== 0) listen(0)
    else throw error
  })
}

function print(url) {
  const width = Math.max(...routes.map(({ path }) => path.length))
  console.log(`headgate demo on ${url} (${file ?? 'memory store'}; stop it with Ctrl-C)\n`)
  for (const { path, what } of routes) console.log(`  ${path.padEnd(width)}  ${what}`)
  console.log(`
Try:
  curl -i ${url}
  for i in $(seq 12); do curl -s -o /dev/null -w '%{http_code} %header{x-ratelimit-remaining} %header{retry-after}\\n' ${url}/; done
  curl -i -H 'X-Api-Key: ann' ${url}/key
  npx autocannon -d 5 ${url}/burst
`)
}
