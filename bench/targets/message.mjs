import { IncomingMessage, ServerResponse } from 'node:http'

/*
 * Requests and responses of node:http without sockets, which cost many times more and would hide the measured cost.
 */

/** The event loop gets a tick after this many requests, as between real requests, so deferred work does not pile up. */
const tick = 64

/**
 * A class of such messages on the framework's prototype. Setting the prototype on each message would cost most.
 * @returns {any}
 */
function made(Base, prototype) {
  const Made = class extends Base {}
  Object.setPrototypeOf(Made.prototype, prototype)
  return Made
}

/**
 * A loop of requests from these addresses (a power of two of them), one after the other.
 * @param handle `(request, response, pass)`: calls `pass` or ends the response, at once or later
 * @param prototypes of the framework's own request and response
 */
export function requests(addresses, handle, prototypes = {}) {
  const { request: ofRequest = IncomingMessage.prototype, response: ofResponse = ServerResponse.prototype } = prototypes
  let passed = 0
  let ended = 0
  let wake = () => {}
  const pass = (error) => {
    if (error) throw error
    passed++
    wake()
  }
  const Request = made(IncomingMessage, ofRequest)
  const Response = made(ServerResponse, ofResponse)
  Response.prototype.end = function () {
    if (this.statusCode === 200) passed++
    else ended++
    wake()
    return this
  }
  const mask = addresses.length - 1

  return async (n) => {
    passed = 0
    ended = 0
    for (let i = 0; i < n; i++) {
      const request = new Request({ remoteAddress: addresses[i & mask], encrypted: false })
      request.method = 'GET'
      request.url = '/'
      const response = new Response(request)
      handle(request, response, pass)
      // A promise is awaited. A synchronous result is not.
      if (passed + ended <= i) await new Promise((resolve) => (wake = () => resolve(true)))
      if (i % tick === tick - 1) await new Promise((resolve) => setImmediate(resolve))
    }
    if (passed + ended !== n) throw new Error(`${passed} passed and ${ended} were refused of ${n}`)
    return passed
  }
}

/**
 * A function that makes one request from an address and resolves to true if it was admitted. Any number may be under way.
 * @param handle as in `requests`, ends each response
 */
export function answers(handle, prototypes = {}) {
  const { request: ofRequest = IncomingMessage.prototype, response: ofResponse = ServerResponse.prototype } = prototypes
  const Request = made(IncomingMessage, ofRequest)
  const Response = made(ServerResponse, ofResponse)
  Response.prototype.end = function () {
    this.ended(this.statusCode === 200)
    return this
  }
  return (address) =>
    new Promise((resolve) => {
      const request = new Request({ remoteAddress: address, encrypted: false })
      request.method = 'GET'
      request.url = '/'
      const response = new Response(request)
      response.ended = resolve
      handle(request, response)
    })
}
