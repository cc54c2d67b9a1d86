// node examples/logins/listen.ts, with Node 22.18 or later
import { createApp } from './app.ts'

const check = async (user: unknown, password: unknown) => user === 'ann' && password === 'secret'
const app = createApp(check, (_request, response) => void response.sendStatus(403))
app.listen(3000, () => console.log('curl -i localhost:3000/login --json \'{ "user": "ann", "password": "guess" }\''))
