/*
 * The alerts: the one source of alerts.yml. `npm run generate` writes it. Tests make the same rules with shorter times.
 */
import { createRequire } from 'node:module'

/** Where the runbooks are. */
const { homepage } = createRequire(import.meta.url)('headgate/package.json')

export const production = {
  window: '5m',
  breakerFor: '1m',
  fallbackFor: '5m',
  share: 0.05,
  usual: '1d',
  times: 3,
  least: 1,
}

/**
 * @param share the part of all calls that the store does not decide, above which it is told
 * @param times refusals above this many times the usual rate, and above `least` a second, are unusual
 */
export function alerts({ window, breakerFor, fallbackFor, share, usual, times, least }) {
  const rate = (results, over, offset = '') =>
    `sum by (job, limiter) (rate(headgate_decisions_total{result=~"${results}"}[${over}]${offset}))`
  const refusals = rate('refused|banned', window)
  return [
    {
      alert: 'HeadgateBreakerOpen',
      expr: 'max by (job, instance, store, shard) (headgate_breaker_state) > 0',
      for: breakerFor,
      severity: 'page',
      summary: 'The {{ $labels.store }} store of {{ $labels.instance }} fails, and gets no calls.',
    },
    {
      alert: 'HeadgateFallback',
      expr: `${rate('fallback|open|error', window)} / ${rate('.+', window)} > ${share}`,
      for: fallbackFor,
      severity: 'page',
      summary: 'The store decides no longer for {{ $labels.limiter }}: each process decides alone, or nobody does.',
    },
    {
      alert: 'HeadgateRefusals',
      // A limiter that has never refused has no usual rate: its first refusals are unusual.
      expr: `${refusals} > ${least} unless ${refusals} <= ${times} * ${rate('refused|banned', usual, ` offset ${window}`)}`,
      for: '0s',
      severity: 'ticket',
      summary: '{{ $labels.limiter }} refuses {{ $value | humanize }} calls a second, far more than usual.',
    },
  ]
}

/** The rules as Prometheus reads them. Every text is quoted, as JSON quotes it, which is YAML too. */
export function rulesFile(rules) {
  const lines = rules.flatMap(({ alert, expr, for: time, severity, summary }) => [
    `      - alert: ${alert}`,
    `        expr: ${JSON.stringify(expr)}`,
    `        for: ${time}`,
    `        labels: { severity: ${severity} }`,
    `        annotations:`,
    `          summary: ${JSON.stringify(summary)}`,
    `          runbook_url: ${homepage}/observability#${alert.toLowerCase()}`,
  ])
  return ['groups:', '  - name: headgate', '    rules:', ...lines, ''].join('\n')
}
