import { H3 } from 'h3'
import { rateLimit } from 'headgate/h3'

export function createApp() {
  const app = new H3()

  // Every route: 100 requests in 15 minutes for each client address.
  app.use(rateLimit('100/15m'))

  // One route with a limit of its own, refused in the words of the application.
  const refuse = ({ retryAfter }) => ({ sorry: `Come back in ${Math.ceil(retryAfter / 1000)} s.` })
  app.get('/search', () => ({ found: [] }), { middleware: [rateLimit({ policies: '3/1m sliding-log', refuse })] })

  app.get('/', (event) => ({ hello: 'world', left: event.context.rateLimit.remaining }))
  return app
}
