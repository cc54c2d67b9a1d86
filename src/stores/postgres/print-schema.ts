#!/usr/bin/env node
/*
 * Prints the SQL that creates the table, for `npx headgate-postgres [table]`.
 */
import { postgresSchema } from './postgres-store.ts'

try {
  process.stdout.write(postgresSchema(process.argv[2]))
} catch (error) {
  console.error((error as Error).message)
  console.error('Usage: headgate-postgres [table]')
  process.exitCode = 1
}
