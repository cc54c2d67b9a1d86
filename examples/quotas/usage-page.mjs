import { plans } from './plans.mjs'

const titles = { minute: 'This minute', month: 'This month' }
const number = new Intl.NumberFormat('en')

/**
 * @param {{ id: string, plan: string, timeZone: string }} customer
 * @param {import('headgate').Usage} usage
 */
export function usagePage({ id, plan, timeZone }, { policies }) {
  const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', timeZone })
  const meters = policies.map(({ name, used, limit, end }) => {
    const resets = end === undefined ? '' : `, resets on ${day.format(end)}`
    return `<h2>${titles[name]}</h2>
    <meter max="${limit}" high="${0.8 * limit}" optimum="0" value="${used}" aria-label="${titles[name]}"></meter>
    <p>${number.format(used)} of ${number.format(limit)} used${resets}</p>`
  })
  const others = Object.keys(plans).filter((name) => name !== plan)
  const buttons = others.map((name) => `<button name="plan" value="${name}">Change to ${name}</button>`)
  return `<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width">
  <link rel="icon" href="data:,">
  <title>Usage</title>
  <style>${style}</style>
  <main>
    <h1>Usage</h1>
    <p>Your plan is <strong>${escaped(plan)}</strong>.</p>
    ${meters.join('\n    ') || '<p>You have no limits.</p>'}
    <form method="post" action="/customers/${escaped(encodeURIComponent(id))}/plan">${buttons.join(' ')}</form>
  </main>
</html>
`
}

function escaped(text) {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

const style = `
  :root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }
  main { max-width: 30rem; margin: 3rem auto; padding: 0 1rem }
  h1 { font-size: 1.5rem }
  h2 { font-size: 1rem; margin: 2rem 0 0 }
  meter { width: 100%; height: 1.5rem }
  p { margin: 0 }
  form { margin-top: 2rem; display: flex; flex-wrap: wrap; gap: 0.5rem }
  button { font: inherit; padding: 0.25rem 0.75rem }
`
