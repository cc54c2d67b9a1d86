import { workloads } from '../../../../lab/engine/workloads.mjs'

/** How many columns a drawn workload has. */
export const columns = 24
/** The most requests a second that can be drawn. */
export const mostDrawn = 60

/** The lanes. A lane without a text is not shown. */
export const lanes = ['a', 'b', 'c', 'd']

export const workloadNames = [...Object.keys(workloads), 'tokens', 'drawn', 'log']

/** How fast the virtual clock goes; `all` plays everything in 20 s. */
export const speeds = ['0.1', '0.5', '1', '2', '5', '20', 'all']

export const defaults = {
  a: '10/1s',
  b: '10/1s fixed-window',
  c: '',
  d: '',
  workload: 'boundary',
  rate: 20,
  seconds: 20,
  clients: 1,
  seed: 1,
  speed: '1',
  drawn: Array.from({ length: columns }, (_, n) => Math.round(15 + 14 * Math.sin(n / 2))),
}

/** Numbers at which a workload shows what it is about, under a limit of ten a second. */
const numbersOf = {
  steady: { rate: 20, seconds: 20, clients: 1 },
  poisson: { rate: 12, seconds: 20, clients: 1 },
  bursts: { rate: 5, seconds: 30, clients: 1 },
  boundary: { rate: 20, seconds: 10, clients: 1 },
  'flash-crowd': { rate: 4, seconds: 30, clients: 3 },
  retry: { rate: 20, seconds: 10, clients: 50 },
  'retry-jitter': { rate: 20, seconds: 10, clients: 50 },
  driver: { rate: 20, seconds: 90, clients: 1 },
  tokens: { rate: 2, seconds: 180, clients: 1 },
  drawn: { rate: 20, seconds: 20, clients: 1 },
}

/** The settings after the choice of a workload. */
export function withWorkload(workload) {
  const numbers = numbersOf[workload] ?? {}
  return { workload, ...numbers, speed: numbers.seconds > 60 ? 'all' : '1' }
}

/** Problems that people have, and settings that show the answers. */
export const problems = {
  'An attack at the boundary of a window': {},
  'Login: a robot guesses passwords': {
    a: '5/1m',
    b: '5/1m fixed-window',
    c: '5/1m burst 1',
    workload: 'steady',
    rate: 1,
    seconds: 180,
    speed: 'all',
  },
  'Public API: a page that sends many calls at once': {
    a: '10/1s',
    b: '10/1s burst 30',
    c: '10/1s burst 1',
    workload: 'bursts',
    rate: 3,
    seconds: 30,
  },
  'LLM tokens: calls of different cost': {
    a: '40000/1m',
    b: '40000/1m burst 10000',
    workload: 'tokens',
    rate: 1,
    seconds: 180,
    speed: 'all',
  },
  'A quota: a thousand calls a month': {
    a: '1000/month',
    b: '1000/30d',
    workload: 'poisson',
    rate: 0.0005,
    seconds: 7_776_000,
    speed: 'all',
  },
  'Everybody comes back at once': { a: '10/1s fixed-window', b: '10/1s', c: '10/1s burst 1', ...withWorkload('retry') },
}

/** The name of the problem that has these settings; undefined for other settings. */
export function problemOf(settings) {
  return Object.keys(problems).find((name) => {
    const whole = { ...defaults, ...problems[name] }
    return Object.keys(whole).every((each) => String(whole[each]) === String(settings[each]))
  })
}

/** What each algorithm is for, and the words that choose it in the text of a policy. */
export const algorithms = [
  { words: '', name: 'sliding window', purpose: 'the default: smooth, two numbers for each key' },
  {
    words: 'fixed-window',
    name: 'fixed window',
    purpose: 'easy to explain; lets twice the limit through at a boundary',
  },
  { words: 'sliding-log', name: 'sliding log', purpose: 'exact in every window; remembers each admitted request' },
  { words: 'segmented-window', name: 'segmented window', purpose: 'never over the limit, at little memory' },
  { words: 'token-bucket', name: 'token bucket', purpose: 'a steady rate, and bursts; `burst` is how many at once' },
  { words: 'leaky-bucket', name: 'leaky bucket', purpose: 'the token bucket in the words of a queue that drains' },
  { words: 'gcra burst 1', name: 'GCRA', purpose: 'even gaps between requests, as telephone networks space calls' },
]

/** The algorithm of a policy's text; undefined if it is a quota or has another form. */
export function algorithmOf(text) {
  const [, words] = /^\s*\d+\s*\/\s*[\d.]+\s*[a-z]+\s*(.*?)\s*$/i.exec(text) ?? []
  if (words === undefined) return undefined
  const name = words.replace(/\bburst\s+\d+/i, '').trim()
  if (name === '') return algorithms.find((each) => each.words === (words === '' ? '' : 'token-bucket'))
  return algorithms.find((each) => each.words.split(' ')[0] === name.toLowerCase())
}

/** The text of a policy with another algorithm, and the same limit and window. */
export function withAlgorithm(text, words) {
  const [, rate = '10/1s'] = /^\s*(\d+\s*\/\s*[\d.]+\s*[a-z]+)/i.exec(text) ?? []
  return `${rate} ${words}`.trim()
}

const number = (least, most, form) => (text) => {
  const value = Number(text)
  return form.test(text) && value >= least && value <= most ? value : undefined
}
const whole = (least, most) => number(least, most, /^\d+$/)
const policyText = (text) => text.slice(0, 60)

/** Reads each setting from a text, or returns undefined for one that makes no sense. */
const readers = {
  ...Object.fromEntries(lanes.map((lane) => [lane, policyText])),
  workload: (text) => (workloadNames.includes(text) ? text : undefined),
  rate: number(0.0001, 1000, /^\d+(\.\d+)?$/),
  seconds: whole(1, 10_000_000),
  clients: whole(1, 1000),
  seed: whole(0, 2 ** 32 - 1),
  speed: (text) => (speeds.includes(text) ? text : undefined),
  drawn: (text) => {
    const rates = text.split('.').map(whole(0, mostDrawn))
    return rates.length === columns && !rates.includes(undefined) ? rates : undefined
  },
}

/** The settings of an address such as `?a=10%2F1s&workload=poisson`. What is missing or senseless is the default. */
export function fromQuery(query) {
  const given = new URLSearchParams(query)
  return Object.fromEntries(
    Object.entries(defaults).map(([name, standard]) => [name, read(name, given.get(name)) ?? standard]),
  )
}

function read(name, text) {
  return text === null ? undefined : readers[name](text)
}

/** The address of some settings: only what differs from the defaults. */
export function toQuery(settings) {
  const texts = Object.entries(settings).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join('.') : String(value),
  ])
  const query = new URLSearchParams(texts.filter(([name, text]) => text !== String(defaults[name]) && name in defaults))
  if (String(settings.drawn) === String(defaults.drawn)) query.delete('drawn')
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}
