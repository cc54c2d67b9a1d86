import express, { type Express } from 'express'
import { rateLimit } from 'headgate/express'
import { limits } from './limits.ts'

export const app: Express = express()
app.set('trust proxy', 1) // one proxy in front
app.use(rateLimit(limits))
app.get('/', (request, response) => void response.json({ left: request.rateLimit.remaining }))
