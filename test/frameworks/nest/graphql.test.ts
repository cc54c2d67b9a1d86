import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo'
import { type ExecutionContext, UseGuards } from '@nestjs/common'
import {
  Args,
  Field,
  GraphQLModule,
  Mutation,
  ObjectType,
  Parent,
  Query,
  ResolveField,
  Resolver,
  Subscription,
} from '@nestjs/graphql'
import { MercuriusDriver, type MercuriusDriverConfig } from '@nestjs/mercurius'
import { createClient } from 'graphql-ws'
import { byParam, fixedWindow, type RequestDecision } from 'headgate'
import {
  RateLimit,
  RateLimitDecision,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  SkipRateLimit,
} from 'headgate/nest'
import { describe, expect, onTestFinished, test } from 'vitest'
import WebSocket from 'ws'
import { everywhere, start, storeAt } from '../support/nest.ts'

@ObjectType()
class Book {
  @Field(() => String)
  title!: string
}

async function* ticks() {
  yield { ticks: 1 }
}

@Resolver(() => Book)
class Books {
  @Query(() => Number)
  left(@RateLimitDecision() decision: RequestDecision) {
    return decision.remaining
  }

  @Query(() => [Book])
  books() {
    return ['a', 'b', 'c'].map((title) => ({ title }))
  }

  @ResolveField(() => String)
  author(@Parent() { title }: Book) {
    return `author of ${title}`
  }

  @UseGuards(RateLimitGuard)
  @Mutation(() => Boolean)
  write() {
    return true
  }

  @RateLimit({ limit: 1, window: '1m', keys: byParam('name') })
  @Mutation(() => String)
  login(@Args('name', { type: () => String }) name: string) {
    return name
  }

  @SkipRateLimit()
  @Query(() => String)
  health() {
    return 'ok'
  }

  @Subscription(() => Number)
  ticks() {
    return ticks()
  }
}

/** The servers, each with the driver of its platform. */
const servers = {
  'Apollo on Express': (limit: RateLimitModuleOptions, fields: boolean) =>
    start('Express', {
      imports: [
        RateLimitModule.forRoot(limit),
        GraphQLModule.forRoot<ApolloDriverConfig>({
          driver: ApolloDriver,
          autoSchemaFile: true,
          graphiql: false,
          subscriptions: { 'graphql-ws': true },
          allowBatchedHttpRequests: true,
          fieldResolverEnhancers: fields ? ['guards'] : [],
        }),
      ],
      providers: [Books, everywhere],
    }),
  'Mercurius on Fastify': (limit: RateLimitModuleOptions, fields: boolean) =>
    start('Fastify', {
      imports: [
        RateLimitModule.forRoot(limit),
        GraphQLModule.forRoot<MercuriusDriverConfig>({
          driver: MercuriusDriver,
          autoSchemaFile: true,
          subscription: { fullWsTransport: false },
          allowBatchedQueries: true,
          fieldResolverEnhancers: fields ? ['guards'] : [],
        }),
      ],
      providers: [Books, everywhere],
    }),
}

describe.each(Object.entries(servers))('%s', (_name, serve) => {
  async function started(limit: RateLimitModuleOptions, fields = false) {
    const { agent, port } = await serve(limit, fields)
    const ask = async (query: string) => {
      const { status, body, headers } = await agent.post('/graphql').send({ query })
      return { status, data: body.data, error: body.errors?.[0], headers }
    }
    return { ask, agent, port }
  }

  test('a query over the limit is an error with a code, beside true headers', async () => {
    const { clock, store } = storeAt()
    const { ask } = await started({ policies: fixedWindow({ limit: 2, window: '1m' }), store })
    const first = await ask('{ left }')
    expect([first.data, first.headers['x-ratelimit-remaining']]).toEqual([{ left: 1 }, '1'])
    expect((await ask('mutation { write }')).data).toEqual({ write: true })
    clock.advance('10s')
    const refused = await ask('{ left }')
    expect(refused.error).toMatchObject({
      message: 'Too many requests. Try again in 50 seconds.',
      path: ['left'],
      extensions: { code: 'TOO_MANY_REQUESTS', policy: '1m', retryAfter: 50 },
    })
    expect([refused.data, refused.headers['retry-after']]).toEqual([null, '50'])
    clock.advance('50s')
    expect((await ask('{ left }')).data).toEqual({ left: 1 })
  })

  test('a query that refuse admits has no Retry-After', async () => {
    const { ask } = await started({ policies: '1/1h', refuse: () => true })
    await ask('mutation { write }')
    const { data, headers } = await ask('mutation { write }')
    expect(data).toEqual({ write: true })
    expect(headers['retry-after']).toBeUndefined()
  })

  test('each root field counts once, also by aliases; the fields of objects do not', async () => {
    for (const fields of [false, true]) {
      const { ask } = await started('10/1h fixed-window', fields)
      expect((await ask('{ a: books { title author } b: books { author } }')).error).toBeUndefined()
      expect((await ask('{ left }')).data).toEqual({ left: 7 })
    }
  })

  test('introspection and invalid operations do not count', async () => {
    const { ask } = await started('10/1h fixed-window')
    for (const query of ['{ __typename }', '{ __schema { queryType { name } } }', '{ unknown }', '{ left'])
      await ask(query)
    expect((await ask('{ left }')).data).toEqual({ left: 9 })
  })

  test('each operation of a batch counts, with all of its root fields', async () => {
    const { agent, ask } = await started('10/1h fixed-window')
    const operations = ['{ left }', '{ a: left b: left }', 'query { ...two } fragment two on Query { c: left d: left }']
    const batch = [...operations, ...operations].map((query) => ({ query }))
    const { body } = await agent.post('/graphql').send(batch)
    const data = body.map((each: { data: unknown }) => each.data)
    expect(data.slice(0, 5)).not.toContain(null)
    expect((await ask('{ left }')).error.extensions.code).toBe('TOO_MANY_REQUESTS')
    const logins = Array.from({ length: 5 }, () => ({ query: 'mutation { login(name: "ann") }' }))
    const tried = await agent.post('/graphql').send(logins)
    expect(tried.body.filter((each: { data: unknown }) => each.data !== null)).toEqual([{ data: { login: 'ann' } }])
  })

  test('a mutation has a limit of its own, by an argument of its own; a bare skip skips all', async () => {
    const { ask } = await started('2/1h fixed-window')
    const login = (name: string) => `mutation { login(name: "${name}") }`
    expect((await ask(login('ann'))).data).toEqual({ login: 'ann' })
    expect((await ask(login('ann'))).error.extensions.code).toBe('TOO_MANY_REQUESTS')
    expect((await ask(login('bob'))).data).toEqual({ login: 'bob' })
    const twice = await ask('mutation { a: login(name: "cid") b: login(name: "cid") }')
    expect(twice.error.path).toEqual(['b'])
    for (let n = 0; n < 5; n++) expect((await ask('{ health }')).data).toEqual({ health: 'ok' })
    expect((await ask('{ left }')).data).toEqual({ left: 1 })
  })

  test('a subscription over the limit is refused, by the address of its socket', async () => {
    const { port } = await started('2/1h fixed-window')
    const client = createClient({ url: `ws://127.0.0.1:${port}/graphql`, webSocketImpl: WebSocket })
    onTestFinished(() => void client.dispose())
    const subscribe = async () => {
      const results: unknown[] = []
      for await (const { data, errors } of client.iterate({ query: 'subscription { ticks }' })) {
        results.push(data ?? errors?.[0]?.extensions)
      }
      return results
    }
    expect(await subscribe()).toEqual([{ ticks: 1 }])
    expect(await subscribe()).toEqual([{ ticks: 1 }])
    const refused = await subscribe().catch((error) => error)
    expect(JSON.stringify(refused)).toContain('TOO_MANY_REQUESTS')
  })

  test('an address on the deny list gets FORBIDDEN; keys get the execution context', async () => {
    const types: string[] = []
    const denied = await started({ limit: 5, window: '1m', deny: ['127.0.0.1'] })
    expect((await denied.ask('{ left }')).error.extensions.code).toBe('FORBIDDEN')
    const keyed = await started({
      limit: 5,
      window: '1m',
      keys: (context: ExecutionContext) => {
        types.push(context.getType<string>())
        return 'everybody'
      },
    })
    await keyed.ask('{ left }')
    expect(types).toEqual(['graphql'])
  })
})
