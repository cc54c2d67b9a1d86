import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import llmstxt from 'vitepress-plugin-llms'
import manifest from '../../package.json' with { type: 'json' }
import { codes } from '../errors/codes.mjs'
import { warnings } from '../errors/warnings.mjs'

const root = new URL('../../', import.meta.url)
const path = (relative) => fileURLToPath(new URL(relative, root))

/** Where the site is: errors link to it. */
const home = new URL(manifest.homepage)
/** Where the sources are: links that leave the site and the edit link lead there. */
const repository = manifest.repository.url.replace(/^git\+|\.git$/g, '')

/** A link of a page to a file beside docs/ leads to the repository. */
function linkToRepository(markdown) {
  markdown.core.ruler.push('repository-links', ({ tokens, env }) => {
    for (const link of tokens.flatMap(({ children }) => children ?? []).filter(({ type }) => type === 'link_open')) {
      const target = link.attrGet('href')
      if (!target?.startsWith('../')) continue
      const { pathname, hash } = new URL(target, `file:///docs/${env.relativePath}`)
      if (!pathname.startsWith('/docs/')) link.attrSet('href', `${repository}/blob/main${pathname}${hash}`)
    }
  })
}

/** A column without a name has no header: an empty one is a fault to those who hear a page. */
function leaveOutEmptyHeaders(markdown) {
  markdown.core.ruler.push('empty-headers', ({ tokens }) => {
    for (const [n, { type, content }] of tokens.entries()) {
      if (type !== 'inline' || content !== '' || tokens[n - 1].type !== 'th_open') continue
      for (const token of [tokens[n - 1], tokens[n + 1]]) token.tag = 'td'
    }
  })
}

/** The modules as users import them, in one list. */
function referenceSidebar() {
  const modules = JSON.parse(readFileSync(path('docs/reference/typedoc-sidebar.json'), 'utf8'))
  return [{ text: 'Reference', link: '/reference/', items: modules.flatMap((module) => flat(module)) }]
}

/** A module and those below it, each by its whole name. A folder has no link. */
function flat({ text, link, items = [] }) {
  const below = items.flatMap((item) => flat({ ...item, text: `${text}/${item.text}` }))
  return link === undefined ? below : [{ text, link }, ...below]
}

/** A gate in a channel. */
const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="#005d93"/><path d="M6 8h20M10 8v16M22 8v16M10 14h12" stroke="#fff" stroke-width="3" fill="none"/></svg>'

const page = (text, name) => ({ text, link: `/${name}` })

const guide = [
  {
    text: 'Start',
    items: [
      page('A limiter in 60 seconds', 'start'),
      page('Choosing an algorithm', 'choosing'),
      page('Playground', 'playground'),
      page('The lab', 'lab'),
      {
        ...page('Moving in', 'moving-in'),
        collapsed: true,
        items: [
          page('rate-limiter-flexible', 'from-rate-limiter-flexible'),
          page('@upstash/ratelimit', 'from-upstash-ratelimit'),
          page('bottleneck', 'from-bottleneck'),
          page('p-throttle', 'from-p-throttle'),
          page('p-queue', 'from-p-queue'),
          page('limiter', 'from-limiter'),
        ],
      },
    ],
  },
  { text: 'Recipes', items: [page('Webhooks', 'recipes/webhooks')] },
  {
    text: 'Recipes',
    link: '/recipes/',
    collapsed: true,
    items: [
      page('Plans', 'recipes/plans'),
      page('Logins', 'recipes/logins'),
      page('LLM gateway', 'recipes/llm-gateway'),
      page('Webhooks', 'recipes/webhooks'),
      page('Jobs', 'recipes/jobs'),
      page('Chat', 'recipes/chat'),
      page('GraphQL', 'recipes/graphql'),
      page('MCP', 'recipes/mcp'),
      page('Redis', 'recipes/redis'),
    ],
  },
  {
    text: 'Frameworks',
    link: '/frameworks',
    collapsed: true,
    items: [
      page('Express', 'frameworks/express'),
      page('Fastify', 'frameworks/fastify'),
      page('Koa', 'frameworks/koa'),
      page('Hono', 'frameworks/hono'),
      page('NestJS', 'frameworks/nest'),
      page('Fetch handlers, Bun, Deno', 'frameworks/fetch'),
      page('Next.js', 'frameworks/next'),
      page('SvelteKit', 'frameworks/sveltekit'),
      page('React Router', 'frameworks/react-router'),
      page('AWS Lambda', 'frameworks/lambda'),
      page('h3 and Nitro', 'frameworks/h3'),
      page('node:http', 'frameworks/node'),
      page('tRPC', 'frameworks/trpc'),
      page('ws and socket.io', 'frameworks/sockets'),
      page('Another framework', 'frameworks/other'),
    ],
  },
  {
    text: 'Guide',
    items: [
      page('The limiter', 'limiter'),
      page('Algorithms', 'algorithms'),
      page('Middleware and headers', 'http'),
      page('Keys and addresses', 'addresses'),
      page('Pacing', 'pacing'),
      page('Budgets', 'budgets'),
      page('Quotas by the calendar', 'quotas'),
      page('Policies in a file', 'policy-file'),
      page('Testing', 'testing'),
    ],
  },
  {
    text: 'Fleet',
    items: [
      page('Stores', 'stores'),
      page('Redis', 'redis'),
      page('Scale', 'scale'),
      page('Memory', 'memory'),
      page('Failure', 'failure'),
      page('In production', 'production'),
      page('Observability', 'observability'),
    ],
  },
  {
    text: 'More',
    items: [page('Performance', 'performance'), page('Security', 'security'), page('Support', 'support')],
  },
]

const errorPages = [
  {
    text: 'Errors',
    link: '/errors/',
    items: Object.keys({ ...codes, ...warnings }).map((code) => page(code, `errors/${code}`)),
  },
]

export default defineConfig({
  title: 'headgate',
  description: 'An exact rate limiter for Node services and fetch runtimes.',
  lang: 'en',
  base: `${home.pathname.replace(/\/$/, '')}/`,
  cleanUrls: true,
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(icon)}` }]],
  lastUpdated: false,
  // These pages are made from the sources.
  transformPageData: ({ relativePath, frontmatter }) => {
    if (/^(reference|errors)\//.test(relativePath)) frontmatter.editLink = false
  },
  markdown: {
    config(markdown) {
      linkToRepository(markdown)
      leaveOutEmptyHeaders(markdown)
    },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  // The home page of the theme has no main landmark: see theme/index.mjs.
  transformHtml: (html) => html.replace('<div class="VPHome"', '<div role="main" class="VPHome"'),
  themeConfig: {
    nav: [
      page('Guide', 'start'),
      page('Recipes', 'recipes/'),
      page('Playground', 'playground'),
      page('Reference', 'reference/'),
      page('Errors', 'errors/'),
    ],
    sidebar: { '/reference/': referenceSidebar(), '/errors/': errorPages, '/': guide },
    search: { provider: 'local' },
    editLink: { pattern: `${repository}/edit/main/docs/:path`, text: 'Edit this page' },
    outline: [2, 3],
  },
  vite: {
    plugins: [
      llmstxt({ domain: home.origin, ignoreFiles: ['reference/**'], sidebar: { '/': guide, '/errors/': errorPages } }),
    ],
    resolve: {
      // The real package, as it is built: the playground runs what users run.
      alias: [
        { find: /^headgate$/, replacement: path('dist/index.js') },
        { find: /^headgate\/(.+)$/, replacement: path('dist/$1.js') },
      ],
    },
  },
})
