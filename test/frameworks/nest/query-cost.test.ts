import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo'
import { Args, Field, GraphQLModule, Int, ObjectType, Query, Resolver } from '@nestjs/graphql'
import type { RequestDecision } from 'headgate'
import { RateLimitDecision } from 'headgate/nest'
import { expect, test } from 'vitest'
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
