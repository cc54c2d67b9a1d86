import { byIp } from 'headgate'
import { rateLimit } from 'headgate/fetch'
import { limits } from './limits.ts'

const limit = rateLimit({ ...limits, keys: byIp({ platform: 'nginx' }) }) // nginx in front
export const handler = limit.wrap((request) => Response.json({ left: request.rateLimit.remaining }))
