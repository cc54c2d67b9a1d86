import type { Context, Env, Input } from 'hono'
import type { WSContext, WSEvents } from 'hono/ws'
import { attemptOrWarn, countHit, optionsOf } from './hits.ts'
import type { Promisify, WSConfigProps, WSConfigType } from './types.ts'

/**
 * Limits the messages of WebSockets. `webSocketLimiter(options)` returns a function. Pass your function that returns the event handlers
 * to this function, and pass the result to `upgradeWebSocket`:
 *
 *     upgradeWebSocket(webSocketLimiter({ keyGenerator })((context) => ({ onMessage(event, socket) {} })))
 *
 * @throws TypeError if `keyGenerator` is missing, or if the store, `limit` or `windowMs` is invalid
 */
export function webSocketLimiter<E extends Env = Env, P extends string = string, I extends Input = Input>(
  config: WSConfigProps<E, P, I>,
): (createEvents: (c: Context<E, P, I>) => WSEvents | Promise<WSEvents>) => (c: Context<E, P, I>) => Promise<WSEvents> {
  const options = optionsOf<WSConfigType>(config, {
    statusCode: 1008,
    handler: (_event: unknown, socket: WSContext, { statusCode, message }: WSConfigType) =>
      socket.close(statusCode, message),
  })
  const { skip, handler, skipFailedRequests, skipSuccessfulRequests } = options
  return (createEvents: (c: Context<E, P, I>) => Promisify<WSEvents>) => async (context) => {
    const events = await createEvents(context)
    return {
      ...events,
      async onMessage(event, socket) {
        if (await skip(event, socket)) return void (await events.onMessage?.(event, socket))
        const counted = await attemptOrWarn(countHit(options, context), true)
        if (counted === undefined) return
        const { exceeded, uncount } = counted
        if (exceeded) {
          if (skipSuccessfulRequests) await uncount()
          return handler(event, socket, options)
        }
        try {
          await events.onMessage?.(event, socket)
        } catch (error) {
          if (skipFailedRequests) await uncount()
          throw error
        }
        if (skipSuccessfulRequests) await uncount()
      },
    }
  }
}
