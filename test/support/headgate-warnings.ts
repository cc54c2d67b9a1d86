import { setImmediate } from 'node:timers/promises'

const emitted: string[] = []
process.on('warning', ({ name, message, ...rest }) => {
  if (name === 'HeadgateWarning') emitted.push(`${(rest as { code?: string }).code}: ${message}`)
})

/** The warnings of headgate in this process since the last call, each with its code. Node emits a warning a moment later. */
export async function headgateWarnings(): Promise<string[]> {
  await setImmediate()
  return emitted.splice(0)
}
