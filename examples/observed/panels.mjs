/*
 * The panels of the dashboard: the one source of dashboard.json. `npm run generate` writes it. `$window` is the time that rates are
 * taken over; `$job`, `$instance` and `$limiter` are what the reader has chosen.
 */
const refused = 'result=~"refused|banned"'
const ofProcess = 'job=~"$job", instance=~"$instance"'
const ofLimiter = `${ofProcess}, limiter=~"$limiter"`

const rate = (metric, ...labels) => `rate(${metric}{${[ofLimiter, ...labels].join(', ')}}[$window])`
const storeRate = (metric) => `rate(${metric}{${ofProcess}}[$window])`

/** A histogram in seconds. Prometheus's own exporter writes its name without a unit, a collector with `_seconds`. */
const inSeconds = (name, part, labels) => `rate({__name__=~"headgate_${name}(_seconds)?_${part}", ${labels}}[$window])`

const decisions = (...labels) => rate('headgate_decisions_total', ...labels)
const storeTime = (quantile, by) =>
  `histogram_quantile(${quantile}, sum by (${by}) (${inSeconds('store_duration', 'bucket', ofProcess)}))`

const breaker = { 0: 'closed', 1: 'half-open', 2: 'open' }

export const panels = [
  {
    title: 'Share refused',
    type: 'stat',
    unit: 'percentunit',
    description: 'Refused and banned calls, as a share of all calls.',
    runbook: 'headgaterefusals',
    queries: { refused: `sum(${decisions(refused)}) / sum(${decisions()})` },
  },
  {
    title: 'Refused a second',
    type: 'stat',
    unit: 'reqps',
    description: 'Refused and banned calls a second. limiter.top() and the log of refusals name the keys.',
    runbook: 'headgaterefusals',
    queries: { refused: `sum(${decisions(refused)})` },
  },
  {
    title: 'Store p99',
    type: 'stat',
    unit: 's',
    description: 'The time that 99 % of the exchanges with the server of a store do not exceed.',
    runbook: 'headgatebreakeropen',
    queries: { p99: storeTime(0.99, 'le') },
  },
  {
    title: 'Worst breaker',
    type: 'stat',
    unit: 'none',
    description: 'The worst circuit breaker of all processes and stores. Open: the process does not call its store.',
    runbook: 'headgatebreakeropen',
    mappings: breaker,
    queries: { breaker: `max(headgate_breaker_state{${ofProcess}})` },
  },
  {
    title: 'Calls by result',
    unit: 'reqps',
    description: 'What happened to each call. fallback, open and error are calls that the store did not decide.',
    runbook: 'headgatefallback',
    queries: { '{{result}}': `sum by (result) (${decisions()})` },
  },
  {
    title: 'Near the limit',
    unit: 'percentunit',
    description: 'The share of admitted calls that left less than a fifth of the limit.',
    queries: {
      '{{limiter}} {{policy}}':
        `sum by (limiter, policy) (${rate('headgate_near_limit_total')}) / ` +
        `(sum by (limiter, policy) (${decisions('result="admitted"')}) > 0)`,
    },
  },
  {
    title: 'Top policies by refusals',
    unit: 'reqps',
    description: 'The five policies that refuse most calls.',
    runbook: 'headgaterefusals',
    queries: {
      '{{limiter}} {{policy}}': `topk(5, sum by (limiter, policy) (${decisions(refused)}))`,
    },
  },
  {
    title: 'Units by limiter',
    unit: 'ops',
    description: 'The cost of admitted calls.',
    queries: { '{{limiter}}': `sum by (limiter) (${rate('headgate_units_total', 'result="admitted"')})` },
  },
  {
    title: 'Store latency',
    unit: 's',
    description: 'How long an exchange with the server of a store takes.',
    runbook: 'headgatebreakeropen',
    queries: Object.fromEntries(
      [0.5, 0.99].map((quantile) => [`{{store}} p${100 * quantile}`, storeTime(quantile, 'le, store')]),
    ),
  },
  {
    title: 'Store errors',
    unit: 'ops',
    description:
      'Exchanges that failed, and calls that were decided without the store. With an open breaker there are no exchanges, only such calls.',
    runbook: 'headgatefallback',
    queries: {
      '{{store}} {{error_type}}': `sum by (store, error_type) (${inSeconds('store_duration', 'count', `${ofProcess}, error_type!=""`)})`,
      '{{limiter}} {{result}}': `sum by (limiter, result) (${decisions('result=~"fallback|open|error"')})`,
    },
  },
  {
    title: 'Calls in an exchange',
    unit: 'short',
    description: 'How many calls one exchange with the store decides.',
    queries: {
      '{{store}}': `sum by (store) (${storeRate('headgate_store_batch_sum')}) / (sum by (store) (${storeRate('headgate_store_batch_count')}) > 0)`,
    },
  },
  {
    title: 'Circuit breaker',
    unit: 'none',
    description: 'The worst circuit breaker of each store and shard.',
    runbook: 'headgatebreakeropen',
    mappings: breaker,
    queries: { '{{store}} {{shard}}': `max by (store, shard) (headgate_breaker_state{${ofProcess}})` },
  },
  {
    title: 'Memory: keys and evictions a second',
    unit: 'short',
    description: 'Keys that memory stores hold, and keys that they evicted below their full quota.',
    queries: {
      keys: `sum(headgate_keys{${ofProcess}})`,
      evictions: `sum(${storeRate('headgate_evictions_total')})`,
    },
  },
  {
    title: 'Waiting and in flight',
    unit: 'short',
    description: 'Calls that wait in a pacer or by the option delay, and calls that hold units in flight.',
    queries: {
      '{{limiter}} waiting': `sum by (limiter) (headgate_waiting{${ofLimiter}})`,
      '{{limiter}} in flight': `sum by (limiter) (headgate_in_flight{${ofLimiter}})`,
    },
  },
  {
    title: 'Overrides',
    unit: 'short',
    description: 'Overrides that have not ended, and calls a second that were decided under an override.',
    queries: {
      '{{limiter}} in force': `max by (limiter) (headgate_overrides{${ofLimiter}})`,
      '{{limiter}} calls a second': `sum by (limiter) (${rate('headgate_overridden_total')})`,
    },
  },
  {
    title: 'Wait of admitted calls',
    unit: 's',
    description: 'How long admitted calls of pacers, and calls with a booked time, wait.',
    queries: {
      '{{limiter}} p99': `histogram_quantile(0.99, sum by (le, limiter) (${inSeconds('wait', 'bucket', ofLimiter)}))`,
    },
  },
]
