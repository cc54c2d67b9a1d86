import { count, duration, percent, time } from './format.mjs'

export function replayReport(result) {
  const { policies, overTime } = result
  return {
    title: `Replay of ${logName(result.log)}`,
    facts: [...logFacts(result.log), trafficOf(result)],
    sections: [...policies.map((policy) => details(policy, overTime)), sideBySide(policies), summary(policies)],
  }
}

/** The numbers of each policy so far, for a log that is still written. */
export function followReport(result) {
  const { log, requests, policies } = result
  const facts = [
    `${count(log.lines)} lines, ${count(log.bad)} bad`,
    ...(requests === 0 ? ['No request yet'] : [trafficOf(result)]),
  ]
  return {
    title: `Replay of ${logName(log)}, as it is written`,
    facts,
    sections: [summary(policies), ...policies.map(heaviest)],
  }
}

function heaviest({ policy, clients }) {
  return { heading: `Clients that ${policy} refuses`, tables: clients.length === 0 ? [] : [top('clients', clients)] }
}

/** The log as a title names it: without its folder. */
export function logName({ file }) {
  return file === '-' ? 'the standard input' : file.replace(/^.*[\\/]/, '')
}

export function logFacts({ format, lines, bad, badLines, keyless, late, seconds }) {
  return [
    `${count(lines)} ${lines === 1 ? 'line' : 'lines'} of the ${format.includes(', ') ? 'formats' : 'format'} ${format}, read in ${duration(seconds * 1000)}`,
    ...(bad > 0
      ? [
          `${count(bad)} bad ${bad === 1 ? 'line was' : 'lines were'} left out, such as line ${badLines[0].line}: ${badLines[0].text}`,
        ]
      : []),
    ...(keyless > 0
      ? [
          `${count(keyless)} ${keyless === 1 ? 'line names' : 'lines name'} no client, and ${keyless === 1 ? 'was' : 'were'} left out`,
        ]
      : []),
    ...(late > 0 ? [`${count(late)} ${late === 1 ? 'line' : 'lines'} came too late to be sorted`] : []),
  ]
}

/** How many requests came, of how many clients, and when. */
export function trafficOf({ requests, clients, from, to }) {
  const whose = `${count(requests)} ${requests === 1 ? 'request' : 'requests'} of ${count(clients)} ${clients === 1 ? 'client' : 'clients'}`
  return `${whose}, ${time(from)} to ${time(to)} UTC`
}

function summary(policies) {
  const columns = ['policy', '#admitted', '#refused', '#share', '#clients affected', '#share', '#longest wait']
  const rows = policies.map((each) => [
    each.policy,
    count(each.admitted),
    count(each.refused),
    percent(each.refusedShare),
    count(each.clientsAffected),
    percent(each.clientsAffectedShare),
    duration(each.longestWait),
  ])
  return { heading: 'What each policy would have done', tables: [{ columns, rows }] }
}

function sideBySide(policies) {
  const names = policies[0].algorithms.map(({ algorithm }) => algorithm)
  const columns = ['requests refused', ...names.map((name) => `#${name}`)]
  const rows = policies.map(({ policy, algorithms }) => [
    policy,
    ...algorithms.map(({ refused, refusedShare }) => `${count(refused)} (${percent(refusedShare)})`),
  ])
  return { heading: 'The same limit by each algorithm', tables: [{ columns, rows }] }
}

function details(policy, { times, requests }) {
  const heading = `Policy ${policy.policy}`
  if (policy.refused === 0) return { heading, notes: ['It refuses nothing.'] }
  const tables = ['clients', 'status', 'route', 'agent'].map((field) => top(field, policy[field]))
  const series = [
    { name: 'requests', values: requests },
    { name: 'refused', values: policy.refusedOverTime },
  ]
  return { heading, charts: [{ title: 'Requests over time', times, series }], tables }
}

function top(field, values) {
  const rows = values.map(({ name, requests, refused }) => [
    name,
    count(refused),
    count(requests),
    percent(refused / requests),
  ])
  return { columns: [field === 'clients' ? 'client' : `~${field}`, '#refused', '#of requests', '#share'], rows }
}
