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

/** A link of a page to a file that is not in docs/ leads to the repository. */
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

/** The anchor of a heading: that of GitHub, because the pages are read there too. */
function slugify(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')
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

/** The modules as users import them, in one list. The page of a module lists its exports. */
function referenceSidebar() {
  const tree = JSON.parse(readFileSync(path('docs/reference/typedoc-sidebar.json'), 'utf8'))
  const links = [...JSON.stringify(tree).matchAll(/"link":"([^"]+\/)"/g)].map(([, link]) => link)
  const items = links.map((link) => ({ text: link.slice('/reference/'.length, -1), link }))
  return [
    { text: 'Reference', link: '/reference/', items: [{ text: 'Options', link: '/reference/options' }, ...items] },
  ]
}

/**
 * Which hit of the search is first: the guide and the errors, then the pages of frameworks and recipes, then the pages for those who come
 * from another package, then the reference. The beginning of a page of the guide comes before its other parts. The page runs the text of
 * this function and of the next three, so they use nothing from outside.
 */
function boostOf(id, _term, { titles }) {
  const start = titles.length === 0 ? 1.4 : 1
  if (id.includes('/errors/')) return 0.6
  if (id.includes('/reference/') && !id.includes('/options')) return 0.15
  if (/\/(from-|support)/.test(id)) return 0.5
  if (/\/(moving-in|recipes\/)/.test(id)) return 0.7
  if (/\/frameworks/.test(id)) return id.includes('/frameworks/') ? 0.9 : 0.8
  return /\/start/.test(id) ? 1.2 * start : start
}

/** The words of a text. An error code is one word. */
function searchWords(text) {
  return text.split(/[^\p{L}\p{N}_]+/u).filter((word) => word !== '')
}

/** A word as the index has it. Words of any question are left out: they say nothing about the answer. */
function searchTerm(word) {
  const ofAnyQuestion =
    /^(a|an|and|are|by|can|do|does|for|how|i|if|in|is|it|my|of|on|or|should|the|to|what|which|with)$/
  const term = word.toLowerCase()
  return ofAnyQuestion.test(term) ? null : term
}

/** How many letters of a word may differ: none of a short word, such as `nest`, which is not `jest`. */
function fuzziness(term) {
  return term.length > 4 ? 0.2 : false
}

/** What the search reads of a page. Tables of benchmarks have each word, and nobody looks for them by these words. */
function searched(source, env, markdown) {
  const html = markdown.render(source, env)
  return /^performance/.test(env.relativePath) || env.frontmatter?.search === false ? '' : html
}

/** A gate in a channel. */
const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="#005d93"/><path d="M6 8h20M10 8v16M22 8v16M10 14h12" stroke="#fff" stroke-width="3" fill="none"/></svg>'

const github =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="currentColor" d="M8 0C3.58 0 0 3.58 0 8c0 3.54 2.29 6.53 5.47 7.59.4.07.55-.17.55-.38 0-.19-.01-.82-.01-1.49-2.01.37-2.53-.49-2.69-.94-.09-.23-.48-.94-.82-1.13-.28-.15-.68-.52-.01-.53.63-.01 1.08.58 1.23.82.72 1.21 1.87.87 2.33.66.07-.52.28-.87.51-1.07-1.78-.2-3.64-.89-3.64-3.95 0-.87.31-1.59.82-2.15-.08-.2-.36-1.02.08-2.12 0 0 .67-.21 2.2.82a7.6 7.6 0 0 1 4 0c1.53-1.04 2.2-.82 2.2-.82.44 1.1.16 1.92.08 2.12.51.56.82 1.27.82 2.15 0 3.07-1.87 3.75-3.65 3.95.29.25.54.73.54 1.48 0 1.07-.01 1.93-.01 2.2 0 .21.15.46.55.38A8.01 8.01 0 0 0 16 8c0-4.42-3.58-8-8-8"/></svg>'

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
      page('Astro', 'frameworks/astro'),
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
      page('Overrides', 'overrides'),
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
  sitemap: { hostname: `${home.href.replace(/\/$/, '')}/` },
  head: [
    ['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(icon)}` }],
    ['meta', { property: 'og:type', content: 'website' }],
    ['meta', { property: 'og:site_name', content: 'headgate' }],
    ['meta', { property: 'og:image', content: `${home.href.replace(/\/$/, '')}/social.png` }],
    ['meta', { name: 'twitter:card', content: 'summary_large_image' }],
  ],
  lastUpdated: false,
  transformPageData: ({ relativePath, frontmatter }) => {
    // These pages are made from the sources.
    if (/^(reference|errors\/HEADGATE_)/.test(relativePath)) frontmatter.editLink = false
    if (/^(recipes|frameworks)\//.test(relativePath)) frontmatter.aside = false // their programs need the width
  },
  transformHead: ({ title, description }) => [
    ['meta', { property: 'og:title', content: title }],
    ['meta', { property: 'og:description', content: description }],
  ],
  markdown: {
    anchor: { slugify },
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
      {
        text: `v${manifest.version}`,
        items: [
          { text: 'Changelog', link: `${repository}/blob/main/CHANGELOG.md` },
          { text: 'npm', link: `https://www.npmjs.com/package/${manifest.name}` },
        ],
      },
    ],
    // The icon is here: that of the theme would be loaded from another site.
    socialLinks: [{ icon: { svg: github }, link: repository, ariaLabel: 'GitHub' }],
    sidebar: { '/reference/': referenceSidebar(), '/errors/': errorPages, '/': guide },
    search: {
      provider: 'local',
      options: {
        _render: searched,
        miniSearch: {
          options: { tokenize: searchWords, processTerm: searchTerm },
          searchOptions: { boostDocument: boostOf, fuzzy: fuzziness },
        },
      },
    },
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
