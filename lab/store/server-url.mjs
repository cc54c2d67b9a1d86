import { UsageError } from '../cli/usage-error.mjs'

/** The host and port of a connection string, without its password. @throws UsageError */
export function serverOf(text, kind, protocols) {
  if (!protocols.some((protocol) => text.startsWith(`${protocol}//`))) {
    throw new UsageError(
      `${kind} takes a connection string that begins with ${protocols[0]}//.`,
      `Write: headgate-lab ${kind} ${protocols[0]}//localhost check`,
    )
  }
  try {
    return new URL(text).host || 'localhost'
  } catch {
    throw new UsageError(
      'The connection string cannot be read.',
      'Check the port. In a password, write # as %23, / as %2F, ? as %3F, @ as %40 and % as %25.',
    )
  }
}

/** The error for a server that cannot be reached or used. */
export function serverError(kind, server, { message, code }) {
  const cause = `${message || code}`.replace(/\.$/, '')
  return new UsageError(
    `${kind} at ${server} cannot be used: ${cause}.`,
    'Check the URL, the password and the network.',
  )
}
