import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Framework, isUnixSocket, routeName, whenEnded } from '../src/http/index.ts'

/** True if the server trusts every hop: it then follows a long forwarding chain of documentation addresses (RFC 5737). */
function trustsEveryHop(request: FastifyRequest): boolean {
  const chain = Array.from({ length: 250 }, (_, n) => `198.51.100.${n}`)
  const raw = { headers: { 'x-forwarded-for': chain.join(', ') }, socket: { remoteAddress: '192.0.2.1' } }
  return (Object.create(request, { raw: { value: raw } }) as FastifyRequest).ips?.length === chain.length + 1
}

const everyHopTrusted = new WeakMap<FastifyInstance, boolean>()

function forwardedAddress(request: FastifyRequest, ips: readonly string[]): string | undefined {
  const everyHop = everyHopTrusted.get(request.server) ?? trustsEveryHop(request)
  everyHopTrusted.set(request.server, everyHop)
  return everyHop ? (ips[1] ?? ips[0]) : request.ip
}

/** Field names in lower case, by the names that were set. Fastify would convert a name at every request. */
const lowerCaseNames = new Map<string, string>()

function toLowerCase(name: string): string {
  const lower = name.toLowerCase()
  lowerCaseNames.set(name, lower)
  return lower
}

/** What the guard needs from Fastify. */
export const fastifyFramework: Framework<FastifyRequest, FastifyReply> = {
  address(request) {
    const { ips } = request
    return ips === undefined ? request.ip : forwardedAddress(request, ips)
  },
  peer: (request) => request.raw.socket.remoteAddress,
  unaddressed: ({ raw }) => isUnixSocket(raw.socket),
  trustsProxy: ({ ips }) => ips !== undefined,
  param({ params }, name) {
    const all = params as Record<string, string> | undefined
    return all && Object.hasOwn(all, name) ? all[name] : undefined
  },
  header: (request, name) => request.headers[name]?.toString(),
  route: (request) => routeName(request.method, request.routeOptions.url),
  attach(request, _reply, decision) {
    request.rateLimit = decision
  },
  headersSent: (reply) => reply.sent || reply.raw.headersSent,
  complete: ({ raw }) => raw.writableEnded,
  ended: ({ raw }, done) => whenEnded(raw, done),
  setHeader: (reply, name, value) => void reply.header(lowerCaseNames.get(name) ?? toLowerCase(name), value),
  responseHeader: (reply, name) => reply.getHeader(name)?.toString(),
  setStatus: (reply, status) => void reply.code(status),
  send: (reply, type, body) => void reply.type(type).send(body),
  returned(reply, value) {
    if (value !== undefined && value !== reply && !reply.sent) reply.send(value)
  },
}
