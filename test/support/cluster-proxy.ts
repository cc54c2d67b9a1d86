import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { deserialize, serialize } from 'node:v8'
import { HeadgateError, type Store } from '../../src/index.ts'
import { type Ledger, type LedgerTerms, withFailover } from '../../src/store.ts'
import { packTerms } from '../../src/stores/cluster/messages.ts'

export interface ProxyWorker {
  readonly worker: Worker
  /** A store whose calls the worker makes, on its `clusterStore({ name, timeout })`. */
  store(name: string, timeout?: number): Store
  stop(): Promise<void>
}

interface Reply {
  readonly proxy: number
  readonly result?: string
  readonly failure?: { code: HeadgateError['code']; message: string }
}

/** Starts a real worker of this process, which is the primary of a node:cluster. */
export async function startWorker(serialization: 'json' | 'advanced' = 'json'): Promise<ProxyWorker> {
  cluster.setupPrimary({ exec: fileURLToPath(new URL('./cluster-proxy.mjs', import.meta.url)), serialization })
  const worker = cluster.fork()
  await Promise.race([
    once(worker, 'message'),
    once(worker, 'exit').then(() => {
      throw new Error('the worker ended at once')
    }),
  ])
  const waiting = new Map<number, (reply: Reply) => void>()
  let calls = 0
  worker.on('message', (reply: Reply) => {
    waiting.get(reply.proxy)?.(reply)
    waiting.delete(reply.proxy)
  })

  const ledgerOf = (name: string, timeout: number, terms: LedgerTerms): Ledger => {
    const packed = packTerms(terms)
    return {
      run: (command) =>
        new Promise<never>((resolve, reject) => {
          const proxy = calls++
          waiting.set(proxy, ({ result, failure }) => {
            if (failure !== undefined) reject(new HeadgateError(failure.code, failure.message))
            else resolve(deserialize(Buffer.from(result as string, 'base64')) as never)
          })
          worker.send({ proxy, name, timeout, terms: packed, command: serialize(command).toString('base64') })
        }),
    }
  }

  return {
    worker,
    store: (name, timeout = 10_000) => ({
      synchronous: false,
      traits: { timeout, alternatives: true }, // otherwise the limiter's own timeout is shorter
      open(terms, joins) {
        return withFailover(this, terms, joins, (bare) => ledgerOf(name, timeout, bare))
      },
    }),
    async stop() {
      if (worker.isDead()) return
      const gone = once(worker, 'exit')
      worker.kill('SIGKILL')
      await gone
    },
  }
}
