import { randomBytes } from 'node:crypto'
import { retryWhenLocked } from './retry-when-locked.ts'
import type { Kysely } from 'kysely'
import type { Tables } from './tables.ts'

/** Returns the 32 bytes shared by all processes on a store; the first one creates them. */
export async function storeSecret (query: Kysely<Tables>): Promise<Buffer> {
  const secret = { name: 'deferred', value: randomBytes(32).toString('base64') }
  await retryWhenLocked(async () => (
    await query.insertInto('secrets').values(secret)
      .onConflict(conflict => conflict.column('name').doNothing()).execute()
  ))
  const { value } = await query.selectFrom('secrets').select('value').where('name', '=', secret.name)
    .executeTakeFirstOrThrow()
  return Buffer.from(value, 'base64')
}
