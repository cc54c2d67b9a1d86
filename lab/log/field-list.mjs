/* Logs whose `#Fields:` line names the fields: W3C Extended Log Format, as IIS and CloudFront write it. */
import { request } from './common-log.mjs'
import { parseTime } from './time.mjs'

const header = /^#Fields:\s*(.+)$/

export const fieldList = {
  name: 'w3c',
  detect: (line) => /^#(Version|Fields|Software|Date):/.test(line),
  parser() {
    let names = []
    return (line) => {
      if (line.startsWith('#')) {
        names = header.exec(line)?.[1].split(/\s+/) ?? names
        return null
      }
      return parse(names, line.split(line.includes('\t') ? '\t' : ' '))
    }
  },
}

function parse(names, values) {
  const fields = Object.fromEntries(names.map((name, n) => [name, values[n]]))
  const time = parseTime(`${fields.date}T${fields.time}Z`)
  if (time === undefined || fields['c-ip'] === undefined) return undefined
  return {
    ...fields,
    time,
    address: fields['c-ip'],
    host: fields['x-host-header'] ?? fields['cs(Host)'],
    ...request(fields['cs-method'] ?? '', fields['cs-uri-stem'] ?? ''),
    status: fields['sc-status'],
    agent: decoded(fields['cs(User-Agent)']),
  }
}

function decoded(text) {
  try {
    return text === undefined ? undefined : decodeURIComponent(text)
  } catch {
    return text
  }
}
