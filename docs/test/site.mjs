/* The built site on a port of its own. */
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import manifest from '../../package.json' with { type: 'json' }

const built = fileURLToPath(new URL('../.vitepress/dist/', import.meta.url))
/** The site is built for this path. */
const base = new URL(manifest.homepage).pathname.replace(/\/$/, '')
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' }

/** Serves the site. @returns {Promise<{ url: string, close(): void }>} */
export async function serve() {
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://site').pathname)
    const found = path.startsWith(`${base}/`) ? await read(path.slice(base.length)) : undefined
    response.statusCode = found === undefined ? 404 : 200
    response.setHeader('content-type', found?.type ?? 'text/plain')
    response.end(found?.bytes)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${server.address().port}${base}`, close: () => server.close() }
}

/** The file of a path, with or without its ending. */
async function read(path) {
  for (const file of [path, `${path}.html`, join(path, 'index.html')]) {
    const bytes = await readFile(join(built, file)).catch(() => undefined)
    if (bytes !== undefined) return { bytes, type: types[extname(file)] ?? 'application/octet-stream' }
  }
  return undefined
}
