import { createApp, routes } from './app.mjs'

const wanted = Number(process.env.PORT ?? 3000)
listen(wanted)

function listen(port) {
  const server = createApp().listen(port, '127.0.0.1')
  server.on('listening', () => tell(`http://127.0.0.1:${server.address().port}`))
  server.on('error', (error) => {
    // Someone has the usual port: any other will do, unless this one was asked for.
    if (error.code === 'EADDRINUSE' && process.env.PORT === undefined && port !== 0) listen(0)
    else throw error
  })
}

function tell(url) {
  const width = Math.max(...routes.map(({ path }) => path.length))
  console.log(`headgate demo on ${url} (memory store; Ctrl-C stops it)\n`)
  for (const { path, what } of routes) console.log(`  ${path.padEnd(width)}  ${what}`)
  console.log(`
Try:
  curl -i ${url}
  for i in $(seq 12); do curl -s -o /dev/null -w '%{http_code} %header{x-ratelimit-remaining} %header{retry-after}\\n' ${url}/; done
  curl -i -H 'X-Api-Key: ann' ${url}/key
  npx autocannon -d 5 ${url}/burst
`)
}
