/* Loads a server from another process. The argument is the JSON of autocannon's options; its result is sent as a message. */
import autocannon from 'autocannon'

const result = await autocannon(JSON.parse(process.argv[2]))
const { statusCodeStats, errors, timeouts, latency } = result
process.send({ statusCodeStats, errors, timeouts, slowest: latency.max }, () => process.exit(0))
