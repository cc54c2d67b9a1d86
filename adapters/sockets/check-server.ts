import { Server as HttpServer } from 'node:http'
import { Server as NetServer } from 'node:net'
import { invalidOption } from '../../src/common/index.ts'

type Loose = Readonly<Record<string, unknown>>

const kinds = 'a server of node:http, node:https or node:http2'

/**
 * Objects that users often pass in place of the server, each with a test and the fix for the error message. None of these objects
 * emits every `upgrade` event, so a limit on such an object would have no effect.
 */
const others: readonly (readonly [is: (given: Loose) => boolean, fix: string])[] = [
  [
    (given) => typeof given.handleUpgrade === 'function',
    "A WebSocketServer is attached to it. Write const server = createServer(), new WebSocketServer({ server }) and limitConnections(server, '10/1m').",
  ],
  [
    (given) => typeof given.of === 'function' && typeof given.attach === 'function',
    "Socket.io is attached to it. Write limitConnections(io.httpServer, '10/1m').",
  ],
  [(given) => typeof given.getHttpServer === 'function', "Write limitConnections(app.getHttpServer(), '10/1m')."],
  [(given) => given.server instanceof NetServer, "Write limitConnections(app.server, '10/1m')."],
  [
    (given) => typeof given.use === 'function' && typeof given.listen === 'function',
    "app.listen() returns it. Write const server = app.listen(8080) and limitConnections(server, '10/1m').",
  ],
]

/**
 * Checks that the value is a server of node:http, node:https or node:http2, because only these servers emit `upgrade`. In Node, these three
 * extend `Server` of node:net, and a plain server of node:net has no `setTimeout`. In Bun, a server of node:http does not extend `Server`
 * of node:net, so the class of node:http is tested too.
 * @throws HeadgateError `HEADGATE_OPTION` with the object to pass instead
 */
export function checkServer(given: unknown): void {
  const emits = given instanceof HttpServer || given instanceof NetServer
  if (emits && typeof (given as Partial<HttpServer>).setTimeout === 'function') return
  const isObject = (typeof given === 'object' && given !== null) || typeof given === 'function'
  const known = isObject ? others.find(([is]) => is(given as Loose)) : undefined
  throw invalidOption('server', kinds, given, known?.[1] ?? "Write limitConnections(createServer(), '10/1m').")
}
