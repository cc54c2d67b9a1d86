import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { getOrInsert, type HeadgateError, tooOld } from '../../src/common/index.ts'
import { hasLeft, whenEnded } from '../../src/http/held/index.ts'
import { type Framework, routeName } from '../../src/http/index.ts'
import { isIncomplete, isUnixSocket, reportedAddress } from '../../src/http/keys/index.ts'

/**
 * True if Fastify trusts every proxy. The test is a made-up request that has passed 250 proxies, whose addresses RFC 5737 reserves for
 * documentation.
 */
function trustsEveryHop(request: FastifyRequest): boolean {
  const chain = Array.from({ length: 250 }, (_, n) => `198.51.100.${n}`)
  const raw = { headers: { 'x-forwarded-for': chain.join(', ') }, socket: { remoteAddress: '192.0.2.1' } }
  return (Object.create(request, { raw: { value: raw } }) as FastifyRequest).ips?.length === chain.length + 1
}

/**
 * False if `trustProxy` is a number, but this version of Fastify then trusts no proxy. All clients behind a proxy then share one limit, so
 * a warning is given. The option is read because `request.ips` does not show why no proxy is trusted.
 */
function trustsAnyProxy(request: FastifyRequest): boolean {
  const server = request.server as unknown as Record<symbol, { trustProxy?: unknown } | undefined>
  const option = everySymbol(server).find(({ description }) => description === 'fastify.options')
  if (option === undefined || typeof server[option]?.trustProxy !== 'number') return true
  const raw = { headers: { 'x-forwarded-for': '198.51.100.1' }, socket: { remoteAddress: '192.0.2.1' } }
  return (Object.create(request, { raw: { value: raw } }) as FastifyRequest).ips?.length === 2
}

/**
 * The symbols of the properties of a Fastify instance and of its prototypes. The prototypes matter because the prototype of a plugin's
 * instance is the parent instance.
 */
function everySymbol(server: object | null): readonly symbol[] {
  if (server === null) return []
  return [...Object.getOwnPropertySymbols(server), ...everySymbol(Object.getPrototypeOf(server) as object | null)]
}

const anyTrusted = new WeakMap<FastifyInstance, boolean>()
const everyHopTrusted = new WeakMap<FastifyInstance, boolean>()

function forwardedAddress(request: FastifyRequest, ips: readonly string[]): string | undefined {
  if (isIncomplete(request.raw)) return undefined
  const everyHop = getOrInsert(everyHopTrusted, request.server, () => trustsEveryHop(request))
  return reportedAddress(everyHop ? (ips[1] ?? ips[0]) : request.ip)
}

/**
 * The names of the response fields that limits set, in lower case. Fastify converts a name to lower case for every response. With this map,
 * each name is converted only once.
 */
const lowerCaseNames = new Map<string, string>()
const toLowerCase = (name: string): string => name.toLowerCase()

/** The property in the config of a HEAD route that contains the URL pattern of its GET route, if the two patterns differ. */
export const patternOfGet: unique symbol = Symbol('headgate.pattern')

declare module 'fastify' {
  interface FastifyContextConfig {
    [patternOfGet]?: string | undefined
  }
}

/**
 * The error for a version of Fastify that is too old. Such a version does not report the config of a request's route, or for a HEAD request
 * reports the config of the GET route.
 */
export function tooOldFastify(): HeadgateError {
  return tooOld('headgate/fastify', 'fastify', '4.25')
}

function route(request: FastifyRequest): string {
  // A request with status 404 has no route, but the global limit applies to the request. So the missing route is no error here.
  if (request.is404) return routeName(undefined, '404')
  const options = request.routeOptions
  if (options?.config === undefined) throw tooOldFastify()
  const { config, method, url } = options
  return routeName(method, config[patternOfGet] ?? url)
}

/** The functions that the guard (code for all frameworks) needs from Fastify. */
export const fastifyFramework: Framework<FastifyRequest, FastifyReply> = {
  address(request) {
    const { ips } = request
    return ips === undefined ? request.ip : forwardedAddress(request, ips)
  },
  peer: (request) => request.raw.socket.remoteAddress,
  unaddressed: ({ raw }) => isUnixSocket(raw.socket),
  incomplete: ({ raw }) => isIncomplete(raw),
  trustsProxy(request) {
    return request.ips !== undefined && getOrInsert(anyTrusted, request.server, () => trustsAnyProxy(request))
  },
  param({ params }, name) {
    const all = params as Record<string, string> | undefined
    return all && Object.hasOwn(all, name) ? all[name] : undefined
  },
  header: (request, name) => request.headers[name]?.toString(),
  route,
  attach(request, _reply, decision) {
    request.rateLimit = decision
  },
  attached: ({ rateLimit }) => rateLimit,
  headersSent: (reply) => reply.sent || reply.raw.headersSent,
  complete: ({ raw }) => raw.writableEnded,
  ended: ({ raw }, done) => whenEnded(raw, done),
  left: ({ raw }) => hasLeft(raw),
  setHeader: (reply, name, value) => void reply.header(getOrInsert(lowerCaseNames, name, toLowerCase), value),
  responseHeader: (reply, name) => reply.getHeader(name)?.toString(),
  setStatus: (reply, status) => void reply.code(status),
  ownStatus: ({ statusCode }) => statusCode,
  clearRefusal: (reply) => void reply.code(200).removeHeader('retry-after').removeHeader('cache-control'),
  send: (reply, type, body) => void reply.type(type).send(body),
  returned(reply, value) {
    if (value === undefined) return reply.sent // true if `refuse` has sent a response itself
    if (value !== reply && !reply.sent) reply.send(value)
    return true
  },
}
