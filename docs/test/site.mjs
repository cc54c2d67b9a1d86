/* The built site on a port of its own, and a page of headless Chromium: Debian's, driven by playwright-core. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const built = fileURLToPath(new URL('../.vitepress/dist/', import.meta.url))
const executablePath = '/usr/bin/chromium'
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' }

/** Serves the site. @returns {Promise<{ url: string, close(): void }>} */
export async function serve() {
  const server = createServer(async (request, response) => {
    const found = await read(decodeURIComponent(new URL(request.url, 'http://site').pathname))
    response.statusCode = found === undefined ? 404 : 200
    response.setHeader('content-type', found?.type ?? 'text/plain')
    response.end(found?.bytes)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() }
}

/** The file of a path, with or without its ending. */
async function read(path) {
  for (const file of [path, `${path}.html`, join(path, 'index.html')]) {
    const bytes = await readFile(join(built, file)).catch(() => undefined)
    if (bytes !== undefined) return { bytes, type: types[extname(file)] ?? 'application/octet-stream' }
  }
  return undefined
}

export function launch() {
  install()
  return chromium.launch({ executablePath, headless: true, args: ['--no-sandbox', '--disable-gpu'] })
}

/** Installs Chromium in the CI, where this runs as root. Elsewhere the error says how to. */
function install() {
  if (existsSync(executablePath)) return
  const steps = 'apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y chromium'
  if (process.getuid?.() !== 0 || process.env.CI === undefined) throw new Error(`Chromium is missing. Run: ${steps}`)
  execFileSync('sh', ['-c', steps], { stdio: 'ignore' })
}
