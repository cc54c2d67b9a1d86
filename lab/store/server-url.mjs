import { UsageError } from '../cli/usage-error.mjs'

/** The host and port of a connection string, without its password. @throws UsageError */
export function serverOf(text, kind, protocols) {
  try {
    const { protocol, host } = new URL(text)
    if (protocols.includes(protocol)) return host || 'localhost'
  } catch {}
  throw new UsageError(
    `${kind} takes a connection string that begins with ${protocols[0]}//.`,
    `Write: headgate-lab ${kind} ${protocols[0]}//localhost check`,
  )
}
