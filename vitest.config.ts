import { availableParallelism } from 'node:os'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'

const long = 'test/**/*.long.test.ts'
/** Packages of their own, with settings of their own. */
const packages = ['**/node_modules/**', 'test/{frameworks,loaders,runtimes}/**']
/** Tests that use the built package, as a user does. */
const built = ['test/{readme,site-programs}.test.ts', 'test/examples/*.test.ts']
/** Tests that listen to every store of the process, so no other file may leave one that works on. */
const listening = ['test/telemetry/stores.test.ts']
/** Installs the packed tarball, compiles its types and those of the examples, and uses it beside older neighbours. */
const packed = ['test/{package,neighbours,example-types}.test.ts']
/** Tests that start Redis, PostgreSQL or Memcached, or other processes of Node. */
const servers = [
  'test/stores/{redis/*,shares/redis}.test.ts',
  'test/stores/{cluster,fleet,memcached,postgres}*.test.ts',
  'test/stores/{calendar-servers,candidate,expiring-servers,hostile-names,inspectors,releases,shown,size,thresholds,unknown-kind,usage}.test.ts',
  'test/failure/faults.test.ts',
  'test/compat/redis.test.ts',
  'test/overrides/stores.test.ts',
  'test/moving-in/upstash-ratelimit.test.ts',
  'test/pacer/fleet*.test.ts',
]
const http = [
  'test/{http,sockets}/**/*.test.ts',
  'test/overrides/middleware.test.ts',
  'test/compat/*-rat*.test.ts',
  'test/pacer/fetch/real-server.test.ts',
]
/** Tests that play a part of a large product of cases: support/depth.ts. */
const parts = [
  'test/compat/{express,fastify}-rate-limit.test.ts',
  'test/{package,readme}.test.ts',
  'test/algorithms/exact-math.test.ts',
  'test/calendar/golden.test.ts',
  'test/common/own-text.test.ts',
  'test/limiter/{alternatives-{law,model},expiring-model,thresholds}.test.ts',
  'test/overrides/stores.test.ts',
  'test/failure/flapping.test.ts',
  'test/http/keys/{address,by-cookie}.test.ts',
  'test/pacer/{properties,set-rate,settling}.test.ts',
  'test/stores/memory/{calendar,overflow-plans}.test.ts',
  'test/stores/shares/{share-fleet,worst-case}.test.ts',
  'test/stores/redis/{acl,contract,cost-lists,guava,short-forms,thresholds}.test.ts',
  'test/stores/{calendar*,cluster,compare-and-set,lru-store,memcached,postgres,postgres-plain,releases,sqlite,thresholds,usage}.test.ts',
  'test/testing/faulty-store.test.ts',
]
const installServers = './test/support/programs.ts'

function tier(name: string, include: readonly string[], settings: TestProjectInlineConfiguration['test'] = {}) {
  return { extends: true as const, test: { name, include: [...include], exclude: [long, ...packages], ...settings } }
}

/**
 * The files of most tiers share a process for each worker, so that it loads the sources once. support/tidy.ts leaves it as a
 * file has found it.
 */
const shared = { isolate: false, setupFiles: './test/support/tidy.ts' }

/**
 * `npm run test:unit` runs the tier `unit`, `npm run check:package` the tier `package`, `npm run test:long` the tier `long`,
 * `npm run test:depth` the two before it, and `npm test` the others.
 */
export default defineConfig({
  resolve: { alias: { '#platform': new URL('./src/platform/node.ts', import.meta.url).pathname } },
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Vitest leaves one core free by itself. Many tests wait for a server, so there is work for more than all of them. Those of `npm test`
    // wait most.
    maxWorkers: availableParallelism() + (process.env.npm_lifecycle_event === 'test' ? 2 : 1),
    reporters: ['default', './test/support/count-reporter.ts'],
    projects: [
      tier('unit', ['test/**/*.test.ts'], {
        ...shared,
        exclude: [long, ...packages, ...built, ...listening, ...packed, ...servers, ...http],
      }),
      tier('http', http, shared),
      tier('built', built),
      tier('package', packed, { globalSetup: installServers }),
      tier('servers', servers, { ...shared, globalSetup: installServers }),
      tier('listening', listening, { globalSetup: installServers }),
      tier('in-depth', parts, { ...shared, globalSetup: installServers, env: { HEADGATE_IN_DEPTH: 'true' } }),
      tier('every-framework', http, { ...shared, env: { HEADGATE_EVERY_FRAMEWORK: 'true' } }),
      tier('long', [long], { exclude: packages, globalSetup: installServers, testTimeout: 600_000 }),
    ],
  },
})
