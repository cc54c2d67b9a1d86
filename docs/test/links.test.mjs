import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }

/* Every link and anchor of the built site, those of the reference too. VitePress itself checks neither anchors nor links in HTML. */

const built = fileURLToPath(new URL('../.vitepress/dist/', import.meta.url))
const root = fileURLToPath(new URL('../../', import.meta.url))
const base = `${new URL(manifest.homepage).pathname.replace(/\/$/, '')}/`
const sources = `${manifest.repository.url.replace(/^git\+|\.git$/g, '')}/blob/main/`

const html = readdirSync(built, { recursive: true }).filter((name) => name.endsWith('.html'))
const pages = new Map(html.map((name) => [name, readPage(readFileSync(join(built, name), 'utf8'))]))

function readPage(text) {
  const attributes = (name) =>
    [...text.matchAll(new RegExp(`\\s${name}="([^"]*)"`, 'g'))].map(([, value]) => decode(value))
  return { ids: new Set(attributes('id')), links: attributes('href') }
}

function decode(text) {
  return text.replaceAll('&amp;', '&').replaceAll('&#39;', "'").replaceAll('&quot;', '"')
}

/** What is wrong with a link on a page; undefined if it leads somewhere, or leaves the site. */
function faultOf(link, name) {
  if (link.startsWith(sources))
    return existsSync(join(root, decodeURI(link.slice(sources.length).split('#')[0]))) ? undefined : 'no such file'
  const { protocol, host, pathname, hash } = new URL(link, `site://site${base}${name}`)
  if (protocol !== 'site:' || host !== 'site') return undefined
  if (!pathname.startsWith(base)) return 'outside of the site'
  const path = decodeURI(pathname.slice(base.length))
  const page = [path, `${path}.html`, join(path, 'index.html')].find((file) => pages.has(file))
  if (page === undefined) return isFile(join(built, path)) ? undefined : 'no such page'
  const anchor = decodeURIComponent(hash.slice(1))
  return anchor === '' || pages.get(page).ids.has(anchor) ? undefined : 'no such anchor'
}

function isFile(path) {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}

test('no link of the site is dead, and no anchor', () => {
  const dead = [...pages].flatMap(([name, { links }]) =>
    links
      .map((link) => [link, faultOf(link, name)])
      .filter(([, fault]) => fault !== undefined)
      .map(([link, fault]) => `${name}: ${link}: ${fault}`),
  )
  expect([...new Set(dead)]).toEqual([])
  expect(pages.size).toBeGreaterThan(300)
})
