import { addressIn, isAddress } from '../../src/http/keys/address.ts'
import { addressKey } from '../../src/http/keys/address-key.ts'
import { byCookie, byIp, type KeyExtractor } from '../../src/index.ts'
import type { Random } from '../support/seeded-random.ts'
import { check, hostileText, pick, type Target } from './target.ts'

type View = Parameters<KeyExtractor>[1]

/** What an extractor sees of a request with these fields, from that socket. */
function viewOf(fields: Record<string, string>, peer = '192.0.2.1'): View {
  return {
    address: () => peer,
    peer: () => peer,
    trustsProxy: () => false,
    header: (_request, name) => fields[name],
    param: () => undefined,
    route: () => 'GET *',
  }
}

const cookiePieces = [
  'session',
  'session=',
  '=',
  ';',
  '; ',
  ',',
  '"',
  '%',
  '%20',
  '\\',
  ' ',
  '\t',
  '\xa0',
  'a',
  '__proto__',
]
const session = byCookie('session')

/** `byCookie` reads any header, and finds a well-formed cookie among others. */
export const cookies: Target = {
  name: 'cookies',
  run(random) {
    const hostile = hostileText(random, cookiePieces, 30)
    const found = session({}, viewOf({ cookie: hostile }))
    check(found === undefined || typeof found === 'string', 'a text or nothing', hostile, found)
    const value = `v${random(1e9).toString(36)}`
    const others = Array.from(
      { length: random(4) },
      (_, n) => `${pick(random, ['a', 'sessions', 'SESSION', 'x-session'])}=${n}`,
    )
    const header = [...others, `session=${value}`].join('; ')
    check(session({}, viewOf({ cookie: header })) === value, 'the cookie of that name', header)
  },
}

const addressPieces = [
  '192.0.2.1',
  '::',
  ':',
  '.',
  '%',
  '%eth0',
  '[',
  ']',
  'ffff',
  '::ffff:',
  '0',
  '1',
  '255',
  '/56',
  ':80',
  ',',
  ' ',
]
const behindOne = byIp({ trustedProxies: 1, warn: false })

/** All forms of an address give one key, a prefix names one client, and forged entries of X-Forwarded-For change nothing. */
export const addresses: Target = {
  name: 'addresses',
  run(random) {
    const hostile = hostileText(random, addressPieces, 10)
    check(typeof addressKey(hostile, 1 + random(128)) === 'string', 'a key for any text', hostile)
    checkTold(hostile)
    checkForms(random)
    checkForwarded(random, hostile)
    checkPlatforms(random, hostile)
  },
}

/** What is taken as an address has the key of one, so nothing that stands beside the address is a new key. */
function checkTold(hostile: string): void {
  const key = addressIn(hostile) !== undefined ? addressKey(hostile, 56) : '192.0.2.1'
  const ofIPv6 = key.endsWith('::/56') && isAddress(`${key.slice(0, -3)}1`)
  check(ofIPv6 || (isAddress(key) && !key.includes(':')), 'the key of an address', hostile, key)
}

function checkForms(random: Random): void {
  const groups = [0x2001, ...Array.from({ length: 7 }, () => (random(3) === 0 ? 0 : random(0x10000)))]
  const whole = groups.map((group) => group.toString(16)).join(':')
  const forms = [
    whole.toUpperCase(),
    groups.map((group) => group.toString(16).padStart(4, '0')).join(':'),
    `${whole}%eth0`,
  ]
  const url = new URL(`http://[${whole}]/`).hostname // the shortest form
  forms.push(`[${whole}]:443`, url, url.slice(1, -1))
  const bits = 16 * (1 + random(8))
  const key = addressKey(whole, bits)
  for (const form of forms) check(addressKey(form, bits) === key, 'one key for all forms', whole, form, bits)
  const n = random(8)
  const other = groups.with(n, (groups[n] as number) ^ (1 + random(0xffff)))
  const same = addressKey(other.map((group) => group.toString(16)).join(':'), bits) === key
  check(same === n * 16 >= bits, 'a prefix names one client', groups, other, bits)
}

function checkForwarded(random: Random, hostile: string): void {
  const last = random(2) === 0 ? hostile.replaceAll(',', '') : `198.51.100.${random(256)}`
  const key = (header: string) => behindOne({}, viewOf({ 'x-forwarded-for': header }))
  check(key(`${hostile},${last}`) === key(last), 'only the last entry is believed', hostile, last)
}

const behindNginx = byIp({ platform: 'nginx', warn: false, ipv6Prefix: 128 })
const behindAlb = byIp({ platform: 'aws-alb', warn: false, ipv6Prefix: 128 })
const behindGoogle = byIp({ platform: 'gcp', warn: false, ipv6Prefix: 128 })

/** A platform's field gives one address or none, and neither a stranger nor what stands before the platform's entry changes it. */
function checkPlatforms(random: Random, hostile: string): void {
  const client = `198.51.100.${random(256)}`
  const text = random(2) === 0 ? hostile : client
  const one = behindNginx({}, viewOf({ 'x-real-ip': text }, '10.0.0.1'))
  const expected = isAddress(text) ? addressKey(text, 128) : undefined
  check(one === expected, 'a whole field is an address or none', text, one)
  const list = { 'x-forwarded-for': `${hostile},${client}` }
  check(behindAlb({}, viewOf(list, '10.0.0.1')) === client, 'the last entry is the client', list)
  const followed = { 'x-forwarded-for': `${hostile},${client}, ${hostile.replaceAll(',', '')}` }
  check(
    behindGoogle({}, viewOf(followed, '35.191.0.1')) === client,
    'the entry before the last is the client',
    followed,
  )
  const stranger = pick(random, [behindNginx, behindAlb, behindGoogle])
  const seen = stranger({}, viewOf({ 'x-real-ip': text, ...list }, '203.0.113.9'))
  check(seen === '203.0.113.9', 'a stranger is itself', text, list, seen)
}
