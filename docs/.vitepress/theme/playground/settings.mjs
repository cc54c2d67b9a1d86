import { workloads } from '../../../../lab/engine/workloads.mjs'

/** How many columns a drawn workload has. */
export const columns = 24
/** The most requests a second that can be drawn. */
export const mostDrawn = 60

export const workloadNames = [...Object.keys(workloads), 'drawn', 'log']

/** How fast the virtual clock goes; `all` plays everything in 20 s. */
export const speeds = ['0.1', '0.5', '1', '2', '5', '20', 'all']

export const defaults = {
  a: '10/1s',
  b: '10/1s fixed-window',
  workload: 'boundary',
  rate: 20,
  seconds: 20,
  clients: 1,
  seed: 1,
  speed: '1',
  drawn: Array.from({ length: columns }, (_, n) => Math.round(15 + 14 * Math.sin(n / 2))),
}

const whole = (least, most) => (text) => {
  const value = Number(text)
  return /^\d+$/.test(text) && value >= least && value <= most ? value : undefined
}

/** Reads each setting from a text, or returns undefined for one that makes no sense. */
const readers = {
  a: (text) => text.slice(0, 60),
  b: (text) => text.slice(0, 60),
  workload: (text) => (workloadNames.includes(text) && text !== 'log' ? text : undefined),
  rate: whole(1, 1000),
  seconds: whole(1, 3600),
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
