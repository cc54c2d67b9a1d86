import express, { type Express, type Request, type RequestHandler, type Response } from 'express'
import { byIp, combine, memoryStore, type PenaltyOptions, type Store } from 'headgate'
import { rateLimit } from 'headgate/express'

const penalty: PenaltyOptions = { on: 'spent', ban: '1h' }
const count = (_request: Request, response: Response) => response.statusCode === 401
const byUser = ({ body }: Request) => String(body?.user).normalize('NFKC').trim().toLowerCase()
// A user at an address: a stranger who guesses elsewhere does not lock the user out.
const keys = combine(byIp(), byUser)

type Check = (user: string, password: unknown) => Promise<boolean>

export function createApp(check: Check, operators: RequestHandler, store: Store = memoryStore()): Express {
  const app = express()
  const byAddress = rateLimit({ name: 'logins-by-address', policies: '50/1h', count, store })
  const limit = rateLimit({ name: 'logins', policies: '5/15m sliding-log', penalty, keys, count, store })

  app.post('/login', express.json(), byAddress, limit, async (request, response) => {
    const user = byUser(request) // folded: a success resets the failures of this user only
    if (!(await check(user, request.body?.password))) return void response.sendStatus(401)
    await request.rateLimit.reset()
    response.json({ welcome: user })
  })

  app.delete('/bans/:key', operators, async (request, response) => {
    await limit.limiter.unban(`${request.params.key}`)
    response.sendStatus(204)
  })
  return app
}
