// .vitepress/config.mjs
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "file:///work/wt/site/docs/node_modules/vitepress/dist/node/index.js";
import llmstxt from "file:///work/wt/site/docs/node_modules/vitepress-plugin-llms/dist/index.js";

// ../package.json
var package_default = {
  name: "headgate",
  version: "0.1.0",
  description: "An exact rate limiter for Node services: one set of policies for every door in, the same true answers everywhere.",
  keywords: [
    "rate-limit",
    "rate-limiter",
    "express",
    "koa",
    "fastify",
    "hono",
    "h3",
    "fetch",
    "middleware",
    "websocket",
    "socket.io",
    "nestjs",
    "token-bucket",
    "sliding-window",
    "gcra",
    "throttle",
    "quota"
  ],
  homepage: "https://headgate.github.io/headgate",
  repository: {
    type: "git",
    url: "git+https://github.com/headgate/headgate.git"
  },
  license: "MIT",
  type: "module",
  sideEffects: false,
  engines: {
    node: ">=20.19.0"
  },
  publishConfig: {
    access: "public",
    provenance: true
  },
  files: [
    "dist"
  ],
  main: "./dist/cjs/index.cjs",
  types: "./dist/types/index.d.cts",
  typesVersions: {
    "*": {
      "package.json": [
        "./package.json"
      ],
      "dist/types/*": [
        "./dist/types/*"
      ],
      "*": [
        "./dist/types/*.d.cts"
      ]
    }
  },
  imports: {
    "#platform": {
      node: {
        import: "./dist/platform/node.js",
        "module-sync": "./dist/platform/node.js",
        require: "./dist/cjs/platform/node.cjs"
      },
      default: {
        import: "./dist/platform/web.js",
        "module-sync": "./dist/platform/web.js",
        require: "./dist/cjs/platform/web.cjs"
      }
    }
  },
  exports: {
    ".": {
      import: {
        types: "./dist/types/index.d.mts",
        default: "./dist/index.js"
      },
      "module-sync": "./dist/index.js",
      require: {
        types: "./dist/types/index.d.cts",
        default: "./dist/cjs/index.cjs"
      }
    },
    "./store": {
      import: {
        types: "./dist/types/store.d.mts",
        default: "./dist/store.js"
      },
      "module-sync": "./dist/store.js",
      require: {
        types: "./dist/types/store.d.cts",
        default: "./dist/cjs/store.cjs"
      }
    },
    "./http": {
      import: {
        types: "./dist/types/http.d.mts",
        default: "./dist/http.js"
      },
      "module-sync": "./dist/http.js",
      require: {
        types: "./dist/types/http.d.cts",
        default: "./dist/cjs/http.cjs"
      }
    },
    "./calendar": {
      import: {
        types: "./dist/types/calendar.d.mts",
        default: "./dist/calendar.js"
      },
      "module-sync": "./dist/calendar.js",
      require: {
        types: "./dist/types/calendar.d.cts",
        default: "./dist/cjs/calendar.cjs"
      }
    },
    "./express": {
      import: {
        types: "./dist/types/express.d.mts",
        default: "./dist/express.js"
      },
      "module-sync": "./dist/express.js",
      require: {
        types: "./dist/types/express.d.cts",
        default: "./dist/cjs/express.cjs"
      }
    },
    "./koa": {
      import: {
        types: "./dist/types/koa.d.mts",
        default: "./dist/koa.js"
      },
      "module-sync": "./dist/koa.js",
      require: {
        types: "./dist/types/koa.d.cts",
        default: "./dist/cjs/koa.cjs"
      }
    },
    "./fastify": {
      import: {
        types: "./dist/types/fastify.d.mts",
        default: "./dist/fastify.js"
      },
      "module-sync": "./dist/fastify.js",
      require: {
        types: "./dist/types/fastify.d.cts",
        default: "./dist/cjs/fastify.cjs"
      }
    },
    "./sockets": {
      import: {
        types: "./dist/types/sockets.d.mts",
        default: "./dist/sockets.js"
      },
      "module-sync": "./dist/sockets.js",
      require: {
        types: "./dist/types/sockets.d.cts",
        default: "./dist/cjs/sockets.cjs"
      }
    },
    "./nest": {
      import: {
        types: "./dist/types/nest.d.mts",
        default: "./dist/nest.js"
      },
      "module-sync": "./dist/nest.js",
      require: {
        types: "./dist/types/nest.d.cts",
        default: "./dist/cjs/nest.cjs"
      }
    },
    "./fetch": {
      import: {
        types: "./dist/types/fetch.d.mts",
        default: "./dist/fetch.js"
      },
      "module-sync": "./dist/fetch.js",
      require: {
        types: "./dist/types/fetch.d.cts",
        default: "./dist/cjs/fetch.cjs"
      }
    },
    "./hono": {
      import: {
        types: "./dist/types/hono.d.mts",
        default: "./dist/hono.js"
      },
      "module-sync": "./dist/hono.js",
      require: {
        types: "./dist/types/hono.d.cts",
        default: "./dist/cjs/hono.cjs"
      }
    },
    "./h3": {
      import: {
        types: "./dist/types/h3.d.mts",
        default: "./dist/h3.js"
      },
      "module-sync": "./dist/h3.js",
      require: {
        types: "./dist/types/h3.d.cts",
        default: "./dist/cjs/h3.cjs"
      }
    },
    "./node": {
      import: {
        types: "./dist/types/node.d.mts",
        default: "./dist/node.js"
      },
      "module-sync": "./dist/node.js",
      require: {
        types: "./dist/types/node.d.cts",
        default: "./dist/cjs/node.cjs"
      }
    },
    "./compat/express-rate-limit": {
      import: {
        types: "./dist/types/compat/express-rate-limit.d.mts",
        default: "./dist/compat/express-rate-limit.js"
      },
      "module-sync": "./dist/compat/express-rate-limit.js",
      require: {
        types: "./dist/types/compat/express-rate-limit.d.cts",
        default: "./dist/cjs/compat/express-rate-limit.cjs"
      }
    },
    "./compat/koa-ratelimit": {
      import: {
        types: "./dist/types/compat/koa-ratelimit.d.mts",
        default: "./dist/compat/koa-ratelimit.js"
      },
      "module-sync": "./dist/compat/koa-ratelimit.js",
      require: {
        types: "./dist/types/compat/koa-ratelimit.d.cts",
        default: "./dist/cjs/compat/koa-ratelimit.cjs"
      }
    },
    "./compat/fastify-rate-limit": {
      import: {
        types: "./dist/types/compat/fastify-rate-limit.d.mts",
        default: "./dist/compat/fastify-rate-limit.js"
      },
      "module-sync": "./dist/compat/fastify-rate-limit.js",
      require: {
        types: "./dist/types/compat/fastify-rate-limit.d.cts",
        default: "./dist/cjs/compat/fastify-rate-limit.cjs"
      }
    },
    "./compat/nest-throttler": {
      import: {
        types: "./dist/types/compat/nest-throttler.d.mts",
        default: "./dist/compat/nest-throttler.js"
      },
      "module-sync": "./dist/compat/nest-throttler.js",
      require: {
        types: "./dist/types/compat/nest-throttler.d.cts",
        default: "./dist/cjs/compat/nest-throttler.cjs"
      }
    },
    "./compat/hono-rate-limiter": {
      import: {
        types: "./dist/types/compat/hono-rate-limiter.d.mts",
        default: "./dist/compat/hono-rate-limiter.js"
      },
      "module-sync": "./dist/compat/hono-rate-limiter.js",
      require: {
        types: "./dist/types/compat/hono-rate-limiter.d.cts",
        default: "./dist/cjs/compat/hono-rate-limiter.cjs"
      }
    },
    "./redis": {
      import: {
        types: "./dist/types/redis.d.mts",
        default: "./dist/redis.js"
      },
      "module-sync": "./dist/redis.js",
      require: {
        types: "./dist/types/redis.d.cts",
        default: "./dist/cjs/redis.cjs"
      }
    },
    "./shares": {
      import: {
        types: "./dist/types/shares.d.mts",
        default: "./dist/shares.js"
      },
      "module-sync": "./dist/shares.js",
      require: {
        types: "./dist/types/shares.d.cts",
        default: "./dist/cjs/shares.cjs"
      }
    },
    "./postgres": {
      import: {
        types: "./dist/types/postgres.d.mts",
        default: "./dist/postgres.js"
      },
      "module-sync": "./dist/postgres.js",
      require: {
        types: "./dist/types/postgres.d.cts",
        default: "./dist/cjs/postgres.cjs"
      }
    },
    "./sqlite": {
      import: {
        types: "./dist/types/sqlite.d.mts",
        default: "./dist/sqlite.js"
      },
      "module-sync": "./dist/sqlite.js",
      require: {
        types: "./dist/types/sqlite.d.cts",
        default: "./dist/cjs/sqlite.cjs"
      }
    },
    "./memcached": {
      import: {
        types: "./dist/types/memcached.d.mts",
        default: "./dist/memcached.js"
      },
      "module-sync": "./dist/memcached.js",
      require: {
        types: "./dist/types/memcached.d.cts",
        default: "./dist/cjs/memcached.cjs"
      }
    },
    "./cluster": {
      import: {
        types: "./dist/types/cluster.d.mts",
        default: "./dist/cluster.js"
      },
      "module-sync": "./dist/cluster.js",
      require: {
        types: "./dist/types/cluster.d.cts",
        default: "./dist/cjs/cluster.cjs"
      }
    },
    "./pacer": {
      import: {
        types: "./dist/types/pacer.d.mts",
        default: "./dist/pacer.js"
      },
      "module-sync": "./dist/pacer.js",
      require: {
        types: "./dist/types/pacer.d.cts",
        default: "./dist/cjs/pacer.cjs"
      }
    },
    "./otel": {
      import: {
        types: "./dist/types/otel.d.mts",
        default: "./dist/otel.js"
      },
      "module-sync": "./dist/otel.js",
      require: {
        types: "./dist/types/otel.d.cts",
        default: "./dist/cjs/otel.cjs"
      }
    },
    "./testing": {
      import: {
        types: "./dist/types/testing.d.mts",
        default: "./dist/testing.js"
      },
      "module-sync": "./dist/testing.js",
      require: {
        types: "./dist/types/testing.d.cts",
        default: "./dist/cjs/testing.cjs"
      }
    },
    "./package.json": "./package.json"
  },
  bin: {
    "headgate-postgres": "./dist/headgate-postgres.js"
  },
  scripts: {
    build: "rolldown -c",
    start: "npm run build && node examples/demo/listen.mjs",
    test: "npm run build && vitest run --project unit --project http --project built --project servers --project listening",
    "test:unit": "vitest run --project unit",
    "test:long": "npm run build && vitest run --project long --project in-depth --project every-framework",
    "test:frameworks": "npm run build && npm ci --prefix test/frameworks && node test/frameworks/main.mjs",
    "test:loaders": "npm run build && npm ci --prefix test/loaders && node test/loaders/main.mjs",
    "test:observed": "npm run build && npm ci --prefix examples/observed && npm test --prefix examples/observed",
    "test:lab": "npm run build && npm ci --prefix lab && npm test --prefix lab",
    "test:runtimes": "npm run build && npm ci --prefix test/runtimes && node test/runtimes/main.mjs",
    "test:nodes": "npm ci --prefix test/runtimes && node test/runtimes/nodes.mjs",
    lint: "biome check && vitest run --project unit test/imports.test.ts",
    format: "biome check --write",
    types: "tsc --noEmit && tsc -p test && tsc -p examples",
    "check:package": "publint --strict && attw --pack . && vitest run --project package",
    "check:dead": "knip",
    "check:size": "node test/size/main.mjs",
    "check:release": "node .github/release/check.mjs",
    release: "npm ci --prefix .github/release && node .github/release/node_modules/release-it/bin/release-it.js --config .github/release/release-it.json",
    bench: "npm run build && npm ci --prefix bench && node bench/main.mjs",
    "bench:core": "npm run bench -- core",
    "bench:observed": "npm run bench -- observed",
    "bench:http": "npm run bench -- http",
    "bench:sockets": "npm run bench -- sockets",
    "bench:memory": "npm run bench -- memory",
    "bench:full": "npm run bench -- full",
    "bench:scale": "npm run build && npm ci --prefix bench && node bench/scale/main.mjs",
    "bench:overload": "npm run build && npm ci --prefix bench && node bench/overload/main.mjs",
    "bench:redis": "npm run bench -- redis",
    "bench:databases": "npm run bench -- databases",
    "bench:sqlite": "npm run bench -- sqlite",
    "bench:compat": "npm run bench -- compat",
    "bench:pacer": "npm run bench -- pacer",
    "bench:growth": "npm run bench -- growth",
    "bench:garbage": "npm run bench -- garbage",
    "bench:profile": "npm run bench -- profile",
    "bench:import": "npm run bench -- import",
    "bench:report": "node bench/report.mjs",
    lab: "node lab/main.mjs",
    docs: "npm run build && npm ci --prefix docs && npm run dev --prefix docs",
    "docs:build": "npm run build && npm ci --prefix docs && npm run build --prefix docs",
    "test:docs": "npm run docs:build && npm ci --prefix lab && npm test --prefix docs",
    fuzz: "node test/fuzz/main.mjs",
    soak: "npm run build && npm ci --prefix bench && node --expose-gc bench/soak/main.mjs",
    "example:pager": "npm run build && node examples/pager/main.mjs",
    "example:driver": "npm run build && node examples/driver/main.mjs",
    "example:fleet": "npm run build && node examples/fleet/main.mjs",
    "example:ai-gateway": "npm run build && node examples/ai-gateway/main.mjs",
    "example:quotas": "npm run build && node examples/quotas/listen.mjs",
    prepack: "npm run build"
  },
  dependencies: {
    cookie: "^1.1.1",
    "fastify-plugin": "^6.0.1",
    "lru-cache": "^11.5.3",
    ms: "^2.1.3",
    negotiator: "^1.1.0",
    "structured-headers": "^2.1.0"
  },
  peerDependencies: {
    "@nestjs/common": "*",
    "@nestjs/core": "*",
    "@nestjs/microservices": "*",
    "@nestjs/websockets": "*",
    "@opentelemetry/api": "*",
    express: "*",
    fastify: "*",
    h3: "*",
    hono: "*",
    koa: "*",
    rxjs: "*"
  },
  peerDependenciesMeta: {
    "@opentelemetry/api": {
      optional: true
    },
    "@nestjs/common": {
      optional: true
    },
    "@nestjs/core": {
      optional: true
    },
    "@nestjs/microservices": {
      optional: true
    },
    "@nestjs/websockets": {
      optional: true
    },
    express: {
      optional: true
    },
    fastify: {
      optional: true
    },
    h3: {
      optional: true
    },
    hono: {
      optional: true
    },
    koa: {
      optional: true
    },
    rxjs: {
      optional: true
    }
  },
  devDependencies: {
    "@arethetypeswrong/cli": "^0.18.5",
    "@biomejs/biome": "2.5.15",
    "@fastify/rate-limit": "^11.2.0",
    "@hono/node-server": "^2.1.8",
    "@koa/router": "^15.7.0",
    "@libsql/client": "^0.18.0",
    "@nestjs/common": "^11.2.10",
    "@nestjs/core": "^11.2.10",
    "@nestjs/microservices": "^11.2.6",
    "@nestjs/websockets": "^11.2.6",
    "@noble/hashes": "^2.4.0",
    "@opentelemetry/api": "^1.9.1",
    "@opentelemetry/context-async-hooks": "^2.12.0",
    "@opentelemetry/sdk-metrics": "^2.12.1",
    "@opentelemetry/sdk-trace-base": "^2.12.1",
    "@types/connect": "^3.4.38",
    "@types/express": "^5.0.6",
    "@types/koa": "^3.0.3",
    "@types/ms": "^2.1.0",
    "@types/negotiator": "^0.6.5",
    "@types/node": "^20.19.43",
    "@types/pg": "^8.23.1",
    "@types/polka": "^0.5.8",
    "@types/supertest": "^7.2.1",
    "@types/ws": "^8.18.2",
    "@upstash/ratelimit": "^2.2.0",
    autocannon: "^9.0.0",
    bottleneck: "^2.19.5",
    "cli-progress": "^3.12.0",
    connect: "^3.7.0",
    express: "^5.3.0",
    "express-rate-limit": "^8.7.4",
    express4: "npm:express@^4.22.3",
    "fast-check": "^4.10.2",
    fastify: "^5.12.8",
    h3: "^2.0.8",
    hono: "^4.13.19",
    "hono-rate-limiter": "^0.5.4",
    ioredis: "^6.0.0",
    iovalkey: "^0.4.0",
    knip: "6.40.0",
    koa: "^3.3.0",
    "koa-ratelimit": "^6.0.0",
    libsql: "^0.5.29",
    limiter: "^4.1.0",
    "memcache-client": "^1.0.5",
    "otel-api-lowest": "npm:@opentelemetry/api@^1.3.0",
    "otel-api-newest": "npm:@opentelemetry/api@^1.10.0",
    "p-queue": "^9.3.5",
    "p-throttle": "^8.1.1",
    pg: "^8.23.1",
    polka: "^0.5.2",
    publint: "^0.3.25",
    "rate-limit-memcached": "^1.0.1",
    "rate-limit-redis": "^6.0.1",
    "rate-limiter-flexible": "^11.4.0",
    redis: "^6.3.1",
    rolldown: "^1.2.19",
    "rolldown-plugin-dts": "^0.23.2",
    rxjs: "^7.8.2",
    srvx: "^1.0.8",
    supertest: "^7.3.2",
    tinyqueue: "^3.0.0",
    tslib: "^2.9.1",
    typescript: "^7.0.2",
    vitest: "^4.1.12",
    ws: "^8.23.0"
  },
  overrides: {
    "light-my-request": "6.6.0",
    "rolldown-plugin-dts": {
      typescript: "$typescript"
    }
  }
};

// errors/codes.mjs
var codes = {
  HEADGATE_LIMIT: {
    cause: "A limit is negative, has a fraction, or is not a number. A value of an environment variable is a text, and not a number.",
    fix: "Pass a whole number of at least 0. Convert a text with `Number`.",
    wrong: `import { slidingWindow } from 'headgate'

slidingWindow({ limit: '100', window: '15m' })`,
    right: `import { slidingWindow } from 'headgate'

slidingWindow({ limit: Number('100'), window: '15m' })`
  },
  HEADGATE_WINDOW: {
    cause: "A duration is shorter than 1 ms or longer than 366 days, has a fraction of a millisecond, or has an unknown unit. A month is not a unit, because it has no fixed length. Units are written in small letters.",
    fix: "Pass whole milliseconds, or a text with a unit in small letters: `'250ms'`, `'10s'`, `'15m'`, `'1h'`, `'1d'`, `'2w'`, `'1y'`. For a month, write `'30d'`.",
    wrong: `import { policy } from 'headgate'

policy('100/0s')`,
    right: `import { policy } from 'headgate'

policy('100/15m')`
  },
  HEADGATE_BURST: {
    cause: "A burst is not a whole number of at least 1, or the algorithm has no burst.",
    fix: "Pass the number of units that may come at the same moment. Windows have no burst, so use a token bucket.",
    wrong: `import { tokenBucket } from 'headgate'

tokenBucket({ limit: 10, window: '1s', burst: 0 })`,
    right: `import { tokenBucket } from 'headgate'

tokenBucket({ limit: 10, window: '1s', burst: 20 })`
  },
  HEADGATE_SEGMENTS: {
    cause: "The number of segments is not a whole number from 1 to 1000.",
    fix: "Pass a number from 1 to 1000, or leave `segments` out, which means 10. With more segments, units come back sooner, but a key needs more memory.",
    wrong: `import { segmentedWindow } from 'headgate'

segmentedWindow({ limit: 10, window: '1s', segments: 0 })`,
    right: `import { segmentedWindow } from 'headgate'

segmentedWindow({ limit: 10, window: '1s', segments: 20 })`
  },
  HEADGATE_NAME: {
    cause: "A name is empty, longer than 128 characters, or has a character that a header must not contain.",
    fix: "Use printable ASCII characters.",
    wrong: `import { slidingWindow } from 'headgate'

slidingWindow({ name: 't\xE4glich', limit: 10, window: '1d' })`,
    right: `import { slidingWindow } from 'headgate'

slidingWindow({ name: 'daily', limit: 10, window: '1d' })`
  },
  HEADGATE_SCOPE: {
    cause: "A scope is empty, longer than 128 characters, or has a character that is not printable ASCII.",
    fix: "Use a short name, such as `user` or `address`.",
    wrong: `import { slidingWindow } from 'headgate'

slidingWindow({ scope: '', limit: 10, window: '1d' })`,
    right: `import { slidingWindow } from 'headgate'

slidingWindow({ scope: 'user', limit: 10, window: '1d' })`
  },
  HEADGATE_INEXACT: {
    cause: "The product of the limit, the window and the burst is above 2^53, so the policy could not count exactly. Or `settle` charges so many units beyond the estimate that the policy could not count these units exactly.",
    fix: "Choose a limit that shares a divisor with the window, a shorter window, or a smaller burst.",
    wrong: `import { tokenBucket } from 'headgate'

tokenBucket({ limit: 999983, window: '366d', burst: 999983 })`,
    right: `import { tokenBucket } from 'headgate'

tokenBucket({ limit: 1000000, window: '366d', burst: 100 })`
  },
  HEADGATE_RATE: {
    cause: "A rate is 0, negative or infinite, or so slow that it cannot be counted exactly.",
    fix: "Pass a positive number. For a rate below one call a second, also pass `per`.",
    wrong: `import { smoothBursty } from 'headgate'

smoothBursty({ rate: 0 })`,
    right: `import { smoothBursty } from 'headgate'

smoothBursty({ rate: 5, per: '1h' })`
  },
  HEADGATE_POLICY: {
    cause: "The text of a policy has an unknown form, or a store does not know an algorithm. `acquire` of a pacer also throws this error if the policy of the pacer is `concurrency`.",
    fix: "Write the limit, a slash and the window. The algorithm and the burst may follow.",
    wrong: `import { policy } from 'headgate'

policy('100 per minute')`,
    right: `import { policy } from 'headgate'

policy('100/1m token-bucket burst 20')`
  },
  HEADGATE_PENALTY: {
    cause: "A number of a penalty is out of range, such as `after: 0`.",
    fix: "The message of the error names the option and its range. Pass a number in that range.",
    wrong: `import { RateLimiter } from 'headgate'

new RateLimiter({ policies: '10/1m', penalty: { after: 0, within: '1m', ban: '1h' } })`,
    right: `import { RateLimiter } from 'headgate'

new RateLimiter({ policies: '10/1m', penalty: { after: 5, within: '1m', ban: '1h' } })`
  },
  HEADGATE_DUPLICATE_POLICY: {
    cause: "Two policies of one limiter have the same name. A policy without a name is named after its window.",
    fix: "Give the policies different names.",
    wrong: `import { RateLimiter } from 'headgate'

new RateLimiter({ policies: ['10/1m', '5/1m burst 8'] })`,
    right: `import { policy, RateLimiter } from 'headgate'

new RateLimiter({ policies: ['10/1m', policy('5/1m burst 8', { name: 'burst' })] })`
  },
  HEADGATE_DUPLICATE_LIMITER: {
    cause: "Two limiters with the same name use one store. These limiters would count their requests together by accident.",
    fix: "Give the limiters different names. To use other limits on the same counts, use `limiter.withPlan(policies)`.",
    wrong: `import { memoryStore, RateLimiter } from 'headgate'

const store = memoryStore()
const one = new RateLimiter({ name: 'api', policies: '10/1m', store })
const two = new RateLimiter({ name: 'api', policies: '5/1m', store })`,
    right: `import { memoryStore, RateLimiter } from 'headgate'

const store = memoryStore()
const one = new RateLimiter({ name: 'api', policies: '10/1m', store })
const two = new RateLimiter({ name: 'login', policies: '5/1m', store })`
  },
  HEADGATE_OPTION: {
    cause: "The name of an option is wrong, the function has no such option, or the value of the option is invalid.",
    fix: "The message of the error says which names or values are valid.",
    wrong: `import { RateLimiter } from 'headgate'

new RateLimiter({ policies: '10/1m', onStoreErrors: 'closed' })`,
    right: `import { RateLimiter } from 'headgate'

new RateLimiter({ policies: '10/1m', onStoreError: 'closed' })`
  },
  HEADGATE_COST: {
    cause: "A cost is negative, has a fraction, or names a policy that the limiter does not have.",
    fix: "Pass a whole number, or a record with a whole number for each policy.",
    wrong: `import { RateLimiter } from 'headgate'

await new RateLimiter({ policies: '10/1m' }).consume('ann', { cost: 1.5 })`,
    right: `import { RateLimiter } from 'headgate'

await new RateLimiter({ policies: '10/1m' }).consume('ann', { cost: Math.ceil(1.5) })`
  },
  HEADGATE_KEY: {
    cause: "The key is undefined or not a text, such as the id of a user who has not signed in. Or the policies have several scopes, and the key of one scope is missing.",
    fix: "Pass a text. Choose a key that all unknown callers share, such as `anonymous`.",
    wrong: `import { RateLimiter } from 'headgate'

const user = { id: undefined }
await new RateLimiter({ policies: '10/1m' }).consume(user.id)`,
    right: `import { RateLimiter } from 'headgate'

const user = { id: undefined }
await new RateLimiter({ policies: '10/1m' }).consume(user.id ?? 'anonymous')`
  },
  HEADGATE_BAN: {
    cause: "The duration of `ban` is below 1 ms or above 366 days and not Infinity, or the reason is longer than 200 characters. Or the limiter has 100,000 banned keys in a memory store.",
    fix: "Pass a duration with a unit, or Infinity for a ban that lasts until `unban`. For more banned keys, use Redis or Postgres.",
    wrong: `import { RateLimiter } from 'headgate'

await new RateLimiter({ policies: '10/1m' }).ban('ann', '10y')`,
    right: `import { RateLimiter } from 'headgate'

await new RateLimiter({ policies: '10/1m' }).ban('ann', Infinity, { reason: 'asked to stay away' })`
  },
  HEADGATE_MAX_WAIT: {
    cause: "The `maxWait` of `reserve` is negative, too long, or not a duration.",
    fix: "Pass milliseconds, or a text with a unit.",
    wrong: `import { RateLimiter } from 'headgate'

await new RateLimiter({ policies: '10/1m burst 1' }).reserve('ann', { maxWait: -1 })`,
    right: `import { RateLimiter } from 'headgate'

await new RateLimiter({ policies: '10/1m burst 1' }).reserve('ann', { maxWait: '2s' })`
  },
  HEADGATE_RESERVATIONS: {
    cause: "A key has 100 open reservations that were made with `onExpiry: 'give-back'`. Each of them needs space in the state of the key until it is settled, until it expires, or until the window ends. The call has changed nothing.",
    fix: "Settle or cancel each reservation as soon as its work ends. For work with many parts, make one reservation for all parts. Or let reservations expire sooner.",
    wrong: `import { RateLimiter } from 'headgate'
import { quota } from 'headgate/calendar'

const limiter = new RateLimiter({ policies: quota('10000/month') })
for (let n = 0; n < 200; n++) await limiter.reserve('ann', { expires: '1h', onExpiry: 'give-back' })`,
    right: `import { RateLimiter } from 'headgate'
import { quota } from 'headgate/calendar'

const limiter = new RateLimiter({ policies: quota('10000/month') })
for (let n = 0; n < 200; n++) {
  const reservation = await limiter.reserve('ann', { expires: '1h', onExpiry: 'give-back' })
  await reservation.settle(1)
}`
  },
  HEADGATE_HEADERS_SENT: {
    cause: "The middleware refused a request, but a handler before the middleware had already begun the response.",
    fix: "Put the middleware before every handler that sends a response.",
    wrong: `import express from 'express'
import { rateLimit } from 'headgate/express'
import request from 'supertest'

let seen
const app = express()
app.use((_request, response, next) => {
  response.write('early')
  next()
})
app.use(rateLimit('0/1m'))
app.use((error, _request, response, _next) => {
  seen = error
  response.end()
})
await request(app).get('/')
throw seen`,
    right: `import express from 'express'
import { rateLimit } from 'headgate/express'
import request from 'supertest'

const app = express()
app.use(rateLimit('10/1m'))
app.use((_request, response) => void response.end('late'))
await request(app).get('/')`
  },
  HEADGATE_NO_END: {
    cause: "The proxy of Next.js (`proxy.ts`, formerly `middleware.ts`) gives `apply` a `NextResponse.next()` or `NextResponse.rewrite()`. After that, headgate cannot see the status or the end of the request. So `count` and a limit such as `'4 at once'` could not work.",
    fix: "Wrap the route handler with this limit. A limit that counts every request, such as `100/15m`, works in the proxy.",
    wrong: `import { rateLimit } from 'headgate/fetch'

const limit = rateLimit({ policies: '5/15m', count: 'failures' }, { address: () => '203.0.113.7' })
const result = await limit(new Request('https://example.com/login'))
// As NextResponse.next() makes it.
result.apply(new Response(null, { headers: { 'x-middleware-next': '1' } }))`,
    right: `import { rateLimit } from 'headgate/fetch'

const limit = rateLimit({ policies: '5/15m', count: 'failures' }, { address: () => '203.0.113.7' })
// In app/login/route.ts.
export const POST = limit.wrap(async (request) => new Response(null, { status: 401 }))
await POST(new Request('https://example.com/login', { method: 'POST' }))`
  },
  HEADGATE_THROWN: {
    cause: "A function that you passed to a middleware threw a value that is not an Error, such as a text. The `cause` of this error is that value.",
    fix: "Throw an Error.",
    wrong: `import express from 'express'
import { rateLimit } from 'headgate/express'
import request from 'supertest'

let seen
const app = express()
app.use(rateLimit({ policies: '10/1m', keys: () => { throw 'no key' } }))
app.use((error, _request, response, _next) => {
  seen = error
  response.end()
})
await request(app).get('/')
throw seen`,
    right: `import express from 'express'
import { rateLimit } from 'headgate/express'
import request from 'supertest'

const app = express()
app.use(rateLimit({ policies: '10/1m', keys: (request) => request.get('host') }))
app.use((_request, response) => void response.end('hello'))
await request(app).get('/')`
  },
  HEADGATE_FUNCTION_TIMEOUT: {
    cause: "A function that you passed to a middleware, such as a function that looks up a plan, took longer than `functionTimeout`.",
    fix: "Let the function return a default after a timeout, or raise `functionTimeout`.",
    wrong: `import express from 'express'
import { rateLimit } from 'headgate/express'
import request from 'supertest'

let seen
const app = express()
app.use(rateLimit({ policies: '10/1m', keys: () => new Promise(() => {}), functionTimeout: '20ms' }))
app.use((error, _request, response, _next) => {
  seen = error
  response.end()
})
await request(app).get('/')
throw seen`,
    right: `import express from 'express'
import { rateLimit } from 'headgate/express'
import request from 'supertest'

const app = express()
app.use(rateLimit({ policies: '10/1m', keys: async (request) => request.get('host'), functionTimeout: '1s' }))
app.use((_request, response) => void response.end('hello'))
await request(app).get('/')`
  },
  HEADGATE_CALENDAR: {
    cause: "A time zone is misspelled, or the runtime does not know it. Names of the IANA time zone database work on every runtime. Offsets such as `+02:00` work on Node 22 and later. Or another part of a calendar rule, such as its anchor, is missing or invalid. Or a policy has `anchor: 'caller'` or `timeZone: 'caller'`, and the call or the middleware has no `calendar` that says it; or `calendar` says what no policy asks for.",
    fix: "Pass a name of the IANA database, such as `Europe/Berlin` or `UTC`. The message of the error names the part that is wrong. `Intl.supportedValuesOf('timeZone')` lists the names.",
    wrong: `import { calendarWindow } from 'headgate/calendar'

calendarWindow({ limit: 10000, every: 'month', timeZone: 'Europe/Berln' })`,
    right: `import { calendarWindow } from 'headgate/calendar'

calendarWindow({ limit: 10000, every: 'month', timeZone: 'Europe/Berlin' })`
  },
  HEADGATE_CLOCK: {
    cause: "A clock returned a fraction, a negative number, or milliseconds where microseconds are expected.",
    fix: "Return whole microseconds since the epoch.",
    wrong: `import { memoryStore, RateLimiter } from 'headgate'

const store = memoryStore({ clock: () => 0.5 })
new RateLimiter({ policies: '10/1m', store }).consumeSync('ann')`,
    right: `import { memoryStore, RateLimiter } from 'headgate'

const store = memoryStore({ clock: () => Date.now() * 1000 })
new RateLimiter({ policies: '10/1m', store }).consumeSync('ann')`
  },
  HEADGATE_ASYNC_STORE: {
    cause: "`consumeSync` was called, and the store returns promises.",
    fix: "Use `await limiter.consume(key)`.",
    wrong: `import { RateLimiter } from 'headgate'
import { compareAndSetStore } from 'headgate/store'

const store = compareAndSetStore({ read: async () => undefined, swap: async () => true })
new RateLimiter({ name: 'api', policies: '10/1m', store }).consumeSync('ann')`,
    right: `import { RateLimiter } from 'headgate'
import { compareAndSetStore } from 'headgate/store'

const store = compareAndSetStore({ read: async () => undefined, swap: async () => true })
await new RateLimiter({ name: 'api', policies: '10/1m', store }).consume('ann')`
  },
  HEADGATE_VERSION: {
    cause: "A package that is used with headgate is too old: a framework, a client or a library of sockets. npm installs headgate beside any version, so the error appears at the first call that needs the package.",
    fix: "Update the package that the message names. The [policy of support](../support.md#versions) lists the lowest version of each package.",
    wrong: `import { RateLimiter } from 'headgate'
import { redisStore } from 'headgate/redis'

// A client of node-redis 3, whose methods take callbacks.
const client = { evalsha() {}, eval() {}, on() {}, internal_send_command() {} }
new RateLimiter({ name: 'api', policies: '10/1m', store: redisStore({ client }) })`,
    right: `import { RateLimiter } from 'headgate'
import { redisStore } from 'headgate/redis'
import { createClient } from 'redis'

const client = createClient()
client.on('error', console.error)
new RateLimiter({ name: 'api', policies: '10/1m', store: redisStore({ client }) })`
  },
  HEADGATE_STATE_SIZE: {
    cause: "The counts of a key could need more bytes than the store allows, such as a log of many requests in Memcached.",
    fix: "Use another algorithm, such as `segmentedWindow`, a lower limit, or another store.",
    wrong: `import { RateLimiter } from 'headgate'
import { compareAndSetStore } from 'headgate/store'

const store = compareAndSetStore({ read: async () => undefined, swap: async () => true, maxBytes: 1000 })
new RateLimiter({ name: 'api', policies: '10000/1h sliding-log', store })`,
    right: `import { RateLimiter } from 'headgate'
import { compareAndSetStore } from 'headgate/store'

const store = compareAndSetStore({ read: async () => undefined, swap: async () => true, maxBytes: 1000 })
new RateLimiter({ name: 'api', policies: '10000/1h', store })`
  },
  HEADGATE_STORE_TIMEOUT: {
    cause: "The store did not answer within its timeout. The store may be overloaded, far away or not running. With `onStoreError: 'closed'`, this error is the `cause` of `HEADGATE_STORE_UNAVAILABLE`.",
    fix: "Check the store and the network. Raise `storeTimeout` only if your requests can wait that long.",
    wrong: `import { memoryStore, RateLimiter } from 'headgate'
import { faultyStore } from 'headgate/testing'

const store = faultyStore(memoryStore())
store.fail('hang')
const limiter = new RateLimiter({ policies: '10/1m', store, onStoreError: 'closed', storeTimeout: '20ms' })
await limiter.consume('ann').catch(({ cause }) => {
  throw cause
})`,
    right: `import { memoryStore, RateLimiter } from 'headgate'
import { faultyStore } from 'headgate/testing'

const store = faultyStore(memoryStore())
store.fail('hang')
const limiter = new RateLimiter({ policies: '10/1m', store, onStoreError: 'local', storeTimeout: '20ms' })
await limiter.consume('ann') // decided in this process`
  },
  HEADGATE_STORE: {
    cause: "The store failed. The `cause` of this error is the error of the client. With `onStoreError: 'closed'`, this error is the `cause` of `HEADGATE_STORE_UNAVAILABLE`.",
    fix: "Read the `cause`. Until the store works again, `onStoreError` decides about requests.",
    wrong: `import { memoryStore, RateLimiter } from 'headgate'
import { faultyStore } from 'headgate/testing'

const store = faultyStore(memoryStore())
store.fail('error')
const limiter = new RateLimiter({ policies: '10/1m', store, onStoreError: 'closed' })
await limiter.consume('ann').catch(({ cause }) => {
  throw cause
})`,
    right: `import { memoryStore, RateLimiter } from 'headgate'
import { faultyStore } from 'headgate/testing'

const store = faultyStore(memoryStore())
store.fail('error')
const limiter = new RateLimiter({ policies: '10/1m', store, onStoreError: 'open' })
await limiter.consume('ann') // let through, not counted`
  },
  HEADGATE_STORE_RECORD: {
    cause: "This version of headgate cannot read the value of this key in the store, because another program or another version has written the value. Or a trigger, a rule or a person has changed the row in Postgres. Other keys are not affected.",
    fix: "Use a `prefix` that no other program uses, and a table without triggers and rules. `limiter.reset(key)` deletes the value.",
    wrong: `import { RateLimiter } from 'headgate'
import { compareAndSetStore } from 'headgate/store'

const store = compareAndSetStore({ read: async () => ({ text: 'hello', version: 1 }), swap: async () => true })
await new RateLimiter({ name: 'api', policies: '10/1m', store, onStoreError: 'throw' }).consume('ann')`,
    right: `import { RateLimiter } from 'headgate'
import { compareAndSetStore } from 'headgate/store'

const store = compareAndSetStore({ read: async () => ({ text: 'hello', version: 1 }), swap: async () => true })
await new RateLimiter({ name: 'api', policies: '10/1m', store, onStoreError: 'throw' }).reset('ann')`
  },
  HEADGATE_UNSUPPORTED: {
    cause: "The store does not have the method that you called, such as `clear` on a store that cannot list its keys. Or the call has a list of costs, and the store cannot try the costs in one step: `hitStore`, a store without the trait `alternatives`, or `redisStore` if the keys of the call are in several hash slots of a Cluster.",
    fix: "Instead of `clear`, call `reset` for each key, or give the limiter another name. For a list of costs in a Redis Cluster, put all keys of the store in one slot: `redisStore({ client, prefix: '{quota}' })`. For a list on another store, make a call for each cost.",
    wrong: `import { RateLimiter } from 'headgate'
import { compareAndSetStore } from 'headgate/store'

const store = compareAndSetStore({ read: async () => undefined, swap: async () => true })
await new RateLimiter({ name: 'api', policies: '10/1m', store }).clear()`,
    right: `import { RateLimiter } from 'headgate'
import { compareAndSetStore } from 'headgate/store'

const store = compareAndSetStore({ read: async () => undefined, swap: async () => true })
await new RateLimiter({ name: 'api', policies: '10/1m', store }).reset('ann')`
  },
  HEADGATE_STORE_UNAVAILABLE: {
    cause: "The store failed, and `onStoreError` is `'closed'`. The `cause` of this error is the store's error, and `retryAfter` says when to try again.",
    fix: "Answer with status 503, as the middleware does, or choose another `onStoreError`.",
    wrong: `import { memoryStore, RateLimiter } from 'headgate'
import { faultyStore } from 'headgate/testing'

const store = faultyStore(memoryStore())
store.fail('error')
const limiter = new RateLimiter({ policies: '10/1m', store, onStoreError: 'closed' })
await limiter.consume('ann')`,
    right: `import { memoryStore, RateLimiter } from 'headgate'
import { faultyStore } from 'headgate/testing'

const store = faultyStore(memoryStore())
store.fail('error')
const limiter = new RateLimiter({ policies: '10/1m', store, onStoreError: 'local' })
await limiter.consume('ann') // decided in this process`
  },
  HEADGATE_QUEUE_FULL: {
    cause: "The queue of the pacer is full: `maxQueue` calls are waiting, because calls come faster than the rate allows.",
    fix: "Refuse the work early, allow a longer queue, or raise the rate.",
    wrong: `import { smoothBursty } from 'headgate'
import { Pacer } from 'headgate/pacer'

const pacer = new Pacer(smoothBursty({ rate: 1, maxBurst: 0 }), { maxQueue: 1 })
await pacer.acquire()
pacer.acquire().catch(() => {})
await pacer.acquire()`,
    right: `import { smoothBursty } from 'headgate'
import { Pacer } from 'headgate/pacer'

const pacer = new Pacer(smoothBursty({ rate: 1000 }), { maxQueue: 10 })
await pacer.acquire()
await pacer.acquire()`
  },
  HEADGATE_TIMEOUT: {
    cause: "A call could not start within its `timeout`. If the pacer knows this when the call comes, the call fails without waiting.",
    fix: "Allow more time, or use `tryAcquire`, which returns false instead.",
    wrong: `import { smoothBursty } from 'headgate'
import { Pacer } from 'headgate/pacer'

const pacer = new Pacer(smoothBursty({ rate: 1, per: '1h' }))
await pacer.acquire()
await pacer.acquire(1, { timeout: 10 })`,
    right: `import { smoothBursty } from 'headgate'
import { Pacer } from 'headgate/pacer'

const pacer = new Pacer(smoothBursty({ rate: 1, per: '1h' }))
await pacer.acquire()
await pacer.tryAcquire(1, { timeout: 10 }) // false`
  },
  HEADGATE_RUN_TIMEOUT: {
    cause: "A function of `throttle` or `wrap` ran for longer than its `runTimeout`.",
    fix: "Raise `runTimeout`. Pass the signal that the function gets to its requests, so that the requests end too.",
    wrong: `import { Pacer } from 'headgate/pacer'
import { setTimeout as sleep } from 'node:timers/promises'

const pacer = new Pacer('10/1s')
await pacer.throttle((signal) => sleep(60_000, undefined, { signal }), { runTimeout: 10 })`,
    right: `import { Pacer } from 'headgate/pacer'
import { setTimeout as sleep } from 'node:timers/promises'

const pacer = new Pacer('10/1s')
await pacer.throttle((signal) => sleep(1, undefined, { signal }), { runTimeout: '1m' })`
  },
  HEADGATE_CLOSED: {
    cause: "A call was made after `close` of the pacer, or was waiting when `close` was called.",
    fix: "Call `close` only when no more calls will be made.",
    wrong: `import { smoothBursty } from 'headgate'
import { Pacer } from 'headgate/pacer'

const pacer = new Pacer(smoothBursty({ rate: 10 }))
pacer.close()
await pacer.acquire()`,
    right: `import { smoothBursty } from 'headgate'
import { Pacer } from 'headgate/pacer'

const pacer = new Pacer(smoothBursty({ rate: 10 }))
await pacer.acquire()
pacer.close()`
  }
};

// errors/warnings.mjs
var warnings = {
  HEADGATE_SECONDS: {
    meaning: "A duration was written as a number that looks like seconds. Numbers are milliseconds.",
    cause: "Other packages use seconds. These numbers cause the warning: a window, a lease or a ban below 1000; half hours and days in seconds, such as 1800, 3600 and 86400; `functionTimeout`, `maxWait` of messages and `max` of `delay` below 100; `storeTimeout`, and `timeout` of a store, below 20.",
    fix: "Write a text with a unit, such as `1h`. A text never causes this warning.",
    wrong: `import { RateLimiter } from 'headgate'

new RateLimiter({ policies: { limit: 100, window: 3600 } })`,
    right: `import { RateLimiter } from 'headgate'

new RateLimiter({ policies: { limit: 100, window: '1h' } })`
  },
  HEADGATE_FORWARDED: {
    meaning: "A request has a field that proxies write, and its address is used by the limit, `allow` or `deny`, but no proxy is trusted.",
    cause: "Either a proxy is in front of the application, and all its clients share one limit and the lists `allow` and `deny` see only the address of the proxy, or a client has forged the field. The fields are `X-Forwarded-For`, `X-Real-IP`, `Forwarded`, `CF-Connecting-IP`, `Fly-Client-IP`, `X-Vercel-Forwarded-For` and `X-Nf-Client-Connection-Ip`. `X-Forwarded-For` is looked for in each request, and the others in the first 1000 requests. If the field contains the address by which the request is limited, there is no warning.",
    fix: "Say which proxy is in front, as [the page on addresses](../addresses.md) describes. If there is no proxy, write `byIp({ warn: false })`.",
    wrong: `import express from 'express'
import { rateLimit } from 'headgate/express'
import request from 'supertest'

const app = express()
app.use(rateLimit('10/1m'))
app.use((_request, response) => void response.end('hello'))
await request(app).get('/').set('X-Real-IP', '203.0.113.7')`,
    right: `import express from 'express'
import { byIp } from 'headgate'
import { rateLimit } from 'headgate/express'
import request from 'supertest'

const app = express()
app.use(rateLimit({ policies: '10/1m', keys: byIp({ platform: 'nginx' }) }))
app.use((_request, response) => void response.end('hello'))
await request(app).get('/').set('X-Real-IP', '203.0.113.7')`
  },
  HEADGATE_NO_STORE: {
    meaning: "The option `store` is undefined, so the limiter uses a memory store, and this process does not share its counts.",
    cause: "Your code makes the store from a setting, such as an environment variable, and the setting is missing.",
    fix: "Do not start the application if the setting is missing. If you want a memory store, leave `store` out, or write `memoryStore()`.",
    wrong: `import { RateLimiter } from 'headgate'

const stores = {}
new RateLimiter({ name: 'api', policies: '10/1m', store: stores[process.env.STORE] })`,
    right: `import { memoryStore, RateLimiter } from 'headgate'

const stores = {}
new RateLimiter({ name: 'api', policies: '10/1m', store: stores[process.env.STORE] ?? memoryStore() })`
  },
  HEADGATE_UNNAMED: {
    meaning: "Two limiters without a name have the same policies on one memory store, and do not share their counts.",
    cause: "Each limiter without a name has its own counts, even if several limiters use one `memoryStore`.",
    fix: "To share the counts, make one limiter and pass the limiter to both middlewares. Otherwise, give each limiter a name.",
    wrong: `import { memoryStore } from 'headgate'
import { rateLimit } from 'headgate/express'

const store = memoryStore()
const login = rateLimit({ policies: '5/1m', store })
const reset = rateLimit({ policies: '5/1m', store })`,
    right: `import { RateLimiter } from 'headgate'
import { rateLimit } from 'headgate/express'

const limiter = new RateLimiter({ policies: '5/1m' })
const login = rateLimit(limiter)
const reset = rateLimit(limiter)`
  },
  HEADGATE_PER_REQUEST: {
    meaning: "A hundred limiters with the same name were made, and each of these limiters was called with one key only.",
    cause: "Your code makes a limiter in each request. Each limiter counts from 0, so no request is ever refused. Limiters that are made when the application starts cause no warning.",
    fix: "Make the limiter once, outside of the handler. If you need many limiters, give each limiter another name.",
    wrong: `import { RateLimiter } from 'headgate'

const handle = (user) => new RateLimiter({ policies: '5/1m' }).consume(user)
for (let n = 0; n < 100; n++) await handle('ann')`,
    right: `import { RateLimiter } from 'headgate'

const limiter = new RateLimiter({ policies: '5/1m' })
const handle = (user) => limiter.consume(user)
for (let n = 0; n < 100; n++) await handle('ann')`
  },
  HEADGATE_NEW_PLANS: {
    meaning: "`withPlan` was called a hundred times with new policy objects, or with objects that may change, that are equal to the policies of an earlier call.",
    cause: "`withPlan`, and a middleware whose `policies` are a function, find the limiter of a plan fast if the policy objects are the same. If the objects are new, headgate has to compare their contents, which takes a hundred times as long. It does the same with an object that no constructor made, such as `{ limit: 5, window: '1m' }`, because it may have changed.",
    fix: "Make the policies of each plan once, by their constructors, and pass the same objects each time. A policy that is written as text is fast too.",
    wrong: `import { policy, RateLimiter } from 'headgate'

const limiter = new RateLimiter({ policies: '10/1m' })
const planOf = () => [policy('100/1m'), policy('1000/1h')]
for (let n = 0; n <= 100; n++) await limiter.withPlan(planOf()).consume('ann')`,
    right: `import { policy, RateLimiter } from 'headgate'

const limiter = new RateLimiter({ policies: '10/1m' })
const pro = [policy('100/1m'), policy('1000/1h')]
const planOf = () => pro
for (let n = 0; n <= 100; n++) await limiter.withPlan(planOf()).consume('ann')`
  },
  HEADGATE_UNGUARDED: {
    meaning: "`RateLimitModule` of NestJS has a limit, but `RateLimitGuard` runs before no handler that the limit is for.",
    cause: "No module provides `RateLimitGuard` as `APP_GUARD`. Nest runs a guard that is only in `providers` before no handler. Handlers with `@RateLimit` have a limit of their own, and are not limited by the limit of the module.",
    fix: "Provide `RateLimitGuard` as `APP_GUARD`. If you want to limit only handlers with `@RateLimit`, write `RateLimitModule.forRoot({ limit: false })`.",
    wrong: `import { Controller, Get, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { RateLimitModule } from 'headgate/nest'

class Shop {
  front() {
    return 'hello'
  }
}
Controller()(Shop)
Get()(Shop.prototype, 'front', Object.getOwnPropertyDescriptor(Shop.prototype, 'front'))

class AppModule {}
Module({ imports: [RateLimitModule.forRoot('100/15m')], controllers: [Shop] })(AppModule)
await NestFactory.createApplicationContext(AppModule, { logger: false })`,
    right: `import { Controller, Get, Module } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { RateLimitGuard, RateLimitModule } from 'headgate/nest'

class Shop {
  front() {
    return 'hello'
  }
}
Controller()(Shop)
Get()(Shop.prototype, 'front', Object.getOwnPropertyDescriptor(Shop.prototype, 'front'))

class AppModule {}
Module({
  imports: [RateLimitModule.forRoot('100/15m')],
  controllers: [Shop],
  providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
})(AppModule)
await NestFactory.createApplicationContext(AppModule, { logger: false })`
  }
};

// .vitepress/config.mjs
var __vite_injected_original_import_meta_url = "file:///work/wt/site/docs/.vitepress/config.mjs";
var root = new URL("../../", __vite_injected_original_import_meta_url);
var path = (relative) => fileURLToPath(new URL(relative, root));
var home = new URL(package_default.homepage);
var repository = package_default.repository.url.replace(/^git\+|\.git$/g, "");
function linkToRepository(markdown) {
  markdown.core.ruler.push("repository-links", ({ tokens, env }) => {
    for (const link of tokens.flatMap(({ children }) => children ?? []).filter(({ type }) => type === "link_open")) {
      const target = link.attrGet("href");
      if (!target?.startsWith("../")) continue;
      const { pathname, hash } = new URL(target, `file:///docs/${env.relativePath}`);
      if (!pathname.startsWith("/docs/")) link.attrSet("href", `${repository}/blob/main${pathname}${hash}`);
    }
  });
}
function slugify(heading) {
  return heading.trim().toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(/\s/g, "-");
}
function leaveOutEmptyHeaders(markdown) {
  markdown.core.ruler.push("empty-headers", ({ tokens }) => {
    for (const [n, { type, content }] of tokens.entries()) {
      if (type !== "inline" || content !== "" || tokens[n - 1].type !== "th_open") continue;
      for (const token of [tokens[n - 1], tokens[n + 1]]) token.tag = "td";
    }
  });
}
function referenceSidebar() {
  const tree = JSON.parse(readFileSync(path("docs/reference/typedoc-sidebar.json"), "utf8"));
  const links = [...JSON.stringify(tree).matchAll(/"link":"([^"]+\/)"/g)].map(([, link]) => link);
  const items = links.map((link) => ({ text: link.slice("/reference/".length, -1), link }));
  return [
    { text: "Reference", link: "/reference/", items: [{ text: "Options", link: "/reference/options" }, ...items] }
  ];
}
function boostOf(id) {
  return id.includes("/reference/") && !id.includes("/options") ? 0.15 : 1;
}
function searched(source, env, markdown) {
  const html = markdown.render(source, env);
  return /^performance/.test(env.relativePath) || env.frontmatter?.search === false ? "" : html;
}
var icon = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="#005d93"/><path d="M6 8h20M10 8v16M22 8v16M10 14h12" stroke="#fff" stroke-width="3" fill="none"/></svg>';
var github = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="currentColor" d="M8 0C3.58 0 0 3.58 0 8c0 3.54 2.29 6.53 5.47 7.59.4.07.55-.17.55-.38 0-.19-.01-.82-.01-1.49-2.01.37-2.53-.49-2.69-.94-.09-.23-.48-.94-.82-1.13-.28-.15-.68-.52-.01-.53.63-.01 1.08.58 1.23.82.72 1.21 1.87.87 2.33.66.07-.52.28-.87.51-1.07-1.78-.2-3.64-.89-3.64-3.95 0-.87.31-1.59.82-2.15-.08-.2-.36-1.02.08-2.12 0 0 .67-.21 2.2.82a7.6 7.6 0 0 1 4 0c1.53-1.04 2.2-.82 2.2-.82.44 1.1.16 1.92.08 2.12.51.56.82 1.27.82 2.15 0 3.07-1.87 3.75-3.65 3.95.29.25.54.73.54 1.48 0 1.07-.01 1.93-.01 2.2 0 .21.15.46.55.38A8.01 8.01 0 0 0 16 8c0-4.42-3.58-8-8-8"/></svg>';
var page = (text, name) => ({ text, link: `/${name}` });
var guide = [
  {
    text: "Start",
    items: [
      page("A limiter in 60 seconds", "start"),
      page("Choosing an algorithm", "choosing"),
      page("Playground", "playground"),
      page("The lab", "lab"),
      {
        ...page("Moving in", "moving-in"),
        collapsed: true,
        items: [
          page("rate-limiter-flexible", "from-rate-limiter-flexible"),
          page("@upstash/ratelimit", "from-upstash-ratelimit"),
          page("bottleneck", "from-bottleneck"),
          page("p-throttle", "from-p-throttle"),
          page("p-queue", "from-p-queue"),
          page("limiter", "from-limiter")
        ]
      }
    ]
  },
  {
    text: "Guide",
    items: [
      page("The limiter", "limiter"),
      page("Algorithms", "algorithms"),
      page("Middleware and headers", "http"),
      page("Frameworks", "frameworks"),
      page("Keys and addresses", "addresses"),
      page("Pacing", "pacing"),
      page("Budgets", "budgets"),
      page("Quotas by the calendar", "quotas"),
      page("Testing", "testing")
    ]
  },
  {
    text: "Fleet",
    items: [
      page("Stores", "stores"),
      page("Redis", "redis"),
      page("Scale", "scale"),
      page("Memory", "memory"),
      page("Failure", "failure"),
      page("In production", "production"),
      page("Observability", "observability")
    ]
  },
  {
    text: "More",
    items: [page("Performance", "performance"), page("Security", "security"), page("Support", "support")]
  }
];
var errorPages = [
  {
    text: "Errors",
    link: "/errors/",
    items: Object.keys({ ...codes, ...warnings }).map((code) => page(code, `errors/${code}`))
  }
];
var config_default = defineConfig({
  title: "headgate",
  description: "An exact rate limiter for Node services and fetch runtimes.",
  lang: "en",
  base: `${home.pathname.replace(/\/$/, "")}/`,
  cleanUrls: true,
  sitemap: { hostname: `${home.href.replace(/\/$/, "")}/` },
  head: [
    ["link", { rel: "icon", href: `data:image/svg+xml,${encodeURIComponent(icon)}` }],
    ["meta", { property: "og:type", content: "website" }],
    ["meta", { property: "og:site_name", content: "headgate" }],
    ["meta", { property: "og:image", content: `${home.href.replace(/\/$/, "")}/social.png` }],
    ["meta", { name: "twitter:card", content: "summary_large_image" }]
  ],
  lastUpdated: false,
  // These pages are made from the sources.
  transformPageData: ({ relativePath, frontmatter }) => {
    if (/^(reference|errors\/HEADGATE_)/.test(relativePath)) frontmatter.editLink = false;
  },
  transformHead: ({ title, description }) => [
    ["meta", { property: "og:title", content: title }],
    ["meta", { property: "og:description", content: description }]
  ],
  markdown: {
    anchor: { slugify },
    config(markdown) {
      linkToRepository(markdown);
      leaveOutEmptyHeaders(markdown);
    },
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" }
  },
  // The home page of the theme has no main landmark: see theme/index.mjs.
  transformHtml: (html) => html.replace('<div class="VPHome"', '<div role="main" class="VPHome"'),
  themeConfig: {
    nav: [
      page("Guide", "start"),
      page("Playground", "playground"),
      page("Reference", "reference/"),
      page("Errors", "errors/"),
      {
        text: `v${package_default.version}`,
        items: [
          { text: "Changelog", link: `${repository}/blob/main/CHANGELOG.md` },
          { text: "npm", link: `https://www.npmjs.com/package/${package_default.name}` }
        ]
      }
    ],
    // The icon is here: that of the theme would be loaded from another site.
    socialLinks: [{ icon: { svg: github }, link: repository, ariaLabel: "GitHub" }],
    sidebar: { "/reference/": referenceSidebar(), "/errors/": errorPages, "/": guide },
    search: {
      provider: "local",
      options: { _render: searched, miniSearch: { searchOptions: { boostDocument: boostOf } } }
    },
    editLink: { pattern: `${repository}/edit/main/docs/:path`, text: "Edit this page" },
    outline: [2, 3]
  },
  vite: {
    plugins: [
      llmstxt({ domain: home.origin, ignoreFiles: ["reference/**"], sidebar: { "/": guide, "/errors/": errorPages } })
    ],
    resolve: {
      // The real package, as it is built: the playground runs what users run.
      alias: [
        { find: /^headgate$/, replacement: path("dist/index.js") },
        { find: /^headgate\/(.+)$/, replacement: path("dist/$1.js") }
      ]
    }
  }
});
export {
  config_default as default
};
//# sourceMappingURL=data:application/json;base64,ewogICJ2ZXJzaW9uIjogMywKICAic291cmNlcyI6IFsiLnZpdGVwcmVzcy9jb25maWcubWpzIiwgIi4uL3BhY2thZ2UuanNvbiIsICJlcnJvcnMvY29kZXMubWpzIiwgImVycm9ycy93YXJuaW5ncy5tanMiXSwKICAic291cmNlc0NvbnRlbnQiOiBbImNvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9kaXJuYW1lID0gXCIvd29yay93dC9zaXRlL2RvY3MvLnZpdGVwcmVzc1wiO2NvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9maWxlbmFtZSA9IFwiL3dvcmsvd3Qvc2l0ZS9kb2NzLy52aXRlcHJlc3MvY29uZmlnLm1qc1wiO2NvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9pbXBvcnRfbWV0YV91cmwgPSBcImZpbGU6Ly8vd29yay93dC9zaXRlL2RvY3MvLnZpdGVwcmVzcy9jb25maWcubWpzXCI7aW1wb3J0IHsgcmVhZEZpbGVTeW5jIH0gZnJvbSAnbm9kZTpmcydcbmltcG9ydCB7IGZpbGVVUkxUb1BhdGggfSBmcm9tICdub2RlOnVybCdcbmltcG9ydCB7IGRlZmluZUNvbmZpZyB9IGZyb20gJ3ZpdGVwcmVzcydcbmltcG9ydCBsbG1zdHh0IGZyb20gJ3ZpdGVwcmVzcy1wbHVnaW4tbGxtcydcbmltcG9ydCBtYW5pZmVzdCBmcm9tICcuLi8uLi9wYWNrYWdlLmpzb24nIHdpdGggeyB0eXBlOiAnanNvbicgfVxuaW1wb3J0IHsgY29kZXMgfSBmcm9tICcuLi9lcnJvcnMvY29kZXMubWpzJ1xuaW1wb3J0IHsgd2FybmluZ3MgfSBmcm9tICcuLi9lcnJvcnMvd2FybmluZ3MubWpzJ1xuXG5jb25zdCByb290ID0gbmV3IFVSTCgnLi4vLi4vJywgaW1wb3J0Lm1ldGEudXJsKVxuY29uc3QgcGF0aCA9IChyZWxhdGl2ZSkgPT4gZmlsZVVSTFRvUGF0aChuZXcgVVJMKHJlbGF0aXZlLCByb290KSlcblxuLyoqIFdoZXJlIHRoZSBzaXRlIGlzOiBlcnJvcnMgbGluayB0byBpdC4gKi9cbmNvbnN0IGhvbWUgPSBuZXcgVVJMKG1hbmlmZXN0LmhvbWVwYWdlKVxuLyoqIFdoZXJlIHRoZSBzb3VyY2VzIGFyZTogbGlua3MgdGhhdCBsZWF2ZSB0aGUgc2l0ZSBhbmQgdGhlIGVkaXQgbGluayBsZWFkIHRoZXJlLiAqL1xuY29uc3QgcmVwb3NpdG9yeSA9IG1hbmlmZXN0LnJlcG9zaXRvcnkudXJsLnJlcGxhY2UoL15naXRcXCt8XFwuZ2l0JC9nLCAnJylcblxuLyoqIEEgbGluayBvZiBhIHBhZ2UgdG8gYSBmaWxlIHRoYXQgaXMgbm90IGluIGRvY3MvIGxlYWRzIHRvIHRoZSByZXBvc2l0b3J5LiAqL1xuZnVuY3Rpb24gbGlua1RvUmVwb3NpdG9yeShtYXJrZG93bikge1xuICBtYXJrZG93bi5jb3JlLnJ1bGVyLnB1c2goJ3JlcG9zaXRvcnktbGlua3MnLCAoeyB0b2tlbnMsIGVudiB9KSA9PiB7XG4gICAgZm9yIChjb25zdCBsaW5rIG9mIHRva2Vucy5mbGF0TWFwKCh7IGNoaWxkcmVuIH0pID0+IGNoaWxkcmVuID8/IFtdKS5maWx0ZXIoKHsgdHlwZSB9KSA9PiB0eXBlID09PSAnbGlua19vcGVuJykpIHtcbiAgICAgIGNvbnN0IHRhcmdldCA9IGxpbmsuYXR0ckdldCgnaHJlZicpXG4gICAgICBpZiAoIXRhcmdldD8uc3RhcnRzV2l0aCgnLi4vJykpIGNvbnRpbnVlXG4gICAgICBjb25zdCB7IHBhdGhuYW1lLCBoYXNoIH0gPSBuZXcgVVJMKHRhcmdldCwgYGZpbGU6Ly8vZG9jcy8ke2Vudi5yZWxhdGl2ZVBhdGh9YClcbiAgICAgIGlmICghcGF0aG5hbWUuc3RhcnRzV2l0aCgnL2RvY3MvJykpIGxpbmsuYXR0clNldCgnaHJlZicsIGAke3JlcG9zaXRvcnl9L2Jsb2IvbWFpbiR7cGF0aG5hbWV9JHtoYXNofWApXG4gICAgfVxuICB9KVxufVxuXG4vKiogVGhlIGFuY2hvciBvZiBhIGhlYWRpbmc6IHRoYXQgb2YgR2l0SHViLCBiZWNhdXNlIHRoZSBwYWdlcyBhcmUgcmVhZCB0aGVyZSB0b28uICovXG5mdW5jdGlvbiBzbHVnaWZ5KGhlYWRpbmcpIHtcbiAgcmV0dXJuIGhlYWRpbmdcbiAgICAudHJpbSgpXG4gICAgLnRvTG93ZXJDYXNlKClcbiAgICAucmVwbGFjZUFsbCgvW15cXHB7TH1cXHB7Tn1cXHNfLV0vZ3UsICcnKVxuICAgIC5yZXBsYWNlQWxsKC9cXHMvZywgJy0nKVxufVxuXG4vKiogQSBjb2x1bW4gd2l0aG91dCBhIG5hbWUgaGFzIG5vIGhlYWRlcjogYW4gZW1wdHkgb25lIGlzIGEgZmF1bHQgdG8gdGhvc2Ugd2hvIGhlYXIgYSBwYWdlLiAqL1xuZnVuY3Rpb24gbGVhdmVPdXRFbXB0eUhlYWRlcnMobWFya2Rvd24pIHtcbiAgbWFya2Rvd24uY29yZS5ydWxlci5wdXNoKCdlbXB0eS1oZWFkZXJzJywgKHsgdG9rZW5zIH0pID0+IHtcbiAgICBmb3IgKGNvbnN0IFtuLCB7IHR5cGUsIGNvbnRlbnQgfV0gb2YgdG9rZW5zLmVudHJpZXMoKSkge1xuICAgICAgaWYgKHR5cGUgIT09ICdpbmxpbmUnIHx8IGNvbnRlbnQgIT09ICcnIHx8IHRva2Vuc1tuIC0gMV0udHlwZSAhPT0gJ3RoX29wZW4nKSBjb250aW51ZVxuICAgICAgZm9yIChjb25zdCB0b2tlbiBvZiBbdG9rZW5zW24gLSAxXSwgdG9rZW5zW24gKyAxXV0pIHRva2VuLnRhZyA9ICd0ZCdcbiAgICB9XG4gIH0pXG59XG5cbi8qKiBUaGUgbW9kdWxlcyBhcyB1c2VycyBpbXBvcnQgdGhlbSwgaW4gb25lIGxpc3QuIFRoZSBwYWdlIG9mIGEgbW9kdWxlIGxpc3RzIGl0cyBleHBvcnRzLiAqL1xuZnVuY3Rpb24gcmVmZXJlbmNlU2lkZWJhcigpIHtcbiAgY29uc3QgdHJlZSA9IEpTT04ucGFyc2UocmVhZEZpbGVTeW5jKHBhdGgoJ2RvY3MvcmVmZXJlbmNlL3R5cGVkb2Mtc2lkZWJhci5qc29uJyksICd1dGY4JykpXG4gIGNvbnN0IGxpbmtzID0gWy4uLkpTT04uc3RyaW5naWZ5KHRyZWUpLm1hdGNoQWxsKC9cImxpbmtcIjpcIihbXlwiXStcXC8pXCIvZyldLm1hcCgoWywgbGlua10pID0+IGxpbmspXG4gIGNvbnN0IGl0ZW1zID0gbGlua3MubWFwKChsaW5rKSA9PiAoeyB0ZXh0OiBsaW5rLnNsaWNlKCcvcmVmZXJlbmNlLycubGVuZ3RoLCAtMSksIGxpbmsgfSkpXG4gIHJldHVybiBbXG4gICAgeyB0ZXh0OiAnUmVmZXJlbmNlJywgbGluazogJy9yZWZlcmVuY2UvJywgaXRlbXM6IFt7IHRleHQ6ICdPcHRpb25zJywgbGluazogJy9yZWZlcmVuY2Uvb3B0aW9ucycgfSwgLi4uaXRlbXNdIH0sXG4gIF1cbn1cblxuLyoqXG4gKiBXaGljaCBoaXQgb2YgdGhlIHNlYXJjaCBpcyBmaXJzdDogdGhlIGd1aWRlIGFuZCB0aGUgZXJyb3JzLCBhbmQgdGhlbiB0aGUgcmVmZXJlbmNlLiBUaGUgcGFnZSBydW5zIHRoZSB0ZXh0IG9mIHRoaXMgZnVuY3Rpb24sIHNvIGl0XG4gKiB1c2VzIG5vdGhpbmcgZnJvbSBvdXRzaWRlLlxuICovXG5mdW5jdGlvbiBib29zdE9mKGlkKSB7XG4gIHJldHVybiBpZC5pbmNsdWRlcygnL3JlZmVyZW5jZS8nKSAmJiAhaWQuaW5jbHVkZXMoJy9vcHRpb25zJykgPyAwLjE1IDogMVxufVxuXG4vKiogV2hhdCB0aGUgc2VhcmNoIHJlYWRzIG9mIGEgcGFnZS4gVGFibGVzIG9mIGJlbmNobWFya3MgaGF2ZSBlYWNoIHdvcmQsIGFuZCBub2JvZHkgbG9va3MgZm9yIHRoZW0gYnkgdGhlc2Ugd29yZHMuICovXG5mdW5jdGlvbiBzZWFyY2hlZChzb3VyY2UsIGVudiwgbWFya2Rvd24pIHtcbiAgY29uc3QgaHRtbCA9IG1hcmtkb3duLnJlbmRlcihzb3VyY2UsIGVudilcbiAgcmV0dXJuIC9ecGVyZm9ybWFuY2UvLnRlc3QoZW52LnJlbGF0aXZlUGF0aCkgfHwgZW52LmZyb250bWF0dGVyPy5zZWFyY2ggPT09IGZhbHNlID8gJycgOiBodG1sXG59XG5cbi8qKiBBIGdhdGUgaW4gYSBjaGFubmVsLiAqL1xuY29uc3QgaWNvbiA9XG4gICc8c3ZnIHhtbG5zPVwiaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmdcIiB2aWV3Qm94PVwiMCAwIDMyIDMyXCI+PHJlY3Qgd2lkdGg9XCIzMlwiIGhlaWdodD1cIjMyXCIgcng9XCI2XCIgZmlsbD1cIiMwMDVkOTNcIi8+PHBhdGggZD1cIk02IDhoMjBNMTAgOHYxNk0yMiA4djE2TTEwIDE0aDEyXCIgc3Ryb2tlPVwiI2ZmZlwiIHN0cm9rZS13aWR0aD1cIjNcIiBmaWxsPVwibm9uZVwiLz48L3N2Zz4nXG5cbmNvbnN0IGdpdGh1YiA9XG4gICc8c3ZnIHhtbG5zPVwiaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmdcIiB2aWV3Qm94PVwiMCAwIDE2IDE2XCI+PHBhdGggZmlsbD1cImN1cnJlbnRDb2xvclwiIGQ9XCJNOCAwQzMuNTggMCAwIDMuNTggMCA4YzAgMy41NCAyLjI5IDYuNTMgNS40NyA3LjU5LjQuMDcuNTUtLjE3LjU1LS4zOCAwLS4xOS0uMDEtLjgyLS4wMS0xLjQ5LTIuMDEuMzctMi41My0uNDktMi42OS0uOTQtLjA5LS4yMy0uNDgtLjk0LS44Mi0xLjEzLS4yOC0uMTUtLjY4LS41Mi0uMDEtLjUzLjYzLS4wMSAxLjA4LjU4IDEuMjMuODIuNzIgMS4yMSAxLjg3Ljg3IDIuMzMuNjYuMDctLjUyLjI4LS44Ny41MS0xLjA3LTEuNzgtLjItMy42NC0uODktMy42NC0zLjk1IDAtLjg3LjMxLTEuNTkuODItMi4xNS0uMDgtLjItLjM2LTEuMDIuMDgtMi4xMiAwIDAgLjY3LS4yMSAyLjIuODJhNy42IDcuNiAwIDAgMSA0IDBjMS41My0xLjA0IDIuMi0uODIgMi4yLS44Mi40NCAxLjEuMTYgMS45Mi4wOCAyLjEyLjUxLjU2LjgyIDEuMjcuODIgMi4xNSAwIDMuMDctMS44NyAzLjc1LTMuNjUgMy45NS4yOS4yNS41NC43My41NCAxLjQ4IDAgMS4wNy0uMDEgMS45My0uMDEgMi4yIDAgLjIxLjE1LjQ2LjU1LjM4QTguMDEgOC4wMSAwIDAgMCAxNiA4YzAtNC40Mi0zLjU4LTgtOC04XCIvPjwvc3ZnPidcblxuY29uc3QgcGFnZSA9ICh0ZXh0LCBuYW1lKSA9PiAoeyB0ZXh0LCBsaW5rOiBgLyR7bmFtZX1gIH0pXG5cbmNvbnN0IGd1aWRlID0gW1xuICB7XG4gICAgdGV4dDogJ1N0YXJ0JyxcbiAgICBpdGVtczogW1xuICAgICAgcGFnZSgnQSBsaW1pdGVyIGluIDYwIHNlY29uZHMnLCAnc3RhcnQnKSxcbiAgICAgIHBhZ2UoJ0Nob29zaW5nIGFuIGFsZ29yaXRobScsICdjaG9vc2luZycpLFxuICAgICAgcGFnZSgnUGxheWdyb3VuZCcsICdwbGF5Z3JvdW5kJyksXG4gICAgICBwYWdlKCdUaGUgbGFiJywgJ2xhYicpLFxuICAgICAge1xuICAgICAgICAuLi5wYWdlKCdNb3ZpbmcgaW4nLCAnbW92aW5nLWluJyksXG4gICAgICAgIGNvbGxhcHNlZDogdHJ1ZSxcbiAgICAgICAgaXRlbXM6IFtcbiAgICAgICAgICBwYWdlKCdyYXRlLWxpbWl0ZXItZmxleGlibGUnLCAnZnJvbS1yYXRlLWxpbWl0ZXItZmxleGlibGUnKSxcbiAgICAgICAgICBwYWdlKCdAdXBzdGFzaC9yYXRlbGltaXQnLCAnZnJvbS11cHN0YXNoLXJhdGVsaW1pdCcpLFxuICAgICAgICAgIHBhZ2UoJ2JvdHRsZW5lY2snLCAnZnJvbS1ib3R0bGVuZWNrJyksXG4gICAgICAgICAgcGFnZSgncC10aHJvdHRsZScsICdmcm9tLXAtdGhyb3R0bGUnKSxcbiAgICAgICAgICBwYWdlKCdwLXF1ZXVlJywgJ2Zyb20tcC1xdWV1ZScpLFxuICAgICAgICAgIHBhZ2UoJ2xpbWl0ZXInLCAnZnJvbS1saW1pdGVyJyksXG4gICAgICAgIF0sXG4gICAgICB9LFxuICAgIF0sXG4gIH0sXG4gIHtcbiAgICB0ZXh0OiAnR3VpZGUnLFxuICAgIGl0ZW1zOiBbXG4gICAgICBwYWdlKCdUaGUgbGltaXRlcicsICdsaW1pdGVyJyksXG4gICAgICBwYWdlKCdBbGdvcml0aG1zJywgJ2FsZ29yaXRobXMnKSxcbiAgICAgIHBhZ2UoJ01pZGRsZXdhcmUgYW5kIGhlYWRlcnMnLCAnaHR0cCcpLFxuICAgICAgcGFnZSgnRnJhbWV3b3JrcycsICdmcmFtZXdvcmtzJyksXG4gICAgICBwYWdlKCdLZXlzIGFuZCBhZGRyZXNzZXMnLCAnYWRkcmVzc2VzJyksXG4gICAgICBwYWdlKCdQYWNpbmcnLCAncGFjaW5nJyksXG4gICAgICBwYWdlKCdCdWRnZXRzJywgJ2J1ZGdldHMnKSxcbiAgICAgIHBhZ2UoJ1F1b3RhcyBieSB0aGUgY2FsZW5kYXInLCAncXVvdGFzJyksXG4gICAgICBwYWdlKCdUZXN0aW5nJywgJ3Rlc3RpbmcnKSxcbiAgICBdLFxuICB9LFxuICB7XG4gICAgdGV4dDogJ0ZsZWV0JyxcbiAgICBpdGVtczogW1xuICAgICAgcGFnZSgnU3RvcmVzJywgJ3N0b3JlcycpLFxuICAgICAgcGFnZSgnUmVkaXMnLCAncmVkaXMnKSxcbiAgICAgIHBhZ2UoJ1NjYWxlJywgJ3NjYWxlJyksXG4gICAgICBwYWdlKCdNZW1vcnknLCAnbWVtb3J5JyksXG4gICAgICBwYWdlKCdGYWlsdXJlJywgJ2ZhaWx1cmUnKSxcbiAgICAgIHBhZ2UoJ0luIHByb2R1Y3Rpb24nLCAncHJvZHVjdGlvbicpLFxuICAgICAgcGFnZSgnT2JzZXJ2YWJpbGl0eScsICdvYnNlcnZhYmlsaXR5JyksXG4gICAgXSxcbiAgfSxcbiAge1xuICAgIHRleHQ6ICdNb3JlJyxcbiAgICBpdGVtczogW3BhZ2UoJ1BlcmZvcm1hbmNlJywgJ3BlcmZvcm1hbmNlJyksIHBhZ2UoJ1NlY3VyaXR5JywgJ3NlY3VyaXR5JyksIHBhZ2UoJ1N1cHBvcnQnLCAnc3VwcG9ydCcpXSxcbiAgfSxcbl1cblxuY29uc3QgZXJyb3JQYWdlcyA9IFtcbiAge1xuICAgIHRleHQ6ICdFcnJvcnMnLFxuICAgIGxpbms6ICcvZXJyb3JzLycsXG4gICAgaXRlbXM6IE9iamVjdC5rZXlzKHsgLi4uY29kZXMsIC4uLndhcm5pbmdzIH0pLm1hcCgoY29kZSkgPT4gcGFnZShjb2RlLCBgZXJyb3JzLyR7Y29kZX1gKSksXG4gIH0sXG5dXG5cbmV4cG9ydCBkZWZhdWx0IGRlZmluZUNvbmZpZyh7XG4gIHRpdGxlOiAnaGVhZGdhdGUnLFxuICBkZXNjcmlwdGlvbjogJ0FuIGV4YWN0IHJhdGUgbGltaXRlciBmb3IgTm9kZSBzZXJ2aWNlcyBhbmQgZmV0Y2ggcnVudGltZXMuJyxcbiAgbGFuZzogJ2VuJyxcbiAgYmFzZTogYCR7aG9tZS5wYXRobmFtZS5yZXBsYWNlKC9cXC8kLywgJycpfS9gLFxuICBjbGVhblVybHM6IHRydWUsXG4gIHNpdGVtYXA6IHsgaG9zdG5hbWU6IGAke2hvbWUuaHJlZi5yZXBsYWNlKC9cXC8kLywgJycpfS9gIH0sXG4gIGhlYWQ6IFtcbiAgICBbJ2xpbmsnLCB7IHJlbDogJ2ljb24nLCBocmVmOiBgZGF0YTppbWFnZS9zdmcreG1sLCR7ZW5jb2RlVVJJQ29tcG9uZW50KGljb24pfWAgfV0sXG4gICAgWydtZXRhJywgeyBwcm9wZXJ0eTogJ29nOnR5cGUnLCBjb250ZW50OiAnd2Vic2l0ZScgfV0sXG4gICAgWydtZXRhJywgeyBwcm9wZXJ0eTogJ29nOnNpdGVfbmFtZScsIGNvbnRlbnQ6ICdoZWFkZ2F0ZScgfV0sXG4gICAgWydtZXRhJywgeyBwcm9wZXJ0eTogJ29nOmltYWdlJywgY29udGVudDogYCR7aG9tZS5ocmVmLnJlcGxhY2UoL1xcLyQvLCAnJyl9L3NvY2lhbC5wbmdgIH1dLFxuICAgIFsnbWV0YScsIHsgbmFtZTogJ3R3aXR0ZXI6Y2FyZCcsIGNvbnRlbnQ6ICdzdW1tYXJ5X2xhcmdlX2ltYWdlJyB9XSxcbiAgXSxcbiAgbGFzdFVwZGF0ZWQ6IGZhbHNlLFxuICAvLyBUaGVzZSBwYWdlcyBhcmUgbWFkZSBmcm9tIHRoZSBzb3VyY2VzLlxuICB0cmFuc2Zvcm1QYWdlRGF0YTogKHsgcmVsYXRpdmVQYXRoLCBmcm9udG1hdHRlciB9KSA9PiB7XG4gICAgaWYgKC9eKHJlZmVyZW5jZXxlcnJvcnNcXC9IRUFER0FURV8pLy50ZXN0KHJlbGF0aXZlUGF0aCkpIGZyb250bWF0dGVyLmVkaXRMaW5rID0gZmFsc2VcbiAgfSxcbiAgdHJhbnNmb3JtSGVhZDogKHsgdGl0bGUsIGRlc2NyaXB0aW9uIH0pID0+IFtcbiAgICBbJ21ldGEnLCB7IHByb3BlcnR5OiAnb2c6dGl0bGUnLCBjb250ZW50OiB0aXRsZSB9XSxcbiAgICBbJ21ldGEnLCB7IHByb3BlcnR5OiAnb2c6ZGVzY3JpcHRpb24nLCBjb250ZW50OiBkZXNjcmlwdGlvbiB9XSxcbiAgXSxcbiAgbWFya2Rvd246IHtcbiAgICBhbmNob3I6IHsgc2x1Z2lmeSB9LFxuICAgIGNvbmZpZyhtYXJrZG93bikge1xuICAgICAgbGlua1RvUmVwb3NpdG9yeShtYXJrZG93bilcbiAgICAgIGxlYXZlT3V0RW1wdHlIZWFkZXJzKG1hcmtkb3duKVxuICAgIH0sXG4gICAgdGhlbWU6IHsgbGlnaHQ6ICdnaXRodWItbGlnaHQtaGlnaC1jb250cmFzdCcsIGRhcms6ICdnaXRodWItZGFyay1oaWdoLWNvbnRyYXN0JyB9LFxuICB9LFxuICAvLyBUaGUgaG9tZSBwYWdlIG9mIHRoZSB0aGVtZSBoYXMgbm8gbWFpbiBsYW5kbWFyazogc2VlIHRoZW1lL2luZGV4Lm1qcy5cbiAgdHJhbnNmb3JtSHRtbDogKGh0bWwpID0+IGh0bWwucmVwbGFjZSgnPGRpdiBjbGFzcz1cIlZQSG9tZVwiJywgJzxkaXYgcm9sZT1cIm1haW5cIiBjbGFzcz1cIlZQSG9tZVwiJyksXG4gIHRoZW1lQ29uZmlnOiB7XG4gICAgbmF2OiBbXG4gICAgICBwYWdlKCdHdWlkZScsICdzdGFydCcpLFxuICAgICAgcGFnZSgnUGxheWdyb3VuZCcsICdwbGF5Z3JvdW5kJyksXG4gICAgICBwYWdlKCdSZWZlcmVuY2UnLCAncmVmZXJlbmNlLycpLFxuICAgICAgcGFnZSgnRXJyb3JzJywgJ2Vycm9ycy8nKSxcbiAgICAgIHtcbiAgICAgICAgdGV4dDogYHYke21hbmlmZXN0LnZlcnNpb259YCxcbiAgICAgICAgaXRlbXM6IFtcbiAgICAgICAgICB7IHRleHQ6ICdDaGFuZ2Vsb2cnLCBsaW5rOiBgJHtyZXBvc2l0b3J5fS9ibG9iL21haW4vQ0hBTkdFTE9HLm1kYCB9LFxuICAgICAgICAgIHsgdGV4dDogJ25wbScsIGxpbms6IGBodHRwczovL3d3dy5ucG1qcy5jb20vcGFja2FnZS8ke21hbmlmZXN0Lm5hbWV9YCB9LFxuICAgICAgICBdLFxuICAgICAgfSxcbiAgICBdLFxuICAgIC8vIFRoZSBpY29uIGlzIGhlcmU6IHRoYXQgb2YgdGhlIHRoZW1lIHdvdWxkIGJlIGxvYWRlZCBmcm9tIGFub3RoZXIgc2l0ZS5cbiAgICBzb2NpYWxMaW5rczogW3sgaWNvbjogeyBzdmc6IGdpdGh1YiB9LCBsaW5rOiByZXBvc2l0b3J5LCBhcmlhTGFiZWw6ICdHaXRIdWInIH1dLFxuICAgIHNpZGViYXI6IHsgJy9yZWZlcmVuY2UvJzogcmVmZXJlbmNlU2lkZWJhcigpLCAnL2Vycm9ycy8nOiBlcnJvclBhZ2VzLCAnLyc6IGd1aWRlIH0sXG4gICAgc2VhcmNoOiB7XG4gICAgICBwcm92aWRlcjogJ2xvY2FsJyxcbiAgICAgIG9wdGlvbnM6IHsgX3JlbmRlcjogc2VhcmNoZWQsIG1pbmlTZWFyY2g6IHsgc2VhcmNoT3B0aW9uczogeyBib29zdERvY3VtZW50OiBib29zdE9mIH0gfSB9LFxuICAgIH0sXG4gICAgZWRpdExpbms6IHsgcGF0dGVybjogYCR7cmVwb3NpdG9yeX0vZWRpdC9tYWluL2RvY3MvOnBhdGhgLCB0ZXh0OiAnRWRpdCB0aGlzIHBhZ2UnIH0sXG4gICAgb3V0bGluZTogWzIsIDNdLFxuICB9LFxuICB2aXRlOiB7XG4gICAgcGx1Z2luczogW1xuICAgICAgbGxtc3R4dCh7IGRvbWFpbjogaG9tZS5vcmlnaW4sIGlnbm9yZUZpbGVzOiBbJ3JlZmVyZW5jZS8qKiddLCBzaWRlYmFyOiB7ICcvJzogZ3VpZGUsICcvZXJyb3JzLyc6IGVycm9yUGFnZXMgfSB9KSxcbiAgICBdLFxuICAgIHJlc29sdmU6IHtcbiAgICAgIC8vIFRoZSByZWFsIHBhY2thZ2UsIGFzIGl0IGlzIGJ1aWx0OiB0aGUgcGxheWdyb3VuZCBydW5zIHdoYXQgdXNlcnMgcnVuLlxuICAgICAgYWxpYXM6IFtcbiAgICAgICAgeyBmaW5kOiAvXmhlYWRnYXRlJC8sIHJlcGxhY2VtZW50OiBwYXRoKCdkaXN0L2luZGV4LmpzJykgfSxcbiAgICAgICAgeyBmaW5kOiAvXmhlYWRnYXRlXFwvKC4rKSQvLCByZXBsYWNlbWVudDogcGF0aCgnZGlzdC8kMS5qcycpIH0sXG4gICAgICBdLFxuICAgIH0sXG4gIH0sXG59KVxuIiwgIntcbiAgXCJuYW1lXCI6IFwiaGVhZGdhdGVcIixcbiAgXCJ2ZXJzaW9uXCI6IFwiMC4xLjBcIixcbiAgXCJkZXNjcmlwdGlvblwiOiBcIkFuIGV4YWN0IHJhdGUgbGltaXRlciBmb3IgTm9kZSBzZXJ2aWNlczogb25lIHNldCBvZiBwb2xpY2llcyBmb3IgZXZlcnkgZG9vciBpbiwgdGhlIHNhbWUgdHJ1ZSBhbnN3ZXJzIGV2ZXJ5d2hlcmUuXCIsXG4gIFwia2V5d29yZHNcIjogW1xuICAgIFwicmF0ZS1saW1pdFwiLFxuICAgIFwicmF0ZS1saW1pdGVyXCIsXG4gICAgXCJleHByZXNzXCIsXG4gICAgXCJrb2FcIixcbiAgICBcImZhc3RpZnlcIixcbiAgICBcImhvbm9cIixcbiAgICBcImgzXCIsXG4gICAgXCJmZXRjaFwiLFxuICAgIFwibWlkZGxld2FyZVwiLFxuICAgIFwid2Vic29ja2V0XCIsXG4gICAgXCJzb2NrZXQuaW9cIixcbiAgICBcIm5lc3Rqc1wiLFxuICAgIFwidG9rZW4tYnVja2V0XCIsXG4gICAgXCJzbGlkaW5nLXdpbmRvd1wiLFxuICAgIFwiZ2NyYVwiLFxuICAgIFwidGhyb3R0bGVcIixcbiAgICBcInF1b3RhXCJcbiAgXSxcbiAgXCJob21lcGFnZVwiOiBcImh0dHBzOi8vaGVhZGdhdGUuZ2l0aHViLmlvL2hlYWRnYXRlXCIsXG4gIFwicmVwb3NpdG9yeVwiOiB7XG4gICAgXCJ0eXBlXCI6IFwiZ2l0XCIsXG4gICAgXCJ1cmxcIjogXCJnaXQraHR0cHM6Ly9naXRodWIuY29tL2hlYWRnYXRlL2hlYWRnYXRlLmdpdFwiXG4gIH0sXG4gIFwibGljZW5zZVwiOiBcIk1JVFwiLFxuICBcInR5cGVcIjogXCJtb2R1bGVcIixcbiAgXCJzaWRlRWZmZWN0c1wiOiBmYWxzZSxcbiAgXCJlbmdpbmVzXCI6IHtcbiAgICBcIm5vZGVcIjogXCI+PTIwLjE5LjBcIlxuICB9LFxuICBcInB1Ymxpc2hDb25maWdcIjoge1xuICAgIFwiYWNjZXNzXCI6IFwicHVibGljXCIsXG4gICAgXCJwcm92ZW5hbmNlXCI6IHRydWVcbiAgfSxcbiAgXCJmaWxlc1wiOiBbXG4gICAgXCJkaXN0XCJcbiAgXSxcbiAgXCJtYWluXCI6IFwiLi9kaXN0L2Nqcy9pbmRleC5janNcIixcbiAgXCJ0eXBlc1wiOiBcIi4vZGlzdC90eXBlcy9pbmRleC5kLmN0c1wiLFxuICBcInR5cGVzVmVyc2lvbnNcIjoge1xuICAgIFwiKlwiOiB7XG4gICAgICBcInBhY2thZ2UuanNvblwiOiBbXG4gICAgICAgIFwiLi9wYWNrYWdlLmpzb25cIlxuICAgICAgXSxcbiAgICAgIFwiZGlzdC90eXBlcy8qXCI6IFtcbiAgICAgICAgXCIuL2Rpc3QvdHlwZXMvKlwiXG4gICAgICBdLFxuICAgICAgXCIqXCI6IFtcbiAgICAgICAgXCIuL2Rpc3QvdHlwZXMvKi5kLmN0c1wiXG4gICAgICBdXG4gICAgfVxuICB9LFxuICBcImltcG9ydHNcIjoge1xuICAgIFwiI3BsYXRmb3JtXCI6IHtcbiAgICAgIFwibm9kZVwiOiB7XG4gICAgICAgIFwiaW1wb3J0XCI6IFwiLi9kaXN0L3BsYXRmb3JtL25vZGUuanNcIixcbiAgICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9wbGF0Zm9ybS9ub2RlLmpzXCIsXG4gICAgICAgIFwicmVxdWlyZVwiOiBcIi4vZGlzdC9janMvcGxhdGZvcm0vbm9kZS5janNcIlxuICAgICAgfSxcbiAgICAgIFwiZGVmYXVsdFwiOiB7XG4gICAgICAgIFwiaW1wb3J0XCI6IFwiLi9kaXN0L3BsYXRmb3JtL3dlYi5qc1wiLFxuICAgICAgICBcIm1vZHVsZS1zeW5jXCI6IFwiLi9kaXN0L3BsYXRmb3JtL3dlYi5qc1wiLFxuICAgICAgICBcInJlcXVpcmVcIjogXCIuL2Rpc3QvY2pzL3BsYXRmb3JtL3dlYi5janNcIlxuICAgICAgfVxuICAgIH1cbiAgfSxcbiAgXCJleHBvcnRzXCI6IHtcbiAgICBcIi5cIjoge1xuICAgICAgXCJpbXBvcnRcIjoge1xuICAgICAgICBcInR5cGVzXCI6IFwiLi9kaXN0L3R5cGVzL2luZGV4LmQubXRzXCIsXG4gICAgICAgIFwiZGVmYXVsdFwiOiBcIi4vZGlzdC9pbmRleC5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9pbmRleC5qc1wiLFxuICAgICAgXCJyZXF1aXJlXCI6IHtcbiAgICAgICAgXCJ0eXBlc1wiOiBcIi4vZGlzdC90eXBlcy9pbmRleC5kLmN0c1wiLFxuICAgICAgICBcImRlZmF1bHRcIjogXCIuL2Rpc3QvY2pzL2luZGV4LmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vc3RvcmVcIjoge1xuICAgICAgXCJpbXBvcnRcIjoge1xuICAgICAgICBcInR5cGVzXCI6IFwiLi9kaXN0L3R5cGVzL3N0b3JlLmQubXRzXCIsXG4gICAgICAgIFwiZGVmYXVsdFwiOiBcIi4vZGlzdC9zdG9yZS5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9zdG9yZS5qc1wiLFxuICAgICAgXCJyZXF1aXJlXCI6IHtcbiAgICAgICAgXCJ0eXBlc1wiOiBcIi4vZGlzdC90eXBlcy9zdG9yZS5kLmN0c1wiLFxuICAgICAgICBcImRlZmF1bHRcIjogXCIuL2Rpc3QvY2pzL3N0b3JlLmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vaHR0cFwiOiB7XG4gICAgICBcImltcG9ydFwiOiB7XG4gICAgICAgIFwidHlwZXNcIjogXCIuL2Rpc3QvdHlwZXMvaHR0cC5kLm10c1wiLFxuICAgICAgICBcImRlZmF1bHRcIjogXCIuL2Rpc3QvaHR0cC5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9odHRwLmpzXCIsXG4gICAgICBcInJlcXVpcmVcIjoge1xuICAgICAgICBcInR5cGVzXCI6IFwiLi9kaXN0L3R5cGVzL2h0dHAuZC5jdHNcIixcbiAgICAgICAgXCJkZWZhdWx0XCI6IFwiLi9kaXN0L2Nqcy9odHRwLmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vY2FsZW5kYXJcIjoge1xuICAgICAgXCJpbXBvcnRcIjoge1xuICAgICAgICBcInR5cGVzXCI6IFwiLi9kaXN0L3R5cGVzL2NhbGVuZGFyLmQubXRzXCIsXG4gICAgICAgIFwiZGVmYXVsdFwiOiBcIi4vZGlzdC9jYWxlbmRhci5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9jYWxlbmRhci5qc1wiLFxuICAgICAgXCJyZXF1aXJlXCI6IHtcbiAgICAgICAgXCJ0eXBlc1wiOiBcIi4vZGlzdC90eXBlcy9jYWxlbmRhci5kLmN0c1wiLFxuICAgICAgICBcImRlZmF1bHRcIjogXCIuL2Rpc3QvY2pzL2NhbGVuZGFyLmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vZXhwcmVzc1wiOiB7XG4gICAgICBcImltcG9ydFwiOiB7XG4gICAgICAgIFwidHlwZXNcIjogXCIuL2Rpc3QvdHlwZXMvZXhwcmVzcy5kLm10c1wiLFxuICAgICAgICBcImRlZmF1bHRcIjogXCIuL2Rpc3QvZXhwcmVzcy5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9leHByZXNzLmpzXCIsXG4gICAgICBcInJlcXVpcmVcIjoge1xuICAgICAgICBcInR5cGVzXCI6IFwiLi9kaXN0L3R5cGVzL2V4cHJlc3MuZC5jdHNcIixcbiAgICAgICAgXCJkZWZhdWx0XCI6IFwiLi9kaXN0L2Nqcy9leHByZXNzLmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4va29hXCI6IHtcbiAgICAgIFwiaW1wb3J0XCI6IHtcbiAgICAgICAgXCJ0eXBlc1wiOiBcIi4vZGlzdC90eXBlcy9rb2EuZC5tdHNcIixcbiAgICAgICAgXCJkZWZhdWx0XCI6IFwiLi9kaXN0L2tvYS5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9rb2EuanNcIixcbiAgICAgIFwicmVxdWlyZVwiOiB7XG4gICAgICAgIFwidHlwZXNcIjogXCIuL2Rpc3QvdHlwZXMva29hLmQuY3RzXCIsXG4gICAgICAgIFwiZGVmYXVsdFwiOiBcIi4vZGlzdC9janMva29hLmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vZmFzdGlmeVwiOiB7XG4gICAgICBcImltcG9ydFwiOiB7XG4gICAgICAgIFwidHlwZXNcIjogXCIuL2Rpc3QvdHlwZXMvZmFzdGlmeS5kLm10c1wiLFxuICAgICAgICBcImRlZmF1bHRcIjogXCIuL2Rpc3QvZmFzdGlmeS5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9mYXN0aWZ5LmpzXCIsXG4gICAgICBcInJlcXVpcmVcIjoge1xuICAgICAgICBcInR5cGVzXCI6IFwiLi9kaXN0L3R5cGVzL2Zhc3RpZnkuZC5jdHNcIixcbiAgICAgICAgXCJkZWZhdWx0XCI6IFwiLi9kaXN0L2Nqcy9mYXN0aWZ5LmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vc29ja2V0c1wiOiB7XG4gICAgICBcImltcG9ydFwiOiB7XG4gICAgICAgIFwidHlwZXNcIjogXCIuL2Rpc3QvdHlwZXMvc29ja2V0cy5kLm10c1wiLFxuICAgICAgICBcImRlZmF1bHRcIjogXCIuL2Rpc3Qvc29ja2V0cy5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9zb2NrZXRzLmpzXCIsXG4gICAgICBcInJlcXVpcmVcIjoge1xuICAgICAgICBcInR5cGVzXCI6IFwiLi9kaXN0L3R5cGVzL3NvY2tldHMuZC5jdHNcIixcbiAgICAgICAgXCJkZWZhdWx0XCI6IFwiLi9kaXN0L2Nqcy9zb2NrZXRzLmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vbmVzdFwiOiB7XG4gICAgICBcImltcG9ydFwiOiB7XG4gICAgICAgIFwidHlwZXNcIjogXCIuL2Rpc3QvdHlwZXMvbmVzdC5kLm10c1wiLFxuICAgICAgICBcImRlZmF1bHRcIjogXCIuL2Rpc3QvbmVzdC5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9uZXN0LmpzXCIsXG4gICAgICBcInJlcXVpcmVcIjoge1xuICAgICAgICBcInR5cGVzXCI6IFwiLi9kaXN0L3R5cGVzL25lc3QuZC5jdHNcIixcbiAgICAgICAgXCJkZWZhdWx0XCI6IFwiLi9kaXN0L2Nqcy9uZXN0LmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vZmV0Y2hcIjoge1xuICAgICAgXCJpbXBvcnRcIjoge1xuICAgICAgICBcInR5cGVzXCI6IFwiLi9kaXN0L3R5cGVzL2ZldGNoLmQubXRzXCIsXG4gICAgICAgIFwiZGVmYXVsdFwiOiBcIi4vZGlzdC9mZXRjaC5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9mZXRjaC5qc1wiLFxuICAgICAgXCJyZXF1aXJlXCI6IHtcbiAgICAgICAgXCJ0eXBlc1wiOiBcIi4vZGlzdC90eXBlcy9mZXRjaC5kLmN0c1wiLFxuICAgICAgICBcImRlZmF1bHRcIjogXCIuL2Rpc3QvY2pzL2ZldGNoLmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vaG9ub1wiOiB7XG4gICAgICBcImltcG9ydFwiOiB7XG4gICAgICAgIFwidHlwZXNcIjogXCIuL2Rpc3QvdHlwZXMvaG9uby5kLm10c1wiLFxuICAgICAgICBcImRlZmF1bHRcIjogXCIuL2Rpc3QvaG9uby5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9ob25vLmpzXCIsXG4gICAgICBcInJlcXVpcmVcIjoge1xuICAgICAgICBcInR5cGVzXCI6IFwiLi9kaXN0L3R5cGVzL2hvbm8uZC5jdHNcIixcbiAgICAgICAgXCJkZWZhdWx0XCI6IFwiLi9kaXN0L2Nqcy9ob25vLmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vaDNcIjoge1xuICAgICAgXCJpbXBvcnRcIjoge1xuICAgICAgICBcInR5cGVzXCI6IFwiLi9kaXN0L3R5cGVzL2gzLmQubXRzXCIsXG4gICAgICAgIFwiZGVmYXVsdFwiOiBcIi4vZGlzdC9oMy5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9oMy5qc1wiLFxuICAgICAgXCJyZXF1aXJlXCI6IHtcbiAgICAgICAgXCJ0eXBlc1wiOiBcIi4vZGlzdC90eXBlcy9oMy5kLmN0c1wiLFxuICAgICAgICBcImRlZmF1bHRcIjogXCIuL2Rpc3QvY2pzL2gzLmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vbm9kZVwiOiB7XG4gICAgICBcImltcG9ydFwiOiB7XG4gICAgICAgIFwidHlwZXNcIjogXCIuL2Rpc3QvdHlwZXMvbm9kZS5kLm10c1wiLFxuICAgICAgICBcImRlZmF1bHRcIjogXCIuL2Rpc3Qvbm9kZS5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9ub2RlLmpzXCIsXG4gICAgICBcInJlcXVpcmVcIjoge1xuICAgICAgICBcInR5cGVzXCI6IFwiLi9kaXN0L3R5cGVzL25vZGUuZC5jdHNcIixcbiAgICAgICAgXCJkZWZhdWx0XCI6IFwiLi9kaXN0L2Nqcy9ub2RlLmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vY29tcGF0L2V4cHJlc3MtcmF0ZS1saW1pdFwiOiB7XG4gICAgICBcImltcG9ydFwiOiB7XG4gICAgICAgIFwidHlwZXNcIjogXCIuL2Rpc3QvdHlwZXMvY29tcGF0L2V4cHJlc3MtcmF0ZS1saW1pdC5kLm10c1wiLFxuICAgICAgICBcImRlZmF1bHRcIjogXCIuL2Rpc3QvY29tcGF0L2V4cHJlc3MtcmF0ZS1saW1pdC5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9jb21wYXQvZXhwcmVzcy1yYXRlLWxpbWl0LmpzXCIsXG4gICAgICBcInJlcXVpcmVcIjoge1xuICAgICAgICBcInR5cGVzXCI6IFwiLi9kaXN0L3R5cGVzL2NvbXBhdC9leHByZXNzLXJhdGUtbGltaXQuZC5jdHNcIixcbiAgICAgICAgXCJkZWZhdWx0XCI6IFwiLi9kaXN0L2Nqcy9jb21wYXQvZXhwcmVzcy1yYXRlLWxpbWl0LmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vY29tcGF0L2tvYS1yYXRlbGltaXRcIjoge1xuICAgICAgXCJpbXBvcnRcIjoge1xuICAgICAgICBcInR5cGVzXCI6IFwiLi9kaXN0L3R5cGVzL2NvbXBhdC9rb2EtcmF0ZWxpbWl0LmQubXRzXCIsXG4gICAgICAgIFwiZGVmYXVsdFwiOiBcIi4vZGlzdC9jb21wYXQva29hLXJhdGVsaW1pdC5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9jb21wYXQva29hLXJhdGVsaW1pdC5qc1wiLFxuICAgICAgXCJyZXF1aXJlXCI6IHtcbiAgICAgICAgXCJ0eXBlc1wiOiBcIi4vZGlzdC90eXBlcy9jb21wYXQva29hLXJhdGVsaW1pdC5kLmN0c1wiLFxuICAgICAgICBcImRlZmF1bHRcIjogXCIuL2Rpc3QvY2pzL2NvbXBhdC9rb2EtcmF0ZWxpbWl0LmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vY29tcGF0L2Zhc3RpZnktcmF0ZS1saW1pdFwiOiB7XG4gICAgICBcImltcG9ydFwiOiB7XG4gICAgICAgIFwidHlwZXNcIjogXCIuL2Rpc3QvdHlwZXMvY29tcGF0L2Zhc3RpZnktcmF0ZS1saW1pdC5kLm10c1wiLFxuICAgICAgICBcImRlZmF1bHRcIjogXCIuL2Rpc3QvY29tcGF0L2Zhc3RpZnktcmF0ZS1saW1pdC5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9jb21wYXQvZmFzdGlmeS1yYXRlLWxpbWl0LmpzXCIsXG4gICAgICBcInJlcXVpcmVcIjoge1xuICAgICAgICBcInR5cGVzXCI6IFwiLi9kaXN0L3R5cGVzL2NvbXBhdC9mYXN0aWZ5LXJhdGUtbGltaXQuZC5jdHNcIixcbiAgICAgICAgXCJkZWZhdWx0XCI6IFwiLi9kaXN0L2Nqcy9jb21wYXQvZmFzdGlmeS1yYXRlLWxpbWl0LmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vY29tcGF0L25lc3QtdGhyb3R0bGVyXCI6IHtcbiAgICAgIFwiaW1wb3J0XCI6IHtcbiAgICAgICAgXCJ0eXBlc1wiOiBcIi4vZGlzdC90eXBlcy9jb21wYXQvbmVzdC10aHJvdHRsZXIuZC5tdHNcIixcbiAgICAgICAgXCJkZWZhdWx0XCI6IFwiLi9kaXN0L2NvbXBhdC9uZXN0LXRocm90dGxlci5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9jb21wYXQvbmVzdC10aHJvdHRsZXIuanNcIixcbiAgICAgIFwicmVxdWlyZVwiOiB7XG4gICAgICAgIFwidHlwZXNcIjogXCIuL2Rpc3QvdHlwZXMvY29tcGF0L25lc3QtdGhyb3R0bGVyLmQuY3RzXCIsXG4gICAgICAgIFwiZGVmYXVsdFwiOiBcIi4vZGlzdC9janMvY29tcGF0L25lc3QtdGhyb3R0bGVyLmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vY29tcGF0L2hvbm8tcmF0ZS1saW1pdGVyXCI6IHtcbiAgICAgIFwiaW1wb3J0XCI6IHtcbiAgICAgICAgXCJ0eXBlc1wiOiBcIi4vZGlzdC90eXBlcy9jb21wYXQvaG9uby1yYXRlLWxpbWl0ZXIuZC5tdHNcIixcbiAgICAgICAgXCJkZWZhdWx0XCI6IFwiLi9kaXN0L2NvbXBhdC9ob25vLXJhdGUtbGltaXRlci5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9jb21wYXQvaG9uby1yYXRlLWxpbWl0ZXIuanNcIixcbiAgICAgIFwicmVxdWlyZVwiOiB7XG4gICAgICAgIFwidHlwZXNcIjogXCIuL2Rpc3QvdHlwZXMvY29tcGF0L2hvbm8tcmF0ZS1saW1pdGVyLmQuY3RzXCIsXG4gICAgICAgIFwiZGVmYXVsdFwiOiBcIi4vZGlzdC9janMvY29tcGF0L2hvbm8tcmF0ZS1saW1pdGVyLmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vcmVkaXNcIjoge1xuICAgICAgXCJpbXBvcnRcIjoge1xuICAgICAgICBcInR5cGVzXCI6IFwiLi9kaXN0L3R5cGVzL3JlZGlzLmQubXRzXCIsXG4gICAgICAgIFwiZGVmYXVsdFwiOiBcIi4vZGlzdC9yZWRpcy5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9yZWRpcy5qc1wiLFxuICAgICAgXCJyZXF1aXJlXCI6IHtcbiAgICAgICAgXCJ0eXBlc1wiOiBcIi4vZGlzdC90eXBlcy9yZWRpcy5kLmN0c1wiLFxuICAgICAgICBcImRlZmF1bHRcIjogXCIuL2Rpc3QvY2pzL3JlZGlzLmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vc2hhcmVzXCI6IHtcbiAgICAgIFwiaW1wb3J0XCI6IHtcbiAgICAgICAgXCJ0eXBlc1wiOiBcIi4vZGlzdC90eXBlcy9zaGFyZXMuZC5tdHNcIixcbiAgICAgICAgXCJkZWZhdWx0XCI6IFwiLi9kaXN0L3NoYXJlcy5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9zaGFyZXMuanNcIixcbiAgICAgIFwicmVxdWlyZVwiOiB7XG4gICAgICAgIFwidHlwZXNcIjogXCIuL2Rpc3QvdHlwZXMvc2hhcmVzLmQuY3RzXCIsXG4gICAgICAgIFwiZGVmYXVsdFwiOiBcIi4vZGlzdC9janMvc2hhcmVzLmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vcG9zdGdyZXNcIjoge1xuICAgICAgXCJpbXBvcnRcIjoge1xuICAgICAgICBcInR5cGVzXCI6IFwiLi9kaXN0L3R5cGVzL3Bvc3RncmVzLmQubXRzXCIsXG4gICAgICAgIFwiZGVmYXVsdFwiOiBcIi4vZGlzdC9wb3N0Z3Jlcy5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9wb3N0Z3Jlcy5qc1wiLFxuICAgICAgXCJyZXF1aXJlXCI6IHtcbiAgICAgICAgXCJ0eXBlc1wiOiBcIi4vZGlzdC90eXBlcy9wb3N0Z3Jlcy5kLmN0c1wiLFxuICAgICAgICBcImRlZmF1bHRcIjogXCIuL2Rpc3QvY2pzL3Bvc3RncmVzLmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vc3FsaXRlXCI6IHtcbiAgICAgIFwiaW1wb3J0XCI6IHtcbiAgICAgICAgXCJ0eXBlc1wiOiBcIi4vZGlzdC90eXBlcy9zcWxpdGUuZC5tdHNcIixcbiAgICAgICAgXCJkZWZhdWx0XCI6IFwiLi9kaXN0L3NxbGl0ZS5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9zcWxpdGUuanNcIixcbiAgICAgIFwicmVxdWlyZVwiOiB7XG4gICAgICAgIFwidHlwZXNcIjogXCIuL2Rpc3QvdHlwZXMvc3FsaXRlLmQuY3RzXCIsXG4gICAgICAgIFwiZGVmYXVsdFwiOiBcIi4vZGlzdC9janMvc3FsaXRlLmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vbWVtY2FjaGVkXCI6IHtcbiAgICAgIFwiaW1wb3J0XCI6IHtcbiAgICAgICAgXCJ0eXBlc1wiOiBcIi4vZGlzdC90eXBlcy9tZW1jYWNoZWQuZC5tdHNcIixcbiAgICAgICAgXCJkZWZhdWx0XCI6IFwiLi9kaXN0L21lbWNhY2hlZC5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9tZW1jYWNoZWQuanNcIixcbiAgICAgIFwicmVxdWlyZVwiOiB7XG4gICAgICAgIFwidHlwZXNcIjogXCIuL2Rpc3QvdHlwZXMvbWVtY2FjaGVkLmQuY3RzXCIsXG4gICAgICAgIFwiZGVmYXVsdFwiOiBcIi4vZGlzdC9janMvbWVtY2FjaGVkLmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vY2x1c3RlclwiOiB7XG4gICAgICBcImltcG9ydFwiOiB7XG4gICAgICAgIFwidHlwZXNcIjogXCIuL2Rpc3QvdHlwZXMvY2x1c3Rlci5kLm10c1wiLFxuICAgICAgICBcImRlZmF1bHRcIjogXCIuL2Rpc3QvY2x1c3Rlci5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9jbHVzdGVyLmpzXCIsXG4gICAgICBcInJlcXVpcmVcIjoge1xuICAgICAgICBcInR5cGVzXCI6IFwiLi9kaXN0L3R5cGVzL2NsdXN0ZXIuZC5jdHNcIixcbiAgICAgICAgXCJkZWZhdWx0XCI6IFwiLi9kaXN0L2Nqcy9jbHVzdGVyLmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vcGFjZXJcIjoge1xuICAgICAgXCJpbXBvcnRcIjoge1xuICAgICAgICBcInR5cGVzXCI6IFwiLi9kaXN0L3R5cGVzL3BhY2VyLmQubXRzXCIsXG4gICAgICAgIFwiZGVmYXVsdFwiOiBcIi4vZGlzdC9wYWNlci5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9wYWNlci5qc1wiLFxuICAgICAgXCJyZXF1aXJlXCI6IHtcbiAgICAgICAgXCJ0eXBlc1wiOiBcIi4vZGlzdC90eXBlcy9wYWNlci5kLmN0c1wiLFxuICAgICAgICBcImRlZmF1bHRcIjogXCIuL2Rpc3QvY2pzL3BhY2VyLmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vb3RlbFwiOiB7XG4gICAgICBcImltcG9ydFwiOiB7XG4gICAgICAgIFwidHlwZXNcIjogXCIuL2Rpc3QvdHlwZXMvb3RlbC5kLm10c1wiLFxuICAgICAgICBcImRlZmF1bHRcIjogXCIuL2Rpc3Qvb3RlbC5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC9vdGVsLmpzXCIsXG4gICAgICBcInJlcXVpcmVcIjoge1xuICAgICAgICBcInR5cGVzXCI6IFwiLi9kaXN0L3R5cGVzL290ZWwuZC5jdHNcIixcbiAgICAgICAgXCJkZWZhdWx0XCI6IFwiLi9kaXN0L2Nqcy9vdGVsLmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vdGVzdGluZ1wiOiB7XG4gICAgICBcImltcG9ydFwiOiB7XG4gICAgICAgIFwidHlwZXNcIjogXCIuL2Rpc3QvdHlwZXMvdGVzdGluZy5kLm10c1wiLFxuICAgICAgICBcImRlZmF1bHRcIjogXCIuL2Rpc3QvdGVzdGluZy5qc1wiXG4gICAgICB9LFxuICAgICAgXCJtb2R1bGUtc3luY1wiOiBcIi4vZGlzdC90ZXN0aW5nLmpzXCIsXG4gICAgICBcInJlcXVpcmVcIjoge1xuICAgICAgICBcInR5cGVzXCI6IFwiLi9kaXN0L3R5cGVzL3Rlc3RpbmcuZC5jdHNcIixcbiAgICAgICAgXCJkZWZhdWx0XCI6IFwiLi9kaXN0L2Nqcy90ZXN0aW5nLmNqc1wiXG4gICAgICB9XG4gICAgfSxcbiAgICBcIi4vcGFja2FnZS5qc29uXCI6IFwiLi9wYWNrYWdlLmpzb25cIlxuICB9LFxuICBcImJpblwiOiB7XG4gICAgXCJoZWFkZ2F0ZS1wb3N0Z3Jlc1wiOiBcIi4vZGlzdC9oZWFkZ2F0ZS1wb3N0Z3Jlcy5qc1wiXG4gIH0sXG4gIFwic2NyaXB0c1wiOiB7XG4gICAgXCJidWlsZFwiOiBcInJvbGxkb3duIC1jXCIsXG4gICAgXCJzdGFydFwiOiBcIm5wbSBydW4gYnVpbGQgJiYgbm9kZSBleGFtcGxlcy9kZW1vL2xpc3Rlbi5tanNcIixcbiAgICBcInRlc3RcIjogXCJucG0gcnVuIGJ1aWxkICYmIHZpdGVzdCBydW4gLS1wcm9qZWN0IHVuaXQgLS1wcm9qZWN0IGh0dHAgLS1wcm9qZWN0IGJ1aWx0IC0tcHJvamVjdCBzZXJ2ZXJzIC0tcHJvamVjdCBsaXN0ZW5pbmdcIixcbiAgICBcInRlc3Q6dW5pdFwiOiBcInZpdGVzdCBydW4gLS1wcm9qZWN0IHVuaXRcIixcbiAgICBcInRlc3Q6bG9uZ1wiOiBcIm5wbSBydW4gYnVpbGQgJiYgdml0ZXN0IHJ1biAtLXByb2plY3QgbG9uZyAtLXByb2plY3QgaW4tZGVwdGggLS1wcm9qZWN0IGV2ZXJ5LWZyYW1ld29ya1wiLFxuICAgIFwidGVzdDpmcmFtZXdvcmtzXCI6IFwibnBtIHJ1biBidWlsZCAmJiBucG0gY2kgLS1wcmVmaXggdGVzdC9mcmFtZXdvcmtzICYmIG5vZGUgdGVzdC9mcmFtZXdvcmtzL21haW4ubWpzXCIsXG4gICAgXCJ0ZXN0OmxvYWRlcnNcIjogXCJucG0gcnVuIGJ1aWxkICYmIG5wbSBjaSAtLXByZWZpeCB0ZXN0L2xvYWRlcnMgJiYgbm9kZSB0ZXN0L2xvYWRlcnMvbWFpbi5tanNcIixcbiAgICBcInRlc3Q6b2JzZXJ2ZWRcIjogXCJucG0gcnVuIGJ1aWxkICYmIG5wbSBjaSAtLXByZWZpeCBleGFtcGxlcy9vYnNlcnZlZCAmJiBucG0gdGVzdCAtLXByZWZpeCBleGFtcGxlcy9vYnNlcnZlZFwiLFxuICAgIFwidGVzdDpsYWJcIjogXCJucG0gcnVuIGJ1aWxkICYmIG5wbSBjaSAtLXByZWZpeCBsYWIgJiYgbnBtIHRlc3QgLS1wcmVmaXggbGFiXCIsXG4gICAgXCJ0ZXN0OnJ1bnRpbWVzXCI6IFwibnBtIHJ1biBidWlsZCAmJiBucG0gY2kgLS1wcmVmaXggdGVzdC9ydW50aW1lcyAmJiBub2RlIHRlc3QvcnVudGltZXMvbWFpbi5tanNcIixcbiAgICBcInRlc3Q6bm9kZXNcIjogXCJucG0gY2kgLS1wcmVmaXggdGVzdC9ydW50aW1lcyAmJiBub2RlIHRlc3QvcnVudGltZXMvbm9kZXMubWpzXCIsXG4gICAgXCJsaW50XCI6IFwiYmlvbWUgY2hlY2sgJiYgdml0ZXN0IHJ1biAtLXByb2plY3QgdW5pdCB0ZXN0L2ltcG9ydHMudGVzdC50c1wiLFxuICAgIFwiZm9ybWF0XCI6IFwiYmlvbWUgY2hlY2sgLS13cml0ZVwiLFxuICAgIFwidHlwZXNcIjogXCJ0c2MgLS1ub0VtaXQgJiYgdHNjIC1wIHRlc3QgJiYgdHNjIC1wIGV4YW1wbGVzXCIsXG4gICAgXCJjaGVjazpwYWNrYWdlXCI6IFwicHVibGludCAtLXN0cmljdCAmJiBhdHR3IC0tcGFjayAuICYmIHZpdGVzdCBydW4gLS1wcm9qZWN0IHBhY2thZ2VcIixcbiAgICBcImNoZWNrOmRlYWRcIjogXCJrbmlwXCIsXG4gICAgXCJjaGVjazpzaXplXCI6IFwibm9kZSB0ZXN0L3NpemUvbWFpbi5tanNcIixcbiAgICBcImNoZWNrOnJlbGVhc2VcIjogXCJub2RlIC5naXRodWIvcmVsZWFzZS9jaGVjay5tanNcIixcbiAgICBcInJlbGVhc2VcIjogXCJucG0gY2kgLS1wcmVmaXggLmdpdGh1Yi9yZWxlYXNlICYmIG5vZGUgLmdpdGh1Yi9yZWxlYXNlL25vZGVfbW9kdWxlcy9yZWxlYXNlLWl0L2Jpbi9yZWxlYXNlLWl0LmpzIC0tY29uZmlnIC5naXRodWIvcmVsZWFzZS9yZWxlYXNlLWl0Lmpzb25cIixcbiAgICBcImJlbmNoXCI6IFwibnBtIHJ1biBidWlsZCAmJiBucG0gY2kgLS1wcmVmaXggYmVuY2ggJiYgbm9kZSBiZW5jaC9tYWluLm1qc1wiLFxuICAgIFwiYmVuY2g6Y29yZVwiOiBcIm5wbSBydW4gYmVuY2ggLS0gY29yZVwiLFxuICAgIFwiYmVuY2g6b2JzZXJ2ZWRcIjogXCJucG0gcnVuIGJlbmNoIC0tIG9ic2VydmVkXCIsXG4gICAgXCJiZW5jaDpodHRwXCI6IFwibnBtIHJ1biBiZW5jaCAtLSBodHRwXCIsXG4gICAgXCJiZW5jaDpzb2NrZXRzXCI6IFwibnBtIHJ1biBiZW5jaCAtLSBzb2NrZXRzXCIsXG4gICAgXCJiZW5jaDptZW1vcnlcIjogXCJucG0gcnVuIGJlbmNoIC0tIG1lbW9yeVwiLFxuICAgIFwiYmVuY2g6ZnVsbFwiOiBcIm5wbSBydW4gYmVuY2ggLS0gZnVsbFwiLFxuICAgIFwiYmVuY2g6c2NhbGVcIjogXCJucG0gcnVuIGJ1aWxkICYmIG5wbSBjaSAtLXByZWZpeCBiZW5jaCAmJiBub2RlIGJlbmNoL3NjYWxlL21haW4ubWpzXCIsXG4gICAgXCJiZW5jaDpvdmVybG9hZFwiOiBcIm5wbSBydW4gYnVpbGQgJiYgbnBtIGNpIC0tcHJlZml4IGJlbmNoICYmIG5vZGUgYmVuY2gvb3ZlcmxvYWQvbWFpbi5tanNcIixcbiAgICBcImJlbmNoOnJlZGlzXCI6IFwibnBtIHJ1biBiZW5jaCAtLSByZWRpc1wiLFxuICAgIFwiYmVuY2g6ZGF0YWJhc2VzXCI6IFwibnBtIHJ1biBiZW5jaCAtLSBkYXRhYmFzZXNcIixcbiAgICBcImJlbmNoOnNxbGl0ZVwiOiBcIm5wbSBydW4gYmVuY2ggLS0gc3FsaXRlXCIsXG4gICAgXCJiZW5jaDpjb21wYXRcIjogXCJucG0gcnVuIGJlbmNoIC0tIGNvbXBhdFwiLFxuICAgIFwiYmVuY2g6cGFjZXJcIjogXCJucG0gcnVuIGJlbmNoIC0tIHBhY2VyXCIsXG4gICAgXCJiZW5jaDpncm93dGhcIjogXCJucG0gcnVuIGJlbmNoIC0tIGdyb3d0aFwiLFxuICAgIFwiYmVuY2g6Z2FyYmFnZVwiOiBcIm5wbSBydW4gYmVuY2ggLS0gZ2FyYmFnZVwiLFxuICAgIFwiYmVuY2g6cHJvZmlsZVwiOiBcIm5wbSBydW4gYmVuY2ggLS0gcHJvZmlsZVwiLFxuICAgIFwiYmVuY2g6aW1wb3J0XCI6IFwibnBtIHJ1biBiZW5jaCAtLSBpbXBvcnRcIixcbiAgICBcImJlbmNoOnJlcG9ydFwiOiBcIm5vZGUgYmVuY2gvcmVwb3J0Lm1qc1wiLFxuICAgIFwibGFiXCI6IFwibm9kZSBsYWIvbWFpbi5tanNcIixcbiAgICBcImRvY3NcIjogXCJucG0gcnVuIGJ1aWxkICYmIG5wbSBjaSAtLXByZWZpeCBkb2NzICYmIG5wbSBydW4gZGV2IC0tcHJlZml4IGRvY3NcIixcbiAgICBcImRvY3M6YnVpbGRcIjogXCJucG0gcnVuIGJ1aWxkICYmIG5wbSBjaSAtLXByZWZpeCBkb2NzICYmIG5wbSBydW4gYnVpbGQgLS1wcmVmaXggZG9jc1wiLFxuICAgIFwidGVzdDpkb2NzXCI6IFwibnBtIHJ1biBkb2NzOmJ1aWxkICYmIG5wbSBjaSAtLXByZWZpeCBsYWIgJiYgbnBtIHRlc3QgLS1wcmVmaXggZG9jc1wiLFxuICAgIFwiZnV6elwiOiBcIm5vZGUgdGVzdC9mdXp6L21haW4ubWpzXCIsXG4gICAgXCJzb2FrXCI6IFwibnBtIHJ1biBidWlsZCAmJiBucG0gY2kgLS1wcmVmaXggYmVuY2ggJiYgbm9kZSAtLWV4cG9zZS1nYyBiZW5jaC9zb2FrL21haW4ubWpzXCIsXG4gICAgXCJleGFtcGxlOnBhZ2VyXCI6IFwibnBtIHJ1biBidWlsZCAmJiBub2RlIGV4YW1wbGVzL3BhZ2VyL21haW4ubWpzXCIsXG4gICAgXCJleGFtcGxlOmRyaXZlclwiOiBcIm5wbSBydW4gYnVpbGQgJiYgbm9kZSBleGFtcGxlcy9kcml2ZXIvbWFpbi5tanNcIixcbiAgICBcImV4YW1wbGU6ZmxlZXRcIjogXCJucG0gcnVuIGJ1aWxkICYmIG5vZGUgZXhhbXBsZXMvZmxlZXQvbWFpbi5tanNcIixcbiAgICBcImV4YW1wbGU6YWktZ2F0ZXdheVwiOiBcIm5wbSBydW4gYnVpbGQgJiYgbm9kZSBleGFtcGxlcy9haS1nYXRld2F5L21haW4ubWpzXCIsXG4gICAgXCJleGFtcGxlOnF1b3Rhc1wiOiBcIm5wbSBydW4gYnVpbGQgJiYgbm9kZSBleGFtcGxlcy9xdW90YXMvbGlzdGVuLm1qc1wiLFxuICAgIFwicHJlcGFja1wiOiBcIm5wbSBydW4gYnVpbGRcIlxuICB9LFxuICBcImRlcGVuZGVuY2llc1wiOiB7XG4gICAgXCJjb29raWVcIjogXCJeMS4xLjFcIixcbiAgICBcImZhc3RpZnktcGx1Z2luXCI6IFwiXjYuMC4xXCIsXG4gICAgXCJscnUtY2FjaGVcIjogXCJeMTEuNS4zXCIsXG4gICAgXCJtc1wiOiBcIl4yLjEuM1wiLFxuICAgIFwibmVnb3RpYXRvclwiOiBcIl4xLjEuMFwiLFxuICAgIFwic3RydWN0dXJlZC1oZWFkZXJzXCI6IFwiXjIuMS4wXCJcbiAgfSxcbiAgXCJwZWVyRGVwZW5kZW5jaWVzXCI6IHtcbiAgICBcIkBuZXN0anMvY29tbW9uXCI6IFwiKlwiLFxuICAgIFwiQG5lc3Rqcy9jb3JlXCI6IFwiKlwiLFxuICAgIFwiQG5lc3Rqcy9taWNyb3NlcnZpY2VzXCI6IFwiKlwiLFxuICAgIFwiQG5lc3Rqcy93ZWJzb2NrZXRzXCI6IFwiKlwiLFxuICAgIFwiQG9wZW50ZWxlbWV0cnkvYXBpXCI6IFwiKlwiLFxuICAgIFwiZXhwcmVzc1wiOiBcIipcIixcbiAgICBcImZhc3RpZnlcIjogXCIqXCIsXG4gICAgXCJoM1wiOiBcIipcIixcbiAgICBcImhvbm9cIjogXCIqXCIsXG4gICAgXCJrb2FcIjogXCIqXCIsXG4gICAgXCJyeGpzXCI6IFwiKlwiXG4gIH0sXG4gIFwicGVlckRlcGVuZGVuY2llc01ldGFcIjoge1xuICAgIFwiQG9wZW50ZWxlbWV0cnkvYXBpXCI6IHtcbiAgICAgIFwib3B0aW9uYWxcIjogdHJ1ZVxuICAgIH0sXG4gICAgXCJAbmVzdGpzL2NvbW1vblwiOiB7XG4gICAgICBcIm9wdGlvbmFsXCI6IHRydWVcbiAgICB9LFxuICAgIFwiQG5lc3Rqcy9jb3JlXCI6IHtcbiAgICAgIFwib3B0aW9uYWxcIjogdHJ1ZVxuICAgIH0sXG4gICAgXCJAbmVzdGpzL21pY3Jvc2VydmljZXNcIjoge1xuICAgICAgXCJvcHRpb25hbFwiOiB0cnVlXG4gICAgfSxcbiAgICBcIkBuZXN0anMvd2Vic29ja2V0c1wiOiB7XG4gICAgICBcIm9wdGlvbmFsXCI6IHRydWVcbiAgICB9LFxuICAgIFwiZXhwcmVzc1wiOiB7XG4gICAgICBcIm9wdGlvbmFsXCI6IHRydWVcbiAgICB9LFxuICAgIFwiZmFzdGlmeVwiOiB7XG4gICAgICBcIm9wdGlvbmFsXCI6IHRydWVcbiAgICB9LFxuICAgIFwiaDNcIjoge1xuICAgICAgXCJvcHRpb25hbFwiOiB0cnVlXG4gICAgfSxcbiAgICBcImhvbm9cIjoge1xuICAgICAgXCJvcHRpb25hbFwiOiB0cnVlXG4gICAgfSxcbiAgICBcImtvYVwiOiB7XG4gICAgICBcIm9wdGlvbmFsXCI6IHRydWVcbiAgICB9LFxuICAgIFwicnhqc1wiOiB7XG4gICAgICBcIm9wdGlvbmFsXCI6IHRydWVcbiAgICB9XG4gIH0sXG4gIFwiZGV2RGVwZW5kZW5jaWVzXCI6IHtcbiAgICBcIkBhcmV0aGV0eXBlc3dyb25nL2NsaVwiOiBcIl4wLjE4LjVcIixcbiAgICBcIkBiaW9tZWpzL2Jpb21lXCI6IFwiMi41LjE1XCIsXG4gICAgXCJAZmFzdGlmeS9yYXRlLWxpbWl0XCI6IFwiXjExLjIuMFwiLFxuICAgIFwiQGhvbm8vbm9kZS1zZXJ2ZXJcIjogXCJeMi4xLjhcIixcbiAgICBcIkBrb2Evcm91dGVyXCI6IFwiXjE1LjcuMFwiLFxuICAgIFwiQGxpYnNxbC9jbGllbnRcIjogXCJeMC4xOC4wXCIsXG4gICAgXCJAbmVzdGpzL2NvbW1vblwiOiBcIl4xMS4yLjEwXCIsXG4gICAgXCJAbmVzdGpzL2NvcmVcIjogXCJeMTEuMi4xMFwiLFxuICAgIFwiQG5lc3Rqcy9taWNyb3NlcnZpY2VzXCI6IFwiXjExLjIuNlwiLFxuICAgIFwiQG5lc3Rqcy93ZWJzb2NrZXRzXCI6IFwiXjExLjIuNlwiLFxuICAgIFwiQG5vYmxlL2hhc2hlc1wiOiBcIl4yLjQuMFwiLFxuICAgIFwiQG9wZW50ZWxlbWV0cnkvYXBpXCI6IFwiXjEuOS4xXCIsXG4gICAgXCJAb3BlbnRlbGVtZXRyeS9jb250ZXh0LWFzeW5jLWhvb2tzXCI6IFwiXjIuMTIuMFwiLFxuICAgIFwiQG9wZW50ZWxlbWV0cnkvc2RrLW1ldHJpY3NcIjogXCJeMi4xMi4xXCIsXG4gICAgXCJAb3BlbnRlbGVtZXRyeS9zZGstdHJhY2UtYmFzZVwiOiBcIl4yLjEyLjFcIixcbiAgICBcIkB0eXBlcy9jb25uZWN0XCI6IFwiXjMuNC4zOFwiLFxuICAgIFwiQHR5cGVzL2V4cHJlc3NcIjogXCJeNS4wLjZcIixcbiAgICBcIkB0eXBlcy9rb2FcIjogXCJeMy4wLjNcIixcbiAgICBcIkB0eXBlcy9tc1wiOiBcIl4yLjEuMFwiLFxuICAgIFwiQHR5cGVzL25lZ290aWF0b3JcIjogXCJeMC42LjVcIixcbiAgICBcIkB0eXBlcy9ub2RlXCI6IFwiXjIwLjE5LjQzXCIsXG4gICAgXCJAdHlwZXMvcGdcIjogXCJeOC4yMy4xXCIsXG4gICAgXCJAdHlwZXMvcG9sa2FcIjogXCJeMC41LjhcIixcbiAgICBcIkB0eXBlcy9zdXBlcnRlc3RcIjogXCJeNy4yLjFcIixcbiAgICBcIkB0eXBlcy93c1wiOiBcIl44LjE4LjJcIixcbiAgICBcIkB1cHN0YXNoL3JhdGVsaW1pdFwiOiBcIl4yLjIuMFwiLFxuICAgIFwiYXV0b2Nhbm5vblwiOiBcIl45LjAuMFwiLFxuICAgIFwiYm90dGxlbmVja1wiOiBcIl4yLjE5LjVcIixcbiAgICBcImNsaS1wcm9ncmVzc1wiOiBcIl4zLjEyLjBcIixcbiAgICBcImNvbm5lY3RcIjogXCJeMy43LjBcIixcbiAgICBcImV4cHJlc3NcIjogXCJeNS4zLjBcIixcbiAgICBcImV4cHJlc3MtcmF0ZS1saW1pdFwiOiBcIl44LjcuNFwiLFxuICAgIFwiZXhwcmVzczRcIjogXCJucG06ZXhwcmVzc0BeNC4yMi4zXCIsXG4gICAgXCJmYXN0LWNoZWNrXCI6IFwiXjQuMTAuMlwiLFxuICAgIFwiZmFzdGlmeVwiOiBcIl41LjEyLjhcIixcbiAgICBcImgzXCI6IFwiXjIuMC44XCIsXG4gICAgXCJob25vXCI6IFwiXjQuMTMuMTlcIixcbiAgICBcImhvbm8tcmF0ZS1saW1pdGVyXCI6IFwiXjAuNS40XCIsXG4gICAgXCJpb3JlZGlzXCI6IFwiXjYuMC4wXCIsXG4gICAgXCJpb3ZhbGtleVwiOiBcIl4wLjQuMFwiLFxuICAgIFwia25pcFwiOiBcIjYuNDAuMFwiLFxuICAgIFwia29hXCI6IFwiXjMuMy4wXCIsXG4gICAgXCJrb2EtcmF0ZWxpbWl0XCI6IFwiXjYuMC4wXCIsXG4gICAgXCJsaWJzcWxcIjogXCJeMC41LjI5XCIsXG4gICAgXCJsaW1pdGVyXCI6IFwiXjQuMS4wXCIsXG4gICAgXCJtZW1jYWNoZS1jbGllbnRcIjogXCJeMS4wLjVcIixcbiAgICBcIm90ZWwtYXBpLWxvd2VzdFwiOiBcIm5wbTpAb3BlbnRlbGVtZXRyeS9hcGlAXjEuMy4wXCIsXG4gICAgXCJvdGVsLWFwaS1uZXdlc3RcIjogXCJucG06QG9wZW50ZWxlbWV0cnkvYXBpQF4xLjEwLjBcIixcbiAgICBcInAtcXVldWVcIjogXCJeOS4zLjVcIixcbiAgICBcInAtdGhyb3R0bGVcIjogXCJeOC4xLjFcIixcbiAgICBcInBnXCI6IFwiXjguMjMuMVwiLFxuICAgIFwicG9sa2FcIjogXCJeMC41LjJcIixcbiAgICBcInB1YmxpbnRcIjogXCJeMC4zLjI1XCIsXG4gICAgXCJyYXRlLWxpbWl0LW1lbWNhY2hlZFwiOiBcIl4xLjAuMVwiLFxuICAgIFwicmF0ZS1saW1pdC1yZWRpc1wiOiBcIl42LjAuMVwiLFxuICAgIFwicmF0ZS1saW1pdGVyLWZsZXhpYmxlXCI6IFwiXjExLjQuMFwiLFxuICAgIFwicmVkaXNcIjogXCJeNi4zLjFcIixcbiAgICBcInJvbGxkb3duXCI6IFwiXjEuMi4xOVwiLFxuICAgIFwicm9sbGRvd24tcGx1Z2luLWR0c1wiOiBcIl4wLjIzLjJcIixcbiAgICBcInJ4anNcIjogXCJeNy44LjJcIixcbiAgICBcInNydnhcIjogXCJeMS4wLjhcIixcbiAgICBcInN1cGVydGVzdFwiOiBcIl43LjMuMlwiLFxuICAgIFwidGlueXF1ZXVlXCI6IFwiXjMuMC4wXCIsXG4gICAgXCJ0c2xpYlwiOiBcIl4yLjkuMVwiLFxuICAgIFwidHlwZXNjcmlwdFwiOiBcIl43LjAuMlwiLFxuICAgIFwidml0ZXN0XCI6IFwiXjQuMS4xMlwiLFxuICAgIFwid3NcIjogXCJeOC4yMy4wXCJcbiAgfSxcbiAgXCJvdmVycmlkZXNcIjoge1xuICAgIFwibGlnaHQtbXktcmVxdWVzdFwiOiBcIjYuNi4wXCIsXG4gICAgXCJyb2xsZG93bi1wbHVnaW4tZHRzXCI6IHtcbiAgICAgIFwidHlwZXNjcmlwdFwiOiBcIiR0eXBlc2NyaXB0XCJcbiAgICB9XG4gIH1cbn1cbiIsICJjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfZGlybmFtZSA9IFwiL3dvcmsvd3Qvc2l0ZS9kb2NzL2Vycm9yc1wiO2NvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9maWxlbmFtZSA9IFwiL3dvcmsvd3Qvc2l0ZS9kb2NzL2Vycm9ycy9jb2Rlcy5tanNcIjtjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfaW1wb3J0X21ldGFfdXJsID0gXCJmaWxlOi8vL3dvcmsvd3Qvc2l0ZS9kb2NzL2Vycm9ycy9jb2Rlcy5tanNcIjsvKipcbiAqIFRoZSBwYWdlcyBvZiB0aGUgZXJyb3IgY29kZXMuIGBjYXVzZWAgc2F5cyBob3cgaXQgY29tZXMgYWJvdXQsIGFuZCBgZml4YCB3aGF0IHRvIGRvLiBgd3JvbmdgIGlzIGEgcHJvZ3JhbSB0aGF0IGZhaWxzIHdpdGggdGhlXG4gKiBjb2RlLCBhbmQgYHJpZ2h0YCBpcyBvbmUgdGhhdCBkb2VzIG5vdDogdGVzdC9zaXRlLXByb2dyYW1zLnRlc3QudHMgcnVucyBib3RoLiBXaGF0IHRoZSBjb2RlIG1lYW5zIHN0YW5kcyBpbiBzcmMvY29tbW9uL2Vycm9ycy50cy5cbiAqXG4gKiBAdHlwZSB7UmVjb3JkPHN0cmluZywgeyBjYXVzZTogc3RyaW5nLCBmaXg6IHN0cmluZywgd3Jvbmc6IHN0cmluZywgcmlnaHQ6IHN0cmluZyB9Pn1cbiAqL1xuZXhwb3J0IGNvbnN0IGNvZGVzID0ge1xuICBIRUFER0FURV9MSU1JVDoge1xuICAgIGNhdXNlOlxuICAgICAgJ0EgbGltaXQgaXMgbmVnYXRpdmUsIGhhcyBhIGZyYWN0aW9uLCBvciBpcyBub3QgYSBudW1iZXIuIEEgdmFsdWUgb2YgYW4gZW52aXJvbm1lbnQgdmFyaWFibGUgaXMgYSB0ZXh0LCBhbmQgbm90IGEgbnVtYmVyLicsXG4gICAgZml4OiAnUGFzcyBhIHdob2xlIG51bWJlciBvZiBhdCBsZWFzdCAwLiBDb252ZXJ0IGEgdGV4dCB3aXRoIGBOdW1iZXJgLicsXG4gICAgd3Jvbmc6IGBpbXBvcnQgeyBzbGlkaW5nV2luZG93IH0gZnJvbSAnaGVhZGdhdGUnXG5cbnNsaWRpbmdXaW5kb3coeyBsaW1pdDogJzEwMCcsIHdpbmRvdzogJzE1bScgfSlgLFxuICAgIHJpZ2h0OiBgaW1wb3J0IHsgc2xpZGluZ1dpbmRvdyB9IGZyb20gJ2hlYWRnYXRlJ1xuXG5zbGlkaW5nV2luZG93KHsgbGltaXQ6IE51bWJlcignMTAwJyksIHdpbmRvdzogJzE1bScgfSlgLFxuICB9LFxuICBIRUFER0FURV9XSU5ET1c6IHtcbiAgICBjYXVzZTpcbiAgICAgICdBIGR1cmF0aW9uIGlzIHNob3J0ZXIgdGhhbiAxIG1zIG9yIGxvbmdlciB0aGFuIDM2NiBkYXlzLCBoYXMgYSBmcmFjdGlvbiBvZiBhIG1pbGxpc2Vjb25kLCBvciBoYXMgYW4gdW5rbm93biB1bml0LiBBIG1vbnRoIGlzICcgK1xuICAgICAgJ25vdCBhIHVuaXQsIGJlY2F1c2UgaXQgaGFzIG5vIGZpeGVkIGxlbmd0aC4gVW5pdHMgYXJlIHdyaXR0ZW4gaW4gc21hbGwgbGV0dGVycy4nLFxuICAgIGZpeDpcbiAgICAgIFwiUGFzcyB3aG9sZSBtaWxsaXNlY29uZHMsIG9yIGEgdGV4dCB3aXRoIGEgdW5pdCBpbiBzbWFsbCBsZXR0ZXJzOiBgJzI1MG1zJ2AsIGAnMTBzJ2AsIGAnMTVtJ2AsIGAnMWgnYCwgYCcxZCdgLCBgJzJ3J2AsIGAnMXknYC4gRm9yIGEgXCIgK1xuICAgICAgXCJtb250aCwgd3JpdGUgYCczMGQnYC5cIixcbiAgICB3cm9uZzogYGltcG9ydCB7IHBvbGljeSB9IGZyb20gJ2hlYWRnYXRlJ1xuXG5wb2xpY3koJzEwMC8wcycpYCxcbiAgICByaWdodDogYGltcG9ydCB7IHBvbGljeSB9IGZyb20gJ2hlYWRnYXRlJ1xuXG5wb2xpY3koJzEwMC8xNW0nKWAsXG4gIH0sXG4gIEhFQURHQVRFX0JVUlNUOiB7XG4gICAgY2F1c2U6ICdBIGJ1cnN0IGlzIG5vdCBhIHdob2xlIG51bWJlciBvZiBhdCBsZWFzdCAxLCBvciB0aGUgYWxnb3JpdGhtIGhhcyBubyBidXJzdC4nLFxuICAgIGZpeDogJ1Bhc3MgdGhlIG51bWJlciBvZiB1bml0cyB0aGF0IG1heSBjb21lIGF0IHRoZSBzYW1lIG1vbWVudC4gV2luZG93cyBoYXZlIG5vIGJ1cnN0LCBzbyB1c2UgYSB0b2tlbiBidWNrZXQuJyxcbiAgICB3cm9uZzogYGltcG9ydCB7IHRva2VuQnVja2V0IH0gZnJvbSAnaGVhZGdhdGUnXG5cbnRva2VuQnVja2V0KHsgbGltaXQ6IDEwLCB3aW5kb3c6ICcxcycsIGJ1cnN0OiAwIH0pYCxcbiAgICByaWdodDogYGltcG9ydCB7IHRva2VuQnVja2V0IH0gZnJvbSAnaGVhZGdhdGUnXG5cbnRva2VuQnVja2V0KHsgbGltaXQ6IDEwLCB3aW5kb3c6ICcxcycsIGJ1cnN0OiAyMCB9KWAsXG4gIH0sXG4gIEhFQURHQVRFX1NFR01FTlRTOiB7XG4gICAgY2F1c2U6ICdUaGUgbnVtYmVyIG9mIHNlZ21lbnRzIGlzIG5vdCBhIHdob2xlIG51bWJlciBmcm9tIDEgdG8gMTAwMC4nLFxuICAgIGZpeDogJ1Bhc3MgYSBudW1iZXIgZnJvbSAxIHRvIDEwMDAsIG9yIGxlYXZlIGBzZWdtZW50c2Agb3V0LCB3aGljaCBtZWFucyAxMC4gV2l0aCBtb3JlIHNlZ21lbnRzLCB1bml0cyBjb21lIGJhY2sgc29vbmVyLCBidXQgYSBrZXkgbmVlZHMgbW9yZSBtZW1vcnkuJyxcbiAgICB3cm9uZzogYGltcG9ydCB7IHNlZ21lbnRlZFdpbmRvdyB9IGZyb20gJ2hlYWRnYXRlJ1xuXG5zZWdtZW50ZWRXaW5kb3coeyBsaW1pdDogMTAsIHdpbmRvdzogJzFzJywgc2VnbWVudHM6IDAgfSlgLFxuICAgIHJpZ2h0OiBgaW1wb3J0IHsgc2VnbWVudGVkV2luZG93IH0gZnJvbSAnaGVhZGdhdGUnXG5cbnNlZ21lbnRlZFdpbmRvdyh7IGxpbWl0OiAxMCwgd2luZG93OiAnMXMnLCBzZWdtZW50czogMjAgfSlgLFxuICB9LFxuICBIRUFER0FURV9OQU1FOiB7XG4gICAgY2F1c2U6ICdBIG5hbWUgaXMgZW1wdHksIGxvbmdlciB0aGFuIDEyOCBjaGFyYWN0ZXJzLCBvciBoYXMgYSBjaGFyYWN0ZXIgdGhhdCBhIGhlYWRlciBtdXN0IG5vdCBjb250YWluLicsXG4gICAgZml4OiAnVXNlIHByaW50YWJsZSBBU0NJSSBjaGFyYWN0ZXJzLicsXG4gICAgd3Jvbmc6IGBpbXBvcnQgeyBzbGlkaW5nV2luZG93IH0gZnJvbSAnaGVhZGdhdGUnXG5cbnNsaWRpbmdXaW5kb3coeyBuYW1lOiAndFx1MDBFNGdsaWNoJywgbGltaXQ6IDEwLCB3aW5kb3c6ICcxZCcgfSlgLFxuICAgIHJpZ2h0OiBgaW1wb3J0IHsgc2xpZGluZ1dpbmRvdyB9IGZyb20gJ2hlYWRnYXRlJ1xuXG5zbGlkaW5nV2luZG93KHsgbmFtZTogJ2RhaWx5JywgbGltaXQ6IDEwLCB3aW5kb3c6ICcxZCcgfSlgLFxuICB9LFxuICBIRUFER0FURV9TQ09QRToge1xuICAgIGNhdXNlOiAnQSBzY29wZSBpcyBlbXB0eSwgbG9uZ2VyIHRoYW4gMTI4IGNoYXJhY3RlcnMsIG9yIGhhcyBhIGNoYXJhY3RlciB0aGF0IGlzIG5vdCBwcmludGFibGUgQVNDSUkuJyxcbiAgICBmaXg6ICdVc2UgYSBzaG9ydCBuYW1lLCBzdWNoIGFzIGB1c2VyYCBvciBgYWRkcmVzc2AuJyxcbiAgICB3cm9uZzogYGltcG9ydCB7IHNsaWRpbmdXaW5kb3cgfSBmcm9tICdoZWFkZ2F0ZSdcblxuc2xpZGluZ1dpbmRvdyh7IHNjb3BlOiAnJywgbGltaXQ6IDEwLCB3aW5kb3c6ICcxZCcgfSlgLFxuICAgIHJpZ2h0OiBgaW1wb3J0IHsgc2xpZGluZ1dpbmRvdyB9IGZyb20gJ2hlYWRnYXRlJ1xuXG5zbGlkaW5nV2luZG93KHsgc2NvcGU6ICd1c2VyJywgbGltaXQ6IDEwLCB3aW5kb3c6ICcxZCcgfSlgLFxuICB9LFxuICBIRUFER0FURV9JTkVYQUNUOiB7XG4gICAgY2F1c2U6XG4gICAgICAnVGhlIHByb2R1Y3Qgb2YgdGhlIGxpbWl0LCB0aGUgd2luZG93IGFuZCB0aGUgYnVyc3QgaXMgYWJvdmUgMl41Mywgc28gdGhlIHBvbGljeSBjb3VsZCBub3QgY291bnQgZXhhY3RseS4gT3IgYHNldHRsZWAgY2hhcmdlcyAnICtcbiAgICAgICdzbyBtYW55IHVuaXRzIGJleW9uZCB0aGUgZXN0aW1hdGUgdGhhdCB0aGUgcG9saWN5IGNvdWxkIG5vdCBjb3VudCB0aGVzZSB1bml0cyBleGFjdGx5LicsXG4gICAgZml4OiAnQ2hvb3NlIGEgbGltaXQgdGhhdCBzaGFyZXMgYSBkaXZpc29yIHdpdGggdGhlIHdpbmRvdywgYSBzaG9ydGVyIHdpbmRvdywgb3IgYSBzbWFsbGVyIGJ1cnN0LicsXG4gICAgd3Jvbmc6IGBpbXBvcnQgeyB0b2tlbkJ1Y2tldCB9IGZyb20gJ2hlYWRnYXRlJ1xuXG50b2tlbkJ1Y2tldCh7IGxpbWl0OiA5OTk5ODMsIHdpbmRvdzogJzM2NmQnLCBidXJzdDogOTk5OTgzIH0pYCxcbiAgICByaWdodDogYGltcG9ydCB7IHRva2VuQnVja2V0IH0gZnJvbSAnaGVhZGdhdGUnXG5cbnRva2VuQnVja2V0KHsgbGltaXQ6IDEwMDAwMDAsIHdpbmRvdzogJzM2NmQnLCBidXJzdDogMTAwIH0pYCxcbiAgfSxcbiAgSEVBREdBVEVfUkFURToge1xuICAgIGNhdXNlOiAnQSByYXRlIGlzIDAsIG5lZ2F0aXZlIG9yIGluZmluaXRlLCBvciBzbyBzbG93IHRoYXQgaXQgY2Fubm90IGJlIGNvdW50ZWQgZXhhY3RseS4nLFxuICAgIGZpeDogJ1Bhc3MgYSBwb3NpdGl2ZSBudW1iZXIuIEZvciBhIHJhdGUgYmVsb3cgb25lIGNhbGwgYSBzZWNvbmQsIGFsc28gcGFzcyBgcGVyYC4nLFxuICAgIHdyb25nOiBgaW1wb3J0IHsgc21vb3RoQnVyc3R5IH0gZnJvbSAnaGVhZGdhdGUnXG5cbnNtb290aEJ1cnN0eSh7IHJhdGU6IDAgfSlgLFxuICAgIHJpZ2h0OiBgaW1wb3J0IHsgc21vb3RoQnVyc3R5IH0gZnJvbSAnaGVhZGdhdGUnXG5cbnNtb290aEJ1cnN0eSh7IHJhdGU6IDUsIHBlcjogJzFoJyB9KWAsXG4gIH0sXG4gIEhFQURHQVRFX1BPTElDWToge1xuICAgIGNhdXNlOlxuICAgICAgJ1RoZSB0ZXh0IG9mIGEgcG9saWN5IGhhcyBhbiB1bmtub3duIGZvcm0sIG9yIGEgc3RvcmUgZG9lcyBub3Qga25vdyBhbiBhbGdvcml0aG0uIGBhY3F1aXJlYCBvZiBhIHBhY2VyIGFsc28gdGhyb3dzIHRoaXMgZXJyb3IgaWYgdGhlIHBvbGljeSBvZiB0aGUgcGFjZXIgaXMgYGNvbmN1cnJlbmN5YC4nLFxuICAgIGZpeDogJ1dyaXRlIHRoZSBsaW1pdCwgYSBzbGFzaCBhbmQgdGhlIHdpbmRvdy4gVGhlIGFsZ29yaXRobSBhbmQgdGhlIGJ1cnN0IG1heSBmb2xsb3cuJyxcbiAgICB3cm9uZzogYGltcG9ydCB7IHBvbGljeSB9IGZyb20gJ2hlYWRnYXRlJ1xuXG5wb2xpY3koJzEwMCBwZXIgbWludXRlJylgLFxuICAgIHJpZ2h0OiBgaW1wb3J0IHsgcG9saWN5IH0gZnJvbSAnaGVhZGdhdGUnXG5cbnBvbGljeSgnMTAwLzFtIHRva2VuLWJ1Y2tldCBidXJzdCAyMCcpYCxcbiAgfSxcbiAgSEVBREdBVEVfUEVOQUxUWToge1xuICAgIGNhdXNlOiAnQSBudW1iZXIgb2YgYSBwZW5hbHR5IGlzIG91dCBvZiByYW5nZSwgc3VjaCBhcyBgYWZ0ZXI6IDBgLicsXG4gICAgZml4OiAnVGhlIG1lc3NhZ2Ugb2YgdGhlIGVycm9yIG5hbWVzIHRoZSBvcHRpb24gYW5kIGl0cyByYW5nZS4gUGFzcyBhIG51bWJlciBpbiB0aGF0IHJhbmdlLicsXG4gICAgd3Jvbmc6IGBpbXBvcnQgeyBSYXRlTGltaXRlciB9IGZyb20gJ2hlYWRnYXRlJ1xuXG5uZXcgUmF0ZUxpbWl0ZXIoeyBwb2xpY2llczogJzEwLzFtJywgcGVuYWx0eTogeyBhZnRlcjogMCwgd2l0aGluOiAnMW0nLCBiYW46ICcxaCcgfSB9KWAsXG4gICAgcmlnaHQ6IGBpbXBvcnQgeyBSYXRlTGltaXRlciB9IGZyb20gJ2hlYWRnYXRlJ1xuXG5uZXcgUmF0ZUxpbWl0ZXIoeyBwb2xpY2llczogJzEwLzFtJywgcGVuYWx0eTogeyBhZnRlcjogNSwgd2l0aGluOiAnMW0nLCBiYW46ICcxaCcgfSB9KWAsXG4gIH0sXG4gIEhFQURHQVRFX0RVUExJQ0FURV9QT0xJQ1k6IHtcbiAgICBjYXVzZTogJ1R3byBwb2xpY2llcyBvZiBvbmUgbGltaXRlciBoYXZlIHRoZSBzYW1lIG5hbWUuIEEgcG9saWN5IHdpdGhvdXQgYSBuYW1lIGlzIG5hbWVkIGFmdGVyIGl0cyB3aW5kb3cuJyxcbiAgICBmaXg6ICdHaXZlIHRoZSBwb2xpY2llcyBkaWZmZXJlbnQgbmFtZXMuJyxcbiAgICB3cm9uZzogYGltcG9ydCB7IFJhdGVMaW1pdGVyIH0gZnJvbSAnaGVhZGdhdGUnXG5cbm5ldyBSYXRlTGltaXRlcih7IHBvbGljaWVzOiBbJzEwLzFtJywgJzUvMW0gYnVyc3QgOCddIH0pYCxcbiAgICByaWdodDogYGltcG9ydCB7IHBvbGljeSwgUmF0ZUxpbWl0ZXIgfSBmcm9tICdoZWFkZ2F0ZSdcblxubmV3IFJhdGVMaW1pdGVyKHsgcG9saWNpZXM6IFsnMTAvMW0nLCBwb2xpY3koJzUvMW0gYnVyc3QgOCcsIHsgbmFtZTogJ2J1cnN0JyB9KV0gfSlgLFxuICB9LFxuICBIRUFER0FURV9EVVBMSUNBVEVfTElNSVRFUjoge1xuICAgIGNhdXNlOlxuICAgICAgJ1R3byBsaW1pdGVycyB3aXRoIHRoZSBzYW1lIG5hbWUgdXNlIG9uZSBzdG9yZS4gVGhlc2UgbGltaXRlcnMgd291bGQgY291bnQgdGhlaXIgcmVxdWVzdHMgdG9nZXRoZXIgYnkgYWNjaWRlbnQuJyxcbiAgICBmaXg6ICdHaXZlIHRoZSBsaW1pdGVycyBkaWZmZXJlbnQgbmFtZXMuIFRvIHVzZSBvdGhlciBsaW1pdHMgb24gdGhlIHNhbWUgY291bnRzLCB1c2UgYGxpbWl0ZXIud2l0aFBsYW4ocG9saWNpZXMpYC4nLFxuICAgIHdyb25nOiBgaW1wb3J0IHsgbWVtb3J5U3RvcmUsIFJhdGVMaW1pdGVyIH0gZnJvbSAnaGVhZGdhdGUnXG5cbmNvbnN0IHN0b3JlID0gbWVtb3J5U3RvcmUoKVxuY29uc3Qgb25lID0gbmV3IFJhdGVMaW1pdGVyKHsgbmFtZTogJ2FwaScsIHBvbGljaWVzOiAnMTAvMW0nLCBzdG9yZSB9KVxuY29uc3QgdHdvID0gbmV3IFJhdGVMaW1pdGVyKHsgbmFtZTogJ2FwaScsIHBvbGljaWVzOiAnNS8xbScsIHN0b3JlIH0pYCxcbiAgICByaWdodDogYGltcG9ydCB7IG1lbW9yeVN0b3JlLCBSYXRlTGltaXRlciB9IGZyb20gJ2hlYWRnYXRlJ1xuXG5jb25zdCBzdG9yZSA9IG1lbW9yeVN0b3JlKClcbmNvbnN0IG9uZSA9IG5ldyBSYXRlTGltaXRlcih7IG5hbWU6ICdhcGknLCBwb2xpY2llczogJzEwLzFtJywgc3RvcmUgfSlcbmNvbnN0IHR3byA9IG5ldyBSYXRlTGltaXRlcih7IG5hbWU6ICdsb2dpbicsIHBvbGljaWVzOiAnNS8xbScsIHN0b3JlIH0pYCxcbiAgfSxcbiAgSEVBREdBVEVfT1BUSU9OOiB7XG4gICAgY2F1c2U6ICdUaGUgbmFtZSBvZiBhbiBvcHRpb24gaXMgd3JvbmcsIHRoZSBmdW5jdGlvbiBoYXMgbm8gc3VjaCBvcHRpb24sIG9yIHRoZSB2YWx1ZSBvZiB0aGUgb3B0aW9uIGlzIGludmFsaWQuJyxcbiAgICBmaXg6ICdUaGUgbWVzc2FnZSBvZiB0aGUgZXJyb3Igc2F5cyB3aGljaCBuYW1lcyBvciB2YWx1ZXMgYXJlIHZhbGlkLicsXG4gICAgd3Jvbmc6IGBpbXBvcnQgeyBSYXRlTGltaXRlciB9IGZyb20gJ2hlYWRnYXRlJ1xuXG5uZXcgUmF0ZUxpbWl0ZXIoeyBwb2xpY2llczogJzEwLzFtJywgb25TdG9yZUVycm9yczogJ2Nsb3NlZCcgfSlgLFxuICAgIHJpZ2h0OiBgaW1wb3J0IHsgUmF0ZUxpbWl0ZXIgfSBmcm9tICdoZWFkZ2F0ZSdcblxubmV3IFJhdGVMaW1pdGVyKHsgcG9saWNpZXM6ICcxMC8xbScsIG9uU3RvcmVFcnJvcjogJ2Nsb3NlZCcgfSlgLFxuICB9LFxuICBIRUFER0FURV9DT1NUOiB7XG4gICAgY2F1c2U6ICdBIGNvc3QgaXMgbmVnYXRpdmUsIGhhcyBhIGZyYWN0aW9uLCBvciBuYW1lcyBhIHBvbGljeSB0aGF0IHRoZSBsaW1pdGVyIGRvZXMgbm90IGhhdmUuJyxcbiAgICBmaXg6ICdQYXNzIGEgd2hvbGUgbnVtYmVyLCBvciBhIHJlY29yZCB3aXRoIGEgd2hvbGUgbnVtYmVyIGZvciBlYWNoIHBvbGljeS4nLFxuICAgIHdyb25nOiBgaW1wb3J0IHsgUmF0ZUxpbWl0ZXIgfSBmcm9tICdoZWFkZ2F0ZSdcblxuYXdhaXQgbmV3IFJhdGVMaW1pdGVyKHsgcG9saWNpZXM6ICcxMC8xbScgfSkuY29uc3VtZSgnYW5uJywgeyBjb3N0OiAxLjUgfSlgLFxuICAgIHJpZ2h0OiBgaW1wb3J0IHsgUmF0ZUxpbWl0ZXIgfSBmcm9tICdoZWFkZ2F0ZSdcblxuYXdhaXQgbmV3IFJhdGVMaW1pdGVyKHsgcG9saWNpZXM6ICcxMC8xbScgfSkuY29uc3VtZSgnYW5uJywgeyBjb3N0OiBNYXRoLmNlaWwoMS41KSB9KWAsXG4gIH0sXG4gIEhFQURHQVRFX0tFWToge1xuICAgIGNhdXNlOlxuICAgICAgJ1RoZSBrZXkgaXMgdW5kZWZpbmVkIG9yIG5vdCBhIHRleHQsIHN1Y2ggYXMgdGhlIGlkIG9mIGEgdXNlciB3aG8gaGFzIG5vdCBzaWduZWQgaW4uIE9yIHRoZSBwb2xpY2llcyBoYXZlIHNldmVyYWwgc2NvcGVzLCBhbmQgdGhlIGtleSBvZiBvbmUgc2NvcGUgaXMgbWlzc2luZy4nLFxuICAgIGZpeDogJ1Bhc3MgYSB0ZXh0LiBDaG9vc2UgYSBrZXkgdGhhdCBhbGwgdW5rbm93biBjYWxsZXJzIHNoYXJlLCBzdWNoIGFzIGBhbm9ueW1vdXNgLicsXG4gICAgd3Jvbmc6IGBpbXBvcnQgeyBSYXRlTGltaXRlciB9IGZyb20gJ2hlYWRnYXRlJ1xuXG5jb25zdCB1c2VyID0geyBpZDogdW5kZWZpbmVkIH1cbmF3YWl0IG5ldyBSYXRlTGltaXRlcih7IHBvbGljaWVzOiAnMTAvMW0nIH0pLmNvbnN1bWUodXNlci5pZClgLFxuICAgIHJpZ2h0OiBgaW1wb3J0IHsgUmF0ZUxpbWl0ZXIgfSBmcm9tICdoZWFkZ2F0ZSdcblxuY29uc3QgdXNlciA9IHsgaWQ6IHVuZGVmaW5lZCB9XG5hd2FpdCBuZXcgUmF0ZUxpbWl0ZXIoeyBwb2xpY2llczogJzEwLzFtJyB9KS5jb25zdW1lKHVzZXIuaWQgPz8gJ2Fub255bW91cycpYCxcbiAgfSxcbiAgSEVBREdBVEVfQkFOOiB7XG4gICAgY2F1c2U6XG4gICAgICAnVGhlIGR1cmF0aW9uIG9mIGBiYW5gIGlzIGJlbG93IDEgbXMgb3IgYWJvdmUgMzY2IGRheXMgYW5kIG5vdCBJbmZpbml0eSwgb3IgdGhlIHJlYXNvbiBpcyBsb25nZXIgdGhhbiAyMDAgY2hhcmFjdGVycy4gT3IgdGhlIGxpbWl0ZXIgaGFzIDEwMCwwMDAgYmFubmVkIGtleXMgaW4gYSBtZW1vcnkgc3RvcmUuJyxcbiAgICBmaXg6ICdQYXNzIGEgZHVyYXRpb24gd2l0aCBhIHVuaXQsIG9yIEluZmluaXR5IGZvciBhIGJhbiB0aGF0IGxhc3RzIHVudGlsIGB1bmJhbmAuIEZvciBtb3JlIGJhbm5lZCBrZXlzLCB1c2UgUmVkaXMgb3IgUG9zdGdyZXMuJyxcbiAgICB3cm9uZzogYGltcG9ydCB7IFJhdGVMaW1pdGVyIH0gZnJvbSAnaGVhZGdhdGUnXG5cbmF3YWl0IG5ldyBSYXRlTGltaXRlcih7IHBvbGljaWVzOiAnMTAvMW0nIH0pLmJhbignYW5uJywgJzEweScpYCxcbiAgICByaWdodDogYGltcG9ydCB7IFJhdGVMaW1pdGVyIH0gZnJvbSAnaGVhZGdhdGUnXG5cbmF3YWl0IG5ldyBSYXRlTGltaXRlcih7IHBvbGljaWVzOiAnMTAvMW0nIH0pLmJhbignYW5uJywgSW5maW5pdHksIHsgcmVhc29uOiAnYXNrZWQgdG8gc3RheSBhd2F5JyB9KWAsXG4gIH0sXG4gIEhFQURHQVRFX01BWF9XQUlUOiB7XG4gICAgY2F1c2U6ICdUaGUgYG1heFdhaXRgIG9mIGByZXNlcnZlYCBpcyBuZWdhdGl2ZSwgdG9vIGxvbmcsIG9yIG5vdCBhIGR1cmF0aW9uLicsXG4gICAgZml4OiAnUGFzcyBtaWxsaXNlY29uZHMsIG9yIGEgdGV4dCB3aXRoIGEgdW5pdC4nLFxuICAgIHdyb25nOiBgaW1wb3J0IHsgUmF0ZUxpbWl0ZXIgfSBmcm9tICdoZWFkZ2F0ZSdcblxuYXdhaXQgbmV3IFJhdGVMaW1pdGVyKHsgcG9saWNpZXM6ICcxMC8xbSBidXJzdCAxJyB9KS5yZXNlcnZlKCdhbm4nLCB7IG1heFdhaXQ6IC0xIH0pYCxcbiAgICByaWdodDogYGltcG9ydCB7IFJhdGVMaW1pdGVyIH0gZnJvbSAnaGVhZGdhdGUnXG5cbmF3YWl0IG5ldyBSYXRlTGltaXRlcih7IHBvbGljaWVzOiAnMTAvMW0gYnVyc3QgMScgfSkucmVzZXJ2ZSgnYW5uJywgeyBtYXhXYWl0OiAnMnMnIH0pYCxcbiAgfSxcbiAgSEVBREdBVEVfUkVTRVJWQVRJT05TOiB7XG4gICAgY2F1c2U6XG4gICAgICBcIkEga2V5IGhhcyAxMDAgb3BlbiByZXNlcnZhdGlvbnMgdGhhdCB3ZXJlIG1hZGUgd2l0aCBgb25FeHBpcnk6ICdnaXZlLWJhY2snYC4gRWFjaCBvZiB0aGVtIG5lZWRzIHNwYWNlIGluIHRoZSBzdGF0ZSBvZiB0aGUga2V5IHVudGlsIFwiICtcbiAgICAgICdpdCBpcyBzZXR0bGVkLCB1bnRpbCBpdCBleHBpcmVzLCBvciB1bnRpbCB0aGUgd2luZG93IGVuZHMuIFRoZSBjYWxsIGhhcyBjaGFuZ2VkIG5vdGhpbmcuJyxcbiAgICBmaXg6XG4gICAgICAnU2V0dGxlIG9yIGNhbmNlbCBlYWNoIHJlc2VydmF0aW9uIGFzIHNvb24gYXMgaXRzIHdvcmsgZW5kcy4gRm9yIHdvcmsgd2l0aCBtYW55IHBhcnRzLCBtYWtlIG9uZSByZXNlcnZhdGlvbiBmb3IgYWxsIHBhcnRzLiBPciBsZXQgJyArXG4gICAgICAncmVzZXJ2YXRpb25zIGV4cGlyZSBzb29uZXIuJyxcbiAgICB3cm9uZzogYGltcG9ydCB7IFJhdGVMaW1pdGVyIH0gZnJvbSAnaGVhZGdhdGUnXG5pbXBvcnQgeyBxdW90YSB9IGZyb20gJ2hlYWRnYXRlL2NhbGVuZGFyJ1xuXG5jb25zdCBsaW1pdGVyID0gbmV3IFJhdGVMaW1pdGVyKHsgcG9saWNpZXM6IHF1b3RhKCcxMDAwMC9tb250aCcpIH0pXG5mb3IgKGxldCBuID0gMDsgbiA8IDIwMDsgbisrKSBhd2FpdCBsaW1pdGVyLnJlc2VydmUoJ2FubicsIHsgZXhwaXJlczogJzFoJywgb25FeHBpcnk6ICdnaXZlLWJhY2snIH0pYCxcbiAgICByaWdodDogYGltcG9ydCB7IFJhdGVMaW1pdGVyIH0gZnJvbSAnaGVhZGdhdGUnXG5pbXBvcnQgeyBxdW90YSB9IGZyb20gJ2hlYWRnYXRlL2NhbGVuZGFyJ1xuXG5jb25zdCBsaW1pdGVyID0gbmV3IFJhdGVMaW1pdGVyKHsgcG9saWNpZXM6IHF1b3RhKCcxMDAwMC9tb250aCcpIH0pXG5mb3IgKGxldCBuID0gMDsgbiA8IDIwMDsgbisrKSB7XG4gIGNvbnN0IHJlc2VydmF0aW9uID0gYXdhaXQgbGltaXRlci5yZXNlcnZlKCdhbm4nLCB7IGV4cGlyZXM6ICcxaCcsIG9uRXhwaXJ5OiAnZ2l2ZS1iYWNrJyB9KVxuICBhd2FpdCByZXNlcnZhdGlvbi5zZXR0bGUoMSlcbn1gLFxuICB9LFxuICBIRUFER0FURV9IRUFERVJTX1NFTlQ6IHtcbiAgICBjYXVzZTogJ1RoZSBtaWRkbGV3YXJlIHJlZnVzZWQgYSByZXF1ZXN0LCBidXQgYSBoYW5kbGVyIGJlZm9yZSB0aGUgbWlkZGxld2FyZSBoYWQgYWxyZWFkeSBiZWd1biB0aGUgcmVzcG9uc2UuJyxcbiAgICBmaXg6ICdQdXQgdGhlIG1pZGRsZXdhcmUgYmVmb3JlIGV2ZXJ5IGhhbmRsZXIgdGhhdCBzZW5kcyBhIHJlc3BvbnNlLicsXG4gICAgd3Jvbmc6IGBpbXBvcnQgZXhwcmVzcyBmcm9tICdleHByZXNzJ1xuaW1wb3J0IHsgcmF0ZUxpbWl0IH0gZnJvbSAnaGVhZGdhdGUvZXhwcmVzcydcbmltcG9ydCByZXF1ZXN0IGZyb20gJ3N1cGVydGVzdCdcblxubGV0IHNlZW5cbmNvbnN0IGFwcCA9IGV4cHJlc3MoKVxuYXBwLnVzZSgoX3JlcXVlc3QsIHJlc3BvbnNlLCBuZXh0KSA9PiB7XG4gIHJlc3BvbnNlLndyaXRlKCdlYXJseScpXG4gIG5leHQoKVxufSlcbmFwcC51c2UocmF0ZUxpbWl0KCcwLzFtJykpXG5hcHAudXNlKChlcnJvciwgX3JlcXVlc3QsIHJlc3BvbnNlLCBfbmV4dCkgPT4ge1xuICBzZWVuID0gZXJyb3JcbiAgcmVzcG9uc2UuZW5kKClcbn0pXG5hd2FpdCByZXF1ZXN0KGFwcCkuZ2V0KCcvJylcbnRocm93IHNlZW5gLFxuICAgIHJpZ2h0OiBgaW1wb3J0IGV4cHJlc3MgZnJvbSAnZXhwcmVzcydcbmltcG9ydCB7IHJhdGVMaW1pdCB9IGZyb20gJ2hlYWRnYXRlL2V4cHJlc3MnXG5pbXBvcnQgcmVxdWVzdCBmcm9tICdzdXBlcnRlc3QnXG5cbmNvbnN0IGFwcCA9IGV4cHJlc3MoKVxuYXBwLnVzZShyYXRlTGltaXQoJzEwLzFtJykpXG5hcHAudXNlKChfcmVxdWVzdCwgcmVzcG9uc2UpID0+IHZvaWQgcmVzcG9uc2UuZW5kKCdsYXRlJykpXG5hd2FpdCByZXF1ZXN0KGFwcCkuZ2V0KCcvJylgLFxuICB9LFxuICBIRUFER0FURV9OT19FTkQ6IHtcbiAgICBjYXVzZTpcbiAgICAgIFwiVGhlIHByb3h5IG9mIE5leHQuanMgKGBwcm94eS50c2AsIGZvcm1lcmx5IGBtaWRkbGV3YXJlLnRzYCkgZ2l2ZXMgYGFwcGx5YCBhIGBOZXh0UmVzcG9uc2UubmV4dCgpYCBvciBgTmV4dFJlc3BvbnNlLnJld3JpdGUoKWAuIEFmdGVyIHRoYXQsIGhlYWRnYXRlIGNhbm5vdCBzZWUgdGhlIHN0YXR1cyBvciB0aGUgZW5kIG9mIHRoZSByZXF1ZXN0LiBTbyBgY291bnRgIGFuZCBhIGxpbWl0IHN1Y2ggYXMgYCc0IGF0IG9uY2UnYCBjb3VsZCBub3Qgd29yay5cIixcbiAgICBmaXg6ICdXcmFwIHRoZSByb3V0ZSBoYW5kbGVyIHdpdGggdGhpcyBsaW1pdC4gQSBsaW1pdCB0aGF0IGNvdW50cyBldmVyeSByZXF1ZXN0LCBzdWNoIGFzIGAxMDAvMTVtYCwgd29ya3MgaW4gdGhlIHByb3h5LicsXG4gICAgd3Jvbmc6IGBpbXBvcnQgeyByYXRlTGltaXQgfSBmcm9tICdoZWFkZ2F0ZS9mZXRjaCdcblxuY29uc3QgbGltaXQgPSByYXRlTGltaXQoeyBwb2xpY2llczogJzUvMTVtJywgY291bnQ6ICdmYWlsdXJlcycgfSwgeyBhZGRyZXNzOiAoKSA9PiAnMjAzLjAuMTEzLjcnIH0pXG5jb25zdCByZXN1bHQgPSBhd2FpdCBsaW1pdChuZXcgUmVxdWVzdCgnaHR0cHM6Ly9leGFtcGxlLmNvbS9sb2dpbicpKVxuLy8gQXMgTmV4dFJlc3BvbnNlLm5leHQoKSBtYWtlcyBpdC5cbnJlc3VsdC5hcHBseShuZXcgUmVzcG9uc2UobnVsbCwgeyBoZWFkZXJzOiB7ICd4LW1pZGRsZXdhcmUtbmV4dCc6ICcxJyB9IH0pKWAsXG4gICAgcmlnaHQ6IGBpbXBvcnQgeyByYXRlTGltaXQgfSBmcm9tICdoZWFkZ2F0ZS9mZXRjaCdcblxuY29uc3QgbGltaXQgPSByYXRlTGltaXQoeyBwb2xpY2llczogJzUvMTVtJywgY291bnQ6ICdmYWlsdXJlcycgfSwgeyBhZGRyZXNzOiAoKSA9PiAnMjAzLjAuMTEzLjcnIH0pXG4vLyBJbiBhcHAvbG9naW4vcm91dGUudHMuXG5leHBvcnQgY29uc3QgUE9TVCA9IGxpbWl0LndyYXAoYXN5bmMgKHJlcXVlc3QpID0+IG5ldyBSZXNwb25zZShudWxsLCB7IHN0YXR1czogNDAxIH0pKVxuYXdhaXQgUE9TVChuZXcgUmVxdWVzdCgnaHR0cHM6Ly9leGFtcGxlLmNvbS9sb2dpbicsIHsgbWV0aG9kOiAnUE9TVCcgfSkpYCxcbiAgfSxcbiAgSEVBREdBVEVfVEhST1dOOiB7XG4gICAgY2F1c2U6XG4gICAgICAnQSBmdW5jdGlvbiB0aGF0IHlvdSBwYXNzZWQgdG8gYSBtaWRkbGV3YXJlIHRocmV3IGEgdmFsdWUgdGhhdCBpcyBub3QgYW4gRXJyb3IsIHN1Y2ggYXMgYSB0ZXh0LiBUaGUgYGNhdXNlYCBvZiB0aGlzIGVycm9yIGlzIHRoYXQgdmFsdWUuJyxcbiAgICBmaXg6ICdUaHJvdyBhbiBFcnJvci4nLFxuICAgIHdyb25nOiBgaW1wb3J0IGV4cHJlc3MgZnJvbSAnZXhwcmVzcydcbmltcG9ydCB7IHJhdGVMaW1pdCB9IGZyb20gJ2hlYWRnYXRlL2V4cHJlc3MnXG5pbXBvcnQgcmVxdWVzdCBmcm9tICdzdXBlcnRlc3QnXG5cbmxldCBzZWVuXG5jb25zdCBhcHAgPSBleHByZXNzKClcbmFwcC51c2UocmF0ZUxpbWl0KHsgcG9saWNpZXM6ICcxMC8xbScsIGtleXM6ICgpID0+IHsgdGhyb3cgJ25vIGtleScgfSB9KSlcbmFwcC51c2UoKGVycm9yLCBfcmVxdWVzdCwgcmVzcG9uc2UsIF9uZXh0KSA9PiB7XG4gIHNlZW4gPSBlcnJvclxuICByZXNwb25zZS5lbmQoKVxufSlcbmF3YWl0IHJlcXVlc3QoYXBwKS5nZXQoJy8nKVxudGhyb3cgc2VlbmAsXG4gICAgcmlnaHQ6IGBpbXBvcnQgZXhwcmVzcyBmcm9tICdleHByZXNzJ1xuaW1wb3J0IHsgcmF0ZUxpbWl0IH0gZnJvbSAnaGVhZGdhdGUvZXhwcmVzcydcbmltcG9ydCByZXF1ZXN0IGZyb20gJ3N1cGVydGVzdCdcblxuY29uc3QgYXBwID0gZXhwcmVzcygpXG5hcHAudXNlKHJhdGVMaW1pdCh7IHBvbGljaWVzOiAnMTAvMW0nLCBrZXlzOiAocmVxdWVzdCkgPT4gcmVxdWVzdC5nZXQoJ2hvc3QnKSB9KSlcbmFwcC51c2UoKF9yZXF1ZXN0LCByZXNwb25zZSkgPT4gdm9pZCByZXNwb25zZS5lbmQoJ2hlbGxvJykpXG5hd2FpdCByZXF1ZXN0KGFwcCkuZ2V0KCcvJylgLFxuICB9LFxuICBIRUFER0FURV9GVU5DVElPTl9USU1FT1VUOiB7XG4gICAgY2F1c2U6XG4gICAgICAnQSBmdW5jdGlvbiB0aGF0IHlvdSBwYXNzZWQgdG8gYSBtaWRkbGV3YXJlLCBzdWNoIGFzIGEgZnVuY3Rpb24gdGhhdCBsb29rcyB1cCBhIHBsYW4sIHRvb2sgbG9uZ2VyIHRoYW4gYGZ1bmN0aW9uVGltZW91dGAuJyxcbiAgICBmaXg6ICdMZXQgdGhlIGZ1bmN0aW9uIHJldHVybiBhIGRlZmF1bHQgYWZ0ZXIgYSB0aW1lb3V0LCBvciByYWlzZSBgZnVuY3Rpb25UaW1lb3V0YC4nLFxuICAgIHdyb25nOiBgaW1wb3J0IGV4cHJlc3MgZnJvbSAnZXhwcmVzcydcbmltcG9ydCB7IHJhdGVMaW1pdCB9IGZyb20gJ2hlYWRnYXRlL2V4cHJlc3MnXG5pbXBvcnQgcmVxdWVzdCBmcm9tICdzdXBlcnRlc3QnXG5cbmxldCBzZWVuXG5jb25zdCBhcHAgPSBleHByZXNzKClcbmFwcC51c2UocmF0ZUxpbWl0KHsgcG9saWNpZXM6ICcxMC8xbScsIGtleXM6ICgpID0+IG5ldyBQcm9taXNlKCgpID0+IHt9KSwgZnVuY3Rpb25UaW1lb3V0OiAnMjBtcycgfSkpXG5hcHAudXNlKChlcnJvciwgX3JlcXVlc3QsIHJlc3BvbnNlLCBfbmV4dCkgPT4ge1xuICBzZWVuID0gZXJyb3JcbiAgcmVzcG9uc2UuZW5kKClcbn0pXG5hd2FpdCByZXF1ZXN0KGFwcCkuZ2V0KCcvJylcbnRocm93IHNlZW5gLFxuICAgIHJpZ2h0OiBgaW1wb3J0IGV4cHJlc3MgZnJvbSAnZXhwcmVzcydcbmltcG9ydCB7IHJhdGVMaW1pdCB9IGZyb20gJ2hlYWRnYXRlL2V4cHJlc3MnXG5pbXBvcnQgcmVxdWVzdCBmcm9tICdzdXBlcnRlc3QnXG5cbmNvbnN0IGFwcCA9IGV4cHJlc3MoKVxuYXBwLnVzZShyYXRlTGltaXQoeyBwb2xpY2llczogJzEwLzFtJywga2V5czogYXN5bmMgKHJlcXVlc3QpID0+IHJlcXVlc3QuZ2V0KCdob3N0JyksIGZ1bmN0aW9uVGltZW91dDogJzFzJyB9KSlcbmFwcC51c2UoKF9yZXF1ZXN0LCByZXNwb25zZSkgPT4gdm9pZCByZXNwb25zZS5lbmQoJ2hlbGxvJykpXG5hd2FpdCByZXF1ZXN0KGFwcCkuZ2V0KCcvJylgLFxuICB9LFxuICBIRUFER0FURV9DQUxFTkRBUjoge1xuICAgIGNhdXNlOlxuICAgICAgJ0EgdGltZSB6b25lIGlzIG1pc3NwZWxsZWQsIG9yIHRoZSBydW50aW1lIGRvZXMgbm90IGtub3cgaXQuIE5hbWVzIG9mIHRoZSBJQU5BIHRpbWUgem9uZSBkYXRhYmFzZSB3b3JrIG9uIGV2ZXJ5IHJ1bnRpbWUuIE9mZnNldHMgJyArXG4gICAgICAnc3VjaCBhcyBgKzAyOjAwYCB3b3JrIG9uIE5vZGUgMjIgYW5kIGxhdGVyLiBPciBhbm90aGVyIHBhcnQgb2YgYSBjYWxlbmRhciBydWxlLCBzdWNoIGFzIGl0cyBhbmNob3IsIGlzIG1pc3Npbmcgb3IgaW52YWxpZC4gT3IgYSAnICtcbiAgICAgIFwicG9saWN5IGhhcyBgYW5jaG9yOiAnY2FsbGVyJ2Agb3IgYHRpbWVab25lOiAnY2FsbGVyJ2AsIGFuZCB0aGUgY2FsbCBvciB0aGUgbWlkZGxld2FyZSBoYXMgbm8gYGNhbGVuZGFyYCB0aGF0IHNheXMgaXQ7IG9yIFwiICtcbiAgICAgICdgY2FsZW5kYXJgIHNheXMgd2hhdCBubyBwb2xpY3kgYXNrcyBmb3IuJyxcbiAgICBmaXg6XG4gICAgICAnUGFzcyBhIG5hbWUgb2YgdGhlIElBTkEgZGF0YWJhc2UsIHN1Y2ggYXMgYEV1cm9wZS9CZXJsaW5gIG9yIGBVVENgLiBUaGUgbWVzc2FnZSBvZiB0aGUgZXJyb3IgbmFtZXMgdGhlIHBhcnQgdGhhdCBpcyB3cm9uZy4gJyArXG4gICAgICBcImBJbnRsLnN1cHBvcnRlZFZhbHVlc09mKCd0aW1lWm9uZScpYCBsaXN0cyB0aGUgbmFtZXMuXCIsXG4gICAgd3Jvbmc6IGBpbXBvcnQgeyBjYWxlbmRhcldpbmRvdyB9IGZyb20gJ2hlYWRnYXRlL2NhbGVuZGFyJ1xuXG5jYWxlbmRhcldpbmRvdyh7IGxpbWl0OiAxMDAwMCwgZXZlcnk6ICdtb250aCcsIHRpbWVab25lOiAnRXVyb3BlL0JlcmxuJyB9KWAsXG4gICAgcmlnaHQ6IGBpbXBvcnQgeyBjYWxlbmRhcldpbmRvdyB9IGZyb20gJ2hlYWRnYXRlL2NhbGVuZGFyJ1xuXG5jYWxlbmRhcldpbmRvdyh7IGxpbWl0OiAxMDAwMCwgZXZlcnk6ICdtb250aCcsIHRpbWVab25lOiAnRXVyb3BlL0JlcmxpbicgfSlgLFxuICB9LFxuICBIRUFER0FURV9DTE9DSzoge1xuICAgIGNhdXNlOiAnQSBjbG9jayByZXR1cm5lZCBhIGZyYWN0aW9uLCBhIG5lZ2F0aXZlIG51bWJlciwgb3IgbWlsbGlzZWNvbmRzIHdoZXJlIG1pY3Jvc2Vjb25kcyBhcmUgZXhwZWN0ZWQuJyxcbiAgICBmaXg6ICdSZXR1cm4gd2hvbGUgbWljcm9zZWNvbmRzIHNpbmNlIHRoZSBlcG9jaC4nLFxuICAgIHdyb25nOiBgaW1wb3J0IHsgbWVtb3J5U3RvcmUsIFJhdGVMaW1pdGVyIH0gZnJvbSAnaGVhZGdhdGUnXG5cbmNvbnN0IHN0b3JlID0gbWVtb3J5U3RvcmUoeyBjbG9jazogKCkgPT4gMC41IH0pXG5uZXcgUmF0ZUxpbWl0ZXIoeyBwb2xpY2llczogJzEwLzFtJywgc3RvcmUgfSkuY29uc3VtZVN5bmMoJ2FubicpYCxcbiAgICByaWdodDogYGltcG9ydCB7IG1lbW9yeVN0b3JlLCBSYXRlTGltaXRlciB9IGZyb20gJ2hlYWRnYXRlJ1xuXG5jb25zdCBzdG9yZSA9IG1lbW9yeVN0b3JlKHsgY2xvY2s6ICgpID0+IERhdGUubm93KCkgKiAxMDAwIH0pXG5uZXcgUmF0ZUxpbWl0ZXIoeyBwb2xpY2llczogJzEwLzFtJywgc3RvcmUgfSkuY29uc3VtZVN5bmMoJ2FubicpYCxcbiAgfSxcbiAgSEVBREdBVEVfQVNZTkNfU1RPUkU6IHtcbiAgICBjYXVzZTogJ2Bjb25zdW1lU3luY2Agd2FzIGNhbGxlZCwgYW5kIHRoZSBzdG9yZSByZXR1cm5zIHByb21pc2VzLicsXG4gICAgZml4OiAnVXNlIGBhd2FpdCBsaW1pdGVyLmNvbnN1bWUoa2V5KWAuJyxcbiAgICB3cm9uZzogYGltcG9ydCB7IFJhdGVMaW1pdGVyIH0gZnJvbSAnaGVhZGdhdGUnXG5pbXBvcnQgeyBjb21wYXJlQW5kU2V0U3RvcmUgfSBmcm9tICdoZWFkZ2F0ZS9zdG9yZSdcblxuY29uc3Qgc3RvcmUgPSBjb21wYXJlQW5kU2V0U3RvcmUoeyByZWFkOiBhc3luYyAoKSA9PiB1bmRlZmluZWQsIHN3YXA6IGFzeW5jICgpID0+IHRydWUgfSlcbm5ldyBSYXRlTGltaXRlcih7IG5hbWU6ICdhcGknLCBwb2xpY2llczogJzEwLzFtJywgc3RvcmUgfSkuY29uc3VtZVN5bmMoJ2FubicpYCxcbiAgICByaWdodDogYGltcG9ydCB7IFJhdGVMaW1pdGVyIH0gZnJvbSAnaGVhZGdhdGUnXG5pbXBvcnQgeyBjb21wYXJlQW5kU2V0U3RvcmUgfSBmcm9tICdoZWFkZ2F0ZS9zdG9yZSdcblxuY29uc3Qgc3RvcmUgPSBjb21wYXJlQW5kU2V0U3RvcmUoeyByZWFkOiBhc3luYyAoKSA9PiB1bmRlZmluZWQsIHN3YXA6IGFzeW5jICgpID0+IHRydWUgfSlcbmF3YWl0IG5ldyBSYXRlTGltaXRlcih7IG5hbWU6ICdhcGknLCBwb2xpY2llczogJzEwLzFtJywgc3RvcmUgfSkuY29uc3VtZSgnYW5uJylgLFxuICB9LFxuICBIRUFER0FURV9WRVJTSU9OOiB7XG4gICAgY2F1c2U6XG4gICAgICAnQSBwYWNrYWdlIHRoYXQgaXMgdXNlZCB3aXRoIGhlYWRnYXRlIGlzIHRvbyBvbGQ6IGEgZnJhbWV3b3JrLCBhIGNsaWVudCBvciBhIGxpYnJhcnkgb2Ygc29ja2V0cy4gbnBtIGluc3RhbGxzIGhlYWRnYXRlIGJlc2lkZSBhbnkgdmVyc2lvbiwgc28gdGhlIGVycm9yIGFwcGVhcnMgYXQgdGhlIGZpcnN0IGNhbGwgdGhhdCBuZWVkcyB0aGUgcGFja2FnZS4nLFxuICAgIGZpeDogJ1VwZGF0ZSB0aGUgcGFja2FnZSB0aGF0IHRoZSBtZXNzYWdlIG5hbWVzLiBUaGUgW3BvbGljeSBvZiBzdXBwb3J0XSguLi9zdXBwb3J0Lm1kI3ZlcnNpb25zKSBsaXN0cyB0aGUgbG93ZXN0IHZlcnNpb24gb2YgZWFjaCBwYWNrYWdlLicsXG4gICAgd3Jvbmc6IGBpbXBvcnQgeyBSYXRlTGltaXRlciB9IGZyb20gJ2hlYWRnYXRlJ1xuaW1wb3J0IHsgcmVkaXNTdG9yZSB9IGZyb20gJ2hlYWRnYXRlL3JlZGlzJ1xuXG4vLyBBIGNsaWVudCBvZiBub2RlLXJlZGlzIDMsIHdob3NlIG1ldGhvZHMgdGFrZSBjYWxsYmFja3MuXG5jb25zdCBjbGllbnQgPSB7IGV2YWxzaGEoKSB7fSwgZXZhbCgpIHt9LCBvbigpIHt9LCBpbnRlcm5hbF9zZW5kX2NvbW1hbmQoKSB7fSB9XG5uZXcgUmF0ZUxpbWl0ZXIoeyBuYW1lOiAnYXBpJywgcG9saWNpZXM6ICcxMC8xbScsIHN0b3JlOiByZWRpc1N0b3JlKHsgY2xpZW50IH0pIH0pYCxcbiAgICByaWdodDogYGltcG9ydCB7IFJhdGVMaW1pdGVyIH0gZnJvbSAnaGVhZGdhdGUnXG5pbXBvcnQgeyByZWRpc1N0b3JlIH0gZnJvbSAnaGVhZGdhdGUvcmVkaXMnXG5pbXBvcnQgeyBjcmVhdGVDbGllbnQgfSBmcm9tICdyZWRpcydcblxuY29uc3QgY2xpZW50ID0gY3JlYXRlQ2xpZW50KClcbmNsaWVudC5vbignZXJyb3InLCBjb25zb2xlLmVycm9yKVxubmV3IFJhdGVMaW1pdGVyKHsgbmFtZTogJ2FwaScsIHBvbGljaWVzOiAnMTAvMW0nLCBzdG9yZTogcmVkaXNTdG9yZSh7IGNsaWVudCB9KSB9KWAsXG4gIH0sXG4gIEhFQURHQVRFX1NUQVRFX1NJWkU6IHtcbiAgICBjYXVzZTpcbiAgICAgICdUaGUgY291bnRzIG9mIGEga2V5IGNvdWxkIG5lZWQgbW9yZSBieXRlcyB0aGFuIHRoZSBzdG9yZSBhbGxvd3MsIHN1Y2ggYXMgYSBsb2cgb2YgbWFueSByZXF1ZXN0cyBpbiBNZW1jYWNoZWQuJyxcbiAgICBmaXg6ICdVc2UgYW5vdGhlciBhbGdvcml0aG0sIHN1Y2ggYXMgYHNlZ21lbnRlZFdpbmRvd2AsIGEgbG93ZXIgbGltaXQsIG9yIGFub3RoZXIgc3RvcmUuJyxcbiAgICB3cm9uZzogYGltcG9ydCB7IFJhdGVMaW1pdGVyIH0gZnJvbSAnaGVhZGdhdGUnXG5pbXBvcnQgeyBjb21wYXJlQW5kU2V0U3RvcmUgfSBmcm9tICdoZWFkZ2F0ZS9zdG9yZSdcblxuY29uc3Qgc3RvcmUgPSBjb21wYXJlQW5kU2V0U3RvcmUoeyByZWFkOiBhc3luYyAoKSA9PiB1bmRlZmluZWQsIHN3YXA6IGFzeW5jICgpID0+IHRydWUsIG1heEJ5dGVzOiAxMDAwIH0pXG5uZXcgUmF0ZUxpbWl0ZXIoeyBuYW1lOiAnYXBpJywgcG9saWNpZXM6ICcxMDAwMC8xaCBzbGlkaW5nLWxvZycsIHN0b3JlIH0pYCxcbiAgICByaWdodDogYGltcG9ydCB7IFJhdGVMaW1pdGVyIH0gZnJvbSAnaGVhZGdhdGUnXG5pbXBvcnQgeyBjb21wYXJlQW5kU2V0U3RvcmUgfSBmcm9tICdoZWFkZ2F0ZS9zdG9yZSdcblxuY29uc3Qgc3RvcmUgPSBjb21wYXJlQW5kU2V0U3RvcmUoeyByZWFkOiBhc3luYyAoKSA9PiB1bmRlZmluZWQsIHN3YXA6IGFzeW5jICgpID0+IHRydWUsIG1heEJ5dGVzOiAxMDAwIH0pXG5uZXcgUmF0ZUxpbWl0ZXIoeyBuYW1lOiAnYXBpJywgcG9saWNpZXM6ICcxMDAwMC8xaCcsIHN0b3JlIH0pYCxcbiAgfSxcbiAgSEVBREdBVEVfU1RPUkVfVElNRU9VVDoge1xuICAgIGNhdXNlOlxuICAgICAgXCJUaGUgc3RvcmUgZGlkIG5vdCBhbnN3ZXIgd2l0aGluIGl0cyB0aW1lb3V0LiBUaGUgc3RvcmUgbWF5IGJlIG92ZXJsb2FkZWQsIGZhciBhd2F5IG9yIG5vdCBydW5uaW5nLiBXaXRoIGBvblN0b3JlRXJyb3I6ICdjbG9zZWQnYCwgdGhpcyBlcnJvciBpcyB0aGUgYGNhdXNlYCBvZiBgSEVBREdBVEVfU1RPUkVfVU5BVkFJTEFCTEVgLlwiLFxuICAgIGZpeDogJ0NoZWNrIHRoZSBzdG9yZSBhbmQgdGhlIG5ldHdvcmsuIFJhaXNlIGBzdG9yZVRpbWVvdXRgIG9ubHkgaWYgeW91ciByZXF1ZXN0cyBjYW4gd2FpdCB0aGF0IGxvbmcuJyxcbiAgICB3cm9uZzogYGltcG9ydCB7IG1lbW9yeVN0b3JlLCBSYXRlTGltaXRlciB9IGZyb20gJ2hlYWRnYXRlJ1xuaW1wb3J0IHsgZmF1bHR5U3RvcmUgfSBmcm9tICdoZWFkZ2F0ZS90ZXN0aW5nJ1xuXG5jb25zdCBzdG9yZSA9IGZhdWx0eVN0b3JlKG1lbW9yeVN0b3JlKCkpXG5zdG9yZS5mYWlsKCdoYW5nJylcbmNvbnN0IGxpbWl0ZXIgPSBuZXcgUmF0ZUxpbWl0ZXIoeyBwb2xpY2llczogJzEwLzFtJywgc3RvcmUsIG9uU3RvcmVFcnJvcjogJ2Nsb3NlZCcsIHN0b3JlVGltZW91dDogJzIwbXMnIH0pXG5hd2FpdCBsaW1pdGVyLmNvbnN1bWUoJ2FubicpLmNhdGNoKCh7IGNhdXNlIH0pID0+IHtcbiAgdGhyb3cgY2F1c2Vcbn0pYCxcbiAgICByaWdodDogYGltcG9ydCB7IG1lbW9yeVN0b3JlLCBSYXRlTGltaXRlciB9IGZyb20gJ2hlYWRnYXRlJ1xuaW1wb3J0IHsgZmF1bHR5U3RvcmUgfSBmcm9tICdoZWFkZ2F0ZS90ZXN0aW5nJ1xuXG5jb25zdCBzdG9yZSA9IGZhdWx0eVN0b3JlKG1lbW9yeVN0b3JlKCkpXG5zdG9yZS5mYWlsKCdoYW5nJylcbmNvbnN0IGxpbWl0ZXIgPSBuZXcgUmF0ZUxpbWl0ZXIoeyBwb2xpY2llczogJzEwLzFtJywgc3RvcmUsIG9uU3RvcmVFcnJvcjogJ2xvY2FsJywgc3RvcmVUaW1lb3V0OiAnMjBtcycgfSlcbmF3YWl0IGxpbWl0ZXIuY29uc3VtZSgnYW5uJykgLy8gZGVjaWRlZCBpbiB0aGlzIHByb2Nlc3NgLFxuICB9LFxuICBIRUFER0FURV9TVE9SRToge1xuICAgIGNhdXNlOlxuICAgICAgXCJUaGUgc3RvcmUgZmFpbGVkLiBUaGUgYGNhdXNlYCBvZiB0aGlzIGVycm9yIGlzIHRoZSBlcnJvciBvZiB0aGUgY2xpZW50LiBXaXRoIGBvblN0b3JlRXJyb3I6ICdjbG9zZWQnYCwgdGhpcyBlcnJvciBpcyB0aGUgYGNhdXNlYCBvZiBgSEVBREdBVEVfU1RPUkVfVU5BVkFJTEFCTEVgLlwiLFxuICAgIGZpeDogJ1JlYWQgdGhlIGBjYXVzZWAuIFVudGlsIHRoZSBzdG9yZSB3b3JrcyBhZ2FpbiwgYG9uU3RvcmVFcnJvcmAgZGVjaWRlcyBhYm91dCByZXF1ZXN0cy4nLFxuICAgIHdyb25nOiBgaW1wb3J0IHsgbWVtb3J5U3RvcmUsIFJhdGVMaW1pdGVyIH0gZnJvbSAnaGVhZGdhdGUnXG5pbXBvcnQgeyBmYXVsdHlTdG9yZSB9IGZyb20gJ2hlYWRnYXRlL3Rlc3RpbmcnXG5cbmNvbnN0IHN0b3JlID0gZmF1bHR5U3RvcmUobWVtb3J5U3RvcmUoKSlcbnN0b3JlLmZhaWwoJ2Vycm9yJylcbmNvbnN0IGxpbWl0ZXIgPSBuZXcgUmF0ZUxpbWl0ZXIoeyBwb2xpY2llczogJzEwLzFtJywgc3RvcmUsIG9uU3RvcmVFcnJvcjogJ2Nsb3NlZCcgfSlcbmF3YWl0IGxpbWl0ZXIuY29uc3VtZSgnYW5uJykuY2F0Y2goKHsgY2F1c2UgfSkgPT4ge1xuICB0aHJvdyBjYXVzZVxufSlgLFxuICAgIHJpZ2h0OiBgaW1wb3J0IHsgbWVtb3J5U3RvcmUsIFJhdGVMaW1pdGVyIH0gZnJvbSAnaGVhZGdhdGUnXG5pbXBvcnQgeyBmYXVsdHlTdG9yZSB9IGZyb20gJ2hlYWRnYXRlL3Rlc3RpbmcnXG5cbmNvbnN0IHN0b3JlID0gZmF1bHR5U3RvcmUobWVtb3J5U3RvcmUoKSlcbnN0b3JlLmZhaWwoJ2Vycm9yJylcbmNvbnN0IGxpbWl0ZXIgPSBuZXcgUmF0ZUxpbWl0ZXIoeyBwb2xpY2llczogJzEwLzFtJywgc3RvcmUsIG9uU3RvcmVFcnJvcjogJ29wZW4nIH0pXG5hd2FpdCBsaW1pdGVyLmNvbnN1bWUoJ2FubicpIC8vIGxldCB0aHJvdWdoLCBub3QgY291bnRlZGAsXG4gIH0sXG4gIEhFQURHQVRFX1NUT1JFX1JFQ09SRDoge1xuICAgIGNhdXNlOlxuICAgICAgJ1RoaXMgdmVyc2lvbiBvZiBoZWFkZ2F0ZSBjYW5ub3QgcmVhZCB0aGUgdmFsdWUgb2YgdGhpcyBrZXkgaW4gdGhlIHN0b3JlLCBiZWNhdXNlIGFub3RoZXIgcHJvZ3JhbSBvciBhbm90aGVyIHZlcnNpb24gaGFzIHdyaXR0ZW4gdGhlIHZhbHVlLiBPciBhIHRyaWdnZXIsIGEgcnVsZSAnICtcbiAgICAgICdvciBhIHBlcnNvbiBoYXMgY2hhbmdlZCB0aGUgcm93IGluIFBvc3RncmVzLiBPdGhlciBrZXlzIGFyZSBub3QgYWZmZWN0ZWQuJyxcbiAgICBmaXg6ICdVc2UgYSBgcHJlZml4YCB0aGF0IG5vIG90aGVyIHByb2dyYW0gdXNlcywgYW5kIGEgdGFibGUgd2l0aG91dCB0cmlnZ2VycyBhbmQgcnVsZXMuIGBsaW1pdGVyLnJlc2V0KGtleSlgIGRlbGV0ZXMgdGhlIHZhbHVlLicsXG4gICAgd3Jvbmc6IGBpbXBvcnQgeyBSYXRlTGltaXRlciB9IGZyb20gJ2hlYWRnYXRlJ1xuaW1wb3J0IHsgY29tcGFyZUFuZFNldFN0b3JlIH0gZnJvbSAnaGVhZGdhdGUvc3RvcmUnXG5cbmNvbnN0IHN0b3JlID0gY29tcGFyZUFuZFNldFN0b3JlKHsgcmVhZDogYXN5bmMgKCkgPT4gKHsgdGV4dDogJ2hlbGxvJywgdmVyc2lvbjogMSB9KSwgc3dhcDogYXN5bmMgKCkgPT4gdHJ1ZSB9KVxuYXdhaXQgbmV3IFJhdGVMaW1pdGVyKHsgbmFtZTogJ2FwaScsIHBvbGljaWVzOiAnMTAvMW0nLCBzdG9yZSwgb25TdG9yZUVycm9yOiAndGhyb3cnIH0pLmNvbnN1bWUoJ2FubicpYCxcbiAgICByaWdodDogYGltcG9ydCB7IFJhdGVMaW1pdGVyIH0gZnJvbSAnaGVhZGdhdGUnXG5pbXBvcnQgeyBjb21wYXJlQW5kU2V0U3RvcmUgfSBmcm9tICdoZWFkZ2F0ZS9zdG9yZSdcblxuY29uc3Qgc3RvcmUgPSBjb21wYXJlQW5kU2V0U3RvcmUoeyByZWFkOiBhc3luYyAoKSA9PiAoeyB0ZXh0OiAnaGVsbG8nLCB2ZXJzaW9uOiAxIH0pLCBzd2FwOiBhc3luYyAoKSA9PiB0cnVlIH0pXG5hd2FpdCBuZXcgUmF0ZUxpbWl0ZXIoeyBuYW1lOiAnYXBpJywgcG9saWNpZXM6ICcxMC8xbScsIHN0b3JlLCBvblN0b3JlRXJyb3I6ICd0aHJvdycgfSkucmVzZXQoJ2FubicpYCxcbiAgfSxcbiAgSEVBREdBVEVfVU5TVVBQT1JURUQ6IHtcbiAgICBjYXVzZTpcbiAgICAgICdUaGUgc3RvcmUgZG9lcyBub3QgaGF2ZSB0aGUgbWV0aG9kIHRoYXQgeW91IGNhbGxlZCwgc3VjaCBhcyBgY2xlYXJgIG9uIGEgc3RvcmUgdGhhdCBjYW5ub3QgbGlzdCBpdHMga2V5cy4gT3IgdGhlIGNhbGwgaGFzIGEgbGlzdCBvZiBjb3N0cywgYW5kIHRoZSBzdG9yZSAnICtcbiAgICAgICdjYW5ub3QgdHJ5IHRoZSBjb3N0cyBpbiBvbmUgc3RlcDogYGhpdFN0b3JlYCwgYSBzdG9yZSB3aXRob3V0IHRoZSB0cmFpdCBgYWx0ZXJuYXRpdmVzYCwgb3IgYHJlZGlzU3RvcmVgIGlmIHRoZSBrZXlzIG9mIHRoZSBjYWxsIGFyZSBpbiBzZXZlcmFsIGhhc2ggc2xvdHMgb2YgYSBDbHVzdGVyLicsXG4gICAgZml4OlxuICAgICAgJ0luc3RlYWQgb2YgYGNsZWFyYCwgY2FsbCBgcmVzZXRgIGZvciBlYWNoIGtleSwgb3IgZ2l2ZSB0aGUgbGltaXRlciBhbm90aGVyIG5hbWUuIEZvciBhIGxpc3Qgb2YgY29zdHMgaW4gYSBSZWRpcyBDbHVzdGVyLCBwdXQgYWxsIGtleXMgb2YgdGhlIHN0b3JlIGluIG9uZSBzbG90OiAnICtcbiAgICAgIFwiYHJlZGlzU3RvcmUoeyBjbGllbnQsIHByZWZpeDogJ3txdW90YX0nIH0pYC4gRm9yIGEgbGlzdCBvbiBhbm90aGVyIHN0b3JlLCBtYWtlIGEgY2FsbCBmb3IgZWFjaCBjb3N0LlwiLFxuICAgIHdyb25nOiBgaW1wb3J0IHsgUmF0ZUxpbWl0ZXIgfSBmcm9tICdoZWFkZ2F0ZSdcbmltcG9ydCB7IGNvbXBhcmVBbmRTZXRTdG9yZSB9IGZyb20gJ2hlYWRnYXRlL3N0b3JlJ1xuXG5jb25zdCBzdG9yZSA9IGNvbXBhcmVBbmRTZXRTdG9yZSh7IHJlYWQ6IGFzeW5jICgpID0+IHVuZGVmaW5lZCwgc3dhcDogYXN5bmMgKCkgPT4gdHJ1ZSB9KVxuYXdhaXQgbmV3IFJhdGVMaW1pdGVyKHsgbmFtZTogJ2FwaScsIHBvbGljaWVzOiAnMTAvMW0nLCBzdG9yZSB9KS5jbGVhcigpYCxcbiAgICByaWdodDogYGltcG9ydCB7IFJhdGVMaW1pdGVyIH0gZnJvbSAnaGVhZGdhdGUnXG5pbXBvcnQgeyBjb21wYXJlQW5kU2V0U3RvcmUgfSBmcm9tICdoZWFkZ2F0ZS9zdG9yZSdcblxuY29uc3Qgc3RvcmUgPSBjb21wYXJlQW5kU2V0U3RvcmUoeyByZWFkOiBhc3luYyAoKSA9PiB1bmRlZmluZWQsIHN3YXA6IGFzeW5jICgpID0+IHRydWUgfSlcbmF3YWl0IG5ldyBSYXRlTGltaXRlcih7IG5hbWU6ICdhcGknLCBwb2xpY2llczogJzEwLzFtJywgc3RvcmUgfSkucmVzZXQoJ2FubicpYCxcbiAgfSxcbiAgSEVBREdBVEVfU1RPUkVfVU5BVkFJTEFCTEU6IHtcbiAgICBjYXVzZTpcbiAgICAgIFwiVGhlIHN0b3JlIGZhaWxlZCwgYW5kIGBvblN0b3JlRXJyb3JgIGlzIGAnY2xvc2VkJ2AuIFRoZSBgY2F1c2VgIG9mIHRoaXMgZXJyb3IgaXMgdGhlIHN0b3JlJ3MgZXJyb3IsIGFuZCBgcmV0cnlBZnRlcmAgc2F5cyB3aGVuIHRvIHRyeSBhZ2Fpbi5cIixcbiAgICBmaXg6ICdBbnN3ZXIgd2l0aCBzdGF0dXMgNTAzLCBhcyB0aGUgbWlkZGxld2FyZSBkb2VzLCBvciBjaG9vc2UgYW5vdGhlciBgb25TdG9yZUVycm9yYC4nLFxuICAgIHdyb25nOiBgaW1wb3J0IHsgbWVtb3J5U3RvcmUsIFJhdGVMaW1pdGVyIH0gZnJvbSAnaGVhZGdhdGUnXG5pbXBvcnQgeyBmYXVsdHlTdG9yZSB9IGZyb20gJ2hlYWRnYXRlL3Rlc3RpbmcnXG5cbmNvbnN0IHN0b3JlID0gZmF1bHR5U3RvcmUobWVtb3J5U3RvcmUoKSlcbnN0b3JlLmZhaWwoJ2Vycm9yJylcbmNvbnN0IGxpbWl0ZXIgPSBuZXcgUmF0ZUxpbWl0ZXIoeyBwb2xpY2llczogJzEwLzFtJywgc3RvcmUsIG9uU3RvcmVFcnJvcjogJ2Nsb3NlZCcgfSlcbmF3YWl0IGxpbWl0ZXIuY29uc3VtZSgnYW5uJylgLFxuICAgIHJpZ2h0OiBgaW1wb3J0IHsgbWVtb3J5U3RvcmUsIFJhdGVMaW1pdGVyIH0gZnJvbSAnaGVhZGdhdGUnXG5pbXBvcnQgeyBmYXVsdHlTdG9yZSB9IGZyb20gJ2hlYWRnYXRlL3Rlc3RpbmcnXG5cbmNvbnN0IHN0b3JlID0gZmF1bHR5U3RvcmUobWVtb3J5U3RvcmUoKSlcbnN0b3JlLmZhaWwoJ2Vycm9yJylcbmNvbnN0IGxpbWl0ZXIgPSBuZXcgUmF0ZUxpbWl0ZXIoeyBwb2xpY2llczogJzEwLzFtJywgc3RvcmUsIG9uU3RvcmVFcnJvcjogJ2xvY2FsJyB9KVxuYXdhaXQgbGltaXRlci5jb25zdW1lKCdhbm4nKSAvLyBkZWNpZGVkIGluIHRoaXMgcHJvY2Vzc2AsXG4gIH0sXG4gIEhFQURHQVRFX1FVRVVFX0ZVTEw6IHtcbiAgICBjYXVzZTpcbiAgICAgICdUaGUgcXVldWUgb2YgdGhlIHBhY2VyIGlzIGZ1bGw6IGBtYXhRdWV1ZWAgY2FsbHMgYXJlIHdhaXRpbmcsIGJlY2F1c2UgY2FsbHMgY29tZSBmYXN0ZXIgdGhhbiB0aGUgcmF0ZSBhbGxvd3MuJyxcbiAgICBmaXg6ICdSZWZ1c2UgdGhlIHdvcmsgZWFybHksIGFsbG93IGEgbG9uZ2VyIHF1ZXVlLCBvciByYWlzZSB0aGUgcmF0ZS4nLFxuICAgIHdyb25nOiBgaW1wb3J0IHsgc21vb3RoQnVyc3R5IH0gZnJvbSAnaGVhZGdhdGUnXG5pbXBvcnQgeyBQYWNlciB9IGZyb20gJ2hlYWRnYXRlL3BhY2VyJ1xuXG5jb25zdCBwYWNlciA9IG5ldyBQYWNlcihzbW9vdGhCdXJzdHkoeyByYXRlOiAxLCBtYXhCdXJzdDogMCB9KSwgeyBtYXhRdWV1ZTogMSB9KVxuYXdhaXQgcGFjZXIuYWNxdWlyZSgpXG5wYWNlci5hY3F1aXJlKCkuY2F0Y2goKCkgPT4ge30pXG5hd2FpdCBwYWNlci5hY3F1aXJlKClgLFxuICAgIHJpZ2h0OiBgaW1wb3J0IHsgc21vb3RoQnVyc3R5IH0gZnJvbSAnaGVhZGdhdGUnXG5pbXBvcnQgeyBQYWNlciB9IGZyb20gJ2hlYWRnYXRlL3BhY2VyJ1xuXG5jb25zdCBwYWNlciA9IG5ldyBQYWNlcihzbW9vdGhCdXJzdHkoeyByYXRlOiAxMDAwIH0pLCB7IG1heFF1ZXVlOiAxMCB9KVxuYXdhaXQgcGFjZXIuYWNxdWlyZSgpXG5hd2FpdCBwYWNlci5hY3F1aXJlKClgLFxuICB9LFxuICBIRUFER0FURV9USU1FT1VUOiB7XG4gICAgY2F1c2U6XG4gICAgICAnQSBjYWxsIGNvdWxkIG5vdCBzdGFydCB3aXRoaW4gaXRzIGB0aW1lb3V0YC4gSWYgdGhlIHBhY2VyIGtub3dzIHRoaXMgd2hlbiB0aGUgY2FsbCBjb21lcywgdGhlIGNhbGwgZmFpbHMgd2l0aG91dCB3YWl0aW5nLicsXG4gICAgZml4OiAnQWxsb3cgbW9yZSB0aW1lLCBvciB1c2UgYHRyeUFjcXVpcmVgLCB3aGljaCByZXR1cm5zIGZhbHNlIGluc3RlYWQuJyxcbiAgICB3cm9uZzogYGltcG9ydCB7IHNtb290aEJ1cnN0eSB9IGZyb20gJ2hlYWRnYXRlJ1xuaW1wb3J0IHsgUGFjZXIgfSBmcm9tICdoZWFkZ2F0ZS9wYWNlcidcblxuY29uc3QgcGFjZXIgPSBuZXcgUGFjZXIoc21vb3RoQnVyc3R5KHsgcmF0ZTogMSwgcGVyOiAnMWgnIH0pKVxuYXdhaXQgcGFjZXIuYWNxdWlyZSgpXG5hd2FpdCBwYWNlci5hY3F1aXJlKDEsIHsgdGltZW91dDogMTAgfSlgLFxuICAgIHJpZ2h0OiBgaW1wb3J0IHsgc21vb3RoQnVyc3R5IH0gZnJvbSAnaGVhZGdhdGUnXG5pbXBvcnQgeyBQYWNlciB9IGZyb20gJ2hlYWRnYXRlL3BhY2VyJ1xuXG5jb25zdCBwYWNlciA9IG5ldyBQYWNlcihzbW9vdGhCdXJzdHkoeyByYXRlOiAxLCBwZXI6ICcxaCcgfSkpXG5hd2FpdCBwYWNlci5hY3F1aXJlKClcbmF3YWl0IHBhY2VyLnRyeUFjcXVpcmUoMSwgeyB0aW1lb3V0OiAxMCB9KSAvLyBmYWxzZWAsXG4gIH0sXG4gIEhFQURHQVRFX1JVTl9USU1FT1VUOiB7XG4gICAgY2F1c2U6ICdBIGZ1bmN0aW9uIG9mIGB0aHJvdHRsZWAgb3IgYHdyYXBgIHJhbiBmb3IgbG9uZ2VyIHRoYW4gaXRzIGBydW5UaW1lb3V0YC4nLFxuICAgIGZpeDogJ1JhaXNlIGBydW5UaW1lb3V0YC4gUGFzcyB0aGUgc2lnbmFsIHRoYXQgdGhlIGZ1bmN0aW9uIGdldHMgdG8gaXRzIHJlcXVlc3RzLCBzbyB0aGF0IHRoZSByZXF1ZXN0cyBlbmQgdG9vLicsXG4gICAgd3Jvbmc6IGBpbXBvcnQgeyBQYWNlciB9IGZyb20gJ2hlYWRnYXRlL3BhY2VyJ1xuaW1wb3J0IHsgc2V0VGltZW91dCBhcyBzbGVlcCB9IGZyb20gJ25vZGU6dGltZXJzL3Byb21pc2VzJ1xuXG5jb25zdCBwYWNlciA9IG5ldyBQYWNlcignMTAvMXMnKVxuYXdhaXQgcGFjZXIudGhyb3R0bGUoKHNpZ25hbCkgPT4gc2xlZXAoNjBfMDAwLCB1bmRlZmluZWQsIHsgc2lnbmFsIH0pLCB7IHJ1blRpbWVvdXQ6IDEwIH0pYCxcbiAgICByaWdodDogYGltcG9ydCB7IFBhY2VyIH0gZnJvbSAnaGVhZGdhdGUvcGFjZXInXG5pbXBvcnQgeyBzZXRUaW1lb3V0IGFzIHNsZWVwIH0gZnJvbSAnbm9kZTp0aW1lcnMvcHJvbWlzZXMnXG5cbmNvbnN0IHBhY2VyID0gbmV3IFBhY2VyKCcxMC8xcycpXG5hd2FpdCBwYWNlci50aHJvdHRsZSgoc2lnbmFsKSA9PiBzbGVlcCgxLCB1bmRlZmluZWQsIHsgc2lnbmFsIH0pLCB7IHJ1blRpbWVvdXQ6ICcxbScgfSlgLFxuICB9LFxuICBIRUFER0FURV9DTE9TRUQ6IHtcbiAgICBjYXVzZTogJ0EgY2FsbCB3YXMgbWFkZSBhZnRlciBgY2xvc2VgIG9mIHRoZSBwYWNlciwgb3Igd2FzIHdhaXRpbmcgd2hlbiBgY2xvc2VgIHdhcyBjYWxsZWQuJyxcbiAgICBmaXg6ICdDYWxsIGBjbG9zZWAgb25seSB3aGVuIG5vIG1vcmUgY2FsbHMgd2lsbCBiZSBtYWRlLicsXG4gICAgd3Jvbmc6IGBpbXBvcnQgeyBzbW9vdGhCdXJzdHkgfSBmcm9tICdoZWFkZ2F0ZSdcbmltcG9ydCB7IFBhY2VyIH0gZnJvbSAnaGVhZGdhdGUvcGFjZXInXG5cbmNvbnN0IHBhY2VyID0gbmV3IFBhY2VyKHNtb290aEJ1cnN0eSh7IHJhdGU6IDEwIH0pKVxucGFjZXIuY2xvc2UoKVxuYXdhaXQgcGFjZXIuYWNxdWlyZSgpYCxcbiAgICByaWdodDogYGltcG9ydCB7IHNtb290aEJ1cnN0eSB9IGZyb20gJ2hlYWRnYXRlJ1xuaW1wb3J0IHsgUGFjZXIgfSBmcm9tICdoZWFkZ2F0ZS9wYWNlcidcblxuY29uc3QgcGFjZXIgPSBuZXcgUGFjZXIoc21vb3RoQnVyc3R5KHsgcmF0ZTogMTAgfSkpXG5hd2FpdCBwYWNlci5hY3F1aXJlKClcbnBhY2VyLmNsb3NlKClgLFxuICB9LFxufVxuIiwgImNvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9kaXJuYW1lID0gXCIvd29yay93dC9zaXRlL2RvY3MvZXJyb3JzXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ZpbGVuYW1lID0gXCIvd29yay93dC9zaXRlL2RvY3MvZXJyb3JzL3dhcm5pbmdzLm1qc1wiO2NvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9pbXBvcnRfbWV0YV91cmwgPSBcImZpbGU6Ly8vd29yay93dC9zaXRlL2RvY3MvZXJyb3JzL3dhcm5pbmdzLm1qc1wiOy8qKlxuICogVGhlIHBhZ2VzIG9mIHRoZSB3YXJuaW5ncyBhYm91dCBtaXN0YWtlcy4gYG1lYW5pbmdgIHNheXMgd2hhdCB0aGUgd2FybmluZyB0ZWxscywgYGNhdXNlYCBob3cgaXQgY29tZXMgYWJvdXQsIGFuZCBgZml4YCB3aGF0IHRvXG4gKiBkby4gYHdyb25nYCBpcyBhIHByb2dyYW0gdGhhdCBnaXZlcyB0aGUgd2FybmluZywgYW5kIGByaWdodGAgaXMgb25lIHRoYXQgZ2l2ZXMgbm9uZTogdGVzdC9zaXRlLXByb2dyYW1zLnRlc3QudHMgcnVucyBib3RoLlxuICpcbiAqIEB0eXBlIHtSZWNvcmQ8c3RyaW5nLCB7IG1lYW5pbmc6IHN0cmluZywgY2F1c2U6IHN0cmluZywgZml4OiBzdHJpbmcsIHdyb25nOiBzdHJpbmcsIHJpZ2h0OiBzdHJpbmcgfT59XG4gKi9cbmV4cG9ydCBjb25zdCB3YXJuaW5ncyA9IHtcbiAgSEVBREdBVEVfU0VDT05EUzoge1xuICAgIG1lYW5pbmc6ICdBIGR1cmF0aW9uIHdhcyB3cml0dGVuIGFzIGEgbnVtYmVyIHRoYXQgbG9va3MgbGlrZSBzZWNvbmRzLiBOdW1iZXJzIGFyZSBtaWxsaXNlY29uZHMuJyxcbiAgICBjYXVzZTpcbiAgICAgICdPdGhlciBwYWNrYWdlcyB1c2Ugc2Vjb25kcy4gVGhlc2UgbnVtYmVycyBjYXVzZSB0aGUgd2FybmluZzogYSB3aW5kb3csIGEgbGVhc2Ugb3IgYSBiYW4gYmVsb3cgMTAwMDsgaGFsZiBob3VycyBhbmQgZGF5cyBpbiBzZWNvbmRzLCBzdWNoICcgK1xuICAgICAgJ2FzIDE4MDAsIDM2MDAgYW5kIDg2NDAwOyBgZnVuY3Rpb25UaW1lb3V0YCwgYG1heFdhaXRgIG9mIG1lc3NhZ2VzIGFuZCBgbWF4YCBvZiBgZGVsYXlgIGJlbG93IDEwMDsgYHN0b3JlVGltZW91dGAsIGFuZCBgdGltZW91dGAgb2YgYSBzdG9yZSwgYmVsb3cgMjAuJyxcbiAgICBmaXg6ICdXcml0ZSBhIHRleHQgd2l0aCBhIHVuaXQsIHN1Y2ggYXMgYDFoYC4gQSB0ZXh0IG5ldmVyIGNhdXNlcyB0aGlzIHdhcm5pbmcuJyxcbiAgICB3cm9uZzogYGltcG9ydCB7IFJhdGVMaW1pdGVyIH0gZnJvbSAnaGVhZGdhdGUnXG5cbm5ldyBSYXRlTGltaXRlcih7IHBvbGljaWVzOiB7IGxpbWl0OiAxMDAsIHdpbmRvdzogMzYwMCB9IH0pYCxcbiAgICByaWdodDogYGltcG9ydCB7IFJhdGVMaW1pdGVyIH0gZnJvbSAnaGVhZGdhdGUnXG5cbm5ldyBSYXRlTGltaXRlcih7IHBvbGljaWVzOiB7IGxpbWl0OiAxMDAsIHdpbmRvdzogJzFoJyB9IH0pYCxcbiAgfSxcbiAgSEVBREdBVEVfRk9SV0FSREVEOiB7XG4gICAgbWVhbmluZzpcbiAgICAgICdBIHJlcXVlc3QgaGFzIGEgZmllbGQgdGhhdCBwcm94aWVzIHdyaXRlLCBhbmQgaXRzIGFkZHJlc3MgaXMgdXNlZCBieSB0aGUgbGltaXQsIGBhbGxvd2Agb3IgYGRlbnlgLCBidXQgbm8gcHJveHkgaXMgdHJ1c3RlZC4nLFxuICAgIGNhdXNlOlxuICAgICAgJ0VpdGhlciBhIHByb3h5IGlzIGluIGZyb250IG9mIHRoZSBhcHBsaWNhdGlvbiwgYW5kIGFsbCBpdHMgY2xpZW50cyBzaGFyZSBvbmUgbGltaXQgYW5kIHRoZSBsaXN0cyBgYWxsb3dgIGFuZCBgZGVueWAgc2VlIG9ubHkgdGhlIGFkZHJlc3Mgb2YgdGhlIHByb3h5LCBvciBhIGNsaWVudCBoYXMgZm9yZ2VkIHRoZSBmaWVsZC4gVGhlIGZpZWxkcyBhcmUgYFgtRm9yd2FyZGVkLUZvcmAsIGBYLVJlYWwtSVBgLCAnICtcbiAgICAgICdgRm9yd2FyZGVkYCwgYENGLUNvbm5lY3RpbmctSVBgLCBgRmx5LUNsaWVudC1JUGAsIGBYLVZlcmNlbC1Gb3J3YXJkZWQtRm9yYCBhbmQgYFgtTmYtQ2xpZW50LUNvbm5lY3Rpb24tSXBgLiBgWC1Gb3J3YXJkZWQtRm9yYCBpcyBsb29rZWQgZm9yICcgK1xuICAgICAgJ2luIGVhY2ggcmVxdWVzdCwgYW5kIHRoZSBvdGhlcnMgaW4gdGhlIGZpcnN0IDEwMDAgcmVxdWVzdHMuIElmIHRoZSBmaWVsZCBjb250YWlucyB0aGUgYWRkcmVzcyBieSB3aGljaCB0aGUgcmVxdWVzdCBpcyBsaW1pdGVkLCB0aGVyZSBpcyBubyB3YXJuaW5nLicsXG4gICAgZml4OiAnU2F5IHdoaWNoIHByb3h5IGlzIGluIGZyb250LCBhcyBbdGhlIHBhZ2Ugb24gYWRkcmVzc2VzXSguLi9hZGRyZXNzZXMubWQpIGRlc2NyaWJlcy4gSWYgdGhlcmUgaXMgbm8gcHJveHksIHdyaXRlIGBieUlwKHsgd2FybjogZmFsc2UgfSlgLicsXG4gICAgd3Jvbmc6IGBpbXBvcnQgZXhwcmVzcyBmcm9tICdleHByZXNzJ1xuaW1wb3J0IHsgcmF0ZUxpbWl0IH0gZnJvbSAnaGVhZGdhdGUvZXhwcmVzcydcbmltcG9ydCByZXF1ZXN0IGZyb20gJ3N1cGVydGVzdCdcblxuY29uc3QgYXBwID0gZXhwcmVzcygpXG5hcHAudXNlKHJhdGVMaW1pdCgnMTAvMW0nKSlcbmFwcC51c2UoKF9yZXF1ZXN0LCByZXNwb25zZSkgPT4gdm9pZCByZXNwb25zZS5lbmQoJ2hlbGxvJykpXG5hd2FpdCByZXF1ZXN0KGFwcCkuZ2V0KCcvJykuc2V0KCdYLVJlYWwtSVAnLCAnMjAzLjAuMTEzLjcnKWAsXG4gICAgcmlnaHQ6IGBpbXBvcnQgZXhwcmVzcyBmcm9tICdleHByZXNzJ1xuaW1wb3J0IHsgYnlJcCB9IGZyb20gJ2hlYWRnYXRlJ1xuaW1wb3J0IHsgcmF0ZUxpbWl0IH0gZnJvbSAnaGVhZGdhdGUvZXhwcmVzcydcbmltcG9ydCByZXF1ZXN0IGZyb20gJ3N1cGVydGVzdCdcblxuY29uc3QgYXBwID0gZXhwcmVzcygpXG5hcHAudXNlKHJhdGVMaW1pdCh7IHBvbGljaWVzOiAnMTAvMW0nLCBrZXlzOiBieUlwKHsgcGxhdGZvcm06ICduZ2lueCcgfSkgfSkpXG5hcHAudXNlKChfcmVxdWVzdCwgcmVzcG9uc2UpID0+IHZvaWQgcmVzcG9uc2UuZW5kKCdoZWxsbycpKVxuYXdhaXQgcmVxdWVzdChhcHApLmdldCgnLycpLnNldCgnWC1SZWFsLUlQJywgJzIwMy4wLjExMy43JylgLFxuICB9LFxuICBIRUFER0FURV9OT19TVE9SRToge1xuICAgIG1lYW5pbmc6XG4gICAgICAnVGhlIG9wdGlvbiBgc3RvcmVgIGlzIHVuZGVmaW5lZCwgc28gdGhlIGxpbWl0ZXIgdXNlcyBhIG1lbW9yeSBzdG9yZSwgYW5kIHRoaXMgcHJvY2VzcyBkb2VzIG5vdCBzaGFyZSBpdHMgY291bnRzLicsXG4gICAgY2F1c2U6ICdZb3VyIGNvZGUgbWFrZXMgdGhlIHN0b3JlIGZyb20gYSBzZXR0aW5nLCBzdWNoIGFzIGFuIGVudmlyb25tZW50IHZhcmlhYmxlLCBhbmQgdGhlIHNldHRpbmcgaXMgbWlzc2luZy4nLFxuICAgIGZpeDogJ0RvIG5vdCBzdGFydCB0aGUgYXBwbGljYXRpb24gaWYgdGhlIHNldHRpbmcgaXMgbWlzc2luZy4gSWYgeW91IHdhbnQgYSBtZW1vcnkgc3RvcmUsIGxlYXZlIGBzdG9yZWAgb3V0LCBvciB3cml0ZSBgbWVtb3J5U3RvcmUoKWAuJyxcbiAgICB3cm9uZzogYGltcG9ydCB7IFJhdGVMaW1pdGVyIH0gZnJvbSAnaGVhZGdhdGUnXG5cbmNvbnN0IHN0b3JlcyA9IHt9XG5uZXcgUmF0ZUxpbWl0ZXIoeyBuYW1lOiAnYXBpJywgcG9saWNpZXM6ICcxMC8xbScsIHN0b3JlOiBzdG9yZXNbcHJvY2Vzcy5lbnYuU1RPUkVdIH0pYCxcbiAgICByaWdodDogYGltcG9ydCB7IG1lbW9yeVN0b3JlLCBSYXRlTGltaXRlciB9IGZyb20gJ2hlYWRnYXRlJ1xuXG5jb25zdCBzdG9yZXMgPSB7fVxubmV3IFJhdGVMaW1pdGVyKHsgbmFtZTogJ2FwaScsIHBvbGljaWVzOiAnMTAvMW0nLCBzdG9yZTogc3RvcmVzW3Byb2Nlc3MuZW52LlNUT1JFXSA/PyBtZW1vcnlTdG9yZSgpIH0pYCxcbiAgfSxcbiAgSEVBREdBVEVfVU5OQU1FRDoge1xuICAgIG1lYW5pbmc6ICdUd28gbGltaXRlcnMgd2l0aG91dCBhIG5hbWUgaGF2ZSB0aGUgc2FtZSBwb2xpY2llcyBvbiBvbmUgbWVtb3J5IHN0b3JlLCBhbmQgZG8gbm90IHNoYXJlIHRoZWlyIGNvdW50cy4nLFxuICAgIGNhdXNlOiAnRWFjaCBsaW1pdGVyIHdpdGhvdXQgYSBuYW1lIGhhcyBpdHMgb3duIGNvdW50cywgZXZlbiBpZiBzZXZlcmFsIGxpbWl0ZXJzIHVzZSBvbmUgYG1lbW9yeVN0b3JlYC4nLFxuICAgIGZpeDogJ1RvIHNoYXJlIHRoZSBjb3VudHMsIG1ha2Ugb25lIGxpbWl0ZXIgYW5kIHBhc3MgdGhlIGxpbWl0ZXIgdG8gYm90aCBtaWRkbGV3YXJlcy4gT3RoZXJ3aXNlLCBnaXZlIGVhY2ggbGltaXRlciBhIG5hbWUuJyxcbiAgICB3cm9uZzogYGltcG9ydCB7IG1lbW9yeVN0b3JlIH0gZnJvbSAnaGVhZGdhdGUnXG5pbXBvcnQgeyByYXRlTGltaXQgfSBmcm9tICdoZWFkZ2F0ZS9leHByZXNzJ1xuXG5jb25zdCBzdG9yZSA9IG1lbW9yeVN0b3JlKClcbmNvbnN0IGxvZ2luID0gcmF0ZUxpbWl0KHsgcG9saWNpZXM6ICc1LzFtJywgc3RvcmUgfSlcbmNvbnN0IHJlc2V0ID0gcmF0ZUxpbWl0KHsgcG9saWNpZXM6ICc1LzFtJywgc3RvcmUgfSlgLFxuICAgIHJpZ2h0OiBgaW1wb3J0IHsgUmF0ZUxpbWl0ZXIgfSBmcm9tICdoZWFkZ2F0ZSdcbmltcG9ydCB7IHJhdGVMaW1pdCB9IGZyb20gJ2hlYWRnYXRlL2V4cHJlc3MnXG5cbmNvbnN0IGxpbWl0ZXIgPSBuZXcgUmF0ZUxpbWl0ZXIoeyBwb2xpY2llczogJzUvMW0nIH0pXG5jb25zdCBsb2dpbiA9IHJhdGVMaW1pdChsaW1pdGVyKVxuY29uc3QgcmVzZXQgPSByYXRlTGltaXQobGltaXRlcilgLFxuICB9LFxuICBIRUFER0FURV9QRVJfUkVRVUVTVDoge1xuICAgIG1lYW5pbmc6XG4gICAgICAnQSBodW5kcmVkIGxpbWl0ZXJzIHdpdGggdGhlIHNhbWUgbmFtZSB3ZXJlIG1hZGUsIGFuZCBlYWNoIG9mIHRoZXNlIGxpbWl0ZXJzIHdhcyBjYWxsZWQgd2l0aCBvbmUga2V5IG9ubHkuJyxcbiAgICBjYXVzZTpcbiAgICAgICdZb3VyIGNvZGUgbWFrZXMgYSBsaW1pdGVyIGluIGVhY2ggcmVxdWVzdC4gRWFjaCBsaW1pdGVyIGNvdW50cyBmcm9tIDAsIHNvIG5vIHJlcXVlc3QgaXMgZXZlciByZWZ1c2VkLiBMaW1pdGVycyB0aGF0IGFyZSBtYWRlICcgK1xuICAgICAgJ3doZW4gdGhlIGFwcGxpY2F0aW9uIHN0YXJ0cyBjYXVzZSBubyB3YXJuaW5nLicsXG4gICAgZml4OiAnTWFrZSB0aGUgbGltaXRlciBvbmNlLCBvdXRzaWRlIG9mIHRoZSBoYW5kbGVyLiBJZiB5b3UgbmVlZCBtYW55IGxpbWl0ZXJzLCBnaXZlIGVhY2ggbGltaXRlciBhbm90aGVyIG5hbWUuJyxcbiAgICB3cm9uZzogYGltcG9ydCB7IFJhdGVMaW1pdGVyIH0gZnJvbSAnaGVhZGdhdGUnXG5cbmNvbnN0IGhhbmRsZSA9ICh1c2VyKSA9PiBuZXcgUmF0ZUxpbWl0ZXIoeyBwb2xpY2llczogJzUvMW0nIH0pLmNvbnN1bWUodXNlcilcbmZvciAobGV0IG4gPSAwOyBuIDwgMTAwOyBuKyspIGF3YWl0IGhhbmRsZSgnYW5uJylgLFxuICAgIHJpZ2h0OiBgaW1wb3J0IHsgUmF0ZUxpbWl0ZXIgfSBmcm9tICdoZWFkZ2F0ZSdcblxuY29uc3QgbGltaXRlciA9IG5ldyBSYXRlTGltaXRlcih7IHBvbGljaWVzOiAnNS8xbScgfSlcbmNvbnN0IGhhbmRsZSA9ICh1c2VyKSA9PiBsaW1pdGVyLmNvbnN1bWUodXNlcilcbmZvciAobGV0IG4gPSAwOyBuIDwgMTAwOyBuKyspIGF3YWl0IGhhbmRsZSgnYW5uJylgLFxuICB9LFxuICBIRUFER0FURV9ORVdfUExBTlM6IHtcbiAgICBtZWFuaW5nOlxuICAgICAgJ2B3aXRoUGxhbmAgd2FzIGNhbGxlZCBhIGh1bmRyZWQgdGltZXMgd2l0aCBuZXcgcG9saWN5IG9iamVjdHMsIG9yIHdpdGggb2JqZWN0cyB0aGF0IG1heSBjaGFuZ2UsIHRoYXQgYXJlIGVxdWFsIHRvIHRoZSBwb2xpY2llcyBvZiBhbiBlYXJsaWVyIGNhbGwuJyxcbiAgICBjYXVzZTpcbiAgICAgICdgd2l0aFBsYW5gLCBhbmQgYSBtaWRkbGV3YXJlIHdob3NlIGBwb2xpY2llc2AgYXJlIGEgZnVuY3Rpb24sIGZpbmQgdGhlIGxpbWl0ZXIgb2YgYSBwbGFuIGZhc3QgaWYgdGhlIHBvbGljeSBvYmplY3RzIGFyZSB0aGUgc2FtZS4gSWYgdGhlIG9iamVjdHMgYXJlIG5ldywgaGVhZGdhdGUgaGFzIHRvICcgK1xuICAgICAgJ2NvbXBhcmUgdGhlaXIgY29udGVudHMsIHdoaWNoIHRha2VzIGEgaHVuZHJlZCB0aW1lcyBhcyBsb25nLiBJdCBkb2VzIHRoZSBzYW1lIHdpdGggYW4gb2JqZWN0IHRoYXQgbm8gY29uc3RydWN0b3IgbWFkZSwgc3VjaCBhcyAnICtcbiAgICAgIFwiYHsgbGltaXQ6IDUsIHdpbmRvdzogJzFtJyB9YCwgYmVjYXVzZSBpdCBtYXkgaGF2ZSBjaGFuZ2VkLlwiLFxuICAgIGZpeDogJ01ha2UgdGhlIHBvbGljaWVzIG9mIGVhY2ggcGxhbiBvbmNlLCBieSB0aGVpciBjb25zdHJ1Y3RvcnMsIGFuZCBwYXNzIHRoZSBzYW1lIG9iamVjdHMgZWFjaCB0aW1lLiBBIHBvbGljeSB0aGF0IGlzIHdyaXR0ZW4gYXMgdGV4dCBpcyBmYXN0IHRvby4nLFxuICAgIHdyb25nOiBgaW1wb3J0IHsgcG9saWN5LCBSYXRlTGltaXRlciB9IGZyb20gJ2hlYWRnYXRlJ1xuXG5jb25zdCBsaW1pdGVyID0gbmV3IFJhdGVMaW1pdGVyKHsgcG9saWNpZXM6ICcxMC8xbScgfSlcbmNvbnN0IHBsYW5PZiA9ICgpID0+IFtwb2xpY3koJzEwMC8xbScpLCBwb2xpY3koJzEwMDAvMWgnKV1cbmZvciAobGV0IG4gPSAwOyBuIDw9IDEwMDsgbisrKSBhd2FpdCBsaW1pdGVyLndpdGhQbGFuKHBsYW5PZigpKS5jb25zdW1lKCdhbm4nKWAsXG4gICAgcmlnaHQ6IGBpbXBvcnQgeyBwb2xpY3ksIFJhdGVMaW1pdGVyIH0gZnJvbSAnaGVhZGdhdGUnXG5cbmNvbnN0IGxpbWl0ZXIgPSBuZXcgUmF0ZUxpbWl0ZXIoeyBwb2xpY2llczogJzEwLzFtJyB9KVxuY29uc3QgcHJvID0gW3BvbGljeSgnMTAwLzFtJyksIHBvbGljeSgnMTAwMC8xaCcpXVxuY29uc3QgcGxhbk9mID0gKCkgPT4gcHJvXG5mb3IgKGxldCBuID0gMDsgbiA8PSAxMDA7IG4rKykgYXdhaXQgbGltaXRlci53aXRoUGxhbihwbGFuT2YoKSkuY29uc3VtZSgnYW5uJylgLFxuICB9LFxuICBIRUFER0FURV9VTkdVQVJERUQ6IHtcbiAgICBtZWFuaW5nOlxuICAgICAgJ2BSYXRlTGltaXRNb2R1bGVgIG9mIE5lc3RKUyBoYXMgYSBsaW1pdCwgYnV0IGBSYXRlTGltaXRHdWFyZGAgcnVucyBiZWZvcmUgbm8gaGFuZGxlciB0aGF0IHRoZSBsaW1pdCBpcyBmb3IuJyxcbiAgICBjYXVzZTpcbiAgICAgICdObyBtb2R1bGUgcHJvdmlkZXMgYFJhdGVMaW1pdEd1YXJkYCBhcyBgQVBQX0dVQVJEYC4gTmVzdCBydW5zIGEgZ3VhcmQgdGhhdCBpcyBvbmx5IGluIGBwcm92aWRlcnNgIGJlZm9yZSBubyBoYW5kbGVyLiBIYW5kbGVycyB3aXRoIGBAUmF0ZUxpbWl0YCAnICtcbiAgICAgICdoYXZlIGEgbGltaXQgb2YgdGhlaXIgb3duLCBhbmQgYXJlIG5vdCBsaW1pdGVkIGJ5IHRoZSBsaW1pdCBvZiB0aGUgbW9kdWxlLicsXG4gICAgZml4OiAnUHJvdmlkZSBgUmF0ZUxpbWl0R3VhcmRgIGFzIGBBUFBfR1VBUkRgLiBJZiB5b3Ugd2FudCB0byBsaW1pdCBvbmx5IGhhbmRsZXJzIHdpdGggYEBSYXRlTGltaXRgLCB3cml0ZSBgUmF0ZUxpbWl0TW9kdWxlLmZvclJvb3QoeyBsaW1pdDogZmFsc2UgfSlgLicsXG4gICAgd3Jvbmc6IGBpbXBvcnQgeyBDb250cm9sbGVyLCBHZXQsIE1vZHVsZSB9IGZyb20gJ0BuZXN0anMvY29tbW9uJ1xuaW1wb3J0IHsgTmVzdEZhY3RvcnkgfSBmcm9tICdAbmVzdGpzL2NvcmUnXG5pbXBvcnQgeyBSYXRlTGltaXRNb2R1bGUgfSBmcm9tICdoZWFkZ2F0ZS9uZXN0J1xuXG5jbGFzcyBTaG9wIHtcbiAgZnJvbnQoKSB7XG4gICAgcmV0dXJuICdoZWxsbydcbiAgfVxufVxuQ29udHJvbGxlcigpKFNob3ApXG5HZXQoKShTaG9wLnByb3RvdHlwZSwgJ2Zyb250JywgT2JqZWN0LmdldE93blByb3BlcnR5RGVzY3JpcHRvcihTaG9wLnByb3RvdHlwZSwgJ2Zyb250JykpXG5cbmNsYXNzIEFwcE1vZHVsZSB7fVxuTW9kdWxlKHsgaW1wb3J0czogW1JhdGVMaW1pdE1vZHVsZS5mb3JSb290KCcxMDAvMTVtJyldLCBjb250cm9sbGVyczogW1Nob3BdIH0pKEFwcE1vZHVsZSlcbmF3YWl0IE5lc3RGYWN0b3J5LmNyZWF0ZUFwcGxpY2F0aW9uQ29udGV4dChBcHBNb2R1bGUsIHsgbG9nZ2VyOiBmYWxzZSB9KWAsXG4gICAgcmlnaHQ6IGBpbXBvcnQgeyBDb250cm9sbGVyLCBHZXQsIE1vZHVsZSB9IGZyb20gJ0BuZXN0anMvY29tbW9uJ1xuaW1wb3J0IHsgQVBQX0dVQVJELCBOZXN0RmFjdG9yeSB9IGZyb20gJ0BuZXN0anMvY29yZSdcbmltcG9ydCB7IFJhdGVMaW1pdEd1YXJkLCBSYXRlTGltaXRNb2R1bGUgfSBmcm9tICdoZWFkZ2F0ZS9uZXN0J1xuXG5jbGFzcyBTaG9wIHtcbiAgZnJvbnQoKSB7XG4gICAgcmV0dXJuICdoZWxsbydcbiAgfVxufVxuQ29udHJvbGxlcigpKFNob3ApXG5HZXQoKShTaG9wLnByb3RvdHlwZSwgJ2Zyb250JywgT2JqZWN0LmdldE93blByb3BlcnR5RGVzY3JpcHRvcihTaG9wLnByb3RvdHlwZSwgJ2Zyb250JykpXG5cbmNsYXNzIEFwcE1vZHVsZSB7fVxuTW9kdWxlKHtcbiAgaW1wb3J0czogW1JhdGVMaW1pdE1vZHVsZS5mb3JSb290KCcxMDAvMTVtJyldLFxuICBjb250cm9sbGVyczogW1Nob3BdLFxuICBwcm92aWRlcnM6IFt7IHByb3ZpZGU6IEFQUF9HVUFSRCwgdXNlQ2xhc3M6IFJhdGVMaW1pdEd1YXJkIH1dLFxufSkoQXBwTW9kdWxlKVxuYXdhaXQgTmVzdEZhY3RvcnkuY3JlYXRlQXBwbGljYXRpb25Db250ZXh0KEFwcE1vZHVsZSwgeyBsb2dnZXI6IGZhbHNlIH0pYCxcbiAgfSxcbn1cbiJdLAogICJtYXBwaW5ncyI6ICI7QUFBaVEsU0FBUyxvQkFBb0I7QUFDOVIsU0FBUyxxQkFBcUI7QUFDOUIsU0FBUyxvQkFBb0I7QUFDN0IsT0FBTyxhQUFhOzs7QUNIcEI7QUFBQSxFQUNFLE1BQVE7QUFBQSxFQUNSLFNBQVc7QUFBQSxFQUNYLGFBQWU7QUFBQSxFQUNmLFVBQVk7QUFBQSxJQUNWO0FBQUEsSUFDQTtBQUFBLElBQ0E7QUFBQSxJQUNBO0FBQUEsSUFDQTtBQUFBLElBQ0E7QUFBQSxJQUNBO0FBQUEsSUFDQTtBQUFBLElBQ0E7QUFBQSxJQUNBO0FBQUEsSUFDQTtBQUFBLElBQ0E7QUFBQSxJQUNBO0FBQUEsSUFDQTtBQUFBLElBQ0E7QUFBQSxJQUNBO0FBQUEsSUFDQTtBQUFBLEVBQ0Y7QUFBQSxFQUNBLFVBQVk7QUFBQSxFQUNaLFlBQWM7QUFBQSxJQUNaLE1BQVE7QUFBQSxJQUNSLEtBQU87QUFBQSxFQUNUO0FBQUEsRUFDQSxTQUFXO0FBQUEsRUFDWCxNQUFRO0FBQUEsRUFDUixhQUFlO0FBQUEsRUFDZixTQUFXO0FBQUEsSUFDVCxNQUFRO0FBQUEsRUFDVjtBQUFBLEVBQ0EsZUFBaUI7QUFBQSxJQUNmLFFBQVU7QUFBQSxJQUNWLFlBQWM7QUFBQSxFQUNoQjtBQUFBLEVBQ0EsT0FBUztBQUFBLElBQ1A7QUFBQSxFQUNGO0FBQUEsRUFDQSxNQUFRO0FBQUEsRUFDUixPQUFTO0FBQUEsRUFDVCxlQUFpQjtBQUFBLElBQ2YsS0FBSztBQUFBLE1BQ0gsZ0JBQWdCO0FBQUEsUUFDZDtBQUFBLE1BQ0Y7QUFBQSxNQUNBLGdCQUFnQjtBQUFBLFFBQ2Q7QUFBQSxNQUNGO0FBQUEsTUFDQSxLQUFLO0FBQUEsUUFDSDtBQUFBLE1BQ0Y7QUFBQSxJQUNGO0FBQUEsRUFDRjtBQUFBLEVBQ0EsU0FBVztBQUFBLElBQ1QsYUFBYTtBQUFBLE1BQ1gsTUFBUTtBQUFBLFFBQ04sUUFBVTtBQUFBLFFBQ1YsZUFBZTtBQUFBLFFBQ2YsU0FBVztBQUFBLE1BQ2I7QUFBQSxNQUNBLFNBQVc7QUFBQSxRQUNULFFBQVU7QUFBQSxRQUNWLGVBQWU7QUFBQSxRQUNmLFNBQVc7QUFBQSxNQUNiO0FBQUEsSUFDRjtBQUFBLEVBQ0Y7QUFBQSxFQUNBLFNBQVc7QUFBQSxJQUNULEtBQUs7QUFBQSxNQUNILFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLFdBQVc7QUFBQSxNQUNULFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLFVBQVU7QUFBQSxNQUNSLFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLGNBQWM7QUFBQSxNQUNaLFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLGFBQWE7QUFBQSxNQUNYLFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLFNBQVM7QUFBQSxNQUNQLFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLGFBQWE7QUFBQSxNQUNYLFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLGFBQWE7QUFBQSxNQUNYLFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLFVBQVU7QUFBQSxNQUNSLFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLFdBQVc7QUFBQSxNQUNULFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLFVBQVU7QUFBQSxNQUNSLFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLFFBQVE7QUFBQSxNQUNOLFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLFVBQVU7QUFBQSxNQUNSLFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLCtCQUErQjtBQUFBLE1BQzdCLFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLDBCQUEwQjtBQUFBLE1BQ3hCLFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLCtCQUErQjtBQUFBLE1BQzdCLFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLDJCQUEyQjtBQUFBLE1BQ3pCLFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLDhCQUE4QjtBQUFBLE1BQzVCLFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLFdBQVc7QUFBQSxNQUNULFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLFlBQVk7QUFBQSxNQUNWLFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLGNBQWM7QUFBQSxNQUNaLFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLFlBQVk7QUFBQSxNQUNWLFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLGVBQWU7QUFBQSxNQUNiLFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLGFBQWE7QUFBQSxNQUNYLFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLFdBQVc7QUFBQSxNQUNULFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLFVBQVU7QUFBQSxNQUNSLFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLGFBQWE7QUFBQSxNQUNYLFFBQVU7QUFBQSxRQUNSLE9BQVM7QUFBQSxRQUNULFNBQVc7QUFBQSxNQUNiO0FBQUEsTUFDQSxlQUFlO0FBQUEsTUFDZixTQUFXO0FBQUEsUUFDVCxPQUFTO0FBQUEsUUFDVCxTQUFXO0FBQUEsTUFDYjtBQUFBLElBQ0Y7QUFBQSxJQUNBLGtCQUFrQjtBQUFBLEVBQ3BCO0FBQUEsRUFDQSxLQUFPO0FBQUEsSUFDTCxxQkFBcUI7QUFBQSxFQUN2QjtBQUFBLEVBQ0EsU0FBVztBQUFBLElBQ1QsT0FBUztBQUFBLElBQ1QsT0FBUztBQUFBLElBQ1QsTUFBUTtBQUFBLElBQ1IsYUFBYTtBQUFBLElBQ2IsYUFBYTtBQUFBLElBQ2IsbUJBQW1CO0FBQUEsSUFDbkIsZ0JBQWdCO0FBQUEsSUFDaEIsaUJBQWlCO0FBQUEsSUFDakIsWUFBWTtBQUFBLElBQ1osaUJBQWlCO0FBQUEsSUFDakIsY0FBYztBQUFBLElBQ2QsTUFBUTtBQUFBLElBQ1IsUUFBVTtBQUFBLElBQ1YsT0FBUztBQUFBLElBQ1QsaUJBQWlCO0FBQUEsSUFDakIsY0FBYztBQUFBLElBQ2QsY0FBYztBQUFBLElBQ2QsaUJBQWlCO0FBQUEsSUFDakIsU0FBVztBQUFBLElBQ1gsT0FBUztBQUFBLElBQ1QsY0FBYztBQUFBLElBQ2Qsa0JBQWtCO0FBQUEsSUFDbEIsY0FBYztBQUFBLElBQ2QsaUJBQWlCO0FBQUEsSUFDakIsZ0JBQWdCO0FBQUEsSUFDaEIsY0FBYztBQUFBLElBQ2QsZUFBZTtBQUFBLElBQ2Ysa0JBQWtCO0FBQUEsSUFDbEIsZUFBZTtBQUFBLElBQ2YsbUJBQW1CO0FBQUEsSUFDbkIsZ0JBQWdCO0FBQUEsSUFDaEIsZ0JBQWdCO0FBQUEsSUFDaEIsZUFBZTtBQUFBLElBQ2YsZ0JBQWdCO0FBQUEsSUFDaEIsaUJBQWlCO0FBQUEsSUFDakIsaUJBQWlCO0FBQUEsSUFDakIsZ0JBQWdCO0FBQUEsSUFDaEIsZ0JBQWdCO0FBQUEsSUFDaEIsS0FBTztBQUFBLElBQ1AsTUFBUTtBQUFBLElBQ1IsY0FBYztBQUFBLElBQ2QsYUFBYTtBQUFBLElBQ2IsTUFBUTtBQUFBLElBQ1IsTUFBUTtBQUFBLElBQ1IsaUJBQWlCO0FBQUEsSUFDakIsa0JBQWtCO0FBQUEsSUFDbEIsaUJBQWlCO0FBQUEsSUFDakIsc0JBQXNCO0FBQUEsSUFDdEIsa0JBQWtCO0FBQUEsSUFDbEIsU0FBVztBQUFBLEVBQ2I7QUFBQSxFQUNBLGNBQWdCO0FBQUEsSUFDZCxRQUFVO0FBQUEsSUFDVixrQkFBa0I7QUFBQSxJQUNsQixhQUFhO0FBQUEsSUFDYixJQUFNO0FBQUEsSUFDTixZQUFjO0FBQUEsSUFDZCxzQkFBc0I7QUFBQSxFQUN4QjtBQUFBLEVBQ0Esa0JBQW9CO0FBQUEsSUFDbEIsa0JBQWtCO0FBQUEsSUFDbEIsZ0JBQWdCO0FBQUEsSUFDaEIseUJBQXlCO0FBQUEsSUFDekIsc0JBQXNCO0FBQUEsSUFDdEIsc0JBQXNCO0FBQUEsSUFDdEIsU0FBVztBQUFBLElBQ1gsU0FBVztBQUFBLElBQ1gsSUFBTTtBQUFBLElBQ04sTUFBUTtBQUFBLElBQ1IsS0FBTztBQUFBLElBQ1AsTUFBUTtBQUFBLEVBQ1Y7QUFBQSxFQUNBLHNCQUF3QjtBQUFBLElBQ3RCLHNCQUFzQjtBQUFBLE1BQ3BCLFVBQVk7QUFBQSxJQUNkO0FBQUEsSUFDQSxrQkFBa0I7QUFBQSxNQUNoQixVQUFZO0FBQUEsSUFDZDtBQUFBLElBQ0EsZ0JBQWdCO0FBQUEsTUFDZCxVQUFZO0FBQUEsSUFDZDtBQUFBLElBQ0EseUJBQXlCO0FBQUEsTUFDdkIsVUFBWTtBQUFBLElBQ2Q7QUFBQSxJQUNBLHNCQUFzQjtBQUFBLE1BQ3BCLFVBQVk7QUFBQSxJQUNkO0FBQUEsSUFDQSxTQUFXO0FBQUEsTUFDVCxVQUFZO0FBQUEsSUFDZDtBQUFBLElBQ0EsU0FBVztBQUFBLE1BQ1QsVUFBWTtBQUFBLElBQ2Q7QUFBQSxJQUNBLElBQU07QUFBQSxNQUNKLFVBQVk7QUFBQSxJQUNkO0FBQUEsSUFDQSxNQUFRO0FBQUEsTUFDTixVQUFZO0FBQUEsSUFDZDtBQUFBLElBQ0EsS0FBTztBQUFBLE1BQ0wsVUFBWTtBQUFBLElBQ2Q7QUFBQSxJQUNBLE1BQVE7QUFBQSxNQUNOLFVBQVk7QUFBQSxJQUNkO0FBQUEsRUFDRjtBQUFBLEVBQ0EsaUJBQW1CO0FBQUEsSUFDakIseUJBQXlCO0FBQUEsSUFDekIsa0JBQWtCO0FBQUEsSUFDbEIsdUJBQXVCO0FBQUEsSUFDdkIscUJBQXFCO0FBQUEsSUFDckIsZUFBZTtBQUFBLElBQ2Ysa0JBQWtCO0FBQUEsSUFDbEIsa0JBQWtCO0FBQUEsSUFDbEIsZ0JBQWdCO0FBQUEsSUFDaEIseUJBQXlCO0FBQUEsSUFDekIsc0JBQXNCO0FBQUEsSUFDdEIsaUJBQWlCO0FBQUEsSUFDakIsc0JBQXNCO0FBQUEsSUFDdEIsc0NBQXNDO0FBQUEsSUFDdEMsOEJBQThCO0FBQUEsSUFDOUIsaUNBQWlDO0FBQUEsSUFDakMsa0JBQWtCO0FBQUEsSUFDbEIsa0JBQWtCO0FBQUEsSUFDbEIsY0FBYztBQUFBLElBQ2QsYUFBYTtBQUFBLElBQ2IscUJBQXFCO0FBQUEsSUFDckIsZUFBZTtBQUFBLElBQ2YsYUFBYTtBQUFBLElBQ2IsZ0JBQWdCO0FBQUEsSUFDaEIsb0JBQW9CO0FBQUEsSUFDcEIsYUFBYTtBQUFBLElBQ2Isc0JBQXNCO0FBQUEsSUFDdEIsWUFBYztBQUFBLElBQ2QsWUFBYztBQUFBLElBQ2QsZ0JBQWdCO0FBQUEsSUFDaEIsU0FBVztBQUFBLElBQ1gsU0FBVztBQUFBLElBQ1gsc0JBQXNCO0FBQUEsSUFDdEIsVUFBWTtBQUFBLElBQ1osY0FBYztBQUFBLElBQ2QsU0FBVztBQUFBLElBQ1gsSUFBTTtBQUFBLElBQ04sTUFBUTtBQUFBLElBQ1IscUJBQXFCO0FBQUEsSUFDckIsU0FBVztBQUFBLElBQ1gsVUFBWTtBQUFBLElBQ1osTUFBUTtBQUFBLElBQ1IsS0FBTztBQUFBLElBQ1AsaUJBQWlCO0FBQUEsSUFDakIsUUFBVTtBQUFBLElBQ1YsU0FBVztBQUFBLElBQ1gsbUJBQW1CO0FBQUEsSUFDbkIsbUJBQW1CO0FBQUEsSUFDbkIsbUJBQW1CO0FBQUEsSUFDbkIsV0FBVztBQUFBLElBQ1gsY0FBYztBQUFBLElBQ2QsSUFBTTtBQUFBLElBQ04sT0FBUztBQUFBLElBQ1QsU0FBVztBQUFBLElBQ1gsd0JBQXdCO0FBQUEsSUFDeEIsb0JBQW9CO0FBQUEsSUFDcEIseUJBQXlCO0FBQUEsSUFDekIsT0FBUztBQUFBLElBQ1QsVUFBWTtBQUFBLElBQ1osdUJBQXVCO0FBQUEsSUFDdkIsTUFBUTtBQUFBLElBQ1IsTUFBUTtBQUFBLElBQ1IsV0FBYTtBQUFBLElBQ2IsV0FBYTtBQUFBLElBQ2IsT0FBUztBQUFBLElBQ1QsWUFBYztBQUFBLElBQ2QsUUFBVTtBQUFBLElBQ1YsSUFBTTtBQUFBLEVBQ1I7QUFBQSxFQUNBLFdBQWE7QUFBQSxJQUNYLG9CQUFvQjtBQUFBLElBQ3BCLHVCQUF1QjtBQUFBLE1BQ3JCLFlBQWM7QUFBQSxJQUNoQjtBQUFBLEVBQ0Y7QUFDRjs7O0FDdGlCTyxJQUFNLFFBQVE7QUFBQSxFQUNuQixnQkFBZ0I7QUFBQSxJQUNkLE9BQ0U7QUFBQSxJQUNGLEtBQUs7QUFBQSxJQUNMLE9BQU87QUFBQTtBQUFBO0FBQUEsSUFHUCxPQUFPO0FBQUE7QUFBQTtBQUFBLEVBR1Q7QUFBQSxFQUNBLGlCQUFpQjtBQUFBLElBQ2YsT0FDRTtBQUFBLElBRUYsS0FDRTtBQUFBLElBRUYsT0FBTztBQUFBO0FBQUE7QUFBQSxJQUdQLE9BQU87QUFBQTtBQUFBO0FBQUEsRUFHVDtBQUFBLEVBQ0EsZ0JBQWdCO0FBQUEsSUFDZCxPQUFPO0FBQUEsSUFDUCxLQUFLO0FBQUEsSUFDTCxPQUFPO0FBQUE7QUFBQTtBQUFBLElBR1AsT0FBTztBQUFBO0FBQUE7QUFBQSxFQUdUO0FBQUEsRUFDQSxtQkFBbUI7QUFBQSxJQUNqQixPQUFPO0FBQUEsSUFDUCxLQUFLO0FBQUEsSUFDTCxPQUFPO0FBQUE7QUFBQTtBQUFBLElBR1AsT0FBTztBQUFBO0FBQUE7QUFBQSxFQUdUO0FBQUEsRUFDQSxlQUFlO0FBQUEsSUFDYixPQUFPO0FBQUEsSUFDUCxLQUFLO0FBQUEsSUFDTCxPQUFPO0FBQUE7QUFBQTtBQUFBLElBR1AsT0FBTztBQUFBO0FBQUE7QUFBQSxFQUdUO0FBQUEsRUFDQSxnQkFBZ0I7QUFBQSxJQUNkLE9BQU87QUFBQSxJQUNQLEtBQUs7QUFBQSxJQUNMLE9BQU87QUFBQTtBQUFBO0FBQUEsSUFHUCxPQUFPO0FBQUE7QUFBQTtBQUFBLEVBR1Q7QUFBQSxFQUNBLGtCQUFrQjtBQUFBLElBQ2hCLE9BQ0U7QUFBQSxJQUVGLEtBQUs7QUFBQSxJQUNMLE9BQU87QUFBQTtBQUFBO0FBQUEsSUFHUCxPQUFPO0FBQUE7QUFBQTtBQUFBLEVBR1Q7QUFBQSxFQUNBLGVBQWU7QUFBQSxJQUNiLE9BQU87QUFBQSxJQUNQLEtBQUs7QUFBQSxJQUNMLE9BQU87QUFBQTtBQUFBO0FBQUEsSUFHUCxPQUFPO0FBQUE7QUFBQTtBQUFBLEVBR1Q7QUFBQSxFQUNBLGlCQUFpQjtBQUFBLElBQ2YsT0FDRTtBQUFBLElBQ0YsS0FBSztBQUFBLElBQ0wsT0FBTztBQUFBO0FBQUE7QUFBQSxJQUdQLE9BQU87QUFBQTtBQUFBO0FBQUEsRUFHVDtBQUFBLEVBQ0Esa0JBQWtCO0FBQUEsSUFDaEIsT0FBTztBQUFBLElBQ1AsS0FBSztBQUFBLElBQ0wsT0FBTztBQUFBO0FBQUE7QUFBQSxJQUdQLE9BQU87QUFBQTtBQUFBO0FBQUEsRUFHVDtBQUFBLEVBQ0EsMkJBQTJCO0FBQUEsSUFDekIsT0FBTztBQUFBLElBQ1AsS0FBSztBQUFBLElBQ0wsT0FBTztBQUFBO0FBQUE7QUFBQSxJQUdQLE9BQU87QUFBQTtBQUFBO0FBQUEsRUFHVDtBQUFBLEVBQ0EsNEJBQTRCO0FBQUEsSUFDMUIsT0FDRTtBQUFBLElBQ0YsS0FBSztBQUFBLElBQ0wsT0FBTztBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUEsSUFLUCxPQUFPO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQSxFQUtUO0FBQUEsRUFDQSxpQkFBaUI7QUFBQSxJQUNmLE9BQU87QUFBQSxJQUNQLEtBQUs7QUFBQSxJQUNMLE9BQU87QUFBQTtBQUFBO0FBQUEsSUFHUCxPQUFPO0FBQUE7QUFBQTtBQUFBLEVBR1Q7QUFBQSxFQUNBLGVBQWU7QUFBQSxJQUNiLE9BQU87QUFBQSxJQUNQLEtBQUs7QUFBQSxJQUNMLE9BQU87QUFBQTtBQUFBO0FBQUEsSUFHUCxPQUFPO0FBQUE7QUFBQTtBQUFBLEVBR1Q7QUFBQSxFQUNBLGNBQWM7QUFBQSxJQUNaLE9BQ0U7QUFBQSxJQUNGLEtBQUs7QUFBQSxJQUNMLE9BQU87QUFBQTtBQUFBO0FBQUE7QUFBQSxJQUlQLE9BQU87QUFBQTtBQUFBO0FBQUE7QUFBQSxFQUlUO0FBQUEsRUFDQSxjQUFjO0FBQUEsSUFDWixPQUNFO0FBQUEsSUFDRixLQUFLO0FBQUEsSUFDTCxPQUFPO0FBQUE7QUFBQTtBQUFBLElBR1AsT0FBTztBQUFBO0FBQUE7QUFBQSxFQUdUO0FBQUEsRUFDQSxtQkFBbUI7QUFBQSxJQUNqQixPQUFPO0FBQUEsSUFDUCxLQUFLO0FBQUEsSUFDTCxPQUFPO0FBQUE7QUFBQTtBQUFBLElBR1AsT0FBTztBQUFBO0FBQUE7QUFBQSxFQUdUO0FBQUEsRUFDQSx1QkFBdUI7QUFBQSxJQUNyQixPQUNFO0FBQUEsSUFFRixLQUNFO0FBQUEsSUFFRixPQUFPO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQSxJQUtQLE9BQU87QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBLEVBUVQ7QUFBQSxFQUNBLHVCQUF1QjtBQUFBLElBQ3JCLE9BQU87QUFBQSxJQUNQLEtBQUs7QUFBQSxJQUNMLE9BQU87QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBLElBaUJQLE9BQU87QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBLEVBUVQ7QUFBQSxFQUNBLGlCQUFpQjtBQUFBLElBQ2YsT0FDRTtBQUFBLElBQ0YsS0FBSztBQUFBLElBQ0wsT0FBTztBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQSxJQU1QLE9BQU87QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUEsRUFNVDtBQUFBLEVBQ0EsaUJBQWlCO0FBQUEsSUFDZixPQUNFO0FBQUEsSUFDRixLQUFLO0FBQUEsSUFDTCxPQUFPO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUEsSUFhUCxPQUFPO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQSxFQVFUO0FBQUEsRUFDQSwyQkFBMkI7QUFBQSxJQUN6QixPQUNFO0FBQUEsSUFDRixLQUFLO0FBQUEsSUFDTCxPQUFPO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUEsSUFhUCxPQUFPO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQSxFQVFUO0FBQUEsRUFDQSxtQkFBbUI7QUFBQSxJQUNqQixPQUNFO0FBQUEsSUFJRixLQUNFO0FBQUEsSUFFRixPQUFPO0FBQUE7QUFBQTtBQUFBLElBR1AsT0FBTztBQUFBO0FBQUE7QUFBQSxFQUdUO0FBQUEsRUFDQSxnQkFBZ0I7QUFBQSxJQUNkLE9BQU87QUFBQSxJQUNQLEtBQUs7QUFBQSxJQUNMLE9BQU87QUFBQTtBQUFBO0FBQUE7QUFBQSxJQUlQLE9BQU87QUFBQTtBQUFBO0FBQUE7QUFBQSxFQUlUO0FBQUEsRUFDQSxzQkFBc0I7QUFBQSxJQUNwQixPQUFPO0FBQUEsSUFDUCxLQUFLO0FBQUEsSUFDTCxPQUFPO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQSxJQUtQLE9BQU87QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBLEVBS1Q7QUFBQSxFQUNBLGtCQUFrQjtBQUFBLElBQ2hCLE9BQ0U7QUFBQSxJQUNGLEtBQUs7QUFBQSxJQUNMLE9BQU87QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUEsSUFNUCxPQUFPO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUEsRUFPVDtBQUFBLEVBQ0EscUJBQXFCO0FBQUEsSUFDbkIsT0FDRTtBQUFBLElBQ0YsS0FBSztBQUFBLElBQ0wsT0FBTztBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUEsSUFLUCxPQUFPO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQSxFQUtUO0FBQUEsRUFDQSx3QkFBd0I7QUFBQSxJQUN0QixPQUNFO0FBQUEsSUFDRixLQUFLO0FBQUEsSUFDTCxPQUFPO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBLElBU1AsT0FBTztBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBLEVBT1Q7QUFBQSxFQUNBLGdCQUFnQjtBQUFBLElBQ2QsT0FDRTtBQUFBLElBQ0YsS0FBSztBQUFBLElBQ0wsT0FBTztBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQSxJQVNQLE9BQU87QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQSxFQU9UO0FBQUEsRUFDQSx1QkFBdUI7QUFBQSxJQUNyQixPQUNFO0FBQUEsSUFFRixLQUFLO0FBQUEsSUFDTCxPQUFPO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQSxJQUtQLE9BQU87QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBLEVBS1Q7QUFBQSxFQUNBLHNCQUFzQjtBQUFBLElBQ3BCLE9BQ0U7QUFBQSxJQUVGLEtBQ0U7QUFBQSxJQUVGLE9BQU87QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBLElBS1AsT0FBTztBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUEsRUFLVDtBQUFBLEVBQ0EsNEJBQTRCO0FBQUEsSUFDMUIsT0FDRTtBQUFBLElBQ0YsS0FBSztBQUFBLElBQ0wsT0FBTztBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBLElBT1AsT0FBTztBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBLEVBT1Q7QUFBQSxFQUNBLHFCQUFxQjtBQUFBLElBQ25CLE9BQ0U7QUFBQSxJQUNGLEtBQUs7QUFBQSxJQUNMLE9BQU87QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQSxJQU9QLE9BQU87QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUEsRUFNVDtBQUFBLEVBQ0Esa0JBQWtCO0FBQUEsSUFDaEIsT0FDRTtBQUFBLElBQ0YsS0FBSztBQUFBLElBQ0wsT0FBTztBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQSxJQU1QLE9BQU87QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUEsRUFNVDtBQUFBLEVBQ0Esc0JBQXNCO0FBQUEsSUFDcEIsT0FBTztBQUFBLElBQ1AsS0FBSztBQUFBLElBQ0wsT0FBTztBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUEsSUFLUCxPQUFPO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQSxFQUtUO0FBQUEsRUFDQSxpQkFBaUI7QUFBQSxJQUNmLE9BQU87QUFBQSxJQUNQLEtBQUs7QUFBQSxJQUNMLE9BQU87QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUEsSUFNUCxPQUFPO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBLEVBTVQ7QUFDRjs7O0FDOWhCTyxJQUFNLFdBQVc7QUFBQSxFQUN0QixrQkFBa0I7QUFBQSxJQUNoQixTQUFTO0FBQUEsSUFDVCxPQUNFO0FBQUEsSUFFRixLQUFLO0FBQUEsSUFDTCxPQUFPO0FBQUE7QUFBQTtBQUFBLElBR1AsT0FBTztBQUFBO0FBQUE7QUFBQSxFQUdUO0FBQUEsRUFDQSxvQkFBb0I7QUFBQSxJQUNsQixTQUNFO0FBQUEsSUFDRixPQUNFO0FBQUEsSUFHRixLQUFLO0FBQUEsSUFDTCxPQUFPO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQSxJQVFQLE9BQU87QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUEsRUFTVDtBQUFBLEVBQ0EsbUJBQW1CO0FBQUEsSUFDakIsU0FDRTtBQUFBLElBQ0YsT0FBTztBQUFBLElBQ1AsS0FBSztBQUFBLElBQ0wsT0FBTztBQUFBO0FBQUE7QUFBQTtBQUFBLElBSVAsT0FBTztBQUFBO0FBQUE7QUFBQTtBQUFBLEVBSVQ7QUFBQSxFQUNBLGtCQUFrQjtBQUFBLElBQ2hCLFNBQVM7QUFBQSxJQUNULE9BQU87QUFBQSxJQUNQLEtBQUs7QUFBQSxJQUNMLE9BQU87QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUEsSUFNUCxPQUFPO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBLEVBTVQ7QUFBQSxFQUNBLHNCQUFzQjtBQUFBLElBQ3BCLFNBQ0U7QUFBQSxJQUNGLE9BQ0U7QUFBQSxJQUVGLEtBQUs7QUFBQSxJQUNMLE9BQU87QUFBQTtBQUFBO0FBQUE7QUFBQSxJQUlQLE9BQU87QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBLEVBS1Q7QUFBQSxFQUNBLG9CQUFvQjtBQUFBLElBQ2xCLFNBQ0U7QUFBQSxJQUNGLE9BQ0U7QUFBQSxJQUdGLEtBQUs7QUFBQSxJQUNMLE9BQU87QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBLElBS1AsT0FBTztBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQSxFQU1UO0FBQUEsRUFDQSxvQkFBb0I7QUFBQSxJQUNsQixTQUNFO0FBQUEsSUFDRixPQUNFO0FBQUEsSUFFRixLQUFLO0FBQUEsSUFDTCxPQUFPO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBLElBZVAsT0FBTztBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBLEVBbUJUO0FBQ0Y7OztBSDVKOEosSUFBTSwyQ0FBMkM7QUFRL00sSUFBTSxPQUFPLElBQUksSUFBSSxVQUFVLHdDQUFlO0FBQzlDLElBQU0sT0FBTyxDQUFDLGFBQWEsY0FBYyxJQUFJLElBQUksVUFBVSxJQUFJLENBQUM7QUFHaEUsSUFBTSxPQUFPLElBQUksSUFBSSxnQkFBUyxRQUFRO0FBRXRDLElBQU0sYUFBYSxnQkFBUyxXQUFXLElBQUksUUFBUSxrQkFBa0IsRUFBRTtBQUd2RSxTQUFTLGlCQUFpQixVQUFVO0FBQ2xDLFdBQVMsS0FBSyxNQUFNLEtBQUssb0JBQW9CLENBQUMsRUFBRSxRQUFRLElBQUksTUFBTTtBQUNoRSxlQUFXLFFBQVEsT0FBTyxRQUFRLENBQUMsRUFBRSxTQUFTLE1BQU0sWUFBWSxDQUFDLENBQUMsRUFBRSxPQUFPLENBQUMsRUFBRSxLQUFLLE1BQU0sU0FBUyxXQUFXLEdBQUc7QUFDOUcsWUFBTSxTQUFTLEtBQUssUUFBUSxNQUFNO0FBQ2xDLFVBQUksQ0FBQyxRQUFRLFdBQVcsS0FBSyxFQUFHO0FBQ2hDLFlBQU0sRUFBRSxVQUFVLEtBQUssSUFBSSxJQUFJLElBQUksUUFBUSxnQkFBZ0IsSUFBSSxZQUFZLEVBQUU7QUFDN0UsVUFBSSxDQUFDLFNBQVMsV0FBVyxRQUFRLEVBQUcsTUFBSyxRQUFRLFFBQVEsR0FBRyxVQUFVLGFBQWEsUUFBUSxHQUFHLElBQUksRUFBRTtBQUFBLElBQ3RHO0FBQUEsRUFDRixDQUFDO0FBQ0g7QUFHQSxTQUFTLFFBQVEsU0FBUztBQUN4QixTQUFPLFFBQ0osS0FBSyxFQUNMLFlBQVksRUFDWixXQUFXLHVCQUF1QixFQUFFLEVBQ3BDLFdBQVcsT0FBTyxHQUFHO0FBQzFCO0FBR0EsU0FBUyxxQkFBcUIsVUFBVTtBQUN0QyxXQUFTLEtBQUssTUFBTSxLQUFLLGlCQUFpQixDQUFDLEVBQUUsT0FBTyxNQUFNO0FBQ3hELGVBQVcsQ0FBQyxHQUFHLEVBQUUsTUFBTSxRQUFRLENBQUMsS0FBSyxPQUFPLFFBQVEsR0FBRztBQUNyRCxVQUFJLFNBQVMsWUFBWSxZQUFZLE1BQU0sT0FBTyxJQUFJLENBQUMsRUFBRSxTQUFTLFVBQVc7QUFDN0UsaUJBQVcsU0FBUyxDQUFDLE9BQU8sSUFBSSxDQUFDLEdBQUcsT0FBTyxJQUFJLENBQUMsQ0FBQyxFQUFHLE9BQU0sTUFBTTtBQUFBLElBQ2xFO0FBQUEsRUFDRixDQUFDO0FBQ0g7QUFHQSxTQUFTLG1CQUFtQjtBQUMxQixRQUFNLE9BQU8sS0FBSyxNQUFNLGFBQWEsS0FBSyxxQ0FBcUMsR0FBRyxNQUFNLENBQUM7QUFDekYsUUFBTSxRQUFRLENBQUMsR0FBRyxLQUFLLFVBQVUsSUFBSSxFQUFFLFNBQVMscUJBQXFCLENBQUMsRUFBRSxJQUFJLENBQUMsQ0FBQyxFQUFFLElBQUksTUFBTSxJQUFJO0FBQzlGLFFBQU0sUUFBUSxNQUFNLElBQUksQ0FBQyxVQUFVLEVBQUUsTUFBTSxLQUFLLE1BQU0sY0FBYyxRQUFRLEVBQUUsR0FBRyxLQUFLLEVBQUU7QUFDeEYsU0FBTztBQUFBLElBQ0wsRUFBRSxNQUFNLGFBQWEsTUFBTSxlQUFlLE9BQU8sQ0FBQyxFQUFFLE1BQU0sV0FBVyxNQUFNLHFCQUFxQixHQUFHLEdBQUcsS0FBSyxFQUFFO0FBQUEsRUFDL0c7QUFDRjtBQU1BLFNBQVMsUUFBUSxJQUFJO0FBQ25CLFNBQU8sR0FBRyxTQUFTLGFBQWEsS0FBSyxDQUFDLEdBQUcsU0FBUyxVQUFVLElBQUksT0FBTztBQUN6RTtBQUdBLFNBQVMsU0FBUyxRQUFRLEtBQUssVUFBVTtBQUN2QyxRQUFNLE9BQU8sU0FBUyxPQUFPLFFBQVEsR0FBRztBQUN4QyxTQUFPLGVBQWUsS0FBSyxJQUFJLFlBQVksS0FBSyxJQUFJLGFBQWEsV0FBVyxRQUFRLEtBQUs7QUFDM0Y7QUFHQSxJQUFNLE9BQ0o7QUFFRixJQUFNLFNBQ0o7QUFFRixJQUFNLE9BQU8sQ0FBQyxNQUFNLFVBQVUsRUFBRSxNQUFNLE1BQU0sSUFBSSxJQUFJLEdBQUc7QUFFdkQsSUFBTSxRQUFRO0FBQUEsRUFDWjtBQUFBLElBQ0UsTUFBTTtBQUFBLElBQ04sT0FBTztBQUFBLE1BQ0wsS0FBSywyQkFBMkIsT0FBTztBQUFBLE1BQ3ZDLEtBQUsseUJBQXlCLFVBQVU7QUFBQSxNQUN4QyxLQUFLLGNBQWMsWUFBWTtBQUFBLE1BQy9CLEtBQUssV0FBVyxLQUFLO0FBQUEsTUFDckI7QUFBQSxRQUNFLEdBQUcsS0FBSyxhQUFhLFdBQVc7QUFBQSxRQUNoQyxXQUFXO0FBQUEsUUFDWCxPQUFPO0FBQUEsVUFDTCxLQUFLLHlCQUF5Qiw0QkFBNEI7QUFBQSxVQUMxRCxLQUFLLHNCQUFzQix3QkFBd0I7QUFBQSxVQUNuRCxLQUFLLGNBQWMsaUJBQWlCO0FBQUEsVUFDcEMsS0FBSyxjQUFjLGlCQUFpQjtBQUFBLFVBQ3BDLEtBQUssV0FBVyxjQUFjO0FBQUEsVUFDOUIsS0FBSyxXQUFXLGNBQWM7QUFBQSxRQUNoQztBQUFBLE1BQ0Y7QUFBQSxJQUNGO0FBQUEsRUFDRjtBQUFBLEVBQ0E7QUFBQSxJQUNFLE1BQU07QUFBQSxJQUNOLE9BQU87QUFBQSxNQUNMLEtBQUssZUFBZSxTQUFTO0FBQUEsTUFDN0IsS0FBSyxjQUFjLFlBQVk7QUFBQSxNQUMvQixLQUFLLDBCQUEwQixNQUFNO0FBQUEsTUFDckMsS0FBSyxjQUFjLFlBQVk7QUFBQSxNQUMvQixLQUFLLHNCQUFzQixXQUFXO0FBQUEsTUFDdEMsS0FBSyxVQUFVLFFBQVE7QUFBQSxNQUN2QixLQUFLLFdBQVcsU0FBUztBQUFBLE1BQ3pCLEtBQUssMEJBQTBCLFFBQVE7QUFBQSxNQUN2QyxLQUFLLFdBQVcsU0FBUztBQUFBLElBQzNCO0FBQUEsRUFDRjtBQUFBLEVBQ0E7QUFBQSxJQUNFLE1BQU07QUFBQSxJQUNOLE9BQU87QUFBQSxNQUNMLEtBQUssVUFBVSxRQUFRO0FBQUEsTUFDdkIsS0FBSyxTQUFTLE9BQU87QUFBQSxNQUNyQixLQUFLLFNBQVMsT0FBTztBQUFBLE1BQ3JCLEtBQUssVUFBVSxRQUFRO0FBQUEsTUFDdkIsS0FBSyxXQUFXLFNBQVM7QUFBQSxNQUN6QixLQUFLLGlCQUFpQixZQUFZO0FBQUEsTUFDbEMsS0FBSyxpQkFBaUIsZUFBZTtBQUFBLElBQ3ZDO0FBQUEsRUFDRjtBQUFBLEVBQ0E7QUFBQSxJQUNFLE1BQU07QUFBQSxJQUNOLE9BQU8sQ0FBQyxLQUFLLGVBQWUsYUFBYSxHQUFHLEtBQUssWUFBWSxVQUFVLEdBQUcsS0FBSyxXQUFXLFNBQVMsQ0FBQztBQUFBLEVBQ3RHO0FBQ0Y7QUFFQSxJQUFNLGFBQWE7QUFBQSxFQUNqQjtBQUFBLElBQ0UsTUFBTTtBQUFBLElBQ04sTUFBTTtBQUFBLElBQ04sT0FBTyxPQUFPLEtBQUssRUFBRSxHQUFHLE9BQU8sR0FBRyxTQUFTLENBQUMsRUFBRSxJQUFJLENBQUMsU0FBUyxLQUFLLE1BQU0sVUFBVSxJQUFJLEVBQUUsQ0FBQztBQUFBLEVBQzFGO0FBQ0Y7QUFFQSxJQUFPLGlCQUFRLGFBQWE7QUFBQSxFQUMxQixPQUFPO0FBQUEsRUFDUCxhQUFhO0FBQUEsRUFDYixNQUFNO0FBQUEsRUFDTixNQUFNLEdBQUcsS0FBSyxTQUFTLFFBQVEsT0FBTyxFQUFFLENBQUM7QUFBQSxFQUN6QyxXQUFXO0FBQUEsRUFDWCxTQUFTLEVBQUUsVUFBVSxHQUFHLEtBQUssS0FBSyxRQUFRLE9BQU8sRUFBRSxDQUFDLElBQUk7QUFBQSxFQUN4RCxNQUFNO0FBQUEsSUFDSixDQUFDLFFBQVEsRUFBRSxLQUFLLFFBQVEsTUFBTSxzQkFBc0IsbUJBQW1CLElBQUksQ0FBQyxHQUFHLENBQUM7QUFBQSxJQUNoRixDQUFDLFFBQVEsRUFBRSxVQUFVLFdBQVcsU0FBUyxVQUFVLENBQUM7QUFBQSxJQUNwRCxDQUFDLFFBQVEsRUFBRSxVQUFVLGdCQUFnQixTQUFTLFdBQVcsQ0FBQztBQUFBLElBQzFELENBQUMsUUFBUSxFQUFFLFVBQVUsWUFBWSxTQUFTLEdBQUcsS0FBSyxLQUFLLFFBQVEsT0FBTyxFQUFFLENBQUMsY0FBYyxDQUFDO0FBQUEsSUFDeEYsQ0FBQyxRQUFRLEVBQUUsTUFBTSxnQkFBZ0IsU0FBUyxzQkFBc0IsQ0FBQztBQUFBLEVBQ25FO0FBQUEsRUFDQSxhQUFhO0FBQUE7QUFBQSxFQUViLG1CQUFtQixDQUFDLEVBQUUsY0FBYyxZQUFZLE1BQU07QUFDcEQsUUFBSSxpQ0FBaUMsS0FBSyxZQUFZLEVBQUcsYUFBWSxXQUFXO0FBQUEsRUFDbEY7QUFBQSxFQUNBLGVBQWUsQ0FBQyxFQUFFLE9BQU8sWUFBWSxNQUFNO0FBQUEsSUFDekMsQ0FBQyxRQUFRLEVBQUUsVUFBVSxZQUFZLFNBQVMsTUFBTSxDQUFDO0FBQUEsSUFDakQsQ0FBQyxRQUFRLEVBQUUsVUFBVSxrQkFBa0IsU0FBUyxZQUFZLENBQUM7QUFBQSxFQUMvRDtBQUFBLEVBQ0EsVUFBVTtBQUFBLElBQ1IsUUFBUSxFQUFFLFFBQVE7QUFBQSxJQUNsQixPQUFPLFVBQVU7QUFDZix1QkFBaUIsUUFBUTtBQUN6QiwyQkFBcUIsUUFBUTtBQUFBLElBQy9CO0FBQUEsSUFDQSxPQUFPLEVBQUUsT0FBTyw4QkFBOEIsTUFBTSw0QkFBNEI7QUFBQSxFQUNsRjtBQUFBO0FBQUEsRUFFQSxlQUFlLENBQUMsU0FBUyxLQUFLLFFBQVEsdUJBQXVCLGlDQUFpQztBQUFBLEVBQzlGLGFBQWE7QUFBQSxJQUNYLEtBQUs7QUFBQSxNQUNILEtBQUssU0FBUyxPQUFPO0FBQUEsTUFDckIsS0FBSyxjQUFjLFlBQVk7QUFBQSxNQUMvQixLQUFLLGFBQWEsWUFBWTtBQUFBLE1BQzlCLEtBQUssVUFBVSxTQUFTO0FBQUEsTUFDeEI7QUFBQSxRQUNFLE1BQU0sSUFBSSxnQkFBUyxPQUFPO0FBQUEsUUFDMUIsT0FBTztBQUFBLFVBQ0wsRUFBRSxNQUFNLGFBQWEsTUFBTSxHQUFHLFVBQVUsMEJBQTBCO0FBQUEsVUFDbEUsRUFBRSxNQUFNLE9BQU8sTUFBTSxpQ0FBaUMsZ0JBQVMsSUFBSSxHQUFHO0FBQUEsUUFDeEU7QUFBQSxNQUNGO0FBQUEsSUFDRjtBQUFBO0FBQUEsSUFFQSxhQUFhLENBQUMsRUFBRSxNQUFNLEVBQUUsS0FBSyxPQUFPLEdBQUcsTUFBTSxZQUFZLFdBQVcsU0FBUyxDQUFDO0FBQUEsSUFDOUUsU0FBUyxFQUFFLGVBQWUsaUJBQWlCLEdBQUcsWUFBWSxZQUFZLEtBQUssTUFBTTtBQUFBLElBQ2pGLFFBQVE7QUFBQSxNQUNOLFVBQVU7QUFBQSxNQUNWLFNBQVMsRUFBRSxTQUFTLFVBQVUsWUFBWSxFQUFFLGVBQWUsRUFBRSxlQUFlLFFBQVEsRUFBRSxFQUFFO0FBQUEsSUFDMUY7QUFBQSxJQUNBLFVBQVUsRUFBRSxTQUFTLEdBQUcsVUFBVSx5QkFBeUIsTUFBTSxpQkFBaUI7QUFBQSxJQUNsRixTQUFTLENBQUMsR0FBRyxDQUFDO0FBQUEsRUFDaEI7QUFBQSxFQUNBLE1BQU07QUFBQSxJQUNKLFNBQVM7QUFBQSxNQUNQLFFBQVEsRUFBRSxRQUFRLEtBQUssUUFBUSxhQUFhLENBQUMsY0FBYyxHQUFHLFNBQVMsRUFBRSxLQUFLLE9BQU8sWUFBWSxXQUFXLEVBQUUsQ0FBQztBQUFBLElBQ2pIO0FBQUEsSUFDQSxTQUFTO0FBQUE7QUFBQSxNQUVQLE9BQU87QUFBQSxRQUNMLEVBQUUsTUFBTSxjQUFjLGFBQWEsS0FBSyxlQUFlLEVBQUU7QUFBQSxRQUN6RCxFQUFFLE1BQU0sb0JBQW9CLGFBQWEsS0FBSyxZQUFZLEVBQUU7QUFBQSxNQUM5RDtBQUFBLElBQ0Y7QUFBQSxFQUNGO0FBQ0YsQ0FBQzsiLAogICJuYW1lcyI6IFtdCn0K
