import { createApp, routes } from './app.mjs'

listen(Number(process.env.PORT ?? 3000))

function listen(port) {
  const server = createApp().listen(port, '127.0.0.1')
  server.on('listening', () => print(`http://127.0.0.1:${server.address().port}`))
  server.on('error', (error) => {
    // If the usual port is taken, any other is used, unless PORT names one.
    if (error.code === 'EADDRINUSE' && process.env.PORT === undefined && port !== 0) listen(0)
    else throw error
  })
}

function print(url) {
  const width = Math.max(...routes.map(({ path }) => path.length))
  console.log(`headgate demo on ${url} (memory store; stop it with Ctrl-C)\n`)
  for (const { path, what } of routes) console.log(`  ${path.padEnd(width)}  ${what}`)
  console.log(`
Try:
  curl -i ${url}
  for i in $(seq 12); do curl -s -o /dev/null -w '%{http_code} %header{x-ratelimit-remaining} %header{retry-after}\\n' ${url}/; done
  curl -i -H 'X-Api-Key: ann' ${url}/key
  npx autocannon -d 5 ${url}/burst
`)
}
