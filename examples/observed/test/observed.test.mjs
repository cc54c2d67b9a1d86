import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { alerts, production, rulesFile } from '../alerts.mjs'
import { createApp } from '../app.mjs'
import { generated } from '../generate.mjs'
import { startLoad } from '../load.mjs'
import { panels } from '../panels.mjs'
import { freePort, listen, requirePrometheus, startPrometheus, until } from '../prometheus.mjs'
import { startRedis } from '../redis.mjs'

requirePrometheus()

/** The same rules, with times that a test can wait for. */
const quick = { ...production, window: '5s', breakerFor: '2s', fallbackFor: '4s', usual: '10s', least: 3 }

for (const [name, text] of Object.entries(generated)) {
  test(`${name} is what npm run generate writes`, () => {
    assert.equal(readFileSync(new URL(`../${name}`, import.meta.url), 'utf8'), text)
  })
}

test('every alert has its runbook', () => {
  const page = readFileSync(new URL('../../../docs/observability.md', import.meta.url), 'utf8')
  const headings = page.match(/(?<=^### )\w+$/gm)
  assert.deepEqual(headings?.sort(), ['HeadgateBreakerOpen', 'HeadgateFallback', 'HeadgateRefusals'])
  for (const { alert } of alerts(production)) {
    assert.ok(headings.includes(alert), alert)
    assert.ok(generated['alerts.yml'].includes(`/observability#${alert.toLowerCase()}\n`), alert)
  }
})

test('every panel has data, and each alert fires when it should and not before', async () => {
  const redis = await startRedis()
  const client = new Redis(redis.port, { retryStrategy: () => 100 })
  client.on('error', () => {})
  const metricsPort = await freePort()
  const app = createApp({ client, metricsPort, storeTimeout: '500ms' })
  const port = await listen(app.server)
  const prometheus = await startPrometheus({ metricsPort, rules: rulesFile(alerts(quick)) })
  const start = Date.now() / 1000
  const outage = ['HeadgateBreakerOpen', 'HeadgateFallback']
  const fires = (alert) => until(`${alert} to fire`, async () => (await prometheus.firing()).includes(alert))
  const quiet = async () => !(await prometheus.firing()).some((alert) => outage.includes(alert))
  await app.api.override('attacker', { policy: 'burst', add: 1, reason: 'for the panel' })
  let stopLoad = startLoad(port, { api: 100, attack: 40, login: 10, guess: 0.5 })
  try {
    // Usual traffic, with some refusals. Until there is a usual rate, every refusal is unusual.
    for (let second = 0; second < 30; second++) {
      await sleep(1000)
      const firing = (await prometheus.firing()).filter((name) => second > 22 || name !== 'HeadgateRefusals')
      assert.deepEqual(firing, [], `${firing} in second ${second}`)
    }
    await redis.stop()
    await fires('HeadgateBreakerOpen')
    assert.ok(app.api.health().sources.fallback > 0)
    await fires('HeadgateFallback')
    await redis.start()
    await until('the outage to end', quiet)

    stopLoad()
    stopLoad = startLoad(port, { api: 100, attack: 240, login: 10, guess: 0.5 })
    await fires('HeadgateRefusals')
    assert.ok(await quiet())
    const [heaviest] = app.api.top(1)
    assert.equal(heaviest.key, 'attacker')

    const end = Date.now() / 1000
    const recorded = []
    for (const { title, unit, queries } of panels) {
      const series = []
      for (const [legend, query] of Object.entries(queries)) {
        const found = await prometheus.range(chosenAll(query), start, end, 1)
        const numbers = found.flatMap(({ values }) => values.map(([, value]) => Number(value)))
        // An exchange fails only if it is under way when Redis stops.
        if (!legend.includes('error_type')) assert.ok(numbers.some(Number.isFinite), `${title}: no data for ${query}`)
        for (const { metric, values } of found) series.push({ name: nameOf(legend, metric), points: values })
      }
      recorded.push({ title, unit, series })
    }
    if (process.env.HEADGATE_RECORD) record(recorded, start)
  } finally {
    stopLoad()
    await app.close()
    client.disconnect()
    await Promise.all([prometheus.stop(), redis.stop()])
  }
})

/** A query of a panel, for all jobs, instances and limiters. */
function chosenAll(query) {
  return query.replaceAll('$window', '5s').replaceAll(/\$\w+/g, '.*')
}

function nameOf(legend, metric) {
  return legend.replace(/\{\{(\w+)\}\}/g, (_, label) => metric[label] ?? '').trim()
}

/** The panels that docs/observability.md shows. */
const shown = /^(Calls by result|Near the limit|Top policies|Store latency|Circuit breaker|Memory|Waiting)/

/** Saves what these panels show: seconds since the start, and three digits. */
function record(panels, start) {
  const short = panels
    .filter(({ title }) => shown.test(title))
    .map(({ series, ...panel }) => ({
      ...panel,
      series: series.map(({ name, points }) => ({
        name,
        points: points
          .filter(([, value]) => Number.isFinite(Number(value)))
          .map(([time, value]) => [Math.round(time - start), Number(Number(value).toPrecision(3))]),
      })),
    }))
  writeFileSync(process.env.HEADGATE_RECORD, `${JSON.stringify(short)}\n`)
}

/** When an alert fires, on series that change at known times. `promtool` compares every label, so a query says it shorter. */
test('with the times of production, an alert waits as long as it says', () => {
  const home = mkdtempSync(join(tmpdir(), 'headgate-rules-'))
  writeFileSync(join(home, 'alerts.yml'), generated['alerts.yml'])
  const decisions = (result) => `headgate_decisions_total{job="app", limiter="api", policy="1s", result="${result}"}`
  const expected = {
    HeadgateBreakerOpen: { '10m': 0, '10m30s': 0, '12m': 1, '20m': 1, '21m': 0 },
    HeadgateFallback: { '10m': 0, '14m': 0, '16m': 1 },
    HeadgateRefusals: { '60m': 0, '98m': 0, '106m': 1 },
  }
  const tests = {
    rule_files: [join(home, 'alerts.yml')],
    evaluation_interval: '30s',
    tests: [
      {
        interval: '30s',
        input_series: [
          { series: 'headgate_breaker_state{job="app", instance="a", store="redis"}', values: '0x20 2x20 0x200' },
          { series: decisions('fallback'), values: '0x20 0+30x40 1200x200' },
          { series: decisions('refused'), values: '0+3x200 600+600x40' },
        ],
        promql_expr_test: Object.entries(expected).flatMap(([alert, times]) =>
          Object.entries(times).map(([eval_time, firing]) => ({
            expr: `count(ALERTS{alertname="${alert}", alertstate="firing"})`,
            eval_time,
            exp_samples: firing === 0 ? [] : [{ value: 1 }],
          })),
        ),
      },
    ],
  }
  // The first attack on a limiter that has never refused: no series before the 30th minute.
  tests.tests.push({
    interval: '30s',
    input_series: [{ series: decisions('refused'), values: '_x60 0+600x4 2400x60' }],
    promql_expr_test: Object.entries({ '30m': 0, '31m': 1, '34m': 1, '50m': 0 }).map(([eval_time, firing]) => ({
      expr: 'count(ALERTS{alertname="HeadgateRefusals", alertstate="firing"})',
      eval_time,
      exp_samples: firing === 0 ? [] : [{ value: 1 }],
    })),
  })
  // Names as a collector writes them.
  const collected = (query) => query.replaceAll('$window', '5m').replaceAll(/\$\w+/g, '.*')
  const [latency] = Object.values(panels.find(({ title }) => title === 'Store latency').queries)
  tests.tests.push({
    interval: '30s',
    input_series: [
      {
        series: 'headgate_store_duration_seconds_bucket{job="app", instance="a", store="redis", le="0.001"}',
        values: '0+10x40',
      },
      {
        series: 'headgate_store_duration_seconds_bucket{job="app", instance="a", store="redis", le="+Inf"}',
        values: '0+10x40',
      },
    ],
    promql_expr_test: [{ expr: `count(${collected(latency)})`, eval_time: '10m', exp_samples: [{ value: 1 }] }],
  })
  const file = join(home, 'test.yml')
  writeFileSync(file, JSON.stringify(tests))
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' })
  assert.equal(status, 0, `${stdout}${stderr}`)
})
