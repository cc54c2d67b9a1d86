/* Loads a server from a process of its own: the JSON of `autocannon`'s options is the argument, its result the message. */
import autocannon from 'autocannon'

const result = await autocannon(JSON.parse(process.argv[2]))
const { statusCodeStats, errors, timeouts, latency } = result
process.send({ statusCodeStats, errors, timeouts, slowest: latency.max }, () => process.exit(0))
