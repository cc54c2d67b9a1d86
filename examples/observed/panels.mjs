/*
 * The panels of the dashboard: the one source of dashboard.json. `npm run generate` writes it. `$window` is the time that rates are
 * taken over.
 */
const refused = 'result=~"refused|banned"'
const rate = (metric, labels = '') => `rate(${metric}{${labels}}[$window])`

export const panels = [
  {
    title: 'Calls by result',
    unit: 'reqps',
    queries: { '{{result}}': `sum by (result) (${rate('headgate_decisions_total')})` },
  },
  {
    title: 'Near the limit',
    unit: 'percentunit',
    queries: {
      '{{limiter}} {{policy}}':
        `sum by (limiter, policy) (${rate('headgate_near_limit_total')}) / ` +
        `(sum by (limiter, policy) (${rate('headgate_decisions_total', 'result="admitted"')}) > 0)`,
    },
  },
  {
    title: 'Top policies by refusals',
    unit: 'reqps',
    queries: {
      '{{limiter}} {{policy}}': `topk(5, sum by (limiter, policy) (${rate('headgate_decisions_total', refused)}))`,
    },
  },
  {
    title: 'Units by limiter',
    unit: 'ops',
    queries: { '{{limiter}}': `sum by (limiter) (${rate('headgate_units_total', 'result="admitted"')})` },
  },
  {
    title: 'Store latency',
    unit: 's',
    queries: Object.fromEntries(
      [0.5, 0.99].map((quantile) => [
        `{{store}} p${100 * quantile}`,
        `histogram_quantile(${quantile}, sum by (le, store) (${rate('headgate_store_duration_bucket')}))`,
      ]),
    ),
  },
  {
    title: 'Calls in an exchange',
    unit: 'short',
    queries: {
      '{{store}}': `sum by (store) (${rate('headgate_store_batch_sum')}) / (sum by (store) (${rate('headgate_store_batch_count')}) > 0)`,
    },
  },
  {
    title: 'Circuit breaker (0 closed, 1 half-open, 2 open)',
    unit: 'none',
    queries: { '{{store}} {{shard}}': 'max by (store, shard) (headgate_breaker_state)' },
  },
  {
    title: 'Memory: keys and evictions a second',
    unit: 'short',
    queries: {
      keys: 'sum(headgate_keys)',
      evictions: `sum(${rate('headgate_evictions_total')})`,
    },
  },
  {
    title: 'Waiting and in flight',
    unit: 'short',
    queries: {
      '{{limiter}} waiting': 'sum by (limiter) (headgate_waiting)',
      '{{limiter}} in flight': 'sum by (limiter) (headgate_in_flight)',
    },
  },
  {
    title: 'Wait of admitted calls',
    unit: 's',
    queries: {
      '{{limiter}} p99': `histogram_quantile(0.99, sum by (le, limiter) (${rate('headgate_wait_bucket')}))`,
    },
  },
]
