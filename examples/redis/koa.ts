import { rateLimit } from 'headgate/koa'
import Koa from 'koa'
import { limits } from './limits.ts'

export const app = new Koa({ proxy: true, maxIpsCount: 1 }) // one proxy in front
app.use(rateLimit(limits))
app.use((context) => {
  context.body = { left: context.state.rateLimit.remaining }
})
