import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ClientReadableStream, credentials, loadPackageDefinition } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { Controller, type ExecutionContext } from '@nestjs/common'
import { APP_INTERCEPTOR } from '@nestjs/core'
import { GrpcMethod, type MicroserviceOptions, Transport } from '@nestjs/microservices'
import { RateLimit, RateLimitInterceptor, RateLimitModule } from 'headgate/nest'
import { Observable } from 'rxjs'
import { expect, onTestFinished, test, vi } from 'vitest'
import { freePort } from '../../support/ports.ts'
import { everywhere, start } from '../support/nest.ts'

interface Call {
  readonly tenant: string
}

class Feed {
  @RateLimit({ policies: '2 at once lease 1h' })
  @GrpcMethod('Feed', 'Open')
  open(_call: Call): Observable<{ n: number }> {
    return new Observable((subscriber) => {
      const timer = setInterval(() => subscriber.next({ n: 1 }), 10)
      return () => clearInterval(timer)
    })
  }
}
Controller()(Feed)

/** Starts a service with a stream that never ends. Returns a function that opens the stream for a tenant. */
async function startFeed() {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-grpc-'))
  const protoPath = join(folder, 'feed.proto')
  writeFileSync(
    protoPath,
    `syntax = "proto3"; package feed;
     service Feed { rpc Open (Call) returns (stream Item); }
     message Call { string tenant = 1; } message Item { int32 n = 1; }`,
  )
  const url = `127.0.0.1:${await freePort()}`
  const keys = (context: ExecutionContext) => context.switchToRpc().getData<Call>().tenant
  await start(
    'Express',
    {
      imports: [RateLimitModule.forRoot({ limit: false, keys })],
      controllers: [Feed],
      providers: [everywhere, { provide: APP_INTERCEPTOR, useClass: RateLimitInterceptor }],
    },
    {
      async prepare(app) {
        const options = {
          transport: Transport.GRPC,
          options: { package: 'feed', protoPath, url },
        } as MicroserviceOptions
        app.connectMicroservice(options, { inheritAppConfig: true })
        await app.startAllMicroservices()
      },
    },
  )
  // biome-ignore lint/suspicious/noExplicitAny: the package makes the class of the client at run time
  const { Feed: Client } = loadPackageDefinition(loadSync(protoPath)).feed as any
  const client = new Client(url, credentials.createInsecure())
  onTestFinished(() => {
    client.close()
    rmSync(folder, { recursive: true })
  })
  return (tenant: string): ClientReadableStream<unknown> => client.Open({ tenant }).on('error', () => {})
}

/** The first item of a stream, or the message of its error. */
const first = (stream: ClientReadableStream<unknown>) =>
  new Promise((resolve) =>
    stream.on('data', resolve).on('error', ({ details }: Error & { details?: string }) => resolve(details)),
  )

test('a stream holds a unit of its key while it is open, and a cancelled stream gives the unit back', async () => {
  const open = await startFeed()
  const streams = [open('ann'), open('ann')]
  expect(await Promise.all(streams.map(first))).toEqual([{ n: 1 }, { n: 1 }])
  expect(await first(open('ann'))).toMatch('Too many requests')
  expect(await first(open('bob'))).toEqual({ n: 1 })
  streams[0]?.cancel()
  await vi.waitFor(async () => expect(await first(open('ann'))).toEqual({ n: 1 }), { timeout: 10_000 })
  expect(await first(open('ann'))).toMatch('Too many requests')
})
