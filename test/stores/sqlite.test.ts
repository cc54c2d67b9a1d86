import { sqliteClient, sqliteDatabase } from '../support/sqlite.ts'
import { describeWholeStore } from '../support/whole-store.ts'

describeWholeStore({ ...sqliteDatabase(), runs: 3, quick: true })
describeWholeStore({ ...sqliteClient(), runs: 3, quick: true })
