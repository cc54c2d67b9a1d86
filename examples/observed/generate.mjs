/* npm run generate: writes dashboard.json, alerts.yml and the pictures of docs/observability.md. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { alerts, production, rulesFile } from './alerts.mjs'
import { dashboard } from './dashboard.mjs'
import { draw, nameOf } from './draw.mjs'

const file = (name) => new URL(name, import.meta.url)

/** What the panels showed in a run of the test: HEADGATE_RECORD=$PWD/recorded.json npm test. */
const recorded = JSON.parse(readFileSync(file('recorded.json'), 'utf8'))
const pictures = recorded.map((panel) => [`../../docs/observability/${nameOf(panel.title)}.svg`, draw(panel)])

export const generated = {
  'dashboard.json': `${JSON.stringify(dashboard(), undefined, 2)}\n`,
  'alerts.yml': rulesFile(alerts(production)),
  ...Object.fromEntries(pictures),
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, text] of Object.entries(generated)) writeFileSync(file(name), text)
}
