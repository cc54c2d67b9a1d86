#!/usr/bin/env node
/* Prints the SQL that makes the table: `npx headgate-postgres [table]`. */
import { postgresSchema } from './postgres-store.ts'

process.stdout.write(postgresSchema(process.argv[2]))
