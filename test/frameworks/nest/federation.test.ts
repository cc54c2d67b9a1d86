import { ApolloFederationDriver, type ApolloFederationDriverConfig } from '@nestjs/apollo'
import { Directive, Field, GraphQLModule, ID, ObjectType, Query, ResolveReference, Resolver } from '@nestjs/graphql'
import { RateLimit, RateLimitModule } from 'headgate/nest'
import { expect, onTestFinished, test } from 'vitest'
import { everywhere, start, storeAt } from '../support/nest.ts'

/** A subgraph whose references have this decorator. */
async function subgraph(onReference: MethodDecorator, guarded: boolean) {
  @ObjectType()
  @Directive('@key(fields: "id")')
  class User {
    @Field(() => ID)
    id!: string
  }

  @Resolver(() => User)
  class Users {
    @Query(() => User)
    user() {
      return { id: '0' }
    }

    @onReference
    @ResolveReference()
    resolveReference({ id }: User) {
      return { id }
    }
  }

  const { agent } = await start('Express', {
    imports: [
      RateLimitModule.forRoot({ policies: '3/1h fixed-window', store: storeAt().store }),
      GraphQLModule.forRoot<ApolloFederationDriverConfig>({
        driver: ApolloFederationDriver,
        autoSchemaFile: { federation: 2 },
        graphiql: false,
        fieldResolverEnhancers: guarded ? ['guards'] : [],
      }),
    ],
    providers: [Users, everywhere],
  })
  return async (count: number) => {
    const query = 'query ($all: [_Any!]!) { _entities(representations: $all) { ... on User { id } } }'
    const all = Array.from({ length: count }, (_, id) => ({ __typename: 'User', id }))
    const { body } = await agent.post('/graphql').send({ query, variables: { all } })
    return body.data?._entities?.filter((each: object | null) => each !== null).length ?? 0
  }
}

const nothing: MethodDecorator = () => {}

test.each([true, false])('references take no units of the module; guards for fields: %s', async (guarded) => {
  const resolve = await subgraph(nothing, guarded)
  expect(await resolve(10)).toBe(10)
})

test('a limit on the resolver of references counts each of them, and gives no warning', async () => {
  const warnings: string[] = []
  const note = ({ message }: Error) => void warnings.push(message)
  process.on('warning', note)
  onTestFinished(() => void process.off('warning', note))
  const resolve = await subgraph(RateLimit('2/1h') as MethodDecorator, true)
  expect(await resolve(2)).toBe(2)
  expect(await resolve(1)).toBe(0)
  expect(warnings.filter((warning) => warning.includes('twice'))).toEqual([])
})

test('a limit on the resolver of references stops the start if Nest runs no guards for it', async () => {
  await expect(subgraph(RateLimit('2/1h') as MethodDecorator, false)).rejects.toThrow(
    /^@RateLimit at Users\.resolveReference has no effect, .*fieldResolverEnhancers: \['guards'\]/,
  )
})
