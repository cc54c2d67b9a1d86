import { Agent, get } from 'node:http'

/**
 * Sends requests to the app at steady rates, in requests a second. `attack` comes from one key. Returns a function that stops it.
 */
export function startLoad(port, rates) {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const callers = [
    { path: '/api', every: rates.api, key: (n) => `customer-${n % 20}` },
    { path: '/api', every: rates.attack, key: () => 'attacker' },
    { path: '/login', every: rates.login, key: (n) => `user-${n % 200}` },
    { path: '/login', every: rates.guess, key: () => 'guesser' },
  ]
  const timers = callers
    .filter(({ every = 0 }) => every > 0)
    .map(({ path, every, key }) => {
      const start = performance.now()
      let sent = 0
      // A timer that comes late sends what is due, so that the rate is the same on a busy machine.
      return setInterval(() => {
        const due = Math.floor(((performance.now() - start) * every) / 1000)
        while (sent < due) send(agent, port, path, key(sent++))
      }, 20)
    })
  return () => {
    for (const timer of timers) clearInterval(timer)
    agent.destroy()
  }
}

function send(agent, port, path, key) {
  const request = get({ agent, port, path, host: '127.0.0.1', headers: { 'x-api-key': key } }, (response) =>
    response.resume(),
  )
  request.on('error', () => {}) // the app, or the load, is ending
}
