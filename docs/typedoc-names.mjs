import { Comment, Converter, ReflectionKind } from 'typedoc'
import manifest from '../package.json' with { type: 'json' }
import { entries } from '../rolldown.entries.mjs'

/** The name by which an entry point is imported, by its source: `adapters/koa` is `headgate/koa`. */
const names = new Map(
  Object.entries(entries).map(([name, source]) => [
    source.replace(/(\/index)?\.ts$/, ''),
    name === 'index' ? manifest.name : `${manifest.name}/${name}`,
  ]),
)

/** Names each module of the reference as users import it, and says what it is for. */
export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const module of project.children ?? []) {
      module.name = names.get(module.name) ?? module.name
      describe(module)
    }
    for (const parameter of project.getReflectionsByKind(ReflectionKind.Parameter)) {
      if (parameter.name === '__namedParameters') parameter.name = 'options'
    }
  })
}

/** What each module is for. A module without a sentence is an error. */
const sentences = {
  headgate: 'Limiters, policies, stores in memory, keys, and the options that all frameworks share.',
  'headgate/calendar': 'Quotas: limits over a month, a day or a billing period.',
  'headgate/cluster': 'One limit for the workers of `node:cluster`.',
  'headgate/compat/express-rate-limit': 'Stands in for `express-rate-limit`: change the import.',
  'headgate/compat/fastify-rate-limit': 'Stands in for `@fastify/rate-limit`: change the import.',
  'headgate/compat/hono-rate-limiter': 'Stands in for `hono-rate-limiter`: change the import.',
  'headgate/compat/koa-ratelimit': 'Stands in for `koa-ratelimit`: change the import.',
  'headgate/compat/nest-throttler': 'Stands in for `@nestjs/throttler`: change the import.',
  'headgate/express': 'The middleware for Express.',
  'headgate/fastify': 'The plugin for Fastify.',
  'headgate/fetch': 'A limit for handlers that get a `Request` and return a `Response`: Bun, Deno, workers, Next.js.',
  'headgate/h3': 'The middleware for h3 and Nitro.',
  'headgate/hono': 'The middleware for Hono.',
  'headgate/http': 'What an author of an adapter needs to limit requests of another framework.',
  'headgate/koa': 'The middleware for Koa.',
  'headgate/memcached': 'The store for one limit over several processes on Memcached.',
  'headgate/nest': 'The module, the guard and the decorators for NestJS.',
  'headgate/node': 'A limit for servers of `node:http` and `node:http2`, without a framework.',
  'headgate/otel': 'Metrics and spans for OpenTelemetry.',
  'headgate/pacer': 'Calls that wait for their turn, in place of being refused.',
  'headgate/policy-file': 'Policies in a JSON file that takes effect while the service runs.',
  'headgate/postgres': 'The store for one limit over several processes on Postgres.',
  'headgate/redis': 'The store for one limit over several processes on Redis or Valkey.',
  'headgate/shares': 'A store in which each process admits its share without a round trip.',
  'headgate/sockets': 'Limits for the messages of WebSockets and Socket.IO.',
  'headgate/sqlite': 'The durable store for the processes of one machine.',
  'headgate/store': 'What an author of a store or an algorithm needs.',
  'headgate/testing': 'A clock that a test sets, a store that fails, and the contract of stores.',
}

/** Begins the page of each module with its sentence. */
function describe(module) {
  const sentence = sentences[module.name]
  if (sentence === undefined) throw new Error(`typedoc-names.mjs has no sentence for ${module.name}. Add one.`)
  module.comment = new Comment([{ kind: 'text', text: sentence }])
}
