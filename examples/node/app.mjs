import { rateLimit } from 'headgate/node'

/** A listener for servers of node:http, and of node:http2 as well. */
export function createListener() {
  const limit = rateLimit('100/15m')
  const uploads = rateLimit({ name: 'uploads', policies: '2/1h sliding-log' })

  return async (request, response) => {
    // A refused request is already answered.
    if (!(await limit(request, response))) return
    if (request.method === 'PUT' && !(await uploads(request, response))) return
    response.end(`Hello. ${request.rateLimit.remaining} left.\n`)
  }
}
