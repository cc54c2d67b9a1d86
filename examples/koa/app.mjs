import { rateLimit } from 'headgate/koa'
import Koa from 'koa'

export function createApp() {
  const app = new Koa()

  // A refusal in the application's own words. Status 429 and the fields are already set.
  const refuse = (decision, context) => {
    context.body = { sorry: `Come back in ${Math.ceil(decision.retryAfter / 1000)} s.` }
  }
  app.use(rateLimit({ limit: 100, window: '15m', refuse }))

  app.use((context) => {
    context.body = { hello: 'world', left: context.state.rateLimit.remaining }
  })
  return app
}
