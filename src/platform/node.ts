/* The platform functions for Node, and for Bun and Deno, which implement the modules of Node. */
import { channel as diagnosticsChannel } from 'node:diagnostics_channel'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { clearTimeout, setImmediate, setTimeout } from 'node:timers'
import type { Platform } from './platform.ts'

export { waitUntil } from './request-context.ts'

/**
 * `process.hrtime` reads the same clock as `performance.now`, and takes 25 per cent less time. The speed matters because every decision
 * reads the time.
 */
const { hrtime } = process

/** Whole microseconds since a fixed moment in the past. */
function elapsed(): number {
  const time = hrtime()
  return time[0] * 1_000_000 + Math.floor(time[1] / 1000)
}

const findOrigin = () => Math.floor((performance.timeOrigin + performance.now()) * 1000) - elapsed()

/** The largest of three readings, because a reading is too small if the process is suspended between the reads of the two clocks. */
const origin = Math.max(findOrigin(), findOrigin(), findOrigin())

export const microseconds: Platform['microseconds'] = () => origin + elapsed()

/** Loads the module when it is first used. Loading the module at import would make the import of a limiter 25 per cent slower. */
const crypto = () => process.getBuiltinModule('node:crypto')

export const randomWords: Platform['randomWords'] = () => {
  const bytes = crypto().randomBytes(8)
  return [bytes.readInt32LE(0), bytes.readInt32LE(4)]
}

export const sha256: Platform['sha256'] = (bytes) => crypto().createHash('sha256').update(bytes).digest()

export const hmacSha256: Platform['hmacSha256'] = (secret, text) =>
  crypto().createHmac('sha256', secret).update(text).digest()

export const emitWarning: Platform['emitWarning'] = (message, code) => {
  process.emitWarning(message, { type: 'HeadgateWarning', code })
}

export const channel: Platform['channel'] = (name) => diagnosticsChannel(name)

export const afterPendingEvents: Platform['afterPendingEvents'] = (run) => {
  setImmediate(run)
}

/** Workers have the modules of Node too, and a bundler may have chosen this file for a worker. */
export const isolatesRequests: Platform['isolatesRequests'] =
  (globalThis as { navigator?: { userAgent?: string } }).navigator?.userAgent === 'Cloudflare-Workers'

export const realTimers: Platform['realTimers'] = { setTimeout, clearTimeout }

const fs = () => process.getBuiltinModule('node:fs')

/**
 * How often a file is read, in milliseconds. The file is polled because events of the file system get lost for links, mounts and editors
 * that replace a file.
 */
const interval = 500

export const files: Platform['files'] = {
  read: (path) => fs().readFileSync(path, 'utf8'),
  poll(path, onText, onError) {
    let ended = false
    // Resolved once, because the process may change its working directory.
    const file = typeof path === 'string' ? process.getBuiltinModule('node:path').resolve(path) : path
    const read = () => {
      fs().readFile(file, 'utf8', (error, text) => {
        if (ended) return
        if (error === null) onText(text)
        else onError(error)
        timer.refresh()
      })
    }
    const timer = setTimeout(read, interval).unref()
    return () => {
      ended = true
      clearTimeout(timer)
    }
  },
}
