import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo'
import { Args, Field, GraphQLModule, Int, ObjectType, Query, Resolver, Subscription } from '@nestjs/graphql'
import { createClient } from 'graphql-ws'
import type { RequestDecision } from 'headgate'
import { RateLimitDecision } from 'headgate/nest'
import { expect, onTestFinished, test } from 'vitest'
import WebSocket from 'ws'
import { limits } from '../.examples/nest-query-cost.ts'
import { everywhere, start } from '../support/nest.ts'

@ObjectType()
class Book {
  @Field(() => String)
  title = 'Emma'
}

@Resolver(() => Book)
class Books {
  @Query(() => [Book])
  books(@Args('first', { type: () => Int, defaultValue: 1 }) first: number) {
    return Array.from({ length: first }, () => new Book())
  }

  @Subscription(() => [Book])
  async *shelf(@Args('first', { type: () => Int }) first: number) {
    yield { shelf: this.books(first) }
  }

  @Query(() => Int)
  left(@RateLimitDecision() { remaining }: RequestDecision) {
    return remaining
  }
}

test('an operation costs the fields that it asks for, also by aliases, variables and fragments', async () => {
  const apollo = GraphQLModule.forRoot<ApolloDriverConfig>({ driver: ApolloDriver, autoSchemaFile: true })
  const { agent } = await start('Express', { imports: [limits, apollo], providers: [Books, everywhere] })
  const ask = async (query: string, variables?: object) =>
    (await agent.post('/graphql').send({ query, variables })).body
  expect(await ask('{ books(first: 40) { title } left }')).toEqual({
    data: { books: Array(40).fill({ title: 'Emma' }), left: 58 }, // 100 - (1 + 40) - 1
  })
  await ask('query Q($n: Int = 9) { a: books(first: $n) { ...Name } } fragment Name on Book { title }', { n: 19 })
  expect(await ask('{ left }')).toEqual({ data: { left: 37 } })
  const { errors } = await ask('{ books(first: 50) { title } }')
  expect(errors[0].extensions.code).toBe('TOO_MANY_REQUESTS')
  expect(await ask('{ left }')).toEqual({ data: { left: 36 } })
})

test('a subscription costs the fields that it asks for, before it starts', async () => {
  const apollo = GraphQLModule.forRoot<ApolloDriverConfig>({
    driver: ApolloDriver,
    autoSchemaFile: true,
    subscriptions: { 'graphql-ws': true },
  })
  const { port } = await start('Express', { imports: [limits, apollo], providers: [Books, everywhere] })
  const client = createClient({ url: `ws://127.0.0.1:${port}/graphql`, webSocketImpl: WebSocket })
  onTestFinished(() => void client.dispose())
  const subscribe = async (first: number) => {
    const { value } = await client.iterate({ query: `subscription { shelf(first: ${first}) { title } }` }).next()
    return value
  }
  expect(await subscribe(1)).toEqual({ data: { shelf: [{ title: 'Emma' }] } })
  expect((await subscribe(5000)).errors).toMatchObject([{ extensions: { code: 'TOO_MANY_REQUESTS' } }])
})
