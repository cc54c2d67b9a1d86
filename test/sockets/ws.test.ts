import { describeMessages } from '../support/socket-contract.ts'
import { wsLibrary } from '../support/ws-library.ts'

describeMessages('ws', wsLibrary)
