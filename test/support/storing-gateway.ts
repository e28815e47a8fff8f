/** A gateway that stores responses. */

import { openDatabase } from '../../lib/stores/open-database.ts'
import { testGateway, type TestGateway } from './gateway.ts'
import type { Settings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

/** Starts a gateway that stores responses, in a new database. */
export async function storingGateway (t: Test, parts: Partial<Settings>): Promise<TestGateway> {
  const database = await openDatabase(t.testdir())
  const api = await testGateway(t, parts, {}, { database })
  t.teardown(database.close)
  return api
}
