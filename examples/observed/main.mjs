/*
 * npm start: the app with load, a Redis, and a Prometheus that watches it, until Ctrl+C. Import dashboard.json into Grafana, with
 * this Prometheus as its source.
 */
import { Redis } from 'ioredis'
import { alerts, production, rulesFile } from './alerts.mjs'
import { createApp } from './app.mjs'
import { startLoad } from './load.mjs'
import { freePort, listen, requirePrometheus, startPrometheus } from './prometheus.mjs'
import { startRedis } from './redis.mjs'

requirePrometheus()
const redis = await startRedis()
const client = new Redis(redis.port)
client.on('error', () => {})
const metricsPort = await freePort()
const app = createApp({ client, metricsPort })
const port = await listen(app.server)
const prometheus = await startPrometheus({ metricsPort, rules: rulesFile(alerts(production)) })
const stopLoad = startLoad(port, { api: 100, attack: 25, login: 10, guess: 1 })
console.log(`Metrics: http://127.0.0.1:${metricsPort}/metrics`)
console.log(`Prometheus, with the alerts: ${prometheus.url}`)
console.log(`Stop Redis to see an outage: redis-cli -p ${redis.port} shutdown`)

process.once('SIGINT', async () => {
  stopLoad()
  await app.close()
  client.disconnect()
  await Promise.all([prometheus.stop(), redis.stop()])
})
