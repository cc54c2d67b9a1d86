/* Writes the version of a release where the sources name it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const file = join(import.meta.dirname, '../../src/telemetry/instrumentation.ts')
const source = readFileSync(file, 'utf8')
const stamped = source.replace(/^const version = '.*'$/m, `const version = '${process.argv[2]}'`)
if (!stamped.includes(`'${process.argv[2]}'`)) throw new Error(`${file} names no version`)
writeFileSync(file, stamped)
