/** The lines that set up a limit in a framework. */
const code = {
  express: (limit) => ["import { rateLimit } from 'headgate/express'", '', `app.use(rateLimit(${limit}))`],
  koa: (limit) => ["import { rateLimit } from 'headgate/koa'", '', `app.use(rateLimit(${limit}))`],
  fastify: (limit) => ["import { rateLimit } from 'headgate/fastify'", '', `await app.register(rateLimit(${limit}))`],
  hono: (limit) => [
    "import { getConnInfo } from '@hono/node-server/conninfo'",
    "import { rateLimit } from 'headgate/hono'",
    '',
    `app.use(rateLimit(${limit}, { connInfo: getConnInfo }))`,
  ],
  nest: (limit) => [
    "import { RateLimitModule } from 'headgate/nest'",
    '',
    `@Module({ imports: [RateLimitModule.forRoot(${limit})] })`,
  ],
}

export const frameworks = Object.keys(code)

/** @param {string} policy such as `20/1m` @param {string} key the value of `--key` */
export function frameworkCode(framework, policy, key) {
  if (key === 'address') return code[framework](`'${policy}'`)
  const keys = `keys: (request) => keyOf(request)`
  return [`// keyOf returns what "--key ${key}" names`, ...code[framework](`{ policies: '${policy}', ${keys} }`)]
}
