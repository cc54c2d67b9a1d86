import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { AddressPlatform } from '../../src/index.ts'

/** The lines of a request's head, without the empty line at the end. */
type Lines = readonly string[]

/** What a proxy makes of the head that a client sent from this address. */
export type Rewrite = (lines: Lines, client: string) => Lines

const isField = (line: string, name: string) => line.toLowerCase().startsWith(`${name}:`)

/** Sets a field, and drops what the client sent under that name. */
const overwrite =
  (name: string): Rewrite =>
  (lines, client) => [...lines.filter((line) => !isField(line, name)), `${name}: ${client}`]

/** Appends to a list, as a line of its own. */
export const append =
  (name: string, entry = (client: string) => client): Rewrite =>
  (lines, client) => [...lines, `${name}: ${entry(client)}`]

const both =
  (...rewrites: Rewrite[]): Rewrite =>
  (lines, client) =>
    rewrites.reduce((head, rewrite) => rewrite(head, client), lines)

/** What each platform does with the fields of its clients. */
export const platforms: Readonly<Record<AddressPlatform, Rewrite>> = {
  cloudflare: both(overwrite('cf-connecting-ip'), append('x-forwarded-for')),
  vercel: both(overwrite('x-vercel-forwarded-for'), overwrite('x-real-ip'), overwrite('x-forwarded-for')),
  fly: both(overwrite('fly-client-ip'), append('x-forwarded-for')),
  render: both(
    overwrite('cf-connecting-ip'),
    append('x-forwarded-for', (client) => `${client}, 172.70.247.28, 10.19.6.53`),
  ),
  railway: overwrite('x-real-ip'),
  netlify: both(overwrite('x-nf-client-connection-ip'), append('x-forwarded-for')),
  'aws-lambda': append('x-forwarded-for'),
  'aws-alb': append('x-forwarded-for', (client) => `${client}:50123`),
  gcp: append('x-forwarded-for', (client) => `${client}, 203.0.113.80`),
  azure: append('x-forwarded-for', (client) => `${client}:50123`),
  nginx: overwrite('x-real-ip'),
}

/** A proxy for one request a connection. It reaches the server from 127.0.0.1. */
export interface AddressProxy {
  readonly port: number
  close(): Promise<void>
}

export async function startAddressProxy(target: number, rewrite: Rewrite): Promise<AddressProxy> {
  const server = createServer((client) => forward(client, target, rewrite).catch(() => client.destroy()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

async function forward(client: Socket, target: number, rewrite: Rewrite): Promise<void> {
  client.on('error', () => undefined)
  const address = client.remoteAddress as string
  const [requestLine = '', ...lines] = (await readHead(client)).split('\r\n').filter((line) => line !== '')
  const upstream = connect({ port: target, host: '127.0.0.1', localAddress: '127.0.0.1' })
  upstream.on('error', () => client.destroy())
  upstream.write(`${[requestLine, ...rewrite(lines, address)].join('\r\n')}\r\n\r\n`)
  upstream.pipe(client)
}

async function readHead(socket: Socket): Promise<string> {
  let head = ''
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    head += chunk
    if (head.endsWith('\r\n\r\n')) break
  }
  return head
}

/** Sends a request with these lines from that address, and resolves to the status of the response. */
export function getFrom(localAddress: string, port: number, lines: Lines = []): Promise<number> {
  return new Promise((resolve, reject) => {
    let response = ''
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    socket.setEncoding('latin1').on('data', (chunk) => {
      response += chunk
    })
    socket.on('error', reject).on('close', () => resolve(Number(response.split(' ')[1])))
    socket.write(`${['GET / HTTP/1.1', 'Host: app', 'Connection: close', ...lines].join('\r\n')}\r\n\r\n`)
  })
}
