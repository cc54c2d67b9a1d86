import { test } from 'vitest'
import { testStore } from '../../src/testing/index.ts'
import { MapDatabase } from '../support/map-store.ts'

testStore({ name: 'compare-and-set', test, create: (clock) => new MapDatabase().store({ clock }) })
