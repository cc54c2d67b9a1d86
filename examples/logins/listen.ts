// node examples/logins/listen.ts, with Node 22.18 or later
import { createApp } from './app.ts'

const check = async (user: string, password: unknown) => user === 'ann' && password === 'secret'
const app = createApp(check, (_request, response) => void response.sendStatus(403))
const server = app.listen(3000, () =>
  console.log('curl -i localhost:3000/login --json \'{ "user": "ann", "password": "guess" }\''),
)
server.setTimeout(60_000) // a client that reads no responses would delay its ban
